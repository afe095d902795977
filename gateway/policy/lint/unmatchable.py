"""Alternatives of rules that no call can ever match, and rules that are over."""

from __future__ import annotations

from gateway.model.effect import CARRIERS, PATH_KINDS
from gateway.policy import globs
from gateway.policy.algebra.pattern_inclusion import hosts_within, paths_within
from gateway.policy.fitting import FITTING, is_loopback
from gateway.policy.lint.clauses import FIELDS, OF_PART, is_expired
from gateway.policy.modes import CEILINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.policy.lint.clauses import Clause, Finding, ToolTraits

_OPERATORS = ("&&", "||", "|", ";", "&", ">", ">>", "<", "&>", "2>", "2>&1")


def never(clause: Clause, tools: Mapping[str, ToolTraits], now: float) -> Iterator[Finding]:
    """What is wrong with one alternative, at most one finding for each kind of contradiction."""
    if is_expired(clause.rule, now):
        yield clause.finding("expired", "warning", f"rule is over since {clause.rule['expires']}", "remove it")
        return
    for why, remedy in _contradictions(clause, tools):
        yield clause.finding("never-matches", "warning", f"no call can match: {why}", remedy)
        return


def _contradictions(clause: Clause, tools: Mapping[str, ToolTraits]) -> Iterator[tuple[str, str]]:
    when = clause.when
    yield from _of_kinds(clause)
    yield from _of_tools(clause, tools)
    yield from _of_commands(when)
    yield from _of_lists(clause)
    yield from _of_args(when.get("args", {}))
    yield from _of_circumstances(when)
    if clause.lane == "allow":
        yield from _of_allow(clause)


def _of_kinds(clause: Clause) -> Iterator[tuple[str, str]]:
    if clause.kinds:
        return
    named = [name for name in clause.when if name in FIELDS]
    kinds = clause.when.get("effect")
    if kinds:
        lacking = next((name for name in named if not set(FIELDS[name]) & set(kinds)), named[0])
        yield f"an effect `{'`, `'.join(kinds)}` has no `{lacking}`", f"`{lacking}` belongs to {_list(FIELDS[lacking])}"
        return
    first = named[0]
    other = next((name for name in named if not set(FIELDS[name]) & set(FIELDS[first])), named[-1])
    yield f"no effect has both `{first}` and `{other}`", "write a rule for each, or a list of alternatives"


def _of_tools(clause: Clause, tools: Mapping[str, ToolTraits]) -> Iterator[tuple[str, str]]:
    named = clause.when.get("tool")
    if not named or not all(name in tools for name in named):
        return
    traits = [tools[name] for name in named]
    of_part = next((name for name in OF_PART if name in clause.when), "")
    if of_part and not any(each.shell for each in traits):
        yield f"`{named[0]}` runs no command that `{of_part}` could speak of", f"leave `tool` or `{of_part}` out"
    elif clause.kinds and all(each.effects and not each.effects & set(clause.kinds) for each in traits):
        yield (
            f"`{named[0]}` has no effect `{'`, `'.join(clause.kinds[:4])}`",
            f"its effects are {_list(sorted(traits[0].effects))}; leave `tool` out to speak of the effect itself",
        )


