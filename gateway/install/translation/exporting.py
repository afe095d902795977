"""A policy in the words of an agent's own rules.

What is exported as allow lets nothing run that policy does not: each is tried on calls at its edges and on calls that
the shipped rules refuse, and left out where one shows otherwise. What is exported as ask or deny may be less than
policy says, as agents see the spelling of a command alone: it is a second net, not the policy. Whatever cannot be said
is named.
"""

from __future__ import annotations

import json

from gateway.core.value import Value
from gateway.install.agent_words import (
    claude_command,
    claude_tool,
    codex_rule,
    copilot_command,
    copilot_tool,
    cursor_tool,
    for_a_shell,
    gemini_rule,
    in_quotes,
    plain_path,
)
from gateway.install.exported_rules import second_net
from gateway.install.translation.auditing import harm
from gateway.install.translation.common_call import FETCH, READ, SHELL, WRITE, Asked, shown
from gateway.install.translation.comparing import is_beyond_rules, theirs_of
from gateway.install.translation.deciding import FIRST
from gateway.install.translation.globs_of_paths import below
from gateway.install.translation.importing import ordered
from gateway.install.translation.rules import ALLOW, ASK, DENY, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gateway.install.exported_rules import Second
    from gateway.install.translation.clients import Client
    from gateway.install.translation.engine import Engine
    from gateway.policy.table import Policy

COMMAND, EXACT_COMMAND, READS, WRITES, HOST, TOOL = "command", "exact command", "reads", "writes", "host", "tool"
EVERY = "every call"
_WILD = frozenset("*?[\\'\"")
_WHOLE = {"Bash": SHELL, "Read": READ, "Write": WRITE, "WebFetch": FETCH}


class Item(Value):
    """One thing that agents' rules may say. `text`: words of a command, a path of ours, a host, `server/tool`, or a
    kind of call. `base`: other rules are its exceptions, so that they decide before it does."""

    lane: str
    kind: str
    text: str
    rule: str
    base: bool = False


class Exported(Value):
    """What an agent's file is to hold. `left`: rules with what of them is not said, and why."""

    text: str
    said: tuple[Item, ...]
    left: tuple[tuple[str, str], ...]


def items_of(rules: Iterable[Mapping[str, Any]], client: Client) -> tuple[list[Item], list[tuple[str, str]]]:
    """What of rules in normal form can be said, and what cannot."""
    found: list[Item] = []
    left: list[tuple[str, str]] = []
    for rule in rules:
        if rule["lane"] not in LANES:
            left.append((rule["id"], "demands something of calls that are allowed"))
            continue
        if rule["except"] and client.WAY != FIRST:
            net = second_net([rule])  # a deny of paths may be said without what is excepted
            found += _of_net(net)
            left += net.left if rule["lane"] == DENY else ((rule["id"], "has exceptions"),)
            continue
        for when in rule["when"].get("any", [rule["when"]]):
            more = _said(rule["lane"], when, rule["id"], client) or (_of_net(second_net([{**rule, "when": when}])))
            found += [item.replace(base=bool(rule["except"])) for item in more]
            left += [] if more else [(rule["id"], f"tests {', '.join(sorted(when))}")]
    return list(dict.fromkeys(found)), list(dict.fromkeys(left))


def _of_net(net: Second) -> list[Item]:
    found = [Item(DENY, COMMAND, " ".join(each.words), each.rule) for each in net.prefixes]
    found += [Item(DENY, READS, each, "") for each in net.reads] + [Item(DENY, WRITES, each, "") for each in net.writes]
    found += [Item(DENY, HOST, each, "") for each in net.hosts]
    return found + [Item(DENY, TOOL, "/".join(each), "") for each in net.tools]


def _said(lane: str, when: Mapping[str, Any], rule: str, client: Client) -> list[Item]:
    """One alternative of a rule, whole or not at all."""
    keys = set(when)
    if keys == {"command"} or (keys == {"command", "effect", "path"} and _is_inside(when, client)):
        if when["command"] == ["**"]:
            return [Item(lane, EVERY, SHELL, rule)]
        plain = [(each.removesuffix("*").rstrip(), each.endswith("*")) for each in when["command"]]
        if all(text and not _WILD & set(text) for text, _more in plain):
            return [Item(lane, COMMAND if more else EXACT_COMMAND, text, rule) for text, more in plain]
    if keys == {"tool"} and all(_is_server(each) for each in when["tool"]):
        return [Item(lane, TOOL, each[5:].replace("__", "/", 1), rule) for each in when["tool"]]
    if keys <= {"tool", "effect"} and when.get("tool", [""])[0] in _WHOLE:
        return [Item(lane, EVERY, _WHOLE[when["tool"][0]], rule)]
    if keys - {"tool", "named", "path_not"} == {"effect", "path"} and (lane != ALLOW or "tool" in keys):
        read, written = "read" in when["effect"], "write" in when["effect"]
        spared = [each for path in when["path"] if (each := below(path))]
        if when.get("path_not", spared) == spared and (read or written):
            kinds = [READS] * read + [WRITES] * written if lane != ALLOW else [WRITES if written else READS]
            return [Item(lane, kind, path, rule) for kind in kinds for path in when["path"]]
    if keys - {"tool", "direction", "port"} == {"effect", "host"} and all(
        "." in each.strip("*.") for each in when["host"]
    ):
        return [Item(lane, HOST, host, rule) for host in when["host"]]
    return []


