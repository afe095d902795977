"""Tries candidate rules by the engine: in a file of a person's own layer beside what holds now, on every recorded
decision, on calls that are known to do harm, on the tests of the policies that hold, and by the linter."""

from __future__ import annotations

import functools
import time

from gateway.approval.saved_rules import WITHOUT_OWN, rule_id
from gateway.config.layers import layer_folders, read_layer
from gateway.config.near_misses import POLICY
from gateway.core.errors import CallError
from gateway.core.places import places
from gateway.install.translation.auditing import harm
from gateway.install.translation.common_call import Where, shown
from gateway.judge.findings import confirm
from gateway.judge.linting import traits_of
from gateway.judge.policy_tables import run_tests
from gateway.model.decision import Decision
from gateway.policy.lint.lint import lint
from gateway.policy.wording import shortened, visible
from gateway.replay.clauses import place_of, used
from gateway.replay.compare import PART, read
from gateway.replay.harm import MORE_HARM
from gateway.replay.judging import PRESENT, Judging
from gateway.replay.parts import map_parts
from gateway.replay.sources import side_with
from gateway.replay.symbolic import Half

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gateway.policy.lint.lint import Finding
    from gateway.replay.compare import Progress
    from gateway.replay.judging import Anew, Note, Side

EXAMPLES = 3
LAYER, USER = "local", "user"
MOST_PROJECTS = 40  # in which rules for all of them are tried
_FILE = "policy.d/suggested.yaml"
_MODES = ("default", "accept_edits")
_HEAD = "version: 1\nrules:\n"
_WORLD = Where("/home/dev", "/home/dev/project")


def is_of(each: Anew, root: str) -> bool:
    """Whether a recorded call was made in a project."""
    return f"{each.cwd}/".startswith(root.rstrip("/") + "/")


