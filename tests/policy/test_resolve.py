"""What a verdict is made of: which rule decides an effect, which rules lost, with what note, and what is only noted."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.command import Part
from gateway.model.context import Context
from gateway.model.effect import BROUGHT, HOLE, LEAVE, Code, Connect, Effect, Exec, Item, Opaque, System, Touch, Use
from gateway.model.facts import NO_FACTS, Facts, PathFact, TreeFact
from gateway.policy.compile import Bound, compile_policy
from gateway.policy.hosts import GROUPS
from gateway.policy.modes import regions_of
from gateway.policy.resolve import Resolution, resolve
from gateway.policy.table import DELEGATE, EXPIRES, REST, Judged, Policy
from gateway.spec.policy import parse_policy
from gateway.spec.short import ToolName

ROOT, HOME = "/home/dev/project", "/home/dev"
NOW = 1_700_000_000.0  # 14 November 2023
CONTEXT = Context(ROOT, ROOT, HOME, (ROOT,), ("/tmp",), now=NOW)
LOOSE = CONTEXT.replace(confined=False, temp=())
TOOLS = {"Bash": ToolName("Bash", "shell", "command", ("command",))}
SHELL = Judged("execute", True)
RUN = Part(("run", "x"), 0, 5, "run", ("x",), ("x",), frozenset(), True, True, True, True)


def compiled(**layers: str) -> Policy:
    """The policy of rules in YAML, by layer."""
    stack = []
    for layer, rules in layers.items():
        found = parse_policy(f"version: 1\nrules:\n{rules}\n", f"{layer}.yaml", TOOLS)["rules"]
        stack.append(Bound(layer, f"{layer}.yaml", found, ROOT, ROOT))
    return Policy(**compile_policy(stack, home=HOME), levels={})


def judged(
    policy: Policy,
    *effects: Effect,
    context: Context = CONTEXT,
    facts: Facts = NO_FACTS,
    tool: Judged = SHELL,
    tokens: tuple[str, ...] = (),
    parts: tuple[Part, ...] = (RUN,),
) -> Any:
    items = (Item(Use("Bash")), *(Item(each, 0, 5, 0) for each in effects))
    analysis = Analysis(parts, items, tokens=tokens)
    return resolve(policy, Call("Bash", {"command": "…"}, "…"), tool, analysis, context, facts, regions_of(context))


def told(verdict: Any) -> tuple[str, str, list[tuple[str, str]]]:
    """The decision, the rule that made it, and the rules that lost, each with its note."""
    return verdict.decision.word, verdict.reason.rule.id, [(each.rule.id, each.note) for each in verdict.lost]


A = f"{ROOT}/a"
WRITE = Touch("write", A)
DELEGATED = "- {id: up, deny: {effect: write, path: a}, delegate: {to: user}}"
EXCEPTED = "- {id: but, allow: {effect: write, path: a}, excepts: up}"


def test_a_rule_holds_until_the_moment_it_expires_and_those_behind_it_hold_on() -> None:
    policy = compiled(
        user="""- {id: over, deny: {effect: write}, expires: 2023-11-20}
