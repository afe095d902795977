"""The smallest change that would alter a verdict, in words for a person. Nothing is shown that was not tried.

What no rule speaks of gets the narrowest allow rule that covers it: proposals are compiled and the same analysis
is resolved again under them. Where a rule stands in the way, it is named with its place, and whether an exception
is possible. Programs that run code are never proposed more widely than the very words of this call.
"""

from __future__ import annotations

from gateway.core.errors import ConfigError
from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.policy.globs import escape
from gateway.policy.modes import CEILINGS, regions_of
from gateway.policy.resolve import resolve
from gateway.policy.table import LEVEL, REVIEW, SHOWN, Policy
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from gateway.model.command import Part
    from gateway.model.rule import Rule, Source
    from gateway.model.verdict import Outcome, Reason, Verdict
    from gateway.policy.table import Judged

MAX_RULES = 3
_AMONG_FILES = {"exec", *PATH_KINDS}


class Proposal(Value):
    """An allow rule: as a policy file spells it, and in normal form."""

    text: str
    when: Mapping[str, Any]


def smallest_change(
    verdict: Verdict, tool: Judged, policy: Policy, is_preset: Callable[[Rule], bool] = lambda _: False
) -> str | None:
    """What would alter the verdict, on one line; None if nothing small is known to.

    `tool` and `policy` are what the verdict was resolved with. `is_preset`: whether a rule is one of a preset, which
    whoever extends it can leave out. Rules combine by strictness for each effect, so what the policy's rules said
    stands while other rules are tried.
    """
    trial = Trial(verdict, tool, dict(policy.levels))
    if verdict.decision is Decision.ALLOW:
        return _without_cover(verdict, trial)
    in_the_way = _in_the_way(verdict)
    if in_the_way:
        return _left_out(verdict, tool, policy, in_the_way, is_preset) or _named(verdict, in_the_way)
    rules = _proposals(verdict, trial)
    if rules:
        return f"allowed with {_allowing(rules)} in your own policy"
    mode = verdict.context.mode
    if mode in CEILINGS or mode == "dont_ask":
        decision = trial.decision((), "default")
        if decision < verdict.decision:
            return f"in mode `default` it would be {_BECOMES[decision]}"
    return None


_BECOMES = {Decision.ALLOW: "allowed", Decision.ASK: "asked about", Decision.DENY: "denied"}


class Trial:
    """Resolves the analysis of a verdict again, under other rules or another mode."""

    def __init__(self, verdict: Verdict, tool: Judged, levels: dict[str, str]) -> None:
        self.verdict = verdict
        self.tool = tool
        self.levels = levels
        self.regions = regions_of(verdict.context)

    def decision(self, proposals: Iterable[Proposal], mode: str = "") -> Decision:
        """The verdict's decision if these allow rules stood beside its policy."""
        return self.under([normal_form(each.when, each.text) for each in proposals], mode)

    def under(self, rules: list[dict[str, Any]], mode: str = "") -> Decision:
        """The same for rules in normal form."""
        again = self.resolved(rules, mode)
        if again is None:
            return self.verdict.decision
        anew = {outcome.reason.item: outcome.decision for outcome in again.outcomes}
        return max(
            outcome.decision if outcome.reason.rule.lane != "mode" else anew.get(outcome.reason.item, outcome.decision)
            for outcome in self.verdict.outcomes
        )

    def resolved(self, rules: list[dict[str, Any]], mode: str) -> Verdict | None:
        """The verdict under these rules alone, None where they cannot be compiled."""
        from gateway.policy.compile import Bound, compile_policy

        verdict = self.verdict
        context = verdict.context.replace(mode=mode) if mode else verdict.context
        base = context.root or context.cwd
        try:
            compiled = compile_policy([Bound("local", "", rules=rules, base=base, layer_root=base)], home=context.home)
        except ConfigError:
            return None
        policy = Policy(**compiled, levels=self.levels)
        return resolve(policy, verdict.call, self.tool, verdict.analysis, context, verdict.facts, self.regions)


def _allowing(rules: Iterable[Proposal]) -> str:
    return _listed(f"`allow: {visible(rule.text)}`" for rule in rules)


