"""A machine that exists only on paper: what rule examples, policy tests and the corpus are judged against.

`FrozenHost` answers the same questions as `gateway.host.base.Host`, from a mapping instead of a disk:

    {home: /home/dev, root: /home/dev/project, branch: main,
     files: [src/main.py, /etc/passwd], folders: [build], links: {out: /tmp/x},
     remotes: {origin: "https://git.example.com/x.git"}, contents: {.git/info: text}, untrusted_programs: [git],
     stand_ins: [node], untracked: [.env], environment: {GIT_DIR: x}}

Relative paths start at `root`, a link's relative target at the link's folder. Folders are those that the files
imply. A folder with `.git/HEAD` is a repository; the one at `root` has the branch and the remotes. Every program
is found as `/usr/bin/<name>`, except untrusted ones, which lie in a folder of the project, and `stand_ins`, which
a version manager starts. Where `untracked` is given,
git keeps all other files of the project; else nobody can tell what it keeps.
"""

from __future__ import annotations

import re
from fnmatch import translate
from posixpath import dirname, join, normpath

from gateway.core.links import way
from gateway.core.value import Value
from gateway.host.bounds import MAX_GLOB_MATCHES
from gateway.model.facts import PathFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.host.bounds import Entries

_MOST_KEPT = 4096
_SPECIAL = ("*", "?", "[")


class World(Value):
    """Where a frozen host's session stands, and the host itself."""

    home: str
    root: str
    host: FrozenHost


