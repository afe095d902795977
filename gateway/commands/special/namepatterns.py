"""Which names a search looks at in a tree: `grep --include`, `rg -g` and `rg -t`.

What is said here is what the look for protected files may pass over, so it is never less than what the search reads.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# `Touch.skips` that names what is looked at: this, and each pattern behind a NUL.
ONLY = "only"
_TYPES = {
    "py": ("*.py", "*.pyi", "*.pyw"),
    "go": ("*.go",),
    "rust": ("*.rs",),
    "ts": ("*.ts", "*.tsx", "*.cts", "*.mts"),
    "js": ("*.js", "*.jsx", "*.cjs", "*.mjs", "*.vue"),
    "md": ("*.markdown", "*.md", "*.mdown", "*.mdwn", "*.mkd", "*.mkdn", "*.mdx"),
    "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
}
_HIDDEN_TOO = ["--hidden", "-.", "-u", "--unrestricted"]


def patterns(written: str) -> tuple[str, ...] | None:
    """The patterns of names behind one of paths, its braces expanded; None if they are not plain."""
    name = written[written.rfind("/") + 1 :]
    if not name or HOLE in written or "\\" in written or "[" in name or ("{" in written[: -len(name)]):
        return None
    before, brace, rest = name.partition("{")
    if not brace:
        return None if "}" in name else (name,)
    inside, closed, after = rest.partition("}")
    if not closed or "{" in inside + after or "}" in after:
        return None
    return tuple([before + each + after for each in inside.split(",")])


def _values(run: Invocation, mark: str) -> list[str]:
    return [words[0].text for option, words in run.values if mark in option.get("sets", ()) and words]


def _leave(findings: Findings, run: Invocation, skips: str) -> None:
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        effect = item.effect
        if isinstance(effect, Touch) and effect.tree and effect.kind in ("list", "read"):
            findings.items[at] = item.replace(effect=effect.replace(skips=skips))


def _only(findings: Findings, run: Invocation, found: list[tuple[str, ...] | None]) -> None:
    if found and not run.doubts and None not in found:
        names = dict.fromkeys(name for each in found if each is not None for name in each)
        _leave(findings, run, "\0".join((ONLY, *names)))


def _grep(findings: Findings, run: Invocation) -> None:
    """Names that no `--include` matches are left out, of any folder."""
    found = [None if HOLE in each or "[" in each or "\\" in each else (each,) for each in _values(run, "include")]
    _only(findings, run, [*found])


def _rg(findings: Findings, run: Invocation) -> None:
    """A `-g` with a bang leaves out more; one without says what is looked at, hidden or not, and so does a type."""
    globs = _values(run, "glob")
    wanted = [each for each in globs if each[:1] != "!"]
    types = _values(run, "type")
    if wanted or types:
        if "--type-add" not in run.options and not any("!" in each for each in wanted):
            _only(findings, run, [*map(patterns, wanted), *map(_TYPES.get, types)])
    elif globs and not run.doubts and not run.has(_HIDDEN_TOO) and not any(HOLE in each for each in globs):
        _leave(findings, run, "hidden")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"grep_names": _grep, "rg_names": _rg}
