"""Recorded decisions, judged with the facts that they were made with: by the policy of then, and by others.

The code is that of every decision (`gateway.judge.judge`). Where the host would be asked stands what it had answered,
so nothing that has changed since counts; a question that was not asked then has no answer, and is told.
"""

from __future__ import annotations

from gateway.agents import AGENTS
from gateway.audit.decision_inputs import seen_of
from gateway.audit.entries import call_digest
from gateway.audit.log import FOLDER
from gateway.audit.policies import read as read_policy
from gateway.audit.redact import is_withheld
from gateway.config.load import Options
from gateway.config.snapshot import unpacked
from gateway.core.errors import CallError, ConfigError
from gateway.core.places import places
from gateway.core.value import Value
from gateway.judge.judge import Judge
from gateway.judge.recorded_facts import CONTAINS, Recorded
from gateway.model.call import RawCall
from gateway.policy.table import EXCEPT, ID, LANE, LAYER, TEXT
from gateway.replay.decisions import Kept
from gateway.replay.no_host import Blind
from gateway.tools.foreign import undescribed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gateway.config.snapshot import Snapshot
    from gateway.judge.pipeline import Understood
    from gateway.model.facts import Origin, Seen
    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy
    from gateway.replay.decisions import Distinct
    from gateway.tools.tool import Tool

    Under = tuple[Origin, tuple[str, ...], tuple[str, ...]]
    # What to keep of a verdict on a call of a tool.
    Note = Callable[[Verdict, Tool], tuple[str, ...]]

# Why a decision cannot be judged again, in the words of people.
NOT_WHOLE = "a secret was left out of the call, or a text was cut"
NO_FACTS = "its facts are not kept"
NO_POLICY = "the policy of then is not kept"
_SEEN = 64  # facts with their circumstances that are at hand


class Side(Value):
    """A policy to judge by. `name`: as a person wrote it. `snapshots`: for project roots, what to judge by there; where
    a root has none, the layers as they are now. `policies`: a folder that stands for all layers, for every root; "" for
    none. `recorded`: the policy that decided then."""

    name: str
    snapshots: tuple[tuple[str, Snapshot], ...] = ()
    policies: str = ""
    recorded: bool = False


RECORDED = Side("recorded", recorded=True)
PRESENT = Side("present")


class Said(Value):
    """What one policy says of a call. `rule`: id, layer, file and line; `problem`: why it says nothing. `missing`: what
    it asked that nobody had looked at then, so that its answer may be another. `noted`: what whoever asked wanted to
    know of the verdict."""

    decision: str = ""
    rule: tuple[str, str, str, int] = ("", "", "", 0)
    problem: str = ""
    missing: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether this is what it would have said then."""
        return not self.problem and not self.missing


class Anew(Value):
    """A recorded decision and what two policies say of it now. `shown`: the call, in the words of its match field;
    `other_code`: it was decided by another version of the code; `asks_time`: what a policy says depends on when."""

    distinct: Distinct
    old: Said
    new: Said
    tool: str = ""
    shown: str = ""
    cwd: str = ""
    other_code: bool = False
    asks_time: bool = False


class Judges:
    """Judges of one side, one for each origin of decisions."""

    def __init__(self, side: Side, folder: str) -> None:
        """`folder`: the record's."""
        self.side = side
        self._folder = folder
        self._known: dict[Origin, Judge | str] = {}
        self._snapshots = dict(side.snapshots)

    def of(self, origin: Origin) -> Judge | str:
        """Who judges decisions of this origin, or why nobody can."""
        found = self._known.get(origin)
        if found is None:
            try:
                found = self._made(origin)
            except ConfigError as error:
                found = " ".join(str(error).split())
            self._known[origin] = found
        return found

    def revision(self, under: Under) -> str:
        """Of the policy that holds there, "" where nobody can judge."""
        origin, rules, others = under
        judge = self.of(origin)
        return "" if isinstance(judge, str) else judge.loaded_with(rules, frozenset(others)).policy.revision

    def is_paused(self, origin: Origin) -> bool:
        """Whether what it was paused for counts."""
        return origin.paused and not self.side.policies

    def _made(self, origin: Origin) -> Judge | str:
        options = Options(
            cwd=origin.root, root=origin.root, policies=origin.policies, mode=origin.mode, trust=origin.trust,
            binding=origin.binding, servers=origin.servers, paused=origin.paused,
        )  # fmt: skip
        if not self.side.recorded:
            if self.side.policies:
                return _judge(options.replace(policies=self.side.policies, paused=False))
            return _judge(options, self._snapshots.get(origin.root))
        try:
            found = _judge(options)
            if found.loaded.policy.revision == origin.revision:
                return found
        except ConfigError:
            pass  # the present policy is of no use here
        try:
            kept = read_policy(self._folder, origin.revision)
        except OSError:
            kept = None
        if kept is None:
            return NO_POLICY
        found = _judge(options, unpacked(kept))
        if found.loaded.policy.revision != origin.revision:
            return "the policy of then cannot be made again: what was kept gives another one"
        return found


