"""The JSON Schema (2020-12) of policy files, for editors: completion, hover texts and early complaints.

The parser in `gateway.spec.policy` has the last word: it also knows tools, dates, regular expressions and what goes
together. Whatever it accepts, this schema accepts; keys and vocabularies come from the parser's own tables.
"""

from __future__ import annotations

from gateway.model.changes import BOUNDS, CHANGES
from gateway.model.decision import LEVELS, MODES, REVIEWS
from gateway.model.limits import LIMITS
from gateway.policy.predicates import PREDICATES
from gateway.spec.agents import AGENTS, agents_schema
from gateway.spec.argtests import COMPARISONS, MAX_REGEX, TYPES
from gateway.spec.hooks import EVENTS, HOOK, HTTP, PYTHON_PATTERN, URL_PATTERN
from gateway.spec.hooks import KINDS as HOOK_KINDS
from gateway.spec.hooks import MOST_SECONDS as MOST_HOOK_SECONDS
from gateway.spec.language_servers import (
    ENDING_PATTERN,
    LANGUAGE_SERVER,
    LANGUAGES,
    MOST_AFTER_EDIT,
    MOST_START_SECONDS,
)
from gateway.spec.language_servers import MOST_SECONDS as MOST_LANGUAGE_SECONDS
from gateway.spec.language_servers import NAME_PATTERN as LANGUAGE_SERVER_NAME
from gateway.spec.models import MODEL, model_schema
from gateway.spec.policy import EXTENDS_LEVELS, KEYS, TESTS, VERSION
from gateway.spec.reference.predicates import DESCRIBED
from gateway.spec.remote import REMOTE, remote_schema
from gateway.spec.rules import DELEGATES, FIELDS, ID_PATTERN
from gateway.spec.sandbox import ACCESS, ALSO, INJECT, NETWORKS, PERMITS, READ_HOST, SANDBOX, SOME, WEAKER
from gateway.spec.servers import MOST_SECONDS as MOST_SERVER_SECONDS
from gateway.spec.servers import NAME_PATTERN as SERVER_NAME
from gateway.spec.servers import SERVER
from gateway.spec.settings import (
    APPROVERS,
    AUDIT,
    DECISIONS,
    ELICITED,
    MCP,
    PLAN,
    PROPOSALS,
    REQUIRED,
    SERVERS_MAY,
    SETTINGS,
    SHELL,
    TASKS,
    UNATTENDED,
    lockable,
)
from gateway.spec.web import PROVIDERS, SEARCH, WEB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_TEXT = {"type": "string", "minLength": 1}
_BOOLEAN = {"type": "boolean"}


