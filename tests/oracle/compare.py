"""Whether everything that was done was predicted."""

from __future__ import annotations

import os
import re
from posixpath import normpath
from typing import TYPE_CHECKING, Any, NamedTuple

from oracle import tolerated
from oracle.place import HOME, TEMP

if TYPE_CHECKING:
    from oracle.tracer import Event, Frame

HOLE = "\0"


class Compared(NamedTuple):
    """`surprises`: what was done and not predicted. `seen`: how many effects were compared, `beyond`: how many lay
    below code that nobody claims to know, `linked`: how many led out of a tree by a link in it."""

    surprises: tuple[str, ...]
    seen: int
    beyond: int
    linked: int


def compare(events: list[Event], predicted: dict[str, Any]) -> Compared:
    """Holds what was done against what was predicted."""
    judge = _Judge(events, predicted)
    surprises: list[str] = []
    seen = beyond = 0
    for index, event in enumerate(events):
        if judge.is_unknown(event):
            beyond += 1
            continue
        seen += 1
        if not judge.expected(index, event):
            target = judge.target(event)
            what = event.frame.line() if event.kind == "exec" else target
            by = (event.frame.parent or event.frame) if event.kind == "exec" else event.frame
            surprises.append(f"{event.kind} {what} [by {by.line()[:80]}]")
    return Compared(tuple(dict.fromkeys(surprises)), seen, beyond, judge.behind_links)


def paths_of(events: list[Event]) -> list[str]:
    """The paths whose links somebody has to follow before they can be compared."""
    return list(dict.fromkeys(event.path for event in events if event.path.startswith("/")))


