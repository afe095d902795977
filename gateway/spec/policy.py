"""Policy files: YAML text to plain data, or every problem with its place.

    version: 1
    extends: [guard, {file: team.yaml, level: observe, without: [no-force-push]}]
    settings: {mode: default, sandbox: {write: [./build], hosts: [pypi.org]}}
    tools: [CodeSearch]                       # foreign tools that rules of this file may name
    allow: [Bash(npm run *), Read(docs/**)]   # short forms, as users of Claude Code have them
    ask: [Bash(git push *)]
    deny: [Read(secrets/**)]
    rules:
    - id: no-force-push
      deny: {effect: push, force: true}
      because: rewrites history that others have
    hooks:
    - {id: house-rules, event: before_call, command: [./look.sh]}
    tests:
    - {call: Bash(git push -f), expect: deny, rule: no-force-push}

The result is JSON-able:

    {"version": 1, "extends": [{"preset" or "file", "level", "without", "line"}], "settings": {…},
     "rules": [normal form, see `gateway.spec.rules`], "hooks": [see `gateway.spec.hooks`], "tests": [{…, "line"}],
     "tools": [names]}
"""

from __future__ import annotations

import gc
import re

from gateway.model.decision import MODES
from gateway.spec import read
from gateway.spec.hooks import read_hooks
from gateway.spec.rules import ID_PATTERN, LANES, RuleReader
from gateway.spec.settings import DECISIONS, read_settings
from gateway.spec.short import ToolName
from gateway.spec.yamltext import Complaints, clip, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.short import ToolNames
    from gateway.spec.yamltext import Node

VERSION = 1
EXTENDS_LEVELS = ("enforce", "warn", "observe")
KEYS = {
    "version": "the version of this format, 1",
    "extends": "presets and files whose rules hold too",
    "settings": "single values: mode, sandbox profile, limits and so on",
    "tools": "names of tools of other agents that rules of this file may speak of",
    "allow": "rules in short form: what needs no question",
    "ask": "rules in short form: what a person must agree to",
    "deny": "rules in short form: what is forbidden",
    "rules": "rules in long form",
    "hooks": "programs, addresses and functions that are told of calls, and may refuse or change them",
    "tests": "calls and the verdicts they must get, run by `gateway policy test`",
}
TESTS = {
    "id": "names the test",
    "call": "a call as `gateway check` takes it",
    "tool": "the tool of a call that is given by its input",
    "input": "that tool's input",
    "expect": "the verdict",
    "rule": "the id of the rule that must decide",
    "mode": "the mode the call is judged in",
    "unconfined": "whether the call runs without the sandbox",
    "cwd": "where the call starts, relative to the project root",
}

_PRESET = re.compile("[a-z][a-z0-9-]*")
_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]*")
_ID = re.compile(ID_PATTERN)


def parse_policy(text: str | bytes, file: str, tools: ToolNames) -> dict[str, Any]:
    """One policy file. `tools`: every known tool by name and alias. Raises ConfigError with every problem found."""
    collecting = gc.isenabled()
    gc.disable()  # see `yamltext.load`
    try:
        return _parse(load(text, file), file, tools)
    finally:
        if collecting:
            gc.enable()


def _parse(root: Node, file: str, tools: ToolNames) -> dict[str, Any]:
    complaints = Complaints(file)
    entries = read.ours(root, "policy", KEYS, complaints, needs="version", version=VERSION)
    names = _tools(entries["tools"], complaints) if "tools" in entries else []
    if names:
        tools = {**{name: ToolName(name) for name in names}, **tools}
    reader = RuleReader(tools, complaints)
    found: dict[str, Any] = {
        "version": VERSION, "extends": [], "settings": {}, "rules": [], "hooks": [], "tests": [], "tools": names,
    }  # fmt: skip
    for name, node in entries.items():
        if name in LANES:
            reader.short_list(node, name)
        elif name == "rules":
            reader.rule_list(node)
        elif name == "extends":
            found[name] = _extends(node, complaints)
        elif name == "settings":
            found[name] = read_settings(node, tools, complaints)
        elif name == "hooks":
            found[name] = read_hooks(node, complaints)
        elif name == "tests":
            found[name] = _tests(node, complaints)
    complaints.raise_any()
    found["rules"] = reader.finish()
    return found