def policy_schema() -> dict[str, Any]:
    """The schema as a new dict."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gateway policy",
        "description": "Rules and settings of one layer.",
        **_closed(
            {
                "version": {"const": VERSION},
                "extends": _one_or_many(_ref("extended"), 0),
                "settings": _ref("settings"),
                "tools": _texts(),
                "allow": {"type": "array", "items": _ref("short")},
                "ask": {"type": "array", "items": _ref("short")},
                "deny": {"type": "array", "items": _ref("short")},
                "rules": {"type": "array", "items": _ref("rule")},
                "hooks": {"type": "array", "items": _ref("hook")},
                "tests": {"type": "array", "items": _ref("test")},
            },
            KEYS,
            required=["version"],
        ),
        "$defs": {
            "short": {
                **_TEXT,
                "description": "A rule in short form.",
                "examples": [
                    "Bash(npm run *)", "Bash(git push:*)", "Read(src/**)", "Edit(//etc/**)",
                    "WebFetch(domain:*.example.com)", "mcp__github__get_*", "Agent(Explore)", "Agent(model:opus)",
                ],
            },
            "alternatives": {
                "description": "A short form, predicates that must all hold, or a list of these: any one must hold.",
                **_one_or_many({"anyOf": [_ref("short"), _ref("predicates")]}),
            },
            "predicates": _predicates(),
            "test_of_value": _test_of_value(),
            "rule": _rule(),
            "settings": _settings(),
            "extended": _extended(),
            "hook": _hook(),
            "test": _test(),
        },
    }  # fmt: skip


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _one_or_many(item: dict[str, Any], least: int = 1) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": least}]}


def _texts(least: int = 0) -> dict[str, Any]:
    return _one_or_many(_TEXT, least)


def _enum(words: Iterable[str]) -> dict[str, Any]:
    return {"enum": list(words)}


def _closed(
    properties: dict[str, Any], descriptions: dict[str, str] | None = None, required: Iterable[str] = ()
) -> dict[str, Any]:
    """A mapping with these keys and no others."""
    described = {
        name: {"description": _sentence((descriptions or {})[name]), **each} if name in (descriptions or {}) else each
        for name, each in properties.items()
    }
    schema: dict[str, Any] = {"type": "object", "properties": described, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return schema


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


# What an argument of each form may look like; `choices` takes its words from the predicate.
def _forms() -> dict[str, dict[str, Any]]:
    words = _texts(1)
    clock = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$"}
    bounds = {name: {"type": "integer", "minimum": 0} for name in (*COMPARISONS, "equals")}
    days = _one_or_many(_enum(PREDICATES["time"].choices))
    single = {"type": ["string", "number", "boolean", "null"]}
    return {
        **dict.fromkeys(("tools", "globs", "texts", "paths", "hosts", "commands", "options"), words),
        "boolean": _BOOLEAN,
        "ports": _one_or_many({"type": "integer", "minimum": 1, "maximum": 65535}),
        "exec": {"anyOf": [_TEXT, {"type": "array", "items": _texts(1), "minItems": 1}]},
        "args": {"type": "object", "minProperties": 1, "additionalProperties": _ref("test_of_value")},
        "depth": {"anyOf": [{"type": "integer", "minimum": 0}, {**_closed(bounds), "minProperties": 1}]},
        "time": {**_closed({"from": clock, "to": clock, "days": days}), "minProperties": 1},
        "annotations": {"type": "object", "minProperties": 1, "additionalProperties": single},
    }


def _predicates() -> dict[str, Any]:
    forms = _forms()
    properties = {}
    for name, predicate in PREDICATES.items():
        told = DESCRIBED[name]
        choices = predicate.form.name == "choices"
        form = _one_or_many(_enum(predicate.choices)) if choices else forms[predicate.form.name]
        properties[name] = {"description": _sentence(told.about), **form, "examples": list(told.arguments(name))}
    return {"description": "Predicates that must all hold.", **_closed(properties)}


def _test_of_value() -> dict[str, Any]:
    number = {"type": "number"}
    tests = {
        "glob": ({"type": "string"}, "the value as text matches this glob"),
        "equals": ({}, "the value is this one"),
        "lt": (number, "the value is less"),
        "le": (number, "the value is less or equal"),
        "gt": (number, "the value is greater"),
        "ge": (number, "the value is greater or equal"),
        "absent": (_BOOLEAN, "the field is missing, or with false present"),
        "in": ({"type": "array", "minItems": 1}, "the value is one of these"),
        "type": (_enum(TYPES), "the value has this type"),
        "regex": ({**_TEXT, "maxLength": MAX_REGEX}, "this regular expression is found in the text"),
        "not": (_ref("test_of_value"), "this test fails"),
    }
    properties = {name: schema for name, (schema, _about) in tests.items()}
    return {
        "description": "A text is a glob, another single value must be equal, a list means one of its values.",
        "anyOf": [
            {"type": ["string", "integer", "boolean", "null"]},
            {"type": "array", "minItems": 1},
            {**_closed(properties, {name: about for name, (_schema, about) in tests.items()}), "minProperties": 1},
        ],
    }


def _rule() -> dict[str, Any]:
    identifier = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
    moment = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?$"}
    properties = {
        "id": identifier,
        "deny": _ref("alternatives"),
        "ask": _ref("alternatives"),
        "allow": _ref("alternatives"),
        "require": {
            **_closed(
                {
                    "confined": _BOOLEAN,
                    "contained": _BOOLEAN,
                    "network": {"const": "off"},
                    "changes": {"const": "ask"},
                }
            ),
            "minProperties": 1,
        },
        "for": _ref("alternatives"),
        "because": _TEXT,
        "instead": _TEXT,
        "except": _ref("alternatives"),
        "lock": _BOOLEAN,
        "delegate": _closed(
            {"to": _enum(DELEGATES), "until": moment, "within": {**_ref("predicates"), "minProperties": 1}},
            required=["to"],
        ),
        "excepts": identifier,
        "changes": _enum(CHANGES[1:]),
        "expires": moment,
        "matches": _texts(1),
        "not_matches": _texts(1),
    }
    return {
        "description": "A rule: one of `deny`, `ask`, `allow` or `require`, and what belongs to it.",
        **_closed(properties, FIELDS),
        "oneOf": [{"required": [lane]} for lane in ("deny", "ask", "allow", "require")],
    }


def _settings() -> dict[str, Any]:
    lists = {name: _texts() for name in SANDBOX}
    variables = {"type": "object", "additionalProperties": {"type": "string"}}
    header = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
    source = {"type": "string", "pattern": "^(env:[A-Za-z_][A-Za-z0-9_]*|file:(/|~/).*)$"}
    injection = _closed(
        {"host": dict(_TEXT), "header": header, "source": source, "template": dict(_TEXT)},
        INJECT,
        required=["host", "header", "source"],
    )
    reads = _closed(
        {"host": dict(_TEXT), "access": _enum(ACCESS), "named_by": _texts(), "also": _one_or_many(_enum(ALSO))},
        READ_HOST,
        required=["host", "access"],
    )
    sandbox = {
        **lists,
        "hosts": {"anyOf": [_texts(), {"type": "array", "items": {"anyOf": [dict(_TEXT), reads]}}]},
        "network": _enum(NETWORKS),
        "set": variables,
        "weaker": _one_or_many(_enum(WEAKER)),
        "permit": _one_or_many(_enum(PERMITS)),
        **{name: _one_or_many(_enum(words), 0) for name, words in SOME.items()},
        "inject": {"type": "array", "items": injection},
    }
    count = {"type": "integer", "minimum": 1}
    files = {"file_mb": {**count, "maximum": 10**6}, "keep": {"type": "integer", "minimum": 0, "maximum": 10**6}}
    audit = {"required": _enum(REQUIRED), "sync": _BOOLEAN, **files, "facts": _BOOLEAN}
    server = {
        "command": _texts(1),
        "env": variables,
        "url": _TEXT,
        "headers": {"type": "object", "additionalProperties": _TEXT},
        "is": _TEXT,
        "seconds": {"type": "integer", "minimum": 1, "maximum": MOST_SERVER_SECONDS},
        "always_load": _texts(),
    }
    served = _closed(server, SERVER) | {"oneOf": [{"required": ["command"]}, {"required": ["url"]}]}
    language_server = {
        "command": _texts(1),
        "languages": _one_or_many(_enum(tuple(LANGUAGES))),
        "extensions": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": f"^{ENDING_PATTERN}$", "not": {"const": "."}},
            "additionalProperties": dict(_TEXT),
        },
        "env": variables,
        "initialization": {},
        "configuration": {"type": "object"},
        "seconds": {"type": "integer", "minimum": 1, "maximum": MOST_LANGUAGE_SECONDS},
        "start_seconds": {"type": "integer", "minimum": 1, "maximum": MOST_START_SECONDS},
        "after_edit": {"type": "integer", "minimum": 0, "maximum": MOST_AFTER_EDIT},
    }
    answering = _closed(language_server, LANGUAGE_SERVER, required=["command"])
    answering |= {"anyOf": [{"required": ["languages"]}, {"required": ["extensions"]}]}
    search = {
        "provider": _enum(tuple(PROVIDERS)),
        "url": _TEXT,
        "key": _closed({"env": _TEXT}, required=["env"]),
    }
    mcp = {
        "elicited": _enum(ELICITED),
        "servers_may": _one_or_many(_enum(SERVERS_MAY)),
        "hide_secrets": _BOOLEAN,
        "result_characters": {"type": "integer", "minimum": 1_000, "maximum": 10**7},
        "pins": _BOOLEAN,
    }
    properties = {
        "mode": _enum(MODES),
        "levels": _closed({level: _enum(DECISIONS) for level in LEVELS}),
        "sandbox": _closed(sandbox, SANDBOX),
        "limits": _closed(
            {name: {"type": "integer", "minimum": each.least, "maximum": each.most} for name, each in LIMITS.items()},
            {name: each.about for name, each in LIMITS.items()},
        ),
        "approvers": _one_or_many(_enum(APPROVERS)),
        "remote": _closed(remote_schema(), REMOTE),
        "review": _enum(REVIEWS),
        "audit": _closed(audit, AUDIT),
        "workspace": _texts(),
        "trust": _texts(),
        "lock": _one_or_many(_enum(lockable())),
        "bounds": _closed({"mode": _one_or_many(_enum(MODES))}),
        "pause": _BOOLEAN,
        "shell": _closed(dict.fromkeys(SHELL, _BOOLEAN), SHELL),
        "servers": {
            "type": "object",
            "propertyNames": {"pattern": f"^{SERVER_NAME}$"},
            "additionalProperties": served,
        },
        "language_servers": {
            "type": "object",
            "propertyNames": {"pattern": f"^{LANGUAGE_SERVER_NAME}$"},
            "additionalProperties": answering,
        },
        "web": _closed({name: _texts() for name in WEB}, WEB),
        "search": _closed(search, SEARCH, required=["provider"]),
        "models": {"type": "object", "additionalProperties": _closed(model_schema(), MODEL)},
        "mcp": _closed(mcp, MCP),
        "tasks": _closed(dict.fromkeys(TASKS, _BOOLEAN), TASKS),
        "plan": _closed({"unattended": _enum(UNATTENDED)}, PLAN),
        "agents": _closed(agents_schema(), AGENTS),
        "tools_in_full": {"type": "integer", "minimum": 0},
        "second_opinion": _BOOLEAN,
        "guarded": _BOOLEAN,
        "proposals": _closed({"within": _ref("alternatives")}, PROPOSALS),
        "contained": _enum(BOUNDS),
    }
    return {"description": "Single values of this layer.", **_closed(properties, SETTINGS)}


def _extended() -> dict[str, Any]:
    properties = {
        "preset": {"description": "The name of a shipped preset.", "type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
        "file": {"description": "A policy file, relative to this one.", **_TEXT},
        "level": {"description": "Warn and observe only record.", **_enum(EXTENDS_LEVELS)},
        "without": {"description": "Ids of rules that are left out.", **_texts()},
    }
    entry = {**_closed(properties), "oneOf": [{"required": ["preset"]}, {"required": ["file"]}]}
    return {"anyOf": [{"type": "string", "pattern": "^[a-z][a-z0-9-]*$", "examples": ["guard", "daily"]}, entry]}


def _hook() -> dict[str, Any]:
    http = _closed(
        {
            "url": {"type": "string", "pattern": f"^{URL_PATTERN}$"},
            "headers": {"type": "object", "additionalProperties": dict(_TEXT)},
        },
        HTTP,
        required=["url"],
    )
    properties = {
        "id": {"type": "string", "pattern": f"^{ID_PATTERN}$"},
        "event": _one_or_many(_enum(EVENTS)),
        "tools": _texts(1),
        "command": _texts(1),
        "http": http,
        "python": {"type": "string", "pattern": f"^{PYTHON_PATTERN}$"},
        "seconds": {"type": "integer", "minimum": 1, "maximum": MOST_HOOK_SECONDS},
        "guards": _BOOLEAN,
    }
    return {
        "description": "Something that is told of calls.",
        **_closed(properties, HOOK, required=["id", "event"]),
        "oneOf": [{"required": [kind]} for kind in HOOK_KINDS],
    }


def _test() -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = {name: dict(_TEXT) for name in TESTS}
    properties.update(
        {"expect": _enum(DECISIONS), "mode": _enum(MODES), "unconfined": _BOOLEAN, "input": {"type": "object"}}
    )
    return {
        "description": "A call and the verdict it must get.",
        **_closed(properties, TESTS, required=["expect"]),
        "oneOf": [{"required": ["call"]}, {"required": ["tool", "input"]}],
    }
