"""Whether a folder holds a file that Python would load in place of a module of its own library."""

from __future__ import annotations

import sys

from gateway.commands.special.wordlists import words
from gateway.model.effect import HOLE, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.effect import Item
    from gateway.model.facts import Facts

# Names of modules that projects also give to folders of data: these count only with a file that makes them packages.
FOLDERS = (
    "types", "json", "html", "xml", "email", "http", "logging", "csv", "resource", "platform", "code", "cmd", "queue",
    "token", "secrets", "calendar", "statistics", "signal", "profile", "select", "string", "numbers", "locale",
)  # fmt: skip
# In the library too, but no module of it that may be used here loads them.
_APART = frozenset(("test", "venv", "site", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "this"))
# In the library of other versions of Python than the one that runs this.
_ELSEWHERE = words(
    "asynchat asyncore binhex cgi cgitb chunk crypt distutils formatter imghdr imp macpath mailcap msilib nis "
    "nntplib ossaudiodev parser pipes smtpd sndhdr spwd sunau symbol telnetlib uu xdrlib annotationlib "
    "compression _colorize _pyrepl _strptime _compat_pickle _py_warnings pathlib tomllib zoneinfo graphlib "
    "_android_support _ios_support _pylong _opcode_metadata _ast_unparse concurrent string importlib"
)
_SUFFIXES = (".py", ".pyc", ".so", ".pyd", ".pyw")


def shadowed(folder: str, modules: str, facts: Facts, items: list[Item]) -> str:
    """Why a program that starts in a folder may load something that is not its library's; "" if it does not."""
    here = "" if folder == "/" else folder
    # The pattern is the one that was asked for, bracketed where the folder's name holds signs of patterns.
    pattern = next((p for p in facts.globs if p[-2:] == "/*" and _plain(p[:-2]) == here), "")
    names = facts.globs.get(pattern) if pattern else None
    if names is None:
        return "the folder may hold a module of the same name"
    known = _ELSEWHERE.union(sys.stdlib_module_names, modules.split()) - _APART.difference(modules.split())
    start = len(here) + 1
    for path in names:
        stem, dot, _ = path[start:].partition(".")
        if stem in known and _loads(path, dot, facts):
            return f"{path[start:]} may be loaded as the module {stem}"
    for item in items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.kind == "write" and _may_make(effect, here, known):
            return "a module of the same name may have been written before"
    return ""


def _plain(pattern: str) -> str:
    return pattern.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[")


def _loads(path: str, dot: str, facts: Facts) -> bool:
    fact = facts.paths.get(path)
    if fact is None or fact.kind != "dir":
        return path.endswith(_SUFFIXES) or (not dot and (fact is None or fact.kind == "unknown"))
    if dot:
        return False
    name = path.rpartition("/")[2]
    if name not in FOLDERS:
        return True
    inside = next((p for p in facts.globs if p.endswith(f"/{name}/__init__.*") and _plain(p[:-11]) == path), "")
    return not inside or facts.globs[inside] != ()


def _may_make(effect: Touch, here: str, known: frozenset[str]) -> bool:
    path = effect.path
    if effect.tree and (here + "/").startswith(path.rstrip("/") + "/"):
        return True
    if not path.startswith(here + "/"):
        return path[:1] == HOLE
    name = path[len(here) + 1 :].partition("/")[0]
    return HOLE in name or name.partition(".")[0] in known
