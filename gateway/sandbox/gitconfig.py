"""What a git configuration may say without git running or obeying anything by it.

A list of what is harmless: whatever is not on it might start a program, read another file or send data elsewhere.
Pure. What is kept is written anew, so that no trick of quoting survives.
"""

from __future__ import annotations

from posixpath import normpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.gitconfig import Entry

_CORE = frozenset(
    (
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
        "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "sparsecheckout",
        "sparsecheckoutcone", "untrackedcache",
        "preloadindex", "bigfilethreshold", "compression", "abbrev",
    )
)  # fmt: skip
_KEYS = {
    "core": _CORE,
    "remote": frozenset(
        ("url", "pushurl", "fetch", "push", "tagopt", "prune", "prunetags", "mirror", "promisor", "partialclonefilter")
    ),
    "branch": frozenset(("remote", "pushremote", "merge", "rebase", "description")),
    "submodule": frozenset(("url", "active", "branch", "ignore", "shallow", "recurse", "fetchjobs")),
    "user": frozenset(("name", "email", "useconfigonly")),
}
_SECTIONS = frozenset(
    (
        "advice", "clean", "color", "column", "fetch", "gc", "index", "init", "log", "merge-base", "pack", "pull",
        "push", "rebase", "rerere", "status", "tag",
    )
)  # fmt: skip
_UNSAFE_KEYS = frozenset(("default", "gpgsign", "program", "helper", "command", "recursesubmodules", "gpgsigned"))
_EXTENSIONS = frozenset(("objectformat", "refstorage", "worktreeconfig", "partialclone", "noop", "preciousobjects"))


def is_harmless(entry: Entry, inside: str, roots: tuple[str, ...]) -> bool:
    """Whether git runs nothing and reads nothing else for it. `inside`: the folder of the repository; `roots`: where a
    work tree that it names may lie."""
    section, subsection, key, value = entry
    if section == "core" and key == "worktree":
        path = normpath(f"{inside}/{value}" if value and not value.startswith("/") else value or "/")
        return any((path + "/").startswith(root.rstrip("/") + "/") for root in roots)
    if section == "submodule" and key == "update":
        return value in ("checkout", "rebase", "merge", "none")
    if key in ("url", "pushurl") and section in ("remote", "submodule"):
        return value is not None and "::" not in value and not value.startswith("-")
    if section in _KEYS:
        return key in _KEYS[section]
    if section == "extensions":
        return key in _EXTENSIONS
    return section in _SECTIONS and not subsection and key not in _UNSAFE_KEYS


def written(kept: list[Entry]) -> str:
    """A configuration that says just this."""
    lines: list[str] = []
    head = ("", "")
    for section, subsection, key, value in kept:
        if (section, subsection) != head:
            head = (section, subsection)
            quoted = subsection.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'[{section} "{quoted}"]' if subsection else f"[{section}]")
        if value is None:
            lines.append(f"\t{key}")
        else:
            shown = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            lines.append(f'\t{key} = "{shown}"'.replace("\b", "\\b"))
    return "\n".join(lines) + "\n" if lines else ""
