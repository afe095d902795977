"""Two products from one repository. `agent-gateway` decides, confines and records calls, for hooks, MCP and the
library; `agent-gateway[agent]` adds an agent of its own and the tools that need what only few users want installed:
pages of the web as Markdown, pictures, PDFs, notebooks, scheduled calls, search with ripgrep."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# What the extra `agent` brings, by the name that is imported: its name as a package.
AGENT = {
    "PIL": "pillow",
    "anthropic": "anthropic",
    "bs4": "markdownify",
    "cronsim": "cronsim",
    "markdownify": "markdownify",
    "nbformat": "nbformat",
    "pypdf": "pypdf",
}
REMEDY = "install `agent-gateway[agent]`, in a checkout `.[agent]`"
# Programs that are installed beside the gateway may hold the SDK of MCP back: what does not need it goes on working.
_MCP = frozenset(("mcp", "mcp_types"))


def missing(modules: Iterable[str]) -> str:
    """The first of these modules' packages that is not installed, "" if all are there."""
    from importlib.util import find_spec

    return next((AGENT[module] for module in modules if find_spec(module) is None), "")


def lacking(error: BaseException) -> str:
    """A phrase on the package whose absence, or age, an error is about, with what to do; "" for any other error."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if module in AGENT:
        return f"a missing package (`{AGENT[module]}`): {REMEDY}"
    return "a missing or old package (`mcp`): install `mcp>=2.3`" if module in _MCP else ""


def need(*modules: str) -> None:
    """Raises ModuleNotFoundError, as an import would, for the first of these modules that is not installed: asked
    before a process is started that imports them."""
    from importlib.util import find_spec

    for module in modules:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"no module named `{module}`: {REMEDY}", name=module)
