"""Glob and Grep: what lies below a folder, by name and by content, without what the caller may not read.

Ripgrep finds; what it found is shown only after policy was asked about the file and the file was opened again below
the folder that was judged. So neither a rule nor a link that appears meanwhile is got round: a line that is shown was
read from a descriptor of a file that may be read.
"""

from __future__ import annotations

import os
import sys

from gateway.calls.output import Failure, Output, Text
from gateway.handlers import ripgrep
from gateway.handlers.globbing import matcher
from gateway.handlers.search_folder import MOST_DEEP, Place
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.calls.work import Work
    from gateway.model.call import Call

# Entries that are shown where a call does not say how many.
USUAL_ENTRIES = 250
SECONDS = 60.0
# Names of all that was looked through; more are no result for anybody.
MOST_NAMES = 256 << 20
MOST_LINES = 16 << 20
MOST_COLUMNS = 2_000
_BATCH = 100
# The insides of version control are no files of the project.
_STORES = (".git", ".hg", ".svn", ".bzr", ".jj", ".sl")
# Hidden files are files; what ignore files name is left out.
_WALK = ("--hidden", "--null", *(f"--glob=!{name}" for name in _STORES))
_PAGE = "Narrow the search"
_DEEPER = f"(What lies more than {MOST_DEEP} folders deep is left out. Name a folder nearer to it.)"
_UNREAD = "(The system did not let everything be read.)"


def glob(call: Call, work: Work) -> Output:
    """The files below a folder whose path matches, the most recently changed first."""
    pattern, folder = call.input["pattern"], call.input["path"]
    try:
        wanted = matcher(pattern)
    except ValueError as error:
        raise Failure(f"`pattern`: {error}.") from error
    with Place(folder, work) as place:
        if place.name:
            raise Failure(f"`{folder}` is a file.", "Name a folder, or use Read.")
        ran, names = _below(place, ("--files", *_WALK), (), work)
        found = [each for each in names if wanted(each)]
        shown = _Shown(place, work)
        newest = shown.newest(found)
        paths = _firsts(newest, USUAL_ENTRIES + 1)
    more = len(paths) > USUAL_ENTRIES
    paths = [shown.name(each) for each in paths[:USUAL_ENTRIES]]
    told = list(paths) or ["No files found."]
    if more:
        told.append(f"(Cut after {USUAL_ENTRIES} files. {_PAGE}: use a longer pattern or a deeper folder.)")
    if shown.has_deeper:
        told.append(_DEEPER)
    if ran.incomplete:
        told.append(_UNREAD)
    if ran.cut:
        told.append(f"(Not everything was looked through: {ran.cut}. {_PAGE}.)")
    return Output((Text("\n".join(told)),), {"files": paths, "truncated": more or bool(ran.cut)})


def grep(call: Call, work: Work) -> Output:
    """What ripgrep finds: files, lines or counts."""
    given = call.input
    mode = given["output_mode"]
    limit = given.get("head_limit", USUAL_ENTRIES)
    skip = given["offset"]
    with Place(given["path"], work) as place:
        shown = _Shown(place, work)
        if place.name:
            found: Iterable[str] = shown.allowed([place.name])
        else:
            options = "--files-with-matches", *_WALK, *_narrowed(given, place), *_asked(given)
            ran, names = _below(place, options, ("--",), work)
            shown.cut, shown.unread = ran.cut, ran.incomplete
            found = shown.newest(names) if mode == "files_with_matches" else shown.allowed(sorted(names))
        look = {"content": _lines, "count": _counts}.get(mode, _files)
        entries = _Entries(skip, limit)
        for each in look(found, shown, given, work, skip + limit + 1 if limit else 0):
            if not entries.take(each):
                break
    return _told(entries, mode, shown)


class _Entries:
    """A page of what was found."""

    def __init__(self, skip: int, limit: int) -> None:
        self.taken: list[str] = []
        self.skip = skip
        self.limit = limit
        self.seen = 0
        self.size = 0
        self.more = False

    def take(self, entry: str) -> bool:
        """Whether there is room for another one."""
        self.seen += 1
        if self.seen <= self.skip:
            return True
        if (self.limit and len(self.taken) >= self.limit) or self.size > MOST_LINES:
            self.more = True
            return False
        self.taken.append(entry)
        self.size += len(entry) + 1
        return True