def _tools(node: Node, complaints: Complaints) -> list[str]:
    names = read.texts(node, "`tools`", complaints, empty=True)
    for name in names:
        if not _TOOL.fullmatch(name):
            complaints.at(node, f"entry of `tools` must be a tool's name (got `{clip(name)}`)")
    return names


def _extends(node: Node, complaints: Complaints) -> list[dict[str, Any]]:
    return [found for item in node if (found := _extended(item, complaints))]


def _extended(node: Node, complaints: Complaints) -> dict[str, Any]:
    found: dict[str, Any] = {"level": "enforce", "without": [], "line": node.line}
    if node.value.__class__ is not dict:
        name = read.text(node, "entry of `extends`", complaints)
        if name and not _PRESET.fullmatch(name):
            remedy = f"write `{{file: {clip(name)}}}`" if "/" in name or "." in name else ""
            complaints.at(node, f"entry of `extends` must be a preset's name (got `{clip(name)}`)", remedy)
        return {"preset": name, **found}
    entries = read.known_keys(node, "entry of `extends`", ("preset", "file", "level", "without"), complaints)
    if ("preset" in entries) == ("file" in entries):
        complaints.at(node, "entry of `extends` must have either `preset` or `file`")
        return {}
    if "preset" in entries:
        found["preset"] = name = read.text(entries["preset"], "`preset`", complaints)
        if name and not _PRESET.fullmatch(name):
            complaints.at(entries["preset"], f"`preset` must be a preset's name (got `{clip(name)}`)")
    else:
        found["file"] = read.text(entries["file"], "`file`", complaints)
    if "level" in entries:
        found["level"] = read.choice(entries["level"], "`level`", EXTENDS_LEVELS, complaints)
    if "without" in entries:
        found["without"] = read.texts(entries["without"], "`without`", complaints, empty=True)
        for item in entries["without"]:
            if item.value.__class__ is str and item.value and not _ID.fullmatch(item.value):
                complaints.at(item, f"entry of `without` must be a rule's id (got {item.shown})")
    return found


def _tests(node: Node, complaints: Complaints) -> list[dict[str, Any]]:
    found = [_test(item, complaints) for item in read.sequence(node, "`tests`", complaints)]
    seen: dict[str, int] = {}
    for item, test in zip(node, found, strict=False):
        name = test.get("id", "")
        if name and name in seen:
            place = item.get("id") or item
            complaints.at(place, f"`id` must be unique among tests (got `{clip(name)}`, first on line {seen[name]})")
        seen.setdefault(name, item.line)
    return found


def _test(node: Node, complaints: Complaints) -> dict[str, Any]:
    found: dict[str, Any] = {"line": node.line}
    entries = read.known_keys(node, "test", TESTS, complaints)
    for name, value in entries.items():
        what = f"`{name}`"
        if name == "expect":
            found[name] = read.choice(value, what, DECISIONS, complaints)
        elif name == "mode":
            found[name] = read.choice(value, what, MODES, complaints)
        elif name == "unconfined":
            found[name] = read.boolean(value, what, complaints)
        elif name == "input":
            read.mapping(value, what, complaints)
            found[name] = read.data(value, what, complaints)
        else:
            found[name] = read.text(value, what, complaints)
    if node.value.__class__ is dict:
        if ("call" in entries) == ("tool" in entries) or ("input" in entries) != ("tool" in entries):
            complaints.at(node, "test must have either `call`, or `tool` and `input`")
        if "expect" not in entries:
            complaints.at(node, "test must have the key `expect`", "write `expect: allow`, `ask` or `deny`")
    return found