def _judge(options: Options, snapshot: Snapshot | None = None) -> Judge:
    return Judge(options, host=Blind(), environment={}, snapshot=snapshot)  # type: ignore[arg-type]


class Judging:
    """Judges parts of a record by two sides; made once by whoever works. `under`: by what it judged last: who judges, a
    session's rules and the further projects that a call reached into; None where it came to nothing."""

    def __init__(self, folder: str, old: Side, new: Side, note: Note = lambda _verdict, _tool: ()) -> None:
        """`note`: what to keep of each verdict beside its decision."""
        self._note = note
        self._kept = Kept(folder)
        self._old, self._new = Judges(old, folder), Judges(new, folder)
        self._recorded = self._old if old.recorded else Judges(RECORDED, folder)
        self._protects: dict[tuple[int, int], bool] = {}
        self._seen: dict[tuple[str, str], Seen] = {}
        self.under: Under | None = None

    @property
    def sides(self) -> tuple[Judges, Judges]:
        """Who judges for the one policy and for the other."""
        return self._old, self._new

    @property
    def recorded(self) -> Judges:
        """Who judges by the policy of then."""
        return self._recorded

    def __call__(self, part: Sequence[Distinct]) -> list[Anew]:
        return list(self.each((each, None) for each in part))

    def each(self, part: Iterable[tuple[Distinct, Said | None]]) -> Iterator[Anew]:
        """The same one by one, each with what the old policy says where that is known."""
        for each, known in part:
            self.under = None
            yield self._anew(each, known)

    def _anew(self, each: Distinct, known: Said | None) -> Anew:
        line, key = self._kept.line(each), self._kept.key
        if line is None or key is None:
            return _untold(each, "its line cannot be read any more")
        tool, cwd = str(line.get("tool")), str(line.get("cwd"))
        seen = self._seen_in(each)
        if isinstance(seen, str):
            return _untold(each, seen, tool, cwd)
        given = line.get("input")
        if not isinstance(given, dict) or line.get("redacted") or any(map(is_withheld, given.values())):
            return _untold(each, NOT_WHOLE, tool, cwd)
        if call_digest(tool, given, key) != each.call:
            return _untold(each, NOT_WHOLE, tool, cwd)
        seen = seen.replace(context=seen.context.replace(now=line["seen"][2]))
        return self._judged(each, line, given, seen, known)

    def _seen_in(self, each: Distinct) -> Seen | str:
        """What it was made with, at any time, or why nobody can tell; often the same for those beside each other."""
        found = self._seen.get((each.facts, each.context))
        if found is None:
            facts, circumstances = (self._kept.text(each.segment, name) for name in (each.facts, each.context))
            if facts is None or circumstances is None:
                return NO_FACTS
            try:
                found = seen_of(facts, circumstances, 0.0)
            except ValueError as error:
                return f"its facts cannot be read: {error}"
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            self._seen[each.facts, each.context] = found
        return found

    def _judged(
        self, each: Distinct, line: Mapping[str, Any], given: Mapping[str, Any], seen: Seen, known: Said | None
    ) -> Anew:
        self.under = seen.origin, seen.context.rules, seen.others
        then = self._recorded.of(seen.origin)
        said: list[Said] = []
        shown, timed = "", False
        shared: tuple[Judge, Understood, Tool] | None = None
        for judges in (self._old, self._new):
            if known is not None and judges is self._old:
                said.append(known)
                continue
            if said and self._new.side == self._old.side:
                said.append(said[0])
                continue
            judge = judges.of(seen.origin)
            if isinstance(judge, str):
                said.append(Said(problem=judge))
                continue
            timed = timed or judge.loaded.policy.asks_time
            its, missing = self._as_under(judge, then, seen)
            if judges.side.recorded and _revision(judge, seen) != each.policy:
                said.append(Said(problem="the policy of another project has changed since"))
                continue
            recorded = Recorded(its, protects_otherwise=judge is not then and self.protect_otherwise(judge, then))
            try:
                if shared is None or not judge.understands_like(shared[0]):
                    tool = tool_of(judge, each.front, str(line.get("tool")), given)
                    raw = RawCall(tool.name, given, server=its.server, annotations=its.annotations)
                    found = judge.understood(raw, its.context, tool, shell=its.shell, recorded=recorded)
                    shared = judge, found, tool
                verdict = _verdict(judge, shared[1], its, shared[2], recorded)
            except CallError as error:
                said.append(Said(problem=f"it is no valid call: {error}"))
                continue
            except ConfigError as error:
                said.append(Said(problem=" ".join(str(error).split())))
                continue
            shown = verdict.call.shown
            said.append(_said(verdict, (*missing, *recorded.missing), self._note(verdict, shared[2])))
        old, new = said
        cwd, tool_name = str(line.get("cwd")), str(line.get("tool"))
        code = not isinstance(then, str) and seen.origin.code != then.code
        return Anew(
            each, old, new, tool=tool_name, shown=shown or _told(given), cwd=cwd, other_code=code, asks_time=timed
        )

    def _as_under(self, judge: Judge, then: Judge | str, seen: Seen) -> tuple[Seen, tuple[str, ...]]:
        """The circumstances as they would have been under a policy, and what of them nobody can tell."""
        if judge is then:
            return seen, ()
        context = seen.context
        if isinstance(then, str):
            return seen, ("what the policy of then had set",)
        is_policys = not seen.origin.mode and context.mode == then.loaded.mode
        if is_policys or judge.refuses_mode(context.mode):
            context = context.replace(mode=judge.loaded.mode)
        missing = []
        if _set(judge, "workspace") != _set(then, "workspace"):
            missing.append("where further folders of the workspace lie")
        return seen.replace(context=context), tuple(missing)

    def protect_otherwise(self, judge: Judge, then: Judge | str) -> bool:
        """Whether the rules that protect paths are others than those of then."""
        if isinstance(then, str):
            return True
        key = (id(judge), id(then))
        found = self._protects.get(key)
        if found is None:
            policies = judge.loaded.policy, then.loaded.policy
            is_same = policies[0].revision == policies[1].revision
            found = self._protects[key] = not is_same and _protecting(policies[0]) != _protecting(policies[1])
        return found

    def close(self) -> None:
        """Gives the files back."""
        self._kept.close()