class FrozenHost:
    """The answers of one frozen machine. The same question always gets the same answer; no disk is looked at."""

    def __init__(self, world: Mapping[str, Any]) -> None:
        root = str(world["root"])
        self._root = root
        self._untrusted = frozenset(world.get("untrusted_programs", ()))
        self._stand_ins = frozenset(world.get("stand_ins", ()))
        self._links = {self._place(link): str(target) for link, target in (world.get("links") or {}).items()}
        self._files = {self._place(path) for path in world.get("files", ())}
        self._contents = {self._place(path): str(text) for path, text in (world.get("contents") or {}).items()}
        self._files.update(self._contents)
        self._folders = {"/", root, str(world["home"]), *map(self._place, world.get("folders", ()))}
        for path in (*self._files, *self._links, *self._folders):
            while (path := dirname(path)) not in self._folders:
                self._folders.add(path)
        # What is neither a link nor behind one leads nowhere else.
        self._behind_links = tuple(f"{link}/" for link in self._links)
        plain = (path for path in (*self._files, *self._folders) if not f"{path}/".startswith(self._behind_links))
        self._plain = {path: PathFact(path, "dir" if path in self._folders else "file") for path in plain}
        self._untracked = None if "untracked" not in world else {self._place(path) for path in world["untracked"]}
        self._everything = sorted({*self._files, *self._links, *self._folders})
        self._names_in: dict[str, list[str]] = {}
        for path in self._everything:
            if path != "/":
                self._names_in.setdefault(dirname(path), []).append(path[path.rfind("/") + 1 :])
        self._asked: dict[str, PathFact | None] = {}
        self._matched: dict[str, tuple[str, ...] | None] = {}
        self._index = self._kept_by_git()
        self._branch = str(world.get("branch") or "")
        self._environment = {str(name): str(value) for name, value in (world.get("environment") or {}).items()}
        self._remotes = dict(world.get("remotes") or {})

    def variable(self, name: str) -> str:
        """A variable of the environment."""
        return self._environment.get(name, "")

    def _place(self, path: str) -> str:
        return normpath(join(self._root, path))

    def path(self, path: str) -> PathFact | None:
        """Where a path leads, every link on the way followed; None for a loop of links or no absolute path."""
        if path in self._plain:
            return self._plain[path]
        if path not in self._asked:
            if len(self._asked) >= _MOST_KEPT:
                self._asked.clear()
            self._asked[path] = self._follow(path)
        return self._asked[path]

    def _follow(self, path: str) -> PathFact | None:
        if not path.startswith("/") or "\0" in path:
            return None
        if normpath(path) == path and not f"{path}/".startswith(self._behind_links):
            return PathFact(path, "missing")  # what is there is known without a look
        real, _steps = way(path, self.link)
        if not real:
            return None
        return PathFact(real, "dir" if real in self._folders else "file" if real in self._files else "missing")

    def glob(self, pattern: str, _entries: Entries | None = None) -> tuple[str, ...] | None:
        """Paths that an absolute pattern matches, sorted; None where the real host's bound would be hit."""
        if pattern not in self._matched:
            if len(self._matched) >= _MOST_KEPT:
                self._matched.clear()
            found = [""]
            for segment in pattern.split("/")[1:]:
                found = [path for folder in found for path in self._children(folder, segment)]
            self._matched[pattern] = tuple(sorted(found)) if len(found) <= MAX_GLOB_MATCHES else None
        return self._matched[pattern]

    def _children(self, folder: str, segment: str) -> Iterator[str]:
        if not any(special in segment for special in _SPECIAL):
            path = f"{folder}/{segment}"
            fact = self.path(path)
            if path in self._links or (fact is not None and fact.kind != "missing"):
                yield path
            return
        matches = re.compile(translate(segment)).match
        for name in self._names(folder):
            if matches(name) and (name[0] != "." or segment[0] == "."):
                yield f"{folder}/{name}"

    def _names(self, folder: str) -> list[str]:
        fact = self.path(folder or "/")
        if fact is None or fact.kind != "dir":
            return []
        return self._names_in.get(fact.real, [])

    def program(self, name: str, _path: str) -> str:
        """`/usr/bin/<name>`, or a file of the project for a program that is not to be trusted."""
        if name in self._stand_ins:
            return f"/home/shims/{name}"
        return f"{self._root}/bin/{name}" if name in self._untrusted else f"/usr/bin/{name}"

    def read(self, path: str) -> str:
        """The text of a file: what the world gives, or what a repository's HEAD and configuration would hold."""
        fact = self.path(path)
        if fact is None or fact.kind != "file":
            return ""
        real = fact.real
        if real in self._contents:
            return self._contents[real]
        own = real.startswith(f"{self._root}/.git/")
        if real.endswith("/.git/HEAD"):
            branch = self._branch if own else "main"
            return f"ref: refs/heads/{branch}\n" if branch else ""
        if own and real == f"{self._root}/.git/config":
            return "".join(f'[remote "{name}"]\n\turl = {url}\n' for name, url in self._remotes.items())
        return ""

    def is_empty(self, path: str) -> bool:
        """Whether there is a file that holds nothing: one whose content the world does not give."""
        fact = self.path(path)
        return fact is not None and fact.kind == "file" and not self.read(path)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder, links followed."""
        fact = self.path(path)
        return fact is not None and fact.kind == "dir"

    def is_missing(self, path: str) -> bool:
        """Whether nothing stands under a name, not even a link."""
        fact = self.path(path)
        return path not in self._links and fact is not None and fact.kind == "missing"

    def is_link(self, path: str) -> bool:
        """Whether a name is a link, wherever it leads."""
        return path in self._links

    def link(self, path: str) -> str:
        """What a link says, "" where a name is none."""
        return self._links.get(path, "")

    def is_superuser(self) -> bool:
        """Never: on paper nobody is."""
        return False

    def is_private(self, _path: str) -> bool:
        """Never: on paper files have no modes."""
        return False

    def stamp(self, path: str) -> tuple[int, int, int, int]:
        """Always the same for what is there: nothing changes here. Raises FileNotFoundError where nothing is."""
        if path not in self._folders and path not in self._files and path not in self._links:
            raise FileNotFoundError(path)
        return (0, 0, 0, 0)

    def entries(self, folder: str) -> list[tuple[str, str]]:
        """The names in a folder, each with its kind: dir, file or link. Raises FileNotFoundError for no folder."""
        fact = self.path(folder)
        if fact is None or fact.kind != "dir":
            raise FileNotFoundError(folder)
        inside = fact.real.rstrip("/") + "/"
        return [
            (name, "link" if inside + name in self._links else "dir" if inside + name in self._folders else "file")
            for name in self._names(folder)
        ]

    def data(self, path: str) -> bytes:
        """Of the project's index what is asked of one: its first signs, and the names of the files that git keeps."""
        return self._index if path == f"{self._root}/.git/index" else b""

    def _kept_by_git(self) -> bytes:
        if self._untracked is None:
            return b""
        below = f"{self._root}/"
        inside = (file for file in self._files - self._untracked if file.startswith(below))
        kept = sorted(file for file in inside if not file.startswith(f"{below}.git/"))
        return b"DIRC\0\0\0\2" + b"\0".join(file[len(below) :].encode() for file in kept) + b"\0"

    def below(self, tree: str, *, hidden: bool = True) -> Iterator[str]:
        """Every path below a folder, without following links; `hidden`: with what starts with a dot."""
        fact = self.path(tree)
        if fact is None or fact.kind != "dir":
            return
        prefix = fact.real.rstrip("/") + "/"
        for path in self._everything:
            if path.startswith(prefix) and path != prefix:
                below = path[len(prefix) :]
                if hidden or not any(name.startswith(".") for name in below.split("/")):
                    yield tree.rstrip("/") + "/" + below


def world(description: Mapping[str, Any]) -> World:
    """A world from its description; `home` and `root` are required, everything else may be missing."""
    return World(str(description["home"]), str(description["root"]), FrozenHost(description))


EXAMPLE: Mapping[str, Any] = {
    "home": "/home/dev",
    "root": "/home/dev/project",
    "branch": "main",
    "remotes": {"origin": "https://git.example.com/dev/project.git"},
    "files": [
        ".git/HEAD",
        ".git/config",
        "README.md",
        "src/main.py",
        "/etc/passwd",
    ],
}
"""The one world that the examples of rules are judged in: a project root, branch `main`, no links."""