def _is_inside(when: Mapping[str, Any], client: Client) -> bool:
    """Whether an alternative speaks of commands inside of the project, of which the agent asks beyond it by itself."""
    programs = {each.split(" ", 1)[0] for each in when["command"]}
    return when["path"] == ["./"] and programs <= client.PATH_PROGRAMS


def _is_server(name: str) -> bool:
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return name.startswith("mcp__") and bool(server and tool) and not set(server) & set("*?[")


def exported(rules: Iterable[Mapping[str, Any]], client: Client, engine: Engine, policy: Policy) -> Exported:
    """The rules as the agent's. `policy`: all that holds, in the engine's world."""
    form = FORMS[client.NAME]
    wanted, left = items_of(rules, client)
    items = [item for item in wanted if form.fits(item)]
    unsaid = [
        (item.rule or item.lane, f"{client.TITLE} has no rule for {item.kind}: {item.text}")
        for item in wanted
        if item not in items
    ]
    while True:
        text = form.written(items)
        found, _remarks = ordered(client, [(text, form.file, "user")], engine.where)
        edges = (each for rule in found if rule.lane == ALLOW for test in rule.tests for each in test.tried())
        wider = [
            asked
            for asked in dict.fromkeys((*harm(), *edges))
            if theirs_of(found, client.WAY, engine, asked).lane == ALLOW
            and engine.decision(policy, asked) != ALLOW
            and not is_beyond_rules(asked, found, client, engine)
        ]
        if not wider:
            return Exported(text, tuple(items), (*left, *unsaid))
        kept = []
        for item in items:
            call = next((each for each in wider if _allows(item, each, form, client, engine)), None)
            if call is None:
                kept.append(item)
            else:
                why = f"{client.TITLE} would allow more than policy does: {shown(call, engine.where)}"
                unsaid.append((item.rule, why))
        items = kept


def _allows(item: Item, asked: Asked, form: Form, client: Client, engine: Engine) -> bool:
    """Whether a rule is among those that let a call run: it allows it, or one of its commands."""
    if item.lane != ALLOW:
        return False
    alone, _remarks = ordered(client, [(form.written([item]), form.file, "user")], engine.where)
    calls = [asked]
    if asked.kind == SHELL:
        calls += [Asked(SHELL, text) for _words, text in engine.parts(asked)]
    return any(theirs_of(alone, client.WAY, engine, each).lane == ALLOW for each in calls)


class Form(Value):
    """How an agent's file is written. `file`: the name by which its module knows the kind of file."""

    file: str
    kinds: frozenset[str]
    lanes: frozenset[str]
    written: Callable[[Sequence[Item]], str]

    def fits(self, item: Item) -> bool:
        """Whether the agent has such a rule."""
        return item.kind in self.kinds and item.lane in self.lanes


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _by_lane(items: Sequence[Item], text_of: Callable[[Item], str | None]) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {lane: [] for lane in LANES}
    for item in items:
        text = text_of(item)
        if text is not None and text not in made[item.lane]:
            made[item.lane].append(text)
    return {lane: texts for lane, texts in made.items() if texts}


def _claude(items: Sequence[Item]) -> str:
    def text_of(item: Item) -> str:
        server, _, tool = item.text.partition("/")
        if item.kind == EVERY:
            return {SHELL: "Bash", READ: "Read", WRITE: "Edit", FETCH: "WebFetch"}[item.text]
        return {
            COMMAND: claude_command(item.text), EXACT_COMMAND: f"Bash({item.text})", READS: f"Read({item.text})",
            WRITES: f"Edit({item.text})", HOST: f"WebFetch(domain:{item.text})",
            TOOL: claude_tool(server, tool),
        }[item.kind]  # fmt: skip

    return _json({"permissions": _by_lane(items, text_of)})


def _codex(items: Sequence[Item]) -> str:
    decisions = {ALLOW: "allow", ASK: "prompt", DENY: "forbidden"}
    return "".join(dict.fromkeys(codex_rule(item.text.split(), decisions[item.lane]) for item in items))