def _told(entries: _Entries, mode: str, shown: _Shown) -> Output:
    told = list(entries.taken)
    if not told:
        told.append("No more matches." if entries.skip and entries.seen else "No matches found.")
    if entries.more:
        following = entries.skip + len(entries.taken)
        told.append(f"(Cut after {len(entries.taken)} entries. `offset: {following}` shows the next ones.)")
    if shown.cut:
        told.append(f"(Not everything was searched: {shown.cut}. {_PAGE} with `path`, `glob` or `type`.)")
    if shown.has_deeper:
        told.append(_DEEPER)
    if shown.unread:
        told.append(_UNREAD)
    key = {"content": "lines", "count": "counts"}.get(mode, "files")
    return Output((Text("\n".join(told)),), {key: entries.taken, "truncated": entries.more or bool(shown.cut)})


class _Shown:
    """What of the files that were found may be shown, and how."""

    def __init__(self, place: Place, work: Work) -> None:
        self.place = place
        self._may_read = work.may_read
        self.cut = ""  # why not everything was looked at
        self.unread = False  # whether something could not be read
        self.has_deeper = False  # whether something that may be read lies too deep
        cwd = work.context.cwd.rstrip("/") + "/"
        asked = place.asked.rstrip("/")
        if place.name:
            self._single = place.asked.removeprefix(cwd)
        else:
            self._start = "" if asked + "/" == cwd else (asked + "/").removeprefix(cwd)

    def name(self, found: str) -> str:
        """A path as the model may write it: from the working folder where it lies there, else absolute."""
        return visible(self._single if self.place.name else self._start + found)

    def newest(self, found: Iterable[str]) -> Iterator[str]:
        """Those that may be read, the most recently changed first, then by name."""
        place, dated, deep = self.place, [], []
        for each in found:
            if place.is_too_deep(each):
                deep.append(each)
            elif (stamp := place.changed_ns(each)) >= 0:
                dated.append((-stamp, each))
        return self.allowed([*deep, *(each for _stamp, each in sorted(dated))])

    def allowed(self, found: Iterable[str]) -> Iterator[str]:
        """Those that may be read. Asked one by one, and only for as many as are wanted."""
        for each in found:
            is_too_deep = self.place.is_too_deep(each)
            if is_too_deep and self.has_deeper:
                continue
            if all(self._may_read(path) for path in self.place.paths(each)):
                if is_too_deep:  # said only of what may be read
                    self.has_deeper = True
                else:
                    yield each


def _below(place: Place, options: Iterable[str], end: Iterable[str], work: Work) -> tuple[ripgrep.Ran, list[str]]:
    """Searches all that lies below a folder; and the names that were printed. `end`: what ends the options."""
    folder, keep = (place.folder, ()) if not place.top else (None, (place.folder,))
    ran = ripgrep.run(
        (*options, *end, place.top or "./"),
        folder=folder, keep=keep, seconds=SECONDS, most=MOST_NAMES, cancel=work.cancel,
    )  # fmt: skip
    found = os.fsdecode(ran.output).split("\0")
    return ran, [each.removeprefix(place.top or "./") for each in found if each]


def _narrowed(given: Any, place: Place) -> list[str]:
    """Which files are searched."""
    options = []
    if "glob" in given:
        glob = given["glob"]
        if place.top and "/" in glob.rstrip("/"):  # such a pattern starts at the working folder
            glob = "!" * glob.startswith("!") + place.top + glob.removeprefix("!").lstrip("/")
        options.append(f"--glob={glob}")
        options += _WALK[2:]  # of patterns that disagree the last one counts
    if "type" in given:
        options.append(f"--type={given['type']}")
    return options


def _asked(given: Any) -> list[str]:
    """What is searched for."""
    options = [f"--regexp={given['pattern']}"]
    if given["-i"]:
        options.append("--ignore-case")
    if given["multiline"]:
        options += ["--multiline", "--multiline-dotall"]
    return options


