"""Files of a project that tell programs what to do, read through the methods of `observe.Host` alone."""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.model.facts import CHOOSERS, INSTALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.base import Host
    from gateway.model.context import Context

MAX_FOLDERS = 64
# What version managers obey, each through a folder of shims, small programs in the place of those that they manage.
SHIMS = ("/shims/", "/.volta/bin/")


def texts_above(
    folder: str, names: tuple[str, ...], host: Host, context: Context
) -> tuple[tuple[str, str], ...] | None:
    """The files of these names in a folder and above it, each with its text, as far as its project goes: what lies
    further up is its owner's. None where one of them cannot be read, or nobody knows which folder it is."""
    if folder[:1] != "/" or HOLE in folder:
        return None
    found: list[tuple[str, str]] = []
    for _ in range(MAX_FOLDERS):
        for name in names:
            path = f"{folder.rstrip('/')}/{name}"
            if host.is_missing(path):
                continue
            fact = host.path(path)
            if fact is not None and fact.kind == "missing":
                continue
            text = host.read(path) if fact is not None else ""
            if not text and (fact is None or not host.is_empty(path)):
                return None
            found.append((path, text))
        if folder in (context.root, context.home, "/"):
            return tuple(found)
        folder = folder[: folder.rfind("/")] or "/"
    return None


def with_installed(
    texts: tuple[tuple[str, str], ...] | None, names: tuple[str, ...], host: Host, context: Context, search_path: str
) -> tuple[tuple[str, str], ...] | None:
    """The texts, and where they choose a version of Go or Rust, the versions that need not be fetched."""
    if not texts or not context.home:
        return texts
    if "go.mod" in names:
        fact = host.path(host.program("go", search_path))
        folder = fact.real.rpartition("/")[0].rpartition("/")[0] if fact is not None else ""
        found = [host.read(f"{folder}/VERSION").partition("\n")[0]] if folder else []
        prefix = "toolchain@v0.0.1-"
        fetched = _names(f"{context.home}/go/pkg/mod/golang.org", host)
        found += [name[len(prefix) :] for name in fetched if name.startswith(prefix)]
    elif "rust-toolchain.toml" in names:
        found = _names(f"{context.home}/.rustup/toolchains", host)
    else:
        return texts
    return (*texts, (INSTALLED, " ".join(found))) if found else texts


def _names(folder: str, host: Host) -> list[str]:
    try:
        return [name for name, _ in host.entries(folder)]
    except OSError:
        return []


def chosen_by_place(host: Host, context: Context) -> bool:
    """Whether the project names a place instead of a version for what a version manager starts, or may do so."""
    texts = texts_above(context.cwd, CHOOSERS, host, context)
    if texts is None:
        return True
    if not texts:
        return False
    from gateway.commands.steering.version_managers import names_a_place  # lazy: few projects have such files

    return any(names_a_place(path, text) for path, text in texts)
