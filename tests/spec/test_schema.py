"""The JSON Schema of policy files agrees with the parser."""

# ruff: noqa: E501  one document a line

from __future__ import annotations

import json
from contextlib import suppress

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.load import tool_names
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.model.decision import LEVELS, MODES
from gateway.model.limits import LIMITS
from gateway.spec.argtests import TESTS as VALUE_TESTS
from gateway.spec.policy import KEYS, TESTS, parse_policy
from gateway.spec.predicates import READERS
from gateway.spec.rules import FIELDS, LANES, REQUIREMENTS
from gateway.spec.sandbox import SANDBOX
from gateway.spec.schema import policy_schema
from gateway.spec.settings import AUDIT, SETTINGS

SCHEMA = policy_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

ACCEPTED = [
    "version: 1",
    "version: 1\nextends: guard",
    "version: 1\nextends: [guard, {preset: daily, level: warn}, {file: a.yaml, without: [x-1]}]",
    "version: 1\ntools: [A, B]\nallow: [A, Bash(ls *)]\nask: []\ndeny: [B]",
    "version: 1\nrules: [{deny: Bash}, {ask: [Bash, {effect: push}], lock: true}, {allow: {effect: read, path: x}}]",
    "version: 1\nrules: [{require: {confined: true, network: 'off'}, for: {tool: Bash}, except: Bash(ls)}]",
    "version: 1\nrules: [{id: a, deny: Bash, delegate: {to: user, until: '2027-01-01', within: {mode: plan}}, expires: '2027-01-01T10:00Z'}]",
    "version: 1\nrules: [{allow: Bash, excepts: a, because: x, instead: y, matches: z, not_matches: [p, q]}]",
    "version: 1\nrules: [{deny: {exec: git push, option: -f, option_not: [-x], port: [80], direction: send, host: x, host_not: [y]}}]",
    "version: 1\nrules: [{deny: {exec: [[a, b], c], remote: x, ref: y, force: false, path: p, path_not: q, command: ls}}]",
    "version: 1\nrules: [{deny: {name: x, access: set, action: a, what: b, program: c, agent: d, depth: {ge: 1}, branch: e, cwd: f}}]",
    "version: 1\nrules: [{deny: {tool: Bash, depth: 0, mode: [plan], confined: true, time: {from: '09:00', days: mon}, server: g}}]",
    "version: 1\nrules: [{deny: {annotations: {a: true}, args: {a: x, b: 5, c: [1], d: {not: {glob: x}}, e: {ge: 1, lt: 2}, f: null}}}]",
    "version: 1\nrules: [{deny: {args: {a: {absent: true}, b: {in: [x]}, c: {type: string, regex: x}, d: {equals: {x: [1]}}}}}]",
    "version: 1\nsettings: {mode: plan, levels: {read: ask}, approvers: console, workspace: [x], lock: mode, bounds: {mode: [plan]}, pause: true}",
    "version: 1\nsettings: {sandbox: {read: ./a, write: [~/b], hide: [], hosts: c, network: listed, sockets: //d, env: e, set: {A: b}, weaker: landlock}}",
    "version: 1\nsettings: {sandbox: {permit: [ptrace, perf], inject: [{host: a.org, header: X-Key, source: 'env:A', template: 'Bearer {}'}]}}",
    "version: 1\nsettings: {sandbox: {hosts: [a.org, {host: b.org, access: read}]}}",
    "version: 1\nsettings: {audit: {required: all, sync: true, file_mb: 8, keep: 0}, lock: [audit, audit.keep]}",
    "version: 1\nsettings: {shell: {keep_environment: true}, lock: [shell, shell.keep_environment]}",
    "version: 1\nsettings: {limits: {seconds: 1, cpu_seconds: 1, memory_mb: 1, processes: 1, files: 1, file_mb: 1, disk_mb: 1, output_mb: 1, output_characters: 1}}",
    "version: 1\ntests: [{call: x, expect: ask, rule: a, mode: plan, unconfined: true, cwd: b, id: c}, {tool: A, input: {}, expect: deny}]",
]