def _files(found: Iterable[str], shown: _Shown, given: Any, work: Work, _most: int) -> Iterator[str]:
    options = ("--files-with-matches", "--null", *_asked(given))
    for names, output in _again(found, shown, options, work):
        matching = {_number(each) for each in output.split(b"\0") if each}
        yield from (shown.name(name) for number, name in names.items() if number in matching)


def _counts(found: Iterable[str], shown: _Shown, given: Any, work: Work, _most: int) -> Iterator[str]:
    options = ("--count-matches", "--null", "--with-filename", *_asked(given))
    for names, output in _again(found, shown, options, work):
        counts = {}
        for line in output.splitlines():
            path, _, count = line.partition(b"\0")
            counts[_number(path)] = count.decode("ascii", "replace")
        yield from (f"{shown.name(name)}:{counts[number]}" for number, name in names.items() if number in counts)


def _lines(found: Iterable[str], shown: _Shown, given: Any, work: Work, most: int) -> Iterator[str]:
    """Matching lines as `path:number:text`, those around them as `path-number-text`; `--` where lines are left out."""
    around = given.get("-C", 0)
    before, after = given.get("-B", around), given.get("-A", around)
    options = [
        "--null", "--with-filename", "--no-heading", "--line-number", "--no-context-separator",
        f"--before-context={before}", f"--after-context={after}",
        f"--max-columns={MOST_COLUMNS}", "--max-columns-preview", *_asked(given),
    ]  # fmt: skip
    if most:
        options.append(f"--max-count={most}")
    numbered = given["-n"]
    separate = False
    for names, output in _again(found, shown, options, work):
        by_file: dict[int, list[bytes]] = {}
        for line in output.split(b"\n"):
            path, mark, rest = line.partition(b"\0")
            if mark:
                by_file.setdefault(_number(path), []).append(rest)
        for number, name in names.items():
            last = -1
            for rest in by_file.get(number, ()):
                place, sign, text = _parts(rest)
                if (before or after) and separate and place != last + 1:
                    yield "--"
                separate, last = True, place
                head = f"{shown.name(name)}{sign}{place}{sign}" if numbered else f"{shown.name(name)}{sign}"
                yield head + text.decode("utf-8", "replace").removesuffix("\r")


def _parts(rest: bytes) -> tuple[int, str, bytes]:
    """The number of a line, the sign behind it (`:` of a match, `-` of one around it), and the line."""
    end = 0
    while rest[end : end + 1].isdigit():
        end += 1
    return int(rest[:end] or b"0"), rest[end : end + 1].decode("ascii", "replace"), rest[end + 1 :]


def _again(
    found: Iterable[str], shown: _Shown, options: Iterable[str], work: Work
) -> Iterator[tuple[dict[int, str], bytes]]:
    """Searches files by descriptor, some at a time: their names by number, and what ripgrep printed of them."""
    pending = iter(found)
    while names := _open(pending, shown):
        try:
            paths = [f"{_DESCRIPTORS}{number}" for number in names]
            ran = ripgrep.run(
                (*options, "--", *paths), keep=names, seconds=SECONDS, most=MOST_LINES, cancel=work.cancel
            )
        finally:
            for number in names:
                os.close(number)
        shown.unread |= ran.incomplete
        yield names, ran.output
        if ran.cut:
            shown.cut = ran.cut
            return


def _open(found: Iterator[str], shown: _Shown) -> dict[int, str]:
    """The next files, opened: descriptor and name."""
    names: dict[int, str] = {}
    for each in found:
        number = shown.place.open(each)
        if number >= 0:
            names[number] = each
        if len(names) >= _BATCH:
            break
    return names


_DESCRIPTORS = "/proc/self/fd/" if sys.platform == "linux" else "/dev/fd/"


def _number(path: bytes) -> int:
    return int(path.rpartition(b"/")[2])


def _firsts(found: Iterator[str], most: int) -> list[str]:
    return [each for each, _count in zip(found, range(most), strict=False)]
