"""Rules of an agent's against rules of ours, call by call, until none of ours is wider than it may be or narrower than
it must be.

The law: where ours let a call run that would not run without them, each command of it that this is due to is one that
the agent's rules allow; what the agent's rules deny, ours deny; what they ask about, ours do not let run. Commands
of the same words are the same command, however they are quoted. Every witness is a call on which both were asked.
"""

from __future__ import annotations

import re

from gateway.core.errors import ConfigError
from gateway.core.value import Value
from gateway.install.translation.common_call import READ, SHELL, WRITE, Asked, shown, spellings
from gateway.install.translation.deciding import FIRST, said
from gateway.install.translation.rules import ALLOW, ASK, DENY
from gateway.install.translation.statements import DROPPED, KIND, TEXT, Statement, layer, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.install.translation.clients import Client
    from gateway.install.translation.deciding import Said
    from gateway.install.translation.engine import Engine
    from gateway.install.translation.rules import Rule
    from gateway.install.translation.statements import Unsaid
    from gateway.policy.table import Policy

EXACT, NARROWER, WIDER, LOST = "exact", "narrower", "wider", "dropped"
_ROUNDS = 6
_BEYOND_WORDS = frozenset("<>$`()\n")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


class Loss(Value):
    """What became of one rule. `grade`: exact where no call that was tried shows a difference. `witness`: a call on
    which the two differ, with what each says of it; "" for none. `written`: the id of the rule of ours, "" for none."""

    rule: Rule
    grade: str
    why: str
    witness: str
    theirs: str
    ours: str
    written: str


class Translated(Value):
    """The rules of one agent as ours. `tried`: how many calls were asked of both."""

    statements: tuple[Statement, ...]
    losses: tuple[Loss, ...]
    tried: int


class Difference(Value):
    """A call that breaks the law, and the rule of the agent's that it shows wrong, None where ours alone allows."""

    asked: Asked
    theirs: str
    ours: str
    rule: Rule | None
    allowed_by: tuple[str, ...]


def translated(
    rules: Sequence[Rule], client: Client, engine: Engine, *, more: Iterable[Asked] = (), layer_name: str = "user",
    ask_instead: bool = False,
) -> Translated:  # fmt: skip
    """The rules as ours, with what is lost. `more`: calls that are tried besides those at the edges of each rule."""
    calls = tuple(dict.fromkeys((*(asked for rule in rules for test in rule.tests for asked in test.tried()), *more)))
    changes: dict[int, str] = {}
    made: list[Statement] = []
    unsaid: list[Unsaid] = []
    for _round in range(_ROUNDS):
        made, unsaid = statements(rules, client.WAY, client.PATH_PROGRAMS, changes, ask_instead=ask_instead)
        policy = _policy(engine, made, layer_name)
        found = differences(rules, client.WAY, engine, policy, calls)
        before = dict(changes)
        for each in found:
            _change(changes, each, rules, made)
        if changes == before:
            break
    else:  # whatever still differs is not written where it allows
        made = [each for each in made if each.lane != ALLOW]
    losses = tuple(_loss(rules, place, made, unsaid, client, engine, layer_name) for place in range(len(rules)))
    return Translated(tuple(made), losses, len(calls))


def _policy(engine: Engine, made: Sequence[Statement], layer_name: str) -> Policy:
    return engine.policy(layer(made, {each.rule.agent: each.rule.agent for each in made}), layer_name)


def _change(changes: dict[int, str], found: Difference, rules: Sequence[Rule], made: Sequence[Statement]) -> None:
    if found.rule is None:
        for place, rule in enumerate(rules):
            if rule.lane == ALLOW and any(each.rule is rule and each.id in found.allowed_by for each in made):
                changes[place] = DROPPED
        return
    place = next(place for place, rule in enumerate(rules) if rule is found.rule)
    changes[place] = TEXT if place not in changes and found.asked.kind == SHELL else KIND


def differences(
    rules: Sequence[Rule], way: str, engine: Engine, policy: Policy, calls: Iterable[Asked]
) -> list[Difference]:
    """The calls that break the law."""
    found = []
    for asked in calls:
        theirs = theirs_of(rules, way, engine, asked)
        verdict = engine.verdict(policy, asked)
        ours = DENY if verdict is None else verdict.decision.word
        if (theirs.lane == DENY and ours != DENY) or (theirs.lane == ASK and ours == ALLOW):
            locked = theirs.lane == DENY and ours == ASK and _is_locked(verdict)
            if not locked:
                found.append(Difference(asked, theirs.lane, ours, rule=theirs.rule, allowed_by=()))
        elif ours == ALLOW and verdict is not None and not is_allowed(rules, way, engine, asked):
            by = tuple({each.reason.rule.id for each in verdict.outcomes if each.reason.rule.lane == ALLOW})
            found.append(Difference(asked, theirs.lane or "nothing", ours, rule=None, allowed_by=by))
    return found


def _is_locked(verdict: object) -> bool:
    outcomes = getattr(verdict, "outcomes", ())
    return any(each.reason.rule.lane == ASK and getattr(each.reason.rule, "lock", False) for each in outcomes)