class Trying:
    """Tries rules on a record and beside it; one use."""

    def __init__(
        self, folder: str, root: str, since: str, until: str, *, how: str, workers: int, everywhere: bool = False
    ) -> None:
        """`everywhere`: rules are tried in the user layer, in every project that `look_into` names."""
        self.folder, self._root = folder, root
        self._how, self._workers = how, workers
        self.counted = read(
            folder, since, until, by_time=True, how=how, workers=workers, progress=lambda _done, _of: None
        )
        self.distinct = self.counted.distinct
        self._since = since
        self._layer = USER if everywhere else LAYER
        self._own = [each for each in layer_folders(places(), root) if each.layer == USER]
        self._roots: tuple[str, ...] = (root,)
        self.base = PRESENT if everywhere else side_with("present", root, LAYER, {})
        self.before = Half(self.base, root).compiled()
        self._last: tuple[Side, Half] = self.base, self.before

    def look_into(self, roots: Iterable[str]) -> None:
        """Rules are tried in these projects: not in more than `MOST_PROJECTS`, those with most decisions."""
        counts: dict[str, int] = {}
        for each in roots:
            counts[each] = counts.get(each, 0) + (each != self._root)
        order = sorted(counts, key=lambda each: (-counts[each], each))
        self._roots = tuple(dict.fromkeys((self._root, *order[: MOST_PROJECTS - 1])))

    def is_unknown(self, each: Anew, projects: Mapping[str, str]) -> bool:
        """Whether nobody can say what a rule would make of a recorded call."""
        other = self._layer == USER and projects.get(place_of(each.distinct), "") not in self._roots
        return other or not each.new.is_certain

    def judged(
        self, side: Side, note: Note, progress: Progress = lambda _done, _of: None, *, before: Side | None = None
    ) -> list[Anew]:
        """All decisions under a policy, and under another one before it where one is given."""
        parts = [self.distinct[at : at + PART] for at in range(0, len(self.distinct), PART)]
        make = functools.partial(Judging, self.folder, before or side, side, note)
        found: list[Anew] = []
        for some in map_parts(make, parts, how=self._how, workers=self._workers):
            found += some
            progress(len(found), len(self.distinct))
        return found

    def side(self, texts: Mapping[str, str]) -> Side:
        """What holds now, and these rules by their ids."""
        return self.side_of(_document(texts))

    def side_of(self, document: bytes) -> Side:
        """What holds now, and one more file."""
        changed = {_FILE: document}
        if self._layer == USER and not any(map(read_layer, self._own)):
            changed[POLICY] = WITHOUT_OWN
        found = [side_with("suggested", each, self._layer, changed) for each in self._roots]
        return found[0].replace(snapshots=tuple(pair for each in found for pair in each.snapshots))

    def refused(self, side: Side) -> set[str]:
        """What takes part in allowing a recorded call that was denied, or that somebody said no to."""
        return refused_of(self.judged(side, used))

    def harmful(self, side: Side) -> set[str]:
        """What takes part in allowing a harmful call that is not allowed without it."""
        new = self.half(side)
        found: set[str] = set()
        contexts = [new.trials.context(mode=mode, confined=each) for mode in _MODES for each in (True, False)]
        for asked in (*harm(), *MORE_HARM):
            text = shown(asked, _WORLD)
            for context in contexts:
                try:
                    now = new.trials.verdict(text, new.policy, context)
                    if now.decision is Decision.ALLOW:
                        was = self.before.trials.verdict(text, self.before.policy, context)
                        found.update(used(now) if was.decision is not Decision.ALLOW else ())
                except CallError:
                    continue  # nothing runs
        return found

    def half(self, side: Side) -> Half:
        """A policy in the example world; the last one is kept."""
        if self._last[0] != side:
            found = Half(side, self._root)
            found.read_with(self.before)
            self._last = side, found
        return self._last[1]

    def linted(self, side: Side) -> set[str]:
        """The rules that the linter has something to say about."""
        new = self.half(side)
        found = confirm(self.odd(new), new.bound, new.trials, new.settings.get("levels", {}))
        return {each.rule for each in found.findings}

    def odd(self, half: Half) -> list[Finding]:
        """What the linter says of the rules that are tried, before the engine was asked about it."""
        return lint(
            half.bound,
            traits_of(half.registry),
            home=half.home,
            now=time.time(),
            of=lambda file: file.endswith(_FILE),
        )

    def failing(self, texts: Sequence[str]) -> set[str]:
        """Rules with which a test of the policies that hold fails that does not fail without them. Where none does by
        itself, all of them."""
        after = self._failures(texts)
        before = self._failures(()) if after else set()
        if after <= before:
            return set()
        alone = {rule_id(each) for each in texts if not self._failures((each,)) <= before}
        return alone or set(map(rule_id, texts))

    def _failures(self, texts: Sequence[str]) -> set[tuple[Any, ...]]:
        snapshot = dict(self.side({rule_id(each): each for each in texts}).snapshots)[self._root]
        registry = self.before.registry
        report = run_tests(snapshot.files, (), registry, places(), self._root, snapshot.described, whole=True)
        return {(each.file, each.line, each.call, each.problem) for each in report.failures}


def refused_of(judged: Iterable[Anew]) -> set[str]:
    """What takes part in allowing one of these calls though it was denied, or somebody said no to it."""
    found: set[str] = set()
    for each in judged:
        if each.new.decision == "allow" and (each.distinct.refused or each.distinct.decision == "deny"):
            found.update(each.new.noted)
    return found


def _document(texts: Mapping[str, str]) -> bytes:
    if not texts:
        return b"version: 1\n"
    return (_HEAD + "".join(f"  - id: {name}\n    {text}\n" for name, text in texts.items())).encode()


def frequent(found: Iterable[Anew]) -> tuple[str, ...]:
    """The most frequent ones, different as people read them."""
    order = sorted(found, key=lambda each: (-each.distinct.count, each.shown))
    texts = dict.fromkeys(visible(shortened(f"{each.tool}  {each.shown}", 200)) for each in order)
    return tuple(texts)[:EXAMPLES]