def _gemini(items: Sequence[Item]) -> str:
    """By priority, as the highest decides: what forbids above what asks above what allows."""
    decisions = {DENY: ("deny", 900), ASK: ("ask_user", 800), ALLOW: ("allow", 700)}
    tools = {SHELL: ["run_shell_command"], READ: ["read_file"], WRITE: ["write_file", "replace"], FETCH: ["web_fetch"]}
    made = []
    for item in items:
        decision, priority = decisions[item.lane]
        priority -= 800 if item.base else 0
        server, _, tool = item.text.partition("/")
        if item.kind == EVERY:
            made.append(gemini_rule(decision, priority, tools=json.dumps(tools[item.text])))
        elif item.kind == TOOL:
            made.append(gemini_rule(decision, priority, tools=in_quotes(tool), server=server))
        else:
            made.append(gemini_rule(decision, priority, tools=in_quotes(*tools[SHELL]), prefix=item.text))
    return "\n".join(dict.fromkeys(made))


def _opencode(items: Sequence[Item]) -> str:
    """In order, as the last that matches decides: what allows, then what asks, then what forbids."""
    found: dict[str, Any] = {}
    for base, lane in ((True, ASK), (True, DENY), (False, ALLOW), (False, ASK), (False, DENY)):
        for item in items:
            if (item.base, item.lane) != (base, lane):
                continue
            if item.kind == EVERY:
                name = {SHELL: "bash", READ: "read", WRITE: "edit", FETCH: "webfetch"}[item.text]
                entries = found.setdefault(name, {})
                entries.pop("*", None)
                entries["*"] = lane
                continue
            if item.kind == TOOL:
                found[item.text.replace("/", "_", 1)] = lane
                continue
            name = {COMMAND: "bash", EXACT_COMMAND: "bash", READS: "read", WRITES: "edit"}[item.kind]
            entries = found.setdefault(name, {})
            for each in _opencode_patterns(item):
                entries.pop(each, None)
                entries[each] = lane
    if isinstance(found.get("webfetch"), dict):
        found["webfetch"] = found["webfetch"]["*"]  # it takes no patterns
    return _json({"permission": found})


def _opencode_patterns(item: Item) -> tuple[str, ...]:
    if item.kind in (COMMAND, EXACT_COMMAND):
        return (f"{item.text} *" if item.kind == COMMAND else item.text,)
    path = item.text.removeprefix("./")
    deep = path.startswith("**/") or "/" not in path.rstrip("/")
    path = path.removeprefix("**/").replace("/**", "/*").replace("**/", "*")
    if item.lane == ALLOW:
        return (f"*/{path}", path) if deep and item.text != f"./{path}" else (path,)
    found = (path, f"*/{path}") if deep else (path,)
    return tuple(each for one in found for each in ((one,) if one.endswith("*") else (one, f"{one}/*")))


def _vscode(items: Sequence[Item]) -> str:
    """Nothing is forbidden there: what policy denies, or asks about, is asked about."""
    return _json(
        {
            "chat.tools.terminal.autoApprove": {
                item.text: item.lane == ALLOW for lane in LANES for item in items if item.lane == lane
            }
        }
    )


def _cursor(items: Sequence[Item]) -> str:
    def text_of(item: Item) -> str:
        path, (server, _, tool) = plain_path(item.text.removeprefix("./")), item.text.partition("/")
        return {
            COMMAND: f"Shell({item.text})", READS: f"Read({path})", WRITES: f"Write({path})",
            HOST: f"WebFetch({item.text})", TOOL: cursor_tool(server, tool),
        }[item.kind]  # fmt: skip

    return _json(
        {"permissions": _by_lane([item for item in items if item.kind != COMMAND or " " not in item.text], text_of)}
    )


def _copilot(items: Sequence[Item]) -> str:
    words = []
    for item in items:
        flag = "allow" if item.lane == ALLOW else "deny"
        server, _, tool = item.text.partition("/")
        if item.kind == HOST:
            words.append(f"--{flag}-url={item.text}")
        else:
            text = copilot_command(item.text) if item.kind == COMMAND else copilot_tool(server, tool)
            words.append(f"--{flag}-tool={for_a_shell(text)}")
    return " ".join(["copilot", *dict.fromkeys(words)]) + "\n"


_LANES, _NO_ASK = frozenset(LANES), frozenset((ALLOW, DENY))
_PATHS, _SAID = frozenset((READS, WRITES)), frozenset((COMMAND, TOOL))
FORMS: dict[str, Form] = {
    "claude": Form("/settings.json", _SAID | _PATHS | {EXACT_COMMAND, HOST, EVERY}, _LANES, _claude),
    "codex": Form("/gateway.rules", frozenset((COMMAND,)), _LANES, _codex),
    "gemini": Form("/gateway.toml", _SAID | {EVERY}, _LANES, _gemini),
    "opencode": Form("/opencode.json", _SAID | _PATHS | {EXACT_COMMAND, EVERY}, _LANES, _opencode),
    "vscode": Form("/settings.json", frozenset((COMMAND,)), _LANES, _vscode),
    "cursor": Form("/cli.json", _SAID | _PATHS | {HOST}, _NO_ASK, _cursor),
    "copilot": Form("/copilot.sh", _SAID | {HOST}, _NO_ASK, _copilot),
}