def _left_out(
    verdict: Verdict, tool: Judged, policy: Policy, reasons: list[Reason], is_preset: Callable[[Rule], bool]
) -> str:
    """What a policy file must say so that rules of presets that ask do not stand in the way, "" where that does not
    allow the call. A rule that denies is not advised to be left out, nor one that is sure of the target once told."""
    rules = [reason.rule for reason in reasons]
    if verdict.decision is not Decision.ASK or not all(
        is_preset(rule) and not rule.lock and rule.source.layer != "enterprise" for rule in rules
    ):
        return ""
    if any(not reason.certain and _is_spelled_by_the_call(verdict, reason) for reason in reasons):
        return ""
    places = {(rule.id, rule.source) for rule in rules}
    rows = [
        [*row[:LEVEL], "observe", *row[LEVEL + 1 : SHOWN]] if _place_of(policy, number) in places else row
        for number, row in enumerate(policy.rules)
    ]
    without = policy.replace(rules=rows, seen=None)
    again = resolve(
        without, verdict.call, tool, verdict.analysis, verdict.context, verdict.facts, regions_of(verdict.context)
    )
    ids = ", ".join(dict.fromkeys(visible(rule.id) for rule in rules))
    said = f"`extends: [{{preset: daily, without: [{ids}]}}]`, with the preset that yours extends,"
    if again.decision is Decision.ALLOW:
        return f"a person's agreement; or {said} in your own policy"
    if again.decision is Decision.DENY or _in_the_way(again):
        return ""
    more = _proposals(again, Trial(again, tool, dict(policy.levels)))
    return f"a person's agreement; or {said} and {_allowing(more)} in your own policy" if more else ""


def _place_of(policy: Policy, number: int) -> tuple[str, Source]:
    rule = policy.rule(number)
    return rule.id, rule.source


