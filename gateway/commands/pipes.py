"""Facts that cross the commands of one text: what is piped where, what a substitution gives, what a file now holds."""

from __future__ import annotations

from bisect import bisect_left

from gateway.commands.invocation import Printed
from gateway.commands.places import absolute
from gateway.model.command import Names, Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.description import Description
    from gateway.commands.printed import Given
    from gateway.model.command import Simple
    from gateway.shell.script import Flow, Script

    Span = tuple[int, int]
    Lookup = Callable[[str], Description | None]

MAX_NESTED = 8
MAX_REDIRECTS = 500
_SPLITTING = frozenset("*?[\\")
_FAR = 1 << 60
_IN_REVISIONS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/~^:" + HOLE)


def _may_name_commits(text: str) -> bool:
    """Whether a word that begins with a hash can be nothing but a revision, even where the hash is missing."""
    return text[:1] == HOLE and text[1:2] != "-" and _IN_REVISIONS.issuperset(text)


def _printed_by(command: Simple, words: tuple[Word, ...], description: Description, given: Given) -> Printed | None:
    import gateway.commands.printed as printing  # of most commands nobody asks what they print

    return printing.printed(command, words, description, given)


def _start(flow: Flow) -> int:
    return flow.start


class Pipes:
    """What flows between the commands of a script. Everything is found when it is asked for, and kept."""

    __slots__ = (
        "_by_end",
        "_depth",
        "_flows",
        "_known",
        "_redirects",
        "_written",
        "lookup",
        "outer",
        "script",
        "shadowed",
    )

    def __init__(self, script: Script, lookup: Lookup, shadowed: frozenset[str], outer: Pipes | None = None) -> None:
        self.outer = outer
        self.script = script
        self.lookup = lookup
        self.shadowed = shadowed
        self._known: dict[Span, Printed | None] = {}
        self._by_end: dict[int, list[int]] | None = None
        self._flows: list[Flow] | None = None
        self._redirects: dict[int, list[str]] | None = None
        self._written: dict[str, list[tuple[int, str | None]]] | None = None
        self._depth = 0

    # What commands print.

    def printed(self, span: Span) -> Printed | None:
        """What the commands of a span print, if they are one command or one pipeline; None when it is not known."""
        if span in self._known:
            return self._known[span]
        if self._depth >= MAX_NESTED:
            return None
        self._depth += 1
        found = self._merged(self._last(span))
        self._depth -= 1
        self._known[span] = found
        return found

    def _last(self, span: Span) -> list[int]:
        """The commands that a span ends with, if nothing but what is piped into them stands before them."""
        if self._by_end is None:
            self._by_end = {}
            for at, command in enumerate(self.script.commands):
                self._by_end.setdefault(command.end, []).append(at)
        commands = self.script.commands
        last = [at for at in self._by_end.get(span[1], ()) if commands[at].start >= span[0]]
        if not last:
            return []
        start = min(commands[at].start for at in last)
        last = [at for at in last if commands[at].start == start]
        at = last[0]
        while commands[at].start != span[0]:
            feeder = commands[at].feeder
            if feeder is None or feeder[0] < span[0]:
                return []
            before = [each for each in self._by_end.get(feeder[1], ()) if commands[each].start == feeder[0]]
            if not before or before[0] >= at:
                return []
            at = before[0]
        return last

    def _merged(self, found: list[int]) -> Printed | None:
        result: Printed | None = None
        for at in found:
            one = self._one(at)
            if one is None:
                return None
            if result is None:
                result = one
            elif result != one:
                if not (result.below and one.below) or result.cwds != one.cwds:
                    return None
                result = Printed(
                    text=None,
                    below=tuple(dict.fromkeys((*result.below, *one.below))),
                    asks=tuple(dict.fromkeys((*result.asks, *one.asks))),
                    cwds=one.cwds,
                    skips=one.skips if one.skips == result.skips else "",
                )
        return result

    def _one(self, at: int) -> Printed | None:
        command = self.script.commands[at]
        if command.calls or command.assigned or command.via or self._opens_elsewhere(at):
            return None
        words, _ = self.resolved(command)
        if not words or not words[0].literal:
            return None
        base = words[0].text.rpartition("/")[2]
        description = self.lookup(base)
        if description is None or base in self.shadowed:
            return None
        if base == "cat" and len(words) == 2 and words[1].literal and len(command.cwds) == 1:
            text = self.content(absolute(words[1].text, command.cwds[0]), command.start)
            # Whether the file was written nobody knows: what stood there before may still do.
            return Printed(text + "\n" + HOLE) if text is not None else None
        return _printed_by(command, words, description, lambda: self.given(command))

    def _opens_elsewhere(self, at: int) -> bool:
        """Whether output may go elsewhere, or that of errors comes along."""
        if self._redirects is None:
            self._redirects = {}
            for redirect in self.script.redirects:
                if redirect.part >= 0 and redirect.kind not in ("text", "read") and redirect.word.text != "/dev/null":
                    self._redirects.setdefault(redirect.part, []).append(redirect.kind)
        return at in self._redirects

    def given(self, command: Simple) -> Printed | None:
        """What a command reads from its standard input."""
        if command.stdin == "text":
            return Printed(command.stdin_text)
        if command.stdin == "file":
            return self._from_file(command)
        if command.stdin != "pipe" or command.feeder is None:
            return None
        found = self.printed(command.feeder)
        if found is None or not command.shares:
            return found
        return Printed(found.text + HOLE) if found.text is not None else None  # others may have read some of it

    def _from_file(self, command: Simple) -> Printed | None:
        for redirect in self.script.redirects[:MAX_REDIRECTS]:
            here = command.start <= redirect.start < command.end and len(redirect.cwds) == 1
            if redirect.kind == "read" and here and redirect.word.literal:
                text = self.content(absolute(redirect.word.text, redirect.cwds[0]), command.start)
                return Printed(text + "\n" + HOLE) if text is not None else None
        return None

    # Words.

    def resolved(self, command: Simple) -> tuple[tuple[Word, ...], frozenset[int]]:
        """A command's words with the output of substitutions in place of holes, as far as it is known, and which of
        them hold such a text."""
        if not self.script.flows or not any(HOLE in word.text for word in command.words):
            return command.words, frozenset()
        words: list[Word] = []
        changed: set[int] = set()
        for word in command.words:
            found = self._resolved(word, command.cwds) if HOLE in word.text else None
            if found is None:
                words.append(word)
                continue
            changed.update(range(len(words), len(words) + len(found)))
            words += found
        return tuple(words), frozenset(changed)

    def flows_in(self, start: int, end: int) -> list[Flow] | None:
        """The unknown parts of a word in their order; None where they are not the same each time the word is read."""
        if self._flows is None:
            self._flows = sorted(set(self.script.flows), key=lambda flow: (flow.start, -flow.end))
        found: list[Flow] = []
        for at in range(bisect_left(self._flows, start, key=_start), len(self._flows)):
            flow = self._flows[at]
            if flow.start >= end:
                break
            if flow.end > end:
                continue
            if found and flow.start < found[-1].end:
                if (flow.start, flow.end) == (found[-1].start, found[-1].end):
                    return None
                continue  # inside of another
            found.append(flow)
        return found

    def _resolved(self, word: Word, cwds: tuple[str, ...]) -> list[Word] | None:
        flows = self.flows_in(word.start, word.end)
        if not flows or word.pattern is not None or len(flows) != word.text.count(HOLE):
            return None
        outputs = [self.printed(flow.source) if flow.source is not None else None for flow in flows]
        only = outputs[0] if len(outputs) == 1 and word.text == HOLE else None
        if only is not None and only.below and only.cwds == cwds:
            asks = only.asks
            if flows[0].how == "line":
                asks = (*asks, ("parts", ""))
            return [word.replace(names=Names(only.below, asks, only.skips))]
        if _may_name_commits(word.text) and all(each is not None and each.revisions for each in outputs):
            return [word.replace(names=Names(revisions=True))]
        texts: list[str] = []
        for flow, output in zip(flows, outputs, strict=True):
            if output is None or output.text is None or flow.how != "all":
                texts.append(HOLE)
            else:
                texts.append(output.text.rstrip("\n"))
        if all(text == HOLE for text in texts):
            return None
        text = "".join([piece + fill for piece, fill in zip(word.text.split(HOLE), [*texts, ""], strict=True)])
        if word.text == "/dev/fd/" + HOLE:
            return None
        if not word.splits:
            return [Word(text, word.start, word.end)]
        if not _SPLITTING.isdisjoint(text) or (HOLE in text and text.split() != [text]):
            return None
        if HOLE in text:
            return [Word(text, word.start, word.end, True)]
        if word.text != HOLE and text.split() != [text]:
            return None
        return [Word(each, word.start, word.end) for each in text.split()]

    def behind(self, word: Word) -> Printed | None:
        """What a process substitution that a word names (`<(…)`) gives."""
        flows = self.flows_in(word.start, word.end) if word.text == "/dev/fd/" + HOLE else None
        return self.printed(flows[0].source) if flows and len(flows) == 1 and flows[0].source is not None else None

    # Files that the text itself writes.

    def content(self, path: str, before: int) -> str | None:
        """What the text wrote to a file before a place, if that is known."""
        if self._written is None:
            self._written = {}
            self._collect(self._written)
        known = [text for at, text in self._written.get(path, ()) if at < before and text is not None]
        if known:
            return "".join(known)
        return self.outer.content(path, _FAR) if self.outer is not None else None

    def _collect(self, written: dict[str, list[tuple[int, str | None]]]) -> None:
        """Texts by the files they are written to; several are all of them, for each may be what stands there."""
        commands = self.script.commands
        for redirect in self.script.redirects:
            if redirect.kind != "write" or not redirect.word.literal or len(redirect.cwds) != 1 or redirect.part < 0:
                continue
            command = commands[redirect.part]
            words, _ = self.resolved(command)
            base = words[0].text.rpartition("/")[2] if words else ""
            text = None
            description = self.lookup(base) if base and base not in self.shadowed else None
            if description is not None and not command.calls:
                found = _printed_by(command, words, description, lambda command=command: self.given(command))  # type: ignore[misc]
                text = found.text if found is not None else None
            self._note(written, absolute(redirect.word.text, redirect.cwds[0]), redirect.start, text)
        for command in commands:
            words = command.words
            name = words[0].text.rpartition("/")[2]
            if name not in ("tee", "cp", "mv", "ln", "install") or len(command.cwds) != 1:
                continue
            operands = [word for word in words[1:] if word.literal and word.text[:1] != "-"]
            if name == "tee":
                given = self.given(command)
                for word in operands:
                    path = absolute(word.text, command.cwds[0])
                    self._note(written, path, command.start, given.text if given is not None else None)
            elif len(operands) == 2:
                source, target = (absolute(word.text, command.cwds[0]) for word in operands)
                for _, text in [each for each in written.get(source, ()) if each[0] < command.start]:
                    self._note(written, target, command.start, text)
                    self._note(written, f"{target}/{source.rpartition('/')[2]}", command.start, text)

    def _note(self, written: dict[str, list[tuple[int, str | None]]], path: str, at: int, text: str | None) -> None:
        if HOLE not in path:
            written.setdefault(path, []).append((at, text))

    # What reaches a command.

    def upstream(self, at: int) -> frozenset[int]:
        """The commands whose output may reach the standard input of a command, or of those that reach it."""
        return self._within([self.script.commands[at].feeder], at)

    def _within(self, spans: list[Span | None], at: int) -> frozenset[int]:
        commands = self.script.commands
        found: set[int] = set()
        pending = list(spans)
        while pending:
            span = pending.pop()
            if span is None:
                continue
            for index, command in enumerate(commands):
                if command.start >= span[0] and command.end <= span[1] and index not in found and index != at:
                    found.add(index)
                    pending.append(command.feeder)
                    pending += self._sources(command.start, command.end)
                    pending += self._texts(index)
        return frozenset(found)

    def in_words(self, at: int) -> frozenset[int]:
        """The commands whose output may be part of a command's words or of the text it is given."""
        commands = self.script.commands
        own = commands[at]
        return self._within([*self._sources(own.start, own.end), *self._texts(at)], at)

    def _texts(self, at: int) -> list[Span | None]:
        """Where the here-documents of a command stand."""
        spans: list[Span | None] = []
        for redirect in self.script.redirects:
            if redirect.part == at and redirect.kind == "text":
                spans.append((redirect.word.start, redirect.word.end))
                spans += self._sources(redirect.word.start, redirect.word.end)
        return spans

    def _sources(self, start: int, end: int) -> list[Span | None]:
        return [flow.source for flow in self.script.flows if flow.source and start <= flow.start and flow.end <= end]