def theirs_of(rules: Sequence[Rule], way: str, engine: Engine, asked: Asked) -> Said:
    """What the agent's rules say of a call. A command that they let run in another spelling of the same words they let
    run: whoever writes it so gets it."""
    if asked.kind != SHELL:
        return said(rules, asked, way, ())
    found = said(rules, asked, way, [text for _words, text in engine.parts(asked)])
    if found.lane not in (ASK, DENY):
        return found
    written = [text for _words, text in engine.parts(asked)]
    parts = [_plainly(rules, way, words, text) for words, text in engine.parts(asked)]
    if parts == written and (len(parts) != 1 or written[0] == asked.text):  # else blanks may stand around it
        return found
    plainly = said(rules, Asked(SHELL, "; ".join(parts) if len(parts) > 1 else parts[0]), way, parts)
    return plainly if plainly.lane == ALLOW else found


def _plainly(rules: Sequence[Rule], way: str, words: tuple[str, ...], text: str) -> str:
    """The spelling of a command that is allowed, else its own."""
    ways = (text, *spellings(words)) if words else (text,)
    return next((each for each in ways if said(rules, Asked(SHELL, each), way, (each,)).lane == ALLOW), text)


def is_allowed(rules: Sequence[Rule], way: str, engine: Engine, asked: Asked) -> bool:
    """Whether each command that ours lets run only because of these rules is one that they allow."""
    if asked.kind != SHELL:
        return engine.free(asked) == ALLOW or said(rules, asked, way, ()).lane == ALLOW
    for words, text in engine.parts(asked):
        part = Asked(SHELL, text)
        if engine.free(part) == ALLOW:
            continue
        ways = (text, *spellings(words)) if words else (text,)
        if not any(said(rules, Asked(SHELL, each), way, (each,)).lane == ALLOW for each in ways):
            return False
    return True


def is_beyond_rules(asked: Asked, rules: Sequence[Rule], client: Client, engine: Engine) -> bool:
    """Whether an agent looks at more than its rules before it lets a call run that they allow: at redirections,
    substitutions and variables, and some at paths."""
    if asked.kind == SHELL and (set(asked.text) & _BEYOND_WORDS or _ASSIGNED.match(asked.text)):
        return True
    return reaches_out(asked, rules, client, engine)


def reaches_out(asked: Asked, rules: Sequence[Rule], client: Client, engine: Engine) -> bool:
    """Whether the agent asks about a command, or refuses it, whatever its rules say of commands: as it names what lies
    outside of the project, or what its rules of paths deny."""
    program, *words = asked.text.split(" ")
    if asked.kind != SHELL or program not in client.PATH_PROGRAMS:
        return False
    for word in words:
        path = word if word.startswith("/") else f"{engine.where.project}/{word}"
        lanes = {theirs_of(rules, client.WAY, engine, Asked(kind, path)).lane for kind in (READ, WRITE)}
        if word.startswith(("~", "/")) or not lanes <= {"", ALLOW}:
            return True
    return False


def _loss(
    rules: Sequence[Rule],
    place: int,
    made: Sequence[Statement],
    unsaid: Sequence[Unsaid],
    client: Client,
    engine: Engine,
    layer_name: str,
) -> Loss:
    rule = rules[place]
    stronger = rules[:place] if client.WAY == FIRST else ()
    calls = [asked for test in rule.tests for asked in test.tried()]
    calls = [asked for asked in calls if not stronger or theirs_of(stronger, client.WAY, engine, asked).rule is None]
    mine = next((each for each in made if each.rule is rule), None)
    if mine is None:
        why = next((each.why for each in unsaid if each.rule is rule), "")
        witness = next(
            (
                asked
                for asked in calls
                if theirs_of([rule], client.WAY, engine, asked).lane == rule.lane
                and (rule.lane != ALLOW or engine.free(asked) != ALLOW)
            ),
            None,
        )
        if witness is None or rule.idle:
            return Loss(rule, LOST, why, witness="", theirs="", ours="", written="")
        return Loss(
            rule,
            LOST,
            why,
            witness=shown(witness, engine.where),
            theirs=rule.lane,
            ours=engine.free(witness),
            written="",
        )
    try:
        policy = _policy(engine, [mine], layer_name)
    except ConfigError as error:  # a rule that does not load is not written
        return Loss(rule, LOST, str(error), witness="", theirs="", ours="", written="")
    wider = narrower = None
    for asked in calls:
        theirs = theirs_of([rule], client.WAY, engine, asked).lane
        ours = engine.decision(policy, asked)
        hit = ours == mine.lane and (rule.lane == DENY or engine.free(asked) != ours or theirs == rule.lane)
        if rule.lane == ALLOW and is_beyond_rules(asked, rules, client, engine):
            continue
        if theirs == rule.lane and not hit and narrower is None and not (mine.lane == ASK and ours == DENY):
            narrower = (asked, theirs, ours)
        elif theirs != rule.lane and hit and wider is None and rule.lane != ALLOW:
            wider = (asked, theirs or "nothing", ours)
    found, grade = (narrower, NARROWER) if narrower and not (wider and rule.lane != ALLOW) else (wider, WIDER)
    if found is None:
        why = f"what it has of {rule.partly} is left out" if rule.partly else ""
        return Loss(rule, WIDER if rule.partly else EXACT, why, witness="", theirs="", ours="", written=mine.id)
    asked, theirs, ours = found
    return Loss(
        rule,
        grade,
        f"without {rule.partly}" if rule.partly else "",
        witness=shown(asked, engine.where),
        theirs=theirs,
        ours=ours,
        written=mine.id,
    )
