"""Path patterns whose anchor is not what it looks like."""

from __future__ import annotations

from gateway.policy.algebra.pattern_inclusion import paths_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.policy.lint.clauses import Clause, Finding

_TOP = """
    Applications Library System Users Volumes bin boot dev etc home lib lib64 media mnt opt private proc root run
    sbin srv sys tmp usr var
"""
_TOP_FOLDERS = frozenset(_TOP.split())
_VARIABLES = ("$", "%", "${")


def surprising(clause: Clause) -> Iterator[Finding]:
    """At most one finding for each pattern that says something else than it seems to say."""
    for name in ("path", "path_not"):
        for written in clause.written.get(name, ()):
            found = _surprise(clause, written, name)
            if found:
                message, remedy = found
                yield clause.finding("surprising-anchor", "warning", f"`{written}` {message}", remedy)


def _surprise(clause: Clause, written: str, name: str) -> tuple[str, str] | None:
    layer, home = clause.bound.layer, clause.anchors.home
    if written.startswith(_VARIABLES):
        return "names a variable, and patterns know none", "write `~/…` for HOME, `//…` for an absolute path"
    if "\\" in written and "/" not in written and len(written.split("\\")) > 2:
        return "has backslashes, which make the next character literal", "write `/` between folders"
    if written[1:3] in (":\\", ":/"):
        return "names a drive, and paths here start at the root", "write `//…`"
    if written.strip() != written:
        return "begins or ends with a blank, which belongs to the name", "remove it, or write `\\ ` if it is meant"
    if written.startswith("/") and not written.startswith("//"):
        top = written[1:].split("/", 1)[0]
        if layer != "project" and clause.anchors.layer not in ("/", clause.bound.base):
            where = _below_home(clause.anchors.layer, home)
            return f"starts at this layer's folder, {where}", f"write `/{written}` for the root of the file system"
        if top in _TOP_FOLDERS and clause.anchors.layer != "/":
            return (
                f"starts at the project root: it means `.{written}`",
                f"write `/{written}` for the root of the file system, `.{written}` if the project's is meant",
            )
    if written.startswith("~") and written != "~" and not written.startswith("~/"):
        return "is a file whose name begins with `~`", f"write `~/{written[1:]}` for HOME, `./{written}` for the name"
    if written in ("~", "~/") and name == "path" and not _leaves_out_home(clause, home):
        return "is all of HOME, the folder itself included", "write `~/**` if what lies in it is meant"
    if written in ("*", "**", "**/*") and name == "path":
        return _star(clause)
    if "/" not in written and "*" not in written and written in _TOP_FOLDERS and clause.lane == "deny":
        return "holds for files of this name at any depth", f"write `//{written}/**` for the top folder"
    return None


def _below_home(folder: str, home: str) -> str:
    return "~" + folder[len(home) :] if folder.startswith(home + "/") else folder


def _leaves_out_home(clause: Clause, home: str) -> bool:
    return "path_not" in clause.when and paths_within([home + "/**"], clause.when["path_not"])


def _star(clause: Clause) -> tuple[str, str] | None:
    """A pattern that is nothing but stars: everything, where that is more than the project."""
    if clause.lane == "allow" or clause.anchors.anywhere != "/" or "path_not" in clause.when:
        return None
    return (
        "forbids this for every path of the machine, not of the project alone",
        "write `./**` for the project, or leave `path` out if everything is meant",
    )
