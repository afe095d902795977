"""Files of the workspace that hold secrets, as far as their names and a bounded look at what git ignores tell.

A call that reaches a host, and in which a rule lets run what nobody has seen, could carry them away, so it does not see
them: the plan hides what is found here. Policy's own denies (`secret-files`) hold in every call and are
not repeated. Packages that were installed are left out: their certificates are everybody's.
"""

from __future__ import annotations

from fnmatch import translate
from re import compile as compiled

from gateway.core.value import Value
from gateway.policy import paths
from gateway.policy.secret_names import NAMES
from gateway.sandbox.survey_results import Found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gateway.host.base import Host

# In these it is the content: most hold settings alone. The last folder counts as well where one is named.
BY_CONTENT = (".npmrc", ".yarnrc.yml", "pip.conf", "nuget.config", ".git/config", ".kube/config")
# What packagers and compilers make. Nobody writes secrets there, and there are more files than anybody can look into.
MADE = frozenset((
    "node_modules", ".venv", "venv", "site-packages", "target", "dist", "build", "out", "__pycache__", ".git", ".tox",
    ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next", ".nuxt", ".terraform", ".cache",
    "vendor", "bower_components", "coverage", "Pods", "DerivedData", "_build", "deps",
))  # fmt: skip
MAX_FOLDERS = 20_000
MAX_FILES = 400  # that are looked into
MAX_CHARACTERS = 64 * 1024  # of one of them; a longer file is data
_MAX_RULES = 200

_NAMED = compiled("|".join(translate(each.lower()) for each in NAMES))


class WorkspaceSecrets:
    """Looks for the secrets of workspaces. What a file holds is remembered until the file changes."""

    def __init__(self, host: Host, holds_secret: Callable[[str], bool]) -> None:
        """`holds_secret`: whether a text does."""
        self._host = host
        self._holds = holds_secret
        self._known: dict[str, tuple[object, bool]] = {}

    def look(self, roots: Iterable[str], shown: Any) -> Found:
        """What lies below some folders. `shown`: an index of patterns of what is left out, None for nothing."""
        look = _Look(self, self._host, shown)
        for root in roots:
            look.tree(root)
        return Found(tuple(sorted(look.found)), look.whole)

    def holds(self, path: str) -> bool:
        """Whether a small text file holds a secret."""
        try:
            stamp = self._host.stamp(path)
        except OSError:
            return False
        known = self._known.get(path)
        if known is None or known[0] != stamp or stamp[0] == 0:
            text = self._host.read(path)
            secret = bool(text) and len(text) <= MAX_CHARACTERS and "\0" not in text and self._holds(text)
            if len(self._known) >= MAX_FOLDERS:
                self._known.clear()
            known = self._known[path] = stamp, secret
        return known[1]


class _Look:
    """One look; one use."""

    def __init__(self, secrets: WorkspaceSecrets, host: Host, shown: Any) -> None:
        self._secrets = secrets
        self._host = host
        self._shown = shown
        self.found: dict[str, None] = {}
        self.whole = True
        self._folders = 0
        self._files = 0

    def tree(self, root: str) -> None:
        pending: list[tuple[str, tuple[_Ignored, ...], bool]] = [(root, (), False)]
        while pending:
            folder, rules, ignored = pending.pop()
            self._folders += 1
            if self._folders > MAX_FOLDERS:
                self.whole = False
                return
            try:
                entries = self._host.entries(folder)
            except OSError:
                continue  # nobody sees what lies there
            above = folder.rstrip("/") + "/"
            kinds = dict(entries)
            for name in (".gitignore", ".git/info/exclude"):
                more = _ignored(self._host.read(above + name), folder) if name.partition("/")[0] in kinds else None
                rules = rules if more is None else (*rules, more)
            if ".git" in kinds:
                self._file(f"{above}.git/config", ".git/config", ignored=False)
            for name, kind in entries:
                path = above + name
                if kind == "dir":
                    if name not in MADE:
                        pending.append((path, rules, ignored or _is_ignored(rules, path)))
                elif kind == "file":
                    self._file(path, f"{folder[folder.rfind('/') + 1 :]}/{name}", ignored or _is_ignored(rules, path))

    def _file(self, path: str, tail: str, ignored: bool) -> None:
        """Notes one file. `tail`: its name behind its folder's."""
        if self._shown is not None and paths.lookup(self._shown, path, folder=False):
            return
        name = tail[tail.rfind("/") + 1 :]
        if _NAMED.match(name.lower()):
            self.found[path] = None
        elif ignored or name.lower() in BY_CONTENT or tail in BY_CONTENT:
            self._files += 1
            if self._files > MAX_FILES:
                self.whole = False
            elif self._secrets.holds(path):
                self.found[path] = None


class _Ignored(Value):
    """What one file of git's says is ignored, and what it takes back."""

    ignored: Any
    taken_back: Any


def _ignored(text: str, folder: str) -> _Ignored | None:
    """The rules of a `.gitignore`; None where it has none. One that cannot be read as a pattern is left out."""
    lists: tuple[list[tuple[str, int]], list[tuple[str, int]]] = [], []
    for line in text.splitlines()[:_MAX_RULES]:
        pattern = line.rstrip()
        if not pattern or pattern[0] == "#":
            continue
        back = pattern[0] == "!"
        try:
            normal = paths.normalise(pattern[back:], base=folder, layer_root=folder, home=folder)
            paths.build([(normal, 0)])
        except ValueError:
            continue
        lists[back].append((normal, 0))
    if not lists[0]:
        return None
    return _Ignored(paths.build(lists[0]), paths.build(lists[1]) if lists[1] else None)


def _is_ignored(rules: tuple[_Ignored, ...], path: str) -> bool:
    """Whether git ignores a path by the deepest file that speaks of it. What is taken back counts as kept."""
    for each in reversed(rules):
        if each.taken_back is not None and paths.lookup(each.taken_back, path):
            return False
        if paths.lookup(each.ignored, path):
            return True
    return False