def _of_commands(when: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for pattern in when.get("command", ()):
        words = pattern.split()
        operator = next((word for word in words[1:] if word in _OPERATORS or word.endswith(";")), "")
        if operator and len(when["command"]) == 1:
            yield (
                f"`{pattern}` holds `{operator}`, and a command rule is matched with one simple command at a time",
                "write one rule for each command; redirects are effects on paths: `Edit(…)`, `Read(…)`",
            )
        elif _is_assignment(words[0]) and len(when["command"]) == 1:
            yield (
                f"`{words[0]}` before a command is no word of it",
                "leave it out; a variable that is set is an effect of its own: `{effect: env, access: set, name: …}`",
            )
    if "command" in when and "exec" in when:
        programs = {pattern.split(" ", 1)[0] for pattern in when["command"]}
        given = when["exec"][0]
        if all(map(globs.is_literal, (*programs, *given))) and not {_base(p) for p in programs} & set(given):
            yield f"`command` and `exec` name different programs ({_list(sorted(programs))}, {_list(given)})", ""


def _is_assignment(word: str) -> bool:
    name, equals, _value = word.partition("=")
    return bool(equals) and name.isidentifier()


def _base(program: str) -> str:
    return program[program.rfind("/") + 1 :].lower()


def _of_lists(clause: Clause) -> Iterator[tuple[str, str]]:
    when, written = clause.when, clause.written
    if "option" in when and set(when["option"]) <= set(when.get("option_not", ())):
        yield f"`option` and `option_not` both name {_list(when['option'])}", "remove one of them"
    for name, within in (("path", paths_within), ("host", hosts_within)):
        left_out = when.get(f"{name}_not", ())
        wanted = when.get(name, ())
        if wanted and left_out and within(wanted, left_out):
            yield f"`{name}_not` leaves out all of {_list(written[name])}", "narrow it"
    if when.get("host_not") and any(pattern == "*" for pattern in when["host_not"]):
        yield "`host_not` leaves out every host", "name the hosts that are fine"


def _of_args(tests: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for path, test in tests.items():
        why = _impossible(test)
        if why:
            yield f"`{path}` {why}", ""
        parent = next((other for other in tests if path.startswith(other + ".") and tests[other].get("absent")), "")
        if parent and not test.get("absent"):
            yield f"`{path}` cannot be there while `{parent}` is absent", "remove one of them"


def _impossible(test: dict[str, Any]) -> str:
    """Why no value passes a test, "" if one may."""
    if test.get("absent") is True and len(test) > 1:
        return "cannot be absent and have a value"
    low = max((test[name] for name in ("gt", "ge") if name in test), default=None)
    high = min((test[name] for name in ("lt", "le") if name in test), default=None)
    if low is not None and high is not None:
        strict = test.get("gt") == low or test.get("lt") == high
        if low > high or (low == high and strict):
            return f"cannot be above {low} and below {high}"
    if "equals" in test:
        value = test["equals"]
        if "in" in test and value not in test["in"]:
            return "cannot equal a value that `in` leaves out"
        if "glob" in test and isinstance(value, str) and not globs.matches(globs.compile_glob(test["glob"]), value):
            return f"cannot equal `{value}` and match `{test['glob']}`"
    return ""


def _of_circumstances(when: dict[str, Any]) -> Iterator[tuple[str, str]]:
    depth = when.get("depth", {})
    if _impossible(depth) or depth.get("lt") == 0 or depth.get("le", 0) < 0:
        yield "no depth lies within these bounds", ""
    window = when.get("time", {})
    if "from" in window and window["from"] == window.get("to"):
        yield f"the time from {window['from']} to {window['to']} is empty", "leave both out for the whole day"


def _of_contained(clause: Clause) -> Iterator[tuple[str, str]]:
    """Why nothing that an allow of contained calls speaks of fits in their plan."""
    when = clause.when
    remedy = "leave `contained` out; then it is judged before the call"
    if clause.kinds and not set(clause.kinds) & set(FITTING):
        yield f"an effect {_list(clause.kinds)} does not fit in the contained plan", remedy
    elif when.get("host") and not any(is_loopback(host) or host == "*" for host in when["host"]):
        yield "a contained call reaches nothing but the loopback of its sandbox", remedy
    elif when.get("confined") is False:
        yield "a call that is contained is confined", "leave `confined` out"


def _of_allow(clause: Clause) -> Iterator[tuple[str, str]]:
    when = clause.when
    if when.get("contained") is True:
        yield from _of_contained(clause)
    if clause.kinds and all(kind in CARRIERS for kind in clause.kinds):
        yield (
            f"an effect `{'`, `'.join(clause.kinds)}` needs no allowance; what the program does needs one",
            "write `Bash(program *)`, or name the effect: code, read, write, connect, …",
        )
    if clause.kinds == ("opaque",) and "tool" not in when and when.get("contained") is not True:
        yield (
            "what is not understood is allowed by nothing but the bare tool",
            "write `allow: Bash`; it holds for confined calls",
        )
    modes = when.get("mode")
    changes = set(clause.kinds) <= {"write", "delete", "push", "system"}
    if modes and clause.kinds and changes and all(mode in CEILINGS for mode in modes):
        yield f"mode `{modes[0]}` refuses this whatever allows it", "name another mode"
    if set(clause.kinds) <= set(PATH_KINDS) and clause.kinds and "path" in when and when["path"] == ["/"]:
        yield "`//` is the root folder itself and everything below, which no allow rule should mean", ""


def _list(words: Any) -> str:
    return ", ".join(f"`{word}`" for word in words)
