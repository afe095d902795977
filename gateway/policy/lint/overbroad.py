"""Allow rules that open more than they seem to, and forbidding rules that other tools walk around."""

from __future__ import annotations

from gateway.policy import globs
from gateway.policy.lint.programs import INTERPRETERS, RUNNERS, SECOND_LEVELS, SHARED_DOMAINS
from gateway.policy.predicates import PREDICATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.policy.lint.clauses import Clause, Finding, ToolTraits

_PATHS = "an effect on paths holds for every tool"
_CONNECT = "the effect holds for every tool"
_WALKED_AROUND = {
    "Read": ("Bash(cat src/main.py)", "Read(**)", _PATHS),
    "Grep": ("Bash(grep x src/main.py)", "Read(**)", _PATHS),
    "Glob": ("Bash(ls src)", "{effect: list}", _PATHS),
    "Edit": ("Bash(touch src/main.py)", "Edit(**)", _PATHS),
    "Write": ("Bash(touch src/main.py)", "Edit(**)", _PATHS),
    "NotebookEdit": ("Bash(touch a.ipynb)", "Edit(**/*.ipynb)", _PATHS),
    "WebFetch": ("Bash(curl https://example.com/)", "{effect: connect}", _CONNECT),
    "WebSearch": ("Bash(curl https://example.com/)", "{effect: connect}", _CONNECT),
}
# What says only when and for whom a rule holds, and nothing of what a tool is given.
_WHO_AND_WHEN = {"tool"} | {
    name for name, each in PREDICATES.items() if each.scope == "call" and each.circumstance and name != "args"
}
_RESERVED = ("localhost", "internal", "local", "test", "example", "invalid")


def too_wide(clause: Clause, tools: Mapping[str, ToolTraits]) -> Iterator[Finding]:
    """What one alternative lets through that its author may not have meant."""
    if clause.lane == "allow":
        yield from _opens_shell(clause, tools)
        yield from _opens_programs(clause)
        yield from _loose_code(clause)
        yield from _wide_hosts(clause, "host")
    elif clause.lane in ("deny", "ask"):
        yield from _walked_around(clause)
        yield from _wide_hosts(clause, "host_not")


def _opens_shell(clause: Clause, tools: Mapping[str, ToolTraits]) -> Iterator[Finding]:
    shells = [name for name in clause.when.get("tool", ()) if name in tools and tools[name].shell]
    if shells and not set(clause.when) - _WHO_AND_WHEN:
        yield clause.finding(
            "opens-shell",
            "warning",
            f"allow of the whole of `{shells[0]}` lets any program and any text run that is confined",
            "allow the programs that are needed, such as `Bash(npm run *)`",
            witness=f"{shells[0]}($x y)",
            proof="covered",
        )


def _opens_programs(clause: Clause) -> Iterator[Finding]:
    """Commands whose arguments say what runs. A rule that names other effects than those covers none of it."""
    when = clause.when
    if not {"code", "connect", "delete"} & set(clause.kinds) or when.get("option"):
        return
    if when.get("contained") is True and set(clause.kinds) <= {"code", "opaque"}:
        return  # the contained plan holds whatever runs
    for pattern in when.get("command", ()):
        found = _opened(pattern.split())
        if found:
            yield _opening(clause, pattern, *found)
    if "exec" in when and not {"command", "path", "host"} & set(when):
        first, *others = when["exec"]
        for program in first:
            words = [program, *(choices[0] for choices in others)]
            found = _opened([*words, "*"])
            if found:
                yield _opening(clause, " ".join(words), *found)


def _opening(clause: Clause, pattern: str, kind: str, witness: str) -> Finding:
    what = "an interpreter" if kind == "interpreter" else "a runner"
    return clause.finding(
        f"opens-{kind}",
        "warning",
        f"allow of `{pattern}` opens {what}: its arguments say what happens",
        "name the script, module, package or subcommand that it may run",
        witness=f"Bash({witness})",
        proof="covered",
    )


def _opened(words: list[str]) -> tuple[str, str] | None:
    """What a command pattern opens, and a command that shows it; None if its own words say what runs."""
    star = next((place for place, word in enumerate(words) if "*" in word), -1)
    if star < 0:
        return None
    fixed = words[:star]
    if not fixed:
        return ("interpreter", "sh -c id") if words[0] == "*" else None
    program = fixed[0][fixed[0].rfind("/") + 1 :]
    if program in INTERPRETERS:
        shown, inline = INTERPRETERS[program]
        if fixed[1:] and fixed[-1] not in inline:
            return None
        return "interpreter", shown if len(fixed) == 1 else " ".join([*fixed, "id"])
    shown = RUNNERS.get((program, *fixed[1:]), "")
    return ("runner", shown) if shown and star == len(words) - 1 and words[star] == "*" else None


def _loose_code(clause: Clause) -> Iterator[Finding]:
    """Rules in long form that allow code by its kind, and hold where nothing confines it."""
    when = clause.when
    if "code" not in when.get("effect", ()) or True in (when.get("confined"), when.get("contained")):
        return
    named = any(name in when for name in ("command", "exec", "program"))
    yield clause.finding(
        "code-without-confinement",
        "warning",
        "code is allowed also where no sandbox holds it" if named else "any code is allowed",
        "add `confined: true`",
    )


def _wide_hosts(clause: Clause, name: str) -> Iterator[Finding]:
    for pattern in clause.when.get(name, ()):
        why = _too_wide(pattern.lower().rstrip("."))
        if why:
            what = "allows" if name == "host" else "leaves out"
            yield clause.finding(
                "wide-host", "warning", f"`{pattern}` {what} {why}", "name the hosts, or a domain that you own"
            )


def _too_wide(pattern: str) -> str:
    """Which hosts of others a pattern takes in, "" if it takes in none."""
    if pattern == "*":
        return "every host"
    if not pattern.startswith("*"):
        return ""
    domain = pattern.lstrip("*").lstrip(".")
    labels = domain.split(".")
    if not pattern.startswith("*.") and len(labels) > 1:
        return f"hosts of others, such as `evil{domain}`"
    if len(labels) == 1 and domain not in _RESERVED:
        return f"every host below `.{domain}`"
    if len(labels) == 2 and labels[0] in SECOND_LEVELS and len(labels[1]) == 2:
        return f"every host below `.{domain}`"
    if domain in SHARED_DOMAINS:
        return f"hosts that anybody can have below `{domain}`"
    return ""


def _walked_around(clause: Clause) -> Iterator[Finding]:
    if set(clause.when) != {"tool"}:
        return
    for name in clause.when["tool"]:
        known = _WALKED_AROUND.get(name)
        if known and globs.is_literal(name):
            witness, instead, why = known
            yield clause.finding(
                "walked-around",
                "warning",
                f"`{name}` alone forbids one tool, and others do the same",
                f"write `{clause.lane}: {instead}`: {why}",
                witness=witness,
                proof="missed",
            )