- {id: stays, ask: {effect: write, path: a}}"""
    )
    end = max(row[EXPIRES] for row in policy.rules)
    found = [told(judged(policy, WRITE, context=CONTEXT.replace(now=now)))[:2] for now in (end - 1, end, end + 1)]
    assert found == [("deny", "over"), ("ask", "stays"), ("ask", "stays")]


def test_an_exception_holds_until_the_moment_it_or_its_delegation_expires() -> None:
    for upper, lower in (
        (DELEGATED.replace("to: user", "to: user, until: 2023-11-20"), EXCEPTED),
        (DELEGATED, EXCEPTED.replace("excepts: up", "excepts: up, expires: 2023-11-20")),
    ):
        policy = compiled(enterprise=upper, user=lower)
        assert told(judged(policy, WRITE)) == ("allow", "but", [("up", "excepted by delegation")])
        day = 86_400
        words = [
            judged(policy, WRITE, context=CONTEXT.replace(now=NOW + days * day)).decision.word for days in range(9)
        ]
        assert (words[0], words[-1], sorted(words) == words) == ("allow", "deny", True)
        (end,) = {row[EXPIRES] for row in policy.rules if row[EXPIRES]} or {None}
        if end is not None:
            at_end = [judged(policy, WRITE, context=CONTEXT.replace(now=now)).decision.word for now in (end - 1, end)]
            assert at_end == ["allow", "deny"]


@pytest.mark.parametrize(
    ("within", "covers", "expected"),
    [("path: src/**", "path: src/**, path_not: src/a/x/**", "deny"),
     ("path: src/**, path_not: src/a/x/**", "path: src/**", "deny"),
     ("path: src/**, path_not: src/b/**", "path: src/**", "allow")],
)  # fmt: skip
def test_an_exception_of_which_a_part_of_a_tree_is_left_out_covers_no_tree(
    within: str, covers: str, expected: str
) -> None:
    policy = compiled(
        enterprise=f"- {{id: up, deny: {{effect: delete}}, delegate: {{to: user, within: {{{within}}}}}}}",
        user=f"- {{id: but, allow: {{effect: delete, {covers}}}, excepts: up}}",
    )
    assert judged(policy, Touch("delete", f"{ROOT}/src/a", tree=True)).decision.word == expected


def test_an_exception_whose_delegation_is_over_hides_no_other() -> None:
    ends = {"over": "2023-11-10", "holds": "2023-11-20"}
    ups = [
        f"- {{id: {each}, deny: {{effect: write}}, delegate: {{to: user, until: {end}}}}}" for each, end in ends.items()
    ]
    downs = [f"- {{id: but-{each}, allow: {{effect: write, path: a}}, excepts: {each}}}" for each in ends]
    policy = compiled(enterprise="\n".join(ups), user="\n".join(downs))
    _word, rule, lost = told(judged(policy, WRITE))
    assert (rule, [each for each in lost if each[0] == "holds"]) == ("over", [("holds", "excepted by delegation")])


@pytest.mark.parametrize(
    ("within", "covers", "expected"),
    [("src/a/x/**", "src/a/x/**", "deny"), ("src/a/x/**", "src/**", "deny"), ("src/**", "src/a/x/**", "deny"),
     ("src/**", "src/**", "allow")],
)  # fmt: skip
def test_an_exception_covers_a_tree_only_as_a_whole(within: str, covers: str, expected: str) -> None:
    policy = compiled(
        enterprise=f"- {{id: up, deny: {{effect: delete}}, delegate: {{to: user, within: {{path: {within}}}}}}}",
        user=f"- {{id: but, allow: {{effect: delete, path: {covers}}}, excepts: up}}",
    )
    assert judged(policy, Touch("delete", f"{ROOT}/src/a", tree=True)).decision.word == expected


NAMED = "{effect: system, action: leave-sandbox}"


@pytest.mark.parametrize(
    ("layer", "when", "expected"),
    [("user", NAMED, "allow"), ("enterprise", NAMED, "allow"), ("project", NAMED, "ask"), ("local", NAMED, "ask"),
     ("user", "{effect: system}", "ask"), ("user", "{tool: Bash}", "ask")],
)  # fmt: skip
def test_only_a_rule_of_the_person_or_the_house_that_names_it_lets_a_call_run_without_the_sandbox(
    layer: str, when: str, expected: str
) -> None:
    assert judged(compiled(**{layer: f"- {{id: out, allow: {when}}}"}), System(LEAVE, "")).decision.word == expected


PROTECTED = "- {id: no-env, deny: {effect: [read, write, delete], path: '**/.env'}, lock: true}"
TREE = Touch("read", f"{ROOT}/src", tree=True)
ENDED = "protected paths may lie below it, and the look at the folder ended at its bound"
BELOW = {
    "nobody looked": (TREE, NO_FACTS, ENDED),
    "a look that ended at its bound": (TREE, Facts(trees={(TREE.path, ""): TreeFact((), False)}), ENDED),
    "a look that found some": (TREE, Facts(trees={(TREE.path, ""): TreeFact((f"{ROOT}/src/.env",), True)}),
                               f"protected paths lie below it: {ROOT}/src/.env"),
    "names that come from elsewhere": (
        Touch("write", f"{ROOT}/src", tree=True, skips=BROUGHT), NO_FACTS,
        "protected paths may lie below it: the names come from elsewhere"),
    "a folder that is there": (
        Touch("write", f"{ROOT}/src", tree=True), Facts(paths={f"{ROOT}/src": PathFact(f"{ROOT}/src", "dir")}),
        ENDED),
    "a new one behind a link": (
        Touch("write", f"{ROOT}/new", tree=True), Facts(paths={f"{ROOT}/new": PathFact("/srv/new", "missing")}),
        ENDED),
}  # fmt: skip
FREE = {
    "a whole look that found nothing": (TREE, Facts(trees={(TREE.path, ""): TreeFact((), True)})),
    "a new folder, whose names the program chooses": (
        Touch("write", f"{ROOT}/new", tree=True), Facts(paths={f"{ROOT}/new": PathFact(f"{ROOT}/new", "missing")})),
}  # fmt: skip


@pytest.mark.parametrize("case", BELOW)
def test_protected_paths_below_a_tree_that_nothing_confines_are_asked_about(case: str) -> None:
    effect, facts, note = BELOW[case]
    asks = "- {id: ask-env, ask: {effect: [read, write], path: '**/.env'}}"
    rules = f"{PROTECTED}\n{asks}\n- {{id: all, allow: Bash}}"
    found = judged(compiled(user=rules), effect, context=LOOSE, facts=facts)
    assert (found.decision.word, found.reason.rule.id, found.reason.certain, found.reason.note, found.reason.item) == (
        "ask", "no-env", False, note, 1,
    )  # fmt: skip


@pytest.mark.parametrize("case", FREE)
def test_a_tree_in_which_nothing_protected_lies_is_as_free_as_its_rule_says(case: str) -> None:
    effect, facts = FREE[case]
    found = judged(compiled(user=f"{PROTECTED}\n- {{id: all, allow: Bash}}"), effect, context=LOOSE, facts=facts)
    assert told(found) == ("allow", "all", [])


LOST: dict[str, tuple[dict[str, str], tuple[Effect, ...], Context, Any]] = {
    "a milder rule": (
        {"user": "- {id: asks, ask: {effect: write}}\n- {id: denies, deny: {effect: write, path: a}}"},
        (WRITE,), CONTEXT, ("deny", "denies", [("asks", "")]),
    ),
    "a milder rule that stands behind": (
        {"user": "- {id: denies, deny: {effect: write, path: a}}\n- {id: zz-asks, ask: {effect: write}}"},
        (WRITE,), CONTEXT, ("deny", "denies", [("zz-asks", "")]),
    ),
    "one of a lower layer": (
        {"enterprise": "- {id: up, deny: {effect: write}}", "user": "- {id: down, deny: {effect: write, path: a}}"},
        (WRITE,), CONTEXT, ("deny", "up", [("down", "")]),
    ),
    "one of a lower layer that is found first": (
        {"user": "- {id: down, deny: {effect: write}}", "enterprise": "- {id: up, deny: {effect: write, path: a}}"},
        (WRITE,), CONTEXT, ("deny", "up", [("down", "")]),
    ),
    "one that asks above one that denies": (
        {"enterprise": "- {id: up, ask: {effect: write}}", "user": "- {id: down, deny: {effect: write, path: a}}"},
        (WRITE,), CONTEXT, ("deny", "down", [("up", "")]),
    ),
    "of two for the ends of a link the one that is not named": (
        {"user": "- {id: here, allow: {effect: read, path: a}}\n- {id: there, allow: {effect: read, path: //srv/a}}"},
        (Touch("read", A, real="/srv/a"),), CONTEXT, ("allow", "here", [("there", "")]),
    ),
    "a question that a mode answers": (
        {"user": "- {id: asks, ask: {effect: write}}"},
        (WRITE,), CONTEXT.replace(mode="bypass"), ("allow", "mode", [("asks", "mode `bypass` answers it")]),
    ),
    "none behind one that does not hold now": (
        {"user": "- {id: all, allow: {effect: write}}\n- {id: later, allow: {effect: write, path: a, mode: plan}}\n"
                 "- {id: no, deny: {effect: write, path: a}}"},
        (WRITE,), CONTEXT, ("deny", "no", [("all", "")]),
    ),
    "none that covers one end of a link alone": (
        {"user": "- {id: here, allow: {effect: read, path: a}}"},
        (Touch("read", A, real="/srv/a"),), CONTEXT, ("ask", "mode", []),
    ),
    "a rule that allows beside a question that a mode answers": (
        {"user": "- {id: asks, ask: {effect: write}}\n- {id: all, allow: {effect: write}}"},
        (WRITE,), CONTEXT.replace(mode="bypass"), ("allow", "all", [("asks", "mode `bypass` answers it")]),
    ),
    "a question that a mode answers beside one that it does not": (
        {"user": "- {id: asks, ask: {effect: write}}", "local": "- {id: locked, ask: {effect: write}, lock: true}"},
        (WRITE,), CONTEXT.replace(mode="bypass"), ("ask", "locked", [("asks", "mode `bypass` answers it")]),
    ),
    "an allow under a ceiling": (
        {"user": "- {id: all, allow: {effect: write}}"},
        (WRITE,), CONTEXT.replace(mode="plan"), ("deny", "mode", [("all", "mode `plan` is a ceiling")]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOST)
def test_what_held_and_did_not_decide_is_told(case: str) -> None:
    layers, effects, context, expected = LOST[case]
    decision, rule, lost = told(judged(compiled(**layers), *effects, context=context))
    assert (decision, rule.partition(".")[0].partition(":")[0], lost) == expected


INSIDE: dict[str, tuple[str, Effect, str]] = {
    "what is in a folder is not the folder": (
        "allow: {effect: write, path: 'src/*'}", Touch("write", f"{ROOT}/src"), "ask"),
    "and what is in it is": ("allow: {effect: write, path: 'src/*'}", Touch("write", f"{ROOT}/src/a"), "allow"),
    "a tree is what is in it": (
        "deny: {effect: delete, path: 'src/*'}", Touch("delete", f"{ROOT}/src", tree=True), "deny"),
    "a list shows what is in it": ("deny: {effect: list, path: 'src/*'}", Touch("list", f"{ROOT}/src"), "deny"),
    "behind a link, too": (
        "deny: {effect: delete, path: 'src/*'}", Touch("delete", f"{ROOT}/l", tree=True, real=f"{ROOT}/src"), "deny"),
    "be it listed": ("deny: {effect: list, path: 'src/*'}", Touch("list", f"{ROOT}/l", real=f"{ROOT}/src"), "deny"),
    "a folder behind a link is not what is in it": (
        "deny: {effect: write, path: 'src/*'}", Touch("write", f"{ROOT}/l", real=f"{ROOT}/src"), "ask"),
    "both ends of a link are covered": (
        "allow: {effect: write, path: ['l', 'src/*']}", Touch("write", f"{ROOT}/l", real=f"{ROOT}/src"), "ask"),
}  # fmt: skip


@pytest.mark.parametrize("case", INSIDE)
def test_a_rule_on_what_is_in_a_folder_speaks_of_whatever_touches_that(case: str) -> None:
    rule, effect, expected = INSIDE[case]
    assert judged(compiled(user=f"- {{id: x, {rule}}}"), effect).decision.word == expected


def test_a_rule_on_where_a_command_runs_is_asked_of_the_folder_of_each() -> None:
    policy = compiled(user="- {id: there, allow: {command: 'run *', cwd: src}}")
    folders = (f"{ROOT}/src", "/srv", f"{ROOT}/src/a", ROOT, f"{ROOT}/src")
    found = [judged(policy, WRITE, parts=(RUN.replace(cwds=(folder,)),)).decision.word for folder in folders]
    assert found == ["allow", "ask", "allow", "ask", "allow"]


def test_an_exception_speaks_of_the_commands_of_a_shell_and_not_of_its_calling() -> None:
    policy = compiled(user="- {id: no, deny: {tool: Bash}, except: [{command: 'run *'}]}")
    walks = RUN.replace(argv=("walk", "x"), program="walk")
    assert [judged(policy, Exec(part.program, part.argv), parts=(part,)).decision.word for part in (RUN, walks)] == [
        "allow", "deny",
    ]  # fmt: skip


LEFT_OUT = "{effect: delete, path: 'src/**', path_not: 'src/a/x/**'}"


@pytest.mark.parametrize(("tree", "expected"), [(f"{ROOT}/src/a", "ask"), (f"{ROOT}/src/b", "allow")])
def test_a_rule_covers_no_tree_of_which_it_leaves_out_a_part(tree: str, expected: str) -> None:
    found = judged(compiled(user=f"- {{id: all, allow: {LEFT_OUT}}}"), Touch("delete", tree, tree=True))
    assert found.decision.word == expected


HOST = Connect(HOLE, 443, "send")
UNKNOWN_HOST = {
    "a rule on groups of addresses says nothing of one, since the proxy holds it": (
        "{id: no, deny: {effect: connect, host: private}}", CONTEXT, SHELL, "mode"),
    "nor one on all such groups": (
        f"{{id: no, deny: {{effect: connect, host: [{', '.join(GROUPS)}]}}}}", CONTEXT, SHELL, "mode"),
    "a locked one speaks of it all the same": (
        "{id: no, deny: {effect: connect, host: private}, lock: true}", CONTEXT, SHELL, "no"),
    "and one of a call that nothing confines": (
        "{id: no, deny: {effect: connect, host: private}}", LOOSE, SHELL, "no"),
    "and of a tool that is no shell": (
        "{id: no, deny: {effect: connect, host: private}}", CONTEXT, Judged("execute", False), "no"),
    "one on hosts by name is not held": (
        "{id: no, deny: {effect: connect, host: evil.example}}", CONTEXT, SHELL, "no"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN_HOST)
def test_of_an_unknown_host_rules_speak_that_the_proxy_does_not_hold(case: str) -> None:
    rule, context, tool, expected = UNKNOWN_HOST[case]
    found = judged(compiled(user=f"- {rule}"), HOST, context=context, tool=tool)
    assert (found.decision.word, found.reason.rule.id.partition(".")[0].partition(":")[0]) == ("ask", expected)


BYPASSED = "mode `bypass` answers it"


def test_questions_about_words_and_about_what_may_lie_below_are_answered_by_bypass_and_that_is_told() -> None:
    words = judged(compiled(user="- {id: asks, ask: 'Bash(rm *)'}"), Opaque("x"), tokens=("rm", "x"),
                   context=CONTEXT.replace(mode="bypass"))  # fmt: skip
    asks = "- {id: asks, ask: {effect: read, path: '**/.env'}}"
    below = judged(compiled(user=asks), TREE, context=LOOSE.replace(mode="bypass"))
    assert [(each.decision.word, [(lost.rule.id, lost.note) for lost in each.lost]) for each in (words, below)] == [
        ("allow", [("asks", BYPASSED)]), ("allow", [("asks", BYPASSED)]),
    ]  # fmt: skip


def contained(policy: Policy, *effects: Effect) -> Any:
    analysis = Analysis((RUN,), (Item(Use("Bash")), *(Item(each, 0, 5, 0) for each in effects)))
    call = Call("Bash", {"command": "…"}, "…")
    return Resolution(policy, call, SHELL, analysis, CONTEXT, NO_FACTS, regions_of(CONTEXT)).contained()


HELD = "- {id: held, allow: {effect: [code, write, opaque], contained: true}}"
MAY = "- {id: may, deny: {effect: write, path: 'src/**'}}"


@pytest.mark.parametrize(
    ("rules", "effect", "expected"),
    [
        (MAY, Touch("write", f"{ROOT}/{HOLE}"), ("allow", "held", [("may", "mounts hold it: the call is contained")])),
        (MAY.replace("path", "path_not"), Touch("write", f"{ROOT}/b/c"), ("deny", "may", [("held", "")])),
        (f"{MAY[:-1]}, lock: true}}", Touch("write", f"{ROOT}/{HOLE}"), ("ask", "may", [("held", "")])),
        (MAY, Touch("write", f"{ROOT}/src/a"), ("deny", "may", [("held", "")])),
    ],
)  # fmt: skip
def test_of_a_contained_call_mounts_hold_what_a_rule_only_may_forbid(rules: str, effect: Effect, expected: Any) -> None:
    found = contained(compiled(user=f"{rules}\n{HELD}"), effect)
    assert told(found) == expected


def test_an_ordinary_rule_covers_of_a_contained_call_what_it_covers_of_any() -> None:
    policy = compiled(
        user="""- {id: code, allow: {effect: code, contained: true}}