def normal_form(when: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A complete allow rule in normal form, of which no more is said than what it allows."""
    return {
        "lane": "allow", "id": "proposed", "derived": True, "line": 0, "column": 0, "text": text,
        "because": "", "instead": "", "lock": False, "expires": "", "when": when, "except": [],
        "delegate": None, "excepts": "", "require": None, "changes": "", "matches": [], "not_matches": [],
    }  # fmt: skip


def _in_the_way(verdict: Verdict) -> list[Reason]:
    """What rules say as strictly as the verdict, the deciding one first, each rule once."""
    reasons = [verdict.reason, *(outcome.reason for outcome in verdict.outcomes), *verdict.lost]
    strict = [r for r in reasons if r.decision is verdict.decision and r.rule.lane in ("deny", "ask", "require")]
    return list({(reason.rule.id, reason.rule.source): reason for reason in reversed(strict)}.values())[::-1]


def _named(verdict: Verdict, reasons: list[Reason]) -> str:
    """What it takes to get past rules."""
    first = reasons[0]
    rule = first.rule
    asked = verdict.decision is Decision.ASK
    if len(reasons) > 1:
        named = _listed(_place(reason.rule) for reason in reasons)
        if all(not each.certain and _is_spelled_by_the_call(verdict, each) for each in reasons):
            return f"spell the target out, so that {named} can tell whether they hold"
        fixed = next((each.rule for each in reasons if each.rule.source.layer == "builtin"), None)
        if asked and fixed is not None:
            return f"a person's agreement: {_place(fixed)} is built in, no layer alters it"
        if asked:
            return f"a person's agreement; without one, each of {named} would need an `except:` that holds for it"
        return f"{named} would all have to except it"
    if rule.lane == "require":
        return f"{_place(rule)} must be met: {visible(first.note)}"
    if rule.lane == "ask" and first.decision is Decision.DENY:
        return f"in a mode that asks, {_place(rule)} would only ask"
    if not first.certain and _is_spelled_by_the_call(verdict, first):
        return f"spell the target out, so that {_place(rule)} can tell whether it holds"
    if rule.id.startswith(REVIEW):
        return "the setting `review` has the reviewer or a person agree to it"
    if rule.lock:
        more = ": a person may agree once" if asked else ""
        return f"{_place(rule)} is locked, no other layer alters it{more}"
    if rule.source.layer == "builtin":
        more = "; a person may agree" if asked else ""
        return f"{_place(rule)} is built in, no layer alters it{more}"
    more = "a person's agreement or " if asked else ""
    return f"{_place(rule)} would need {more}an `except:` that holds for it"


def _is_spelled_by_the_call(verdict: Verdict, reason: Reason) -> bool:
    """Whether what is unknown stands in the words of the call, and not in some file that a program reads."""
    item = verdict.analysis.items[reason.item]
    return HOLE in item.effect.target and (item.part < 0 or not verdict.analysis.parts[item.part].literal)


def _place(rule: Rule) -> str:
    where = f" ({visible(str(rule.source))})" if rule.source.file else ""
    return f"rule `{rule.id}`{where}"


def _listed(texts: Iterable[str]) -> str:
    found = list(texts)
    if len(found) > MAX_RULES:
        found = [*found[:MAX_RULES], f"{len(found) - MAX_RULES} more"]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def _without_cover(verdict: Verdict, trial: Trial) -> str | None:
    """For an allowed call: the one rule without which it would not be."""
    covered = [outcome for outcome in verdict.outcomes if outcome.reason.rule.lane == "allow"]
    rules = {(outcome.reason.rule.id, outcome.reason.rule.source): outcome.reason.rule for outcome in covered}
    if len(rules) != 1:
        return None
    also = {reason.item for reason in verdict.lost if reason.rule.lane == "allow" and not reason.note}
    again = trial.resolved([], "")
    if again is None:
        return None
    left = [outcome for outcome in again.outcomes if _is_only_cover(outcome, covered, also)]
    decision = max((outcome.decision for outcome in left), default=Decision.ALLOW)
    if decision is Decision.ALLOW:
        return None
    return f"without {_place(next(iter(rules.values())))} it would be {_BECOMES[decision]}"


def _is_only_cover(outcome: Outcome, covered: list[Outcome], also: set[int]) -> bool:
    item = outcome.reason.item
    return item not in also and any(each.reason.item == item for each in covered)


def _proposals(verdict: Verdict, trial: Trial) -> list[Proposal]:
    """The narrowest rules that together allow the call, [] if none of those that are tried do."""
    uncovered = [
        o.reason.item for o in verdict.outcomes if o.decision is verdict.decision and o.reason.rule.lane == "mode"
    ]
    chosen: dict[str, Proposal] = {}
    wider: dict[str, Proposal] = {}
    seen: set[int] = set()
    for number in uncovered:
        item = verdict.analysis.items[number]
        if item.part >= 0:
            if item.part in seen:
                continue
            part = verdict.analysis.parts[item.part]
            exact = _exactly(part)
            if exact is not None:
                seen.add(item.part)
                chosen[exact.text] = exact
                general = _subcommand(part, verdict, item.part)
                if general is not None:
                    wider[exact.text] = general
                continue
        found = _effect_rule(item.effect, verdict)
        if found is None:
            return []
        chosen[found.text] = found
    if not chosen or len(chosen) > MAX_RULES:
        return []
    widened = {(each := wider.get(text, rule)).text: each for text, rule in chosen.items()}
    for rules in (list(widened.values()), list(chosen.values())):
        if trial.decision(rules) is Decision.ALLOW:
            return rules
    return []


def _exactly(part: Part) -> Proposal | None:
    """A rule on the very words of a command; None where words cannot spell one."""
    if not (part.direct and part.literal) or not all(word.isprintable() for word in part.argv):
        return None
    text = " ".join(map(spelled, part.argv))
    return _command(text) if _is_balanced(text) and not part.argv[0].endswith(":") else None


def spelled(word: str) -> str:
    """A word as a command pattern that matches it and nothing else."""
    return "".join("\\" + c if c in " \"'\\*" else c for c in word) or "''"


def _is_balanced(text: str) -> bool:
    """Whether the parentheses of a text match, as the short form of a rule needs it."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def _subcommand(part: Part, verdict: Verdict, number: int) -> Proposal | None:
    """A rule on a program and its subcommand, where all that it does is known and stays among files."""
    if not (part.described and part.subcommands):
        return None
    kinds = {item.effect.kind for item in verdict.analysis.items if item.part == number}
    if not kinds <= _AMONG_FILES:
        return None
    words = (part.program, *part.subcommands)
    return _command(" ".join(words) + " *") if part.argv[: len(words)] == words else None


def _command(pattern: str) -> Proposal:
    return Proposal(f"Bash({pattern})", {"command": [pattern]})


def _effect_rule(effect: Any, verdict: Verdict) -> Proposal | None:
    """A rule on exactly this effect, None where it is too little known, or nothing narrow covers it."""
    kind = effect.kind
    if kind in PATH_KINDS:
        if HOLE in effect.path or effect.real not in ("", effect.path):
            return None
        path = path_pattern(effect.path, verdict)
        if kind == "delete":
            return Proposal(f'{{effect: delete, path: "{path}"}}', {"effect": ["delete"], "path": [path]})
        name, kinds = ("Edit", ["list", "read", "write"]) if kind == "write" else ("Read", ["list", "read"])
        return Proposal(f"{name}({path})", {"effect": kinds, "path": [path]})
    if kind == "connect":
        if HOLE in effect.host or effect.direction != "fetch":
            return None
        when = {"effect": ["connect"], "direction": ["fetch"], "host": [effect.host]}
        return Proposal(f"WebFetch(domain:{effect.host})", when)
    is_tool = not (verdict.analysis.parts or verdict.analysis.tokens)
    if kind == "use" or (kind == "opaque" and is_tool and verdict.call.tool.startswith("mcp__")):
        return Proposal(verdict.call.tool, {"tool": [verdict.call.tool]})
    return None


def path_pattern(path: str, verdict: Verdict) -> str:
    """The pattern that matches exactly this path, as people would write it."""
    root, home = verdict.context.root, verdict.context.home
    spelled = escape(path)
    if root and path.startswith(root + "/"):
        inside = escape(path[len(root) + 1 :])
        return inside if "/" in inside and inside[0] not in "~!" else f"./{inside}"
    if home and path.startswith(home + "/"):
        return f"~/{escape(path[len(home) + 1 :])}"
    return f"/{spelled}"