REFUSED = [
    "version: 1\nsettings: {shell: {keep_environment: maybe}}",
    "version: 1\nsettings: {shell: {keep: true}}",
    "allow: []",
    "version: 2",
    "version: 1\nrule: []",
    "version: 1\ndeny: Bash",
    "version: 1\nrules: [Bash]",
    "version: 1\nrules: [{id: x}]",
    "version: 1\nrules: [{deny: Bash, allow: Bash}]",
    "version: 1\nrules: [{deny: {efect: push}}]",
    "version: 1\nrules: [{deny: {effect: rename}}]",
    "version: 1\nrules: [{deny: {port: 0}}]",
    "version: 1\nrules: [{deny: []}]",
    "version: 1\nrules: [{id: A, deny: Bash}]",
    "version: 1\nrules: [{deny: Bash, expires: tomorrow}]",
    "version: 1\nrules: [{deny: {args: {a: {gtt: 1}}}}]",
    "version: 1\nsettings: {mode: x}",
    "version: 1\nsettings: {limits: {seconds: 0}}",
    "version: 1\nsettings: {sandbox: {weaker: [nothing]}}",
    "version: 1\nsettings: {sandbox: {permit: [everything]}}",
    "version: 1\nsettings: {sandbox: {hosts: [{host: a.org}]}}",
    "version: 1\nsettings: {sandbox: {hosts: [{host: a.org, access: write}]}}",
    "version: 1\nsettings: {sandbox: {inject: [{host: a.org, header: 'a b', source: 'env:A'}]}}",
    "version: 1\nsettings: {sandbox: {inject: [{host: a.org, header: X, source: A}]}}",
    "version: 1\nsettings: {sandbox: {inject: [{host: a.org, header: X}]}}",
    "version: 1\ntests: [{call: x}]",
    "version: 1\ntests: [{tool: x, expect: ask}]",
    "version: 1\nextends: [{level: warn}]",
]


def test_it_is_a_valid_schema_and_plain_json():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert policy_schema() is not policy_schema()


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_the_parser_accepts_the_schema_accepts(tools, text):
    parse_policy(text, "p.yaml", tools)
    VALIDATOR.validate(yaml.safe_load(text))


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_schema_refuses_the_parser_refuses(tools, text):
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
    with pytest.raises(ConfigError):
        parse_policy(text, "p.yaml", tools)


def test_the_keys_of_every_mapping_are_the_parsers():
    definitions = SCHEMA["$defs"]
    settings = definitions["settings"]["properties"]
    places = [
        (SCHEMA, KEYS),
        (definitions["rule"], FIELDS),
        (definitions["rule"]["properties"]["require"], REQUIREMENTS),
        (definitions["predicates"], READERS),
        (definitions["test_of_value"]["anyOf"][2], VALUE_TESTS),
        (definitions["settings"], SETTINGS),
        (settings["sandbox"], SANDBOX),
        (settings["limits"], LIMITS),
        (settings["audit"], AUDIT),
        (settings["levels"], LEVELS),
        (definitions["test"], TESTS),
    ]
    for place, keys in places:
        assert list(place["properties"]) == list(keys)
        assert place["additionalProperties"] is False


def test_every_key_that_people_write_is_described_and_predicates_have_examples():
    definitions = SCHEMA["$defs"]
    for properties in (
        SCHEMA["properties"],
        *(definitions[name]["properties"] for name in ("rule", "settings", "test")),
    ):
        assert all(each["description"].endswith(".") for each in properties.values())
    for name, each in definitions["predicates"]["properties"].items():
        assert each["description"].endswith(".")
        for example in each["examples"]:
            VALIDATOR.validate({"version": 1, "rules": [{"deny": {name: example}}]})


def test_the_examples_are_rules():
    here = places()
    tools = tool_names(load_tools(here, ()))
    found = {name: each["examples"] for name, each in SCHEMA["$defs"]["predicates"]["properties"].items()}
    rules = [{"deny": {name: example}} for name, examples in found.items() for example in examples]
    short = SCHEMA["$defs"]["short"]["examples"]
    parse_policy(json.dumps({"version": 1, "deny": short, "rules": rules}), "p.yaml", tools)


def test_vocabularies_are_the_models():
    assert SCHEMA["$defs"]["settings"]["properties"]["mode"]["enum"] == list(MODES)
    assert {alternative["required"][0] for alternative in SCHEMA["$defs"]["rule"]["oneOf"]} == {*LANES, "require"}


leaves = st.sampled_from(
    [
        "Bash",
        "push",
        "x",
        "plan",
        "ask",
        "2027-01-01",
        "09:00",
        "guard",
        "a-1",
        "fetch",
        0,
        5,
        443,
        True,
        False,
        None,
        [],
        {},
    ]
)
keys = st.sampled_from(
    sorted({*FIELDS, *READERS, *VALUE_TESTS, *SETTINGS, *SANDBOX, *LIMITS, *AUDIT, *TESTS, *REQUIREMENTS, "preset"})
)
shapes = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)


@given(
    data=st.dictionaries(
        st.sampled_from(sorted(set(KEYS) - {"version"})), shapes | st.lists(shapes, max_size=2), max_size=2
    )
    | st.builds(
        lambda lane, rule, rest: {"rules": [{lane: rule, **rest}]},
        st.sampled_from(LANES),
        shapes,
        st.dictionaries(keys, shapes, max_size=2),
    )
)
def test_the_schema_never_refuses_what_the_parser_accepts(tools, data):
    data = {"version": 1, **data}
    with suppress(ConfigError):
        parse_policy(json.dumps(data), "p.yaml", tools)
        VALIDATOR.validate(data)