- {id: system, allow: {effect: system}}"""
    )
    found = contained(policy, Code("make", ("make",), "x"), System("service", "start x"))
    assert [each.reason.rule.id for each in found.outcomes] == ["code", "system"]


KEPT = "- {id: keeps, allow: {effect: write, path: a, contained: true}, changes: keep}"
ASKED = "- {id: asks, allow: {effect: write, contained: true}, changes: ask}"
LOSES = ASKED.replace("asks", "loses").replace("changes: ask", "changes: discard")
BECOMES = {
    "the mildest of the rules that cover it": ((KEPT, ASKED, LOSES), WRITE, "keep", True),
    "never what one that covers one end of a link says": (
        (KEPT, ASKED),
        Touch("write", A, real=f"{ROOT}/b"),
        "ask",
        False,
    ),
    "what one rule says of it": ((ASKED,), WRITE, "ask", False),
    "that it is thrown away": ((LOSES,), WRITE, "discard", True),
}


@pytest.mark.parametrize("case", BECOMES)
def test_what_a_contained_call_changes_becomes_what_its_rules_say(case: str) -> None:
    rules, effect, changes, discards = BECOMES[case]
    analysis = Analysis((RUN,), (Item(Use("Bash")), Item(effect, 0, 5, 0)))
    policy, call = compiled(user="\n".join(rules)), Call("Bash", {"command": "…"}, "…")
    work = Resolution(policy, call, SHELL, analysis, CONTEXT, NO_FACTS, regions_of(CONTEXT))
    found = work.contained()
    assert (found.decision.word, found.changes, work.discards) == ("allow", changes, discards)


def test_a_rule_that_only_observes_says_nothing_of_what_becomes_of_changes() -> None:
    stack = []
    for name, rule, level in (("one.yaml", KEPT, "observe"), ("two.yaml", ASKED, "enforce")):
        found = parse_policy(f"version: 1\nrules:\n{rule}\n", name, TOOLS)["rules"]
        stack.append(Bound("user", name, found, ROOT, ROOT, level))
    found = contained(Policy(**compile_policy(stack, home=HOME), levels={}), WRITE)
    assert (found.decision.word, found.changes) == ("allow", "ask")


@pytest.mark.parametrize(("mode", "expected"), [("default", "ask"), ("bypass", "allow"), ("dont_ask", "deny")])
def test_what_a_level_asks_about_is_answered_by_modes_that_ask_nobody(mode: str, expected: str) -> None:
    policy = compiled(user="- {id: other, allow: 'Bash(walk *)'}")
    found = judged(policy, tool=Judged("write", False), context=CONTEXT.replace(mode=mode), parts=())
    assert (found.decision.word, found.reason.item) == (expected, 0)


def test_a_rule_that_is_over_covers_no_call_that_only_runs_a_program() -> None:
    policy = compiled(user="- {id: runs, allow: 'Bash(run *)', expires: 2023-11-20}").replace(levels={"read": "ask"})
    (end,) = {row[EXPIRES] for row in policy.rules}
    two = "- {id: over, allow: 'Bash(run *)', expires: 2023-11-10}\n- {id: stays, allow: 'Bash(run x)'}"
    both = compiled(user=two).replace(levels={"read": "ask"})
    assert judged(both, Exec("run", ("run", "x"))).reason.rule.id == "stays"
    found = [
        judged(policy, Exec("run", ("run", "x")), context=CONTEXT.replace(now=now)).decision.word
        for now in (end - 1, end, end + 1)
    ]
    assert found == ["allow", "ask", "ask"]


def test_a_reason_of_a_rule_that_surely_holds_is_certain_and_names_its_effect() -> None:
    found = judged(compiled(user="- {id: no, deny: {effect: write}}"), Touch("read", A), WRITE)
    assert (found.reason.certain, found.reason.named, found.reason.item, found.reason.note) == (True, False, 2, "")


def test_a_rule_that_may_hold_asks_and_says_so() -> None:
    found = judged(compiled(user="- {id: no, deny: {effect: write, path: b}}"), Touch("write", f"{ROOT}/{HOLE}"),
                   context=LOOSE)  # fmt: skip
    assert (found.decision.word, found.reason.rule.id, found.reason.certain, found.reason.note) == (
        "ask", "no", False, "may match: the target is not fully known",
    )  # fmt: skip


def test_words_that_cannot_be_parsed_are_told_of_what_is_unknown() -> None:
    policy = compiled(user="- {id: no, deny: 'Bash(rm *)'}")
    found = judged(policy, Touch("read", A), Opaque("it cannot be parsed"), tokens=("rm", "x"))
    assert (found.decision.word, found.reason.rule.id, found.reason.item) == ("deny", "no", 2)
    only = Policy(**compile_policy([
        Bound("user", "user.yaml", parse_policy("version: 1\ndeny: ['Bash(rm *)']\n", "user.yaml", TOOLS)["rules"],
              ROOT, ROOT, "observe")], home=HOME), levels={})  # fmt: skip
    found = judged(only, Opaque("it cannot be parsed"), tokens=("rm", "x"))
    assert (found.decision.word, [each.item for each in found.noted]) == ("ask", [1])


CARRIED: dict[str, tuple[str, tuple[Part, ...], str]] = {
    "a rule for the command covers a call that does nothing else": ("Bash(run *)", (RUN,), "allow"),
    "and the bare tool": ("Bash", (RUN,), "allow"),
    "of two commands none covers both": ("Bash(run *)", (RUN, RUN), "ask"),
    "another command's covers nothing": ("Bash(walk *)", (RUN,), "ask"),
}


@pytest.mark.parametrize("case", CARRIED)
def test_what_only_runs_a_program_is_covered_by_a_rule_for_it_or_left_to_its_level(case: str) -> None:
    text, parts, expected = CARRIED[case]
    policy = compiled(user=f"- {{id: runs, allow: '{text}'}}").replace(levels={"read": "ask"})
    found = judged(policy, Exec("run", ("run", "x")), parts=parts)
    assert (found.decision.word, found.reason.rule.id == "runs") == (expected, expected == "allow")


def test_a_rule_on_the_calling_of_a_tool_is_asked_of_that_and_not_of_the_program_that_it_starts() -> None:
    policy = compiled(user="- {id: call, allow: {tool: Bash, effect: use}}").replace(levels={"read": "ask"})
    found = judged(policy, Exec("run", ("run", "x")))
    assert (found.decision.word, found.reason.rule.id, found.reason.item) == ("allow", "call", 0)
    policy = compiled(user="- {id: start, allow: {tool: Bash, effect: exec}}").replace(levels={"read": "ask"})
    found = judged(policy, Exec("run", ("run", "x")))
    assert (found.decision.word, found.reason.rule.id, found.reason.item) == ("allow", "start", 1)


@pytest.mark.parametrize(("now", "expected"), [(NOW, "allow"), (NOW + 4 * 3600, "ask")])
def test_a_window_that_runs_over_midnight_allows_what_only_runs_a_program_on_days_that_are_surely_in_it(
    now: float, expected: str
) -> None:
    window = "{days: [tue], from: '22:00', to: '06:00'}"
    policy = compiled(user=f"- {{id: runs, allow: {{tool: Bash, time: {window}}}}}").replace(levels={"read": "ask"})
    assert judged(policy, Exec("run", ("run", "x")), context=CONTEXT.replace(now=now)).decision.word == expected


@pytest.mark.parametrize("lane", ["deny", "ask"])
def test_a_rule_that_forbids_with_an_exception_allows_nothing_that_it_spares(lane: str) -> None:
    rule = f"- {{id: no, {lane}: 'Bash(run *)', except: ['Bash(run x)']}}"
    found = judged(compiled(user=rule).replace(levels={"read": "ask"}), Exec("run", ("run", "x")))
    assert (found.decision.word, found.reason.rule.id == "no") == ("ask", False)


def test_a_rule_that_only_observes_covers_no_call_that_only_runs_a_program() -> None:
    rules = parse_policy("version: 1\nallow: ['Bash(run *)']\n", "user.yaml", TOOLS)["rules"]
    policy = Policy(
        **compile_policy([Bound("user", "user.yaml", rules, ROOT, ROOT, "observe")], home=HOME), levels={"read": "ask"}
    )
    assert judged(policy, Exec("run", ("run", "x"))).decision.word == "ask"


@pytest.mark.parametrize(
    ("when", "expected"),
    [("{command: 'make *'}", "allow"), ("{exec: [make]}", "allow"), ("{program: make}", "allow"),
     ("{effect: code}", "ask"), ("{tool: Bash}", "ask")],
)  # fmt: skip
def test_unconfined_code_is_covered_by_a_rule_that_names_its_program_alone(when: str, expected: str) -> None:
    part = RUN.replace(argv=("make", "x"), program="make")
    policy = compiled(user=f"- {{id: makes, allow: {when}}}")
    found = judged(policy, Code("make", ("make", "x"), "x"), context=LOOSE, parts=(part,))
    assert found.decision.word == expected


OPAQUE: dict[str, tuple[str, Judged, Context, str]] = {
    "what a shell does not understand is covered by the bare tool in a sandbox": (
        "{tool: Bash}", SHELL, CONTEXT, "allow"),
    "and without one by nothing": ("{tool: Bash}", SHELL, LOOSE, "ask"),
    "nor by a rule that does not name the tool": ("{effect: opaque}", SHELL, CONTEXT, "ask"),
    "that of another tool is covered by the tool anywhere": ("{tool: Bash}", Judged("execute", False), LOOSE, "allow"),
    "and not by a rule that does not name it": ("{effect: opaque}", Judged("execute", False), CONTEXT, "ask"),
}  # fmt: skip


@pytest.mark.parametrize("case", OPAQUE)
def test_what_is_not_understood_is_covered_by_a_rule_for_its_tool_alone(case: str) -> None:
    when, tool, context, expected = OPAQUE[case]
    policy = compiled(user=f"- {{id: all, allow: {when}}}")
    assert judged(policy, Opaque("x"), tool=tool, context=context).decision.word == expected


@pytest.mark.parametrize(
    ("when", "path", "named"),
    [("{effect: write, path: //tmp/**}", "/tmp/x", True), ("{effect: write}", "/tmp/x", False),
     ("{effect: write, path: a}", A, False), ("{effect: [read, write], path: //tmp/**}", "/tmp/x", True)],
)  # fmt: skip
def test_a_rule_names_the_path_of_a_write_in_a_temporary_folder(when: str, path: str, named: bool) -> None:
    found = judged(compiled(user=f"- {{id: all, allow: {when}}}"), Touch("write", path))
    assert (found.reason.rule.id, found.reason.named, found.reason.certain) == ("all", named, True)


@pytest.mark.parametrize("lane", ["deny", "ask"])
def test_a_rule_on_a_command_decides_a_call_that_only_runs_it(lane: str) -> None:
    found = judged(compiled(user=f"- {{id: no, {lane}: 'Bash(run *)'}}"), Exec("run", ("run", "x")))
    assert (found.decision.word, found.reason.rule.id) == (lane, "no")


def test_a_rule_that_only_observes_is_noted_and_decides_nothing() -> None:
    rules = parse_policy("version: 1\nrules:\n- {id: no, deny: {effect: write}}\n", "user.yaml", TOOLS)["rules"]
    policy = Policy(**compile_policy([Bound("user", "user.yaml", rules, ROOT, ROOT, "observe")], home=HOME), levels={})
    found = judged(policy, Touch("write", "/tmp/x"))
    assert (found.decision.word, [each.rule.id for each in found.noted], found.lost) == ("allow", ["no"], ())


@pytest.mark.parametrize(
    ("tool", "expected"),
    [(Judged("read", False), "allow"), (Judged("session", False), "allow"), (Judged("write", False), "ask"),
     (SHELL, "allow")],
)  # fmt: skip
def test_a_review_of_changes_asks_about_tools_that_do_more_than_read(tool: Judged, expected: str) -> None:
    policy = compiled(user="- {id: all, allow: {tool: Bash}}").replace(review="changes")
    found = judged(policy, tool=tool, parts=(), context=CONTEXT.replace(mode="auto"))
    assert found.decision.word == expected
    assert [each.decision.word for each in found.outcomes] == ["allow", "ask"][: 1 + (expected == "ask")]


def test_a_delegation_holds_until_the_moment_it_ends() -> None:
    policy = compiled(enterprise=DELEGATED.replace("to: user", "to: user, until: 2023-11-20"), user=EXCEPTED)
    (until,) = {row[REST][DELEGATE][1] for row in policy.rules if row[REST] and row[REST][DELEGATE]}
    found = [judged(policy, WRITE, context=CONTEXT.replace(now=now)).decision.word for now in (until - 1, until)]
    assert found == ["allow", "deny"]


def test_an_exception_that_only_observes_silences_nothing() -> None:
    files = {"enterprise": (DELEGATED, "enforce"), "user": (EXCEPTED, "observe")}
    stack = []
    for layer, (rules, level) in files.items():
        found = parse_policy(f"version: 1\nrules:\n{rules}\n", f"{layer}.yaml", TOOLS)["rules"]
        stack.append(Bound(layer, f"{layer}.yaml", found, ROOT, ROOT, level))
    verdict = judged(Policy(**compile_policy(stack, home=HOME), levels={}), WRITE)
    assert (verdict.decision.word, verdict.reason.rule.id) == ("deny", "up")