class _Judge:
    def __init__(self, events: list[Event], predicted: dict[str, Any]) -> None:
        self.events = events
        self.parts: list[dict[str, Any]] = predicted["parts"]
        self.effects: list[dict[str, Any]] = predicted["effects"]
        self.reals: dict[str, list[Any]] = predicted["reals"]
        self.all_unknown, self.code = self._unknown()
        self.cwd: str = predicted["cwd"]
        self.touches = [
            (effect["kind"], _pattern(piece, effect["tree"]))
            for effect in self.effects
            if effect["kind"] in ("list", "read", "write", "delete")
            for path in _places(effect)
            for piece in ((path, *path.split()) if HOLE in path else (path,))  # an unknown may be several words
        ]
        self.credentials = [
            _pattern(effect["path"] or tolerated.LOGIN.replace("~", HOME), True)
            for effect in self.effects
            if effect["kind"] == "credential"
        ]
        # A device that another file takes the place of is predicted to be taken away.
        self.replaced = [
            effect["path"] for effect in self.effects if effect["kind"] == "delete" and effect["path"][:5] == "/dev/"
        ]
        self.written = [effect["real"] or effect["path"] for effect in self.effects if effect["kind"] == "write"]
        self.behind_links = 0
        self.known_frames: dict[int, bool] = {}

    def _unknown(self) -> tuple[bool, list[dict[str, Any]]]:
        """Whether the shell itself does what nobody knows, and the commands that do."""
        code = []
        for effect in self.effects:
            if effect["kind"] == "env" and effect["access"] == "set":
                return True, []  # what a loader or a shell takes from its environment is anybody's code
            if effect["kind"] not in ("code", "opaque"):
                continue
            if effect["part"] < 0:
                return True, []
            part = self.parts[effect["part"]]
            if part["shell"]:
                return True, []
            code.append(part)
        return False, code

    def is_unknown(self, event: Event) -> bool:
        """Whether it happened in, or was done by a child of, a command that is called unknown."""
        if self.all_unknown:
            return True
        frame: Frame | None = event.frame
        while frame is not None:
            known = self.known_frames.get(id(frame))
            if known is None:
                known = self.known_frames[id(frame)] = any(_is_run_of(frame, part) for part in self.code)
            if known:
                return True
            frame = frame.parent
        return False

    def target(self, event: Event) -> str:
        if event.led or event.path not in self.reals:
            return event.led or event.path
        real: str = self.reals[event.path][0]
        return real

    def expected(self, index: int, event: Event) -> bool:
        if event.kind == "exec":
            return self._program(event.frame)
        if event.kind in ("connect", "listen"):
            return self._connection(event)
        path = self.target(event)
        if path.startswith(tolerated.STREAMS) or (path.startswith("/proc/") and path.endswith(tolerated.OWN_PROCESS)):
            return True
        names = event.frame.names
        if any(_is_below(path, each) for name in names for each in tolerated.OWN_STATE.get(name, ())):
            return True
        if event.kind in ("read", "list"):
            return self._reading(event, path)
        return self._writing(index, event, path)

    def _covered(self, kinds: tuple[str, ...], path: str) -> bool:
        return any(kind in kinds and pattern.fullmatch(path) for kind, pattern in self.touches)

    def _born(self, path: str) -> bool:
        """Whether the call itself made what is there; that it did is compared for itself."""
        return any(
            self.target(each) == path and each.kind in ("write", "mkdir") and not self.reals.get(each.path, _THERE)[2]
            for each in self.events
        )

    def _reading(self, event: Event, path: str) -> bool:
        system = path == "/" or any((path + "/").startswith(each + "/") for each in tolerated.SYSTEM)
        if system and not path.startswith(tolerated.NOT_SYSTEM):
            return True
        if self._covered(("read",), path) or any(pattern.fullmatch(path) for pattern in self.credentials):
            return True
        if self._is_behind_a_link(event, path):
            self.behind_links += 1
            return True
        if self._born(path) or (event.update and self._covered(("write",), path)):
            return True
        names = event.frame.names
        folder = self.reals.get(event.path, _THERE)[1]
        if event.kind == "read" and folder:
            return True  # opened, not listed
        if names & {*tolerated.OPENS_WHAT_IT_MOUNTS} and any(each["kind"] == "system" for each in self.effects):
            return True
        if (event.kind == "list" or names & {*tolerated.COMPARES, *tolerated.OPENS_TO_ASK}) and self._covered(
            ("list", "write", "delete"), path
        ):
            return True
        if event.kind == "list" and (
            (path in [each for name in names for each in tolerated.LISTS.get(name, ())])
            or (names & {*tolerated.FINDS_MODULES} and path == self.cwd)
            or (names & {*tolerated.COMPARES, *tolerated.EXPANDS} and self._is_on_the_way(path))
        ):
            return True
        return (
            any(store in path + "/" for name, store in tolerated.OWN_STORE.items() if _is_of(name, names))
            or any(
                path == each.replace("~", HOME)
                for name, files in tolerated.OWN_FILES.items()
                if _is_of(name, names)
                for each in files
            )
            or any(
                os.path.basename(path) in files for name, files in tolerated.OWN_NAMES.items() if _is_of(name, names)
            )
        )

    def _is_behind_a_link(self, event: Event, path: str) -> bool:
        """Whether a link that lies somewhere below a tree led there. Only what is below the tree is shown to a confined
        call; for one that is not, what lies behind links is looked for."""
        asked = normpath(event.path)
        return path != asked and any(
            effect["kind"] == "read" and (effect["tree"] or HOLE in effect["path"])
            and _pattern(effect["real"] or effect["path"], effect["tree"]).fullmatch(asked)
            for effect in self.effects
        )  # fmt: skip

    def _is_on_the_way(self, folder: str) -> bool:
        """Whether something below the folder was predicted to be touched."""
        return any(
            path.startswith((folder.rstrip("/") + "/", HOLE))
            for effect in self.effects
            if effect["kind"] in ("list", "read", "write", "delete")
            for path in (effect["real"], effect["path"])
        )

    def _writing(self, index: int, event: Event, path: str) -> bool:
        names = event.frame.names
        if any(path.endswith(tolerated.RENEWED.get(name, ())) for name in names):
            return True
        if event.kind == "delete":
            return (
                self._covered(("delete",), path)
                or self._born(path)
                or self._replaced(event, path)
                or bool(names & {*tolerated.TAKES_BACK} and self._covered(("write",), path))
                or bool(names & {*tolerated.TAKES_EMPTIED} and self._is_emptied(event, path))
                or self._is_packed(names, path)
            )
        if self._covered(("write",), path) or self._is_passing(index, event, path):
            return True
        if names & {*tolerated.OPENS_FOR_BOTH} and self._covered(("read",), path):
            return True
        if names & {*tolerated.FILLS_IN}:
            return any(re.fullmatch(re.sub(r"X{3,}", r"\\w+", re.escape(each)), path) for each in self.written)
        return event.kind == "mkdir" and any((each + "/").startswith(path + "/") for each in self.written)

    def _is_passing(self, index: int, event: Event, path: str) -> bool:
        """Whether it is a file of the program's own, under a name that nobody had: in the temporary folder, or beside
        or below what is written until it takes that name or is removed."""
        if not (event.own or self._born(path)):
            return False
        if path.startswith((TEMP + "/", "/var/tmp/")):
            return any(each.own and self.target(each) == path for each in self.events)
        folder = os.path.dirname(path)
        beside = any(folder == os.path.dirname(each) or folder == each for each in (*self.written, *self.replaced))
        gone = any(each.kind == "delete" and self.target(each) == path for each in self.events[index:])
        return beside and (gone or event.refused)

    def _replaced(self, event: Event, path: str) -> bool:
        """Taken away to be made anew, which is how some programs write."""
        return self._covered(("write",), path) and (
            event.refused or any(each.kind in ("write", "mkdir") and self.target(each) == path for each in self.events)
        )

    def _is_packed(self, names: set[str], path: str) -> bool:
        """Whether it lies in a store that its program may write, where it keeps the same in another form."""
        folders = [folder for name in names for folder in tolerated.PACKS.get(name, ())]
        return self._covered(("write",), path) and any(folder in path for folder in folders)

    def _is_emptied(self, event: Event, path: str) -> bool:
        """Whether it is a folder, and something in it was predicted to be deleted."""
        deleted = [each for effect in self.effects if effect["kind"] == "delete" for each in _places(effect)]
        return bool(self.reals.get(event.path, _THERE)[1]) and any(each.startswith(path + "/") for each in deleted)

    def _program(self, frame: Frame) -> bool:
        names = frame.names
        for part in self.parts:
            first = part["argv"][0] if part["argv"] else HOLE
            if not (HOLE in first or os.path.basename(first) in names or part["program"] in names):
                continue
            if not part["literal"] or not frame.whole or tuple(part["argv"][1:]) == frame.argv[1:]:
                return True
        above = frame.parent
        while above is not None:
            # A module that Python runs is the program that bears its name.
            called = {*above.names, *above.argv[2:3]} if above.argv[1:2] == ("-m",) else above.names
            if any(names & {*parts} for name, parts in tolerated.PARTS_OF.items() if _is_of(name, called)):
                return True
            if any(_is_of("git", above.names) and _is_of("git", {name}) for name in names):
                return True
            above = above.parent
        return False

    def _connection(self, event: Event) -> bool:
        names = event.frame.names
        if event.path.startswith(tuple(each for name in names for each in tolerated.SERVICES.get(name, ()))):
            return True
        if not event.path.startswith(("/", "@")):
            return bool(event.kind == "connect" and names & {*tolerated.ASKS_HOME}) or any(
                effect["kind"] == "push"
                or (effect["kind"] == "connect" and (event.kind == "connect" or effect["direction"] == "listen"))
                for effect in self.effects
            )
        if event.path.startswith(tolerated.SOCKETS):
            return True
        return self._covered(("read", "write"), self.target(event)) or any(
            effect["kind"] in ("connect", "credential", "system") for effect in self.effects
        )