def _protecting(policy: Policy) -> list[Any]:
    """What decides which paths are protected below trees, in a form that can be compared."""
    indexed = frozenset(policy.paths[3])  # their patterns stand in the index, and in the rule's text
    rows = []
    for number in policy.forbidding:
        rule, tests, of_part = policy.clauses[number]
        if number in indexed or any(name == "path" for name, _argument in tests):
            row = policy.rules[rule]
            rows.append(repr((row[ID], row[LANE], row[LAYER], row[TEXT : EXCEPT + 1], tests, of_part)))
    return sorted(rows)


def _revision(judge: Judge, seen: Seen) -> str:
    return judge.loaded_with(seen.context.rules, frozenset(seen.others)).policy.revision


def _set(judge: Judge, name: str) -> Any:
    setting = judge.loaded.settings.get(name)
    return None if setting is None else setting.value


def _verdict(judge: Judge, found: Understood, seen: Seen, tool: Tool, recorded: Recorded) -> Verdict:
    """What policy says. Where nobody had looked whether a sandbox held, and it matters, that stands among what is
    missing."""
    found = found.replace(context=found.context.replace(mode=seen.context.mode))
    verdict = judge.judged(
        found, seen.context, tool, recorded=recorded, shell=seen.shell, server=seen.server,
        annotations=seen.annotations,
    )  # fmt: skip
    if CONTAINS in recorded.missing:
        other = judge.judged(
            found, seen.context, tool, recorded=Recorded(seen), shell=seen.shell, server=seen.server,
            annotations=seen.annotations, contains=lambda _drafted, _state: "",
        )  # fmt: skip
        if (other.decision, other.reason.rule) == (verdict.decision, verdict.reason.rule):
            recorded.missing.remove(CONTAINS)
    return verdict


def _said(verdict: Verdict, missing: tuple[str, ...], noted: tuple[str, ...]) -> Said:
    rule = verdict.reason.rule
    source = rule.source
    return Said(
        verdict.decision.word, (rule.id, source.layer, source.file, source.line),
        missing=tuple(dict.fromkeys(missing)), noted=noted,
    )  # fmt: skip


def _told(given: Mapping[str, Any]) -> str:
    """A call without a match field, as people read it."""
    return ", ".join(f"{name}={value}" for name, value in given.items())


def _untold(each: Distinct, why: str, tool: str = "", cwd: str = "") -> Anew:
    return Anew(each, Said(problem=why), Said(problem=why), tool=tool, cwd=cwd)


def tool_of(judge: Judge, front: str, name: str, given: Mapping[str, Any]) -> Tool:
    """What was called, as the front that recorded it takes it. Raises CallError."""
    agent = agent_of(front)
    if not agent:
        return judge.registry.tool(name)
    found = judge.foreign.recorded_as(agent, name)
    if found is None and name.startswith("mcp__"):
        found = judge.foreign.of_server(judge.registry, name, given)
    return undescribed(name, given) if found is None else found


def agent_of(front: str) -> str:
    """The foreign agent whose hook recorded a call, "" for none."""
    agent = front.removeprefix("hook:").partition(" ")[0] if front.startswith("hook:") else ""
    return agent if agent in AGENTS else ""


def record_of(state: str | None = None) -> str:
    """The folder of a user's record."""
    return f"{state or places().state}/{FOLDER}"