# Of a path that nobody asked about: where it leads is known, it is no folder, and it was there.
_THERE = ("", False, True)


def _is_of(name: str, names: set[str]) -> bool:
    """Whether a program is that one, or one of the programs that it consists of (`git-remote-https`)."""
    return any(each == name or (name == "git" and each.startswith("git-")) for each in names)


def _is_below(path: str, place: str) -> bool:
    full = place.replace("~", HOME)
    return path.startswith(full) or path + "/" == full


def _places(effect: dict[str, Any]) -> list[str]:
    """What an effect names. To take away or make a name does not follow the link that it is."""
    real, path = effect["real"], effect["path"]
    return [real or path] if effect["kind"] in ("list", "read") or not real else [real, path]


def _pattern(path: str, tree: bool) -> re.Pattern[str]:
    if HOLE in path and "/.." in path:
        path = path[: path.index(HOLE) + 1]  # what is above an unknown folder is unknown too
    text = ".*".join(re.escape(piece) for piece in path.split(HOLE))
    below = "(?:/.*)?" if path != "/" else ".*"
    return re.compile(text.rstrip("/") + below if tree else text, re.DOTALL)


def _is_run_of(frame: Frame, part: dict[str, Any]) -> bool:
    argv = part["argv"]
    if not argv or not frame.argv:
        return False
    if HOLE not in argv[0] and os.path.basename(argv[0]) not in frame.names:
        return False
    return not part["literal"] or not frame.whole or tuple(argv[1:]) == frame.argv[1:]
