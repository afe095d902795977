"""The `sandbox` setting: what would be no grant, or an ambiguous one, is refused when it is read."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from gateway.core.errors import ConfigError
from gateway.model.limits import LIMITS, Limits
from gateway.spec.policy import parse_policy
from gateway.spec.sandbox import SANDBOX

MISTAKES = [
    ("read: [build]", "each entry of `read` must stand for whole files or folders (got `build`)"),
    ("write: ['**/build']", "each entry of `write` must stand for whole files or folders (got `**/build`)"),
    ("write: [~/a/**/b]", "each entry of `write` must stand for whole files or folders (got `~/a/**/b`)"),
    ("read: [/etc/x]", "each entry of `read` must say where it starts (got `/etc/x`)"),
    ("sockets: [/run/x]", "each entry of `sockets` must say where it starts (got `/run/x`)"),
    ("hide: ['[x']", "each entry of `hide` must be a path pattern"),
    ("hosts: ['https://a.org']", "each entry of `hosts` must be a host"),
    ("hosts: ['a.org:99999']", "each entry of `hosts` must be a host: a port must be a number from 1 to 65535"),
    ("weaker: [nothing]", "`weaker` must be"),
    ("permit: [all]", "`permit` must be"),
    ("set: {PATH: /x}", "`set` must not hold `PATH`"),
    ("set: {BASH_ENV: /x}", "`set` must not hold `BASH_ENV`"),
    ("hosts: [{host: a.org}]", "an entry of `hosts` must have `access`"),
    ("hosts: [{access: read}]", "an entry of `hosts` must have `host`"),
    ("hosts: [{host: a.org, access: write}]", "`access` must be `read`"),
    ("hosts: [{host: '*.a.org', access: read}]", "`host` must be one host's name"),
    ("hosts: [{host: 'a.org:8443', access: read}]", "`host` must be one host's name"),
    ("hosts: [{host: localhost, access: read}]", "`host` must be one host's name"),
    ("hosts: [a.org, {host: a.org, access: read}]", "`hosts` must name a host once"),
    ("hosts: [{host: a.org, access: read, port: 1}]", "an entry of `hosts` must not have the key `port`"),
    ("hosts: [{host: a.org, access: read}, 'http://b']", "each entry of `hosts` must be a host"),
    ("hosts: [{host: a.org, access: read, named_by: 'http://b'}]", "each entry of `named_by` must be a host"),
    ("hosts: [{host: a.org, access: read, also: [all]}]", "`also` must be"),
    ("hosts: [{host: 'a.org:6443', access: read}]", "`host` must be one host's name"),
    ("hosts: [{host: 'a.org:6443', access: read, also: graphql}]", "`host` must be one host's name"),
    ("hosts: [{host: 'a.org:x', access: read, also: kubernetes}]", "`host` must be one host's name"),
    ("hosts: [{host: '*.a.org:6443', access: read, also: kubernetes}]", "`host` must be one host's name"),
    ("hosts: [{host: a.org, access: read, also: [kubernetes, aws]}]", "where `kubernetes` is read nothing else is"),
    (
        "hosts: [{host: a.org, access: read, also: kubernetes, named_by: b.org}]",
        "where `kubernetes` is read nothing else is",
    ),
    ("inject: [{host: a.org, header: X}]", "an entry of `inject` must have `source`"),
    ("inject: [{host: '*', header: X, source: 'env:A'}]", "`host` must be one host's name"),
    ("inject: [{host: a.org, header: 'X Y', source: 'env:A'}]", "`header` must be a header's name"),
    ("inject: [{host: a.org, header: X, source: 'secret'}]", "`source` must be `env:NAME` or `file:/PATH`"),
    ("inject: [{host: a.org, header: X, source: 'env:A', template: none}]", "`template` must be one line"),
    (
        "inject: [{host: a.org, header: X, source: 'env:A', value: x}]",
        "an entry of `inject` must not have the key `value`",
    ),
    ("writes: []", "`sandbox` must not have the key `writes`"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistake_is_told_when_the_file_is_read(tools, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_policy(f"version: 1\nsettings:\n  sandbox:\n    {text}\n", "p.yaml", tools)
    assert message in str(caught.value)
    assert caught.value.problems[0].line == 4


def test_a_whole_profile(tools) -> None:
    text = """\
version: 1
settings:
  sandbox:
    read: [~/.cargo/bin/**, "//opt/tools/*/bin"]
    write: ./**
    hide: ["*.pem", "./secret/**"]
    hosts: [pypi.org, "*.acme.example:8443", "[::1]:80"]
    network: listed
    sockets: [//run/user/agent]
    env: [LANG, LC_*]
    set: {CI: "1"}
    weaker: landlock
    permit: [ptrace, perf]
    inject: [{host: "*.acme.example", header: X-Key, source: "file:~/key"}]
"""
    assert parse_policy(text, "p.yaml", tools)["settings"]["sandbox"] == {
        "read": ["~/.cargo/bin/**", "//opt/tools/*/bin"],
        "write": ["./**"],
        "hide": ["*.pem", "./secret/**"],
        "hosts": ["pypi.org", "*.acme.example:8443", "[::1]:80"],
        "network": "listed",
        "sockets": ["//run/user/agent"],
        "env": ["LANG", "LC_*"],
        "set": {"CI": "1"},
        "weaker": ["landlock"],
        "permit": ["ptrace", "perf"],
        "inject": [{"host": "*.acme.example", "header": "X-Key", "source": "file:~/key"}],
    }


def test_every_key_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    assert [key for key in SANDBOX if f"\n| `{key}` |" not in text] == []


def test_every_limit_of_the_sandbox_has_its_field_and_what_keeps_it() -> None:
    assert [each.field for each in LIMITS.values() if each.field] == list(Limits._fields)
    assert [each.resource for each in LIMITS.values() if each.resource and not hasattr(resource, each.resource)] == []


def test_hosts_that_may_only_be_read_from_stand_among_the_others(tools) -> None:
    read = "{host: f.pypi.org, access: read, named_by: pypi.org, also: graphql}"
    text = f"version: 1\nsettings: {{sandbox: {{hosts: [a.org, {read}, '*.b.org']}}}}"
    found = parse_policy(text, "p.yaml", tools)["settings"]["sandbox"]
    entry = {"host": "f.pypi.org", "access": "read", "named_by": ["pypi.org"], "also": ["graphql"]}
    assert found == {"hosts": ["a.org", entry, "*.b.org"]}


@pytest.mark.parametrize("host", ["c.example", "'c.example:6443'", "10.0.0.1", "'10.0.0.1:6443'", "'[fd00::1]:6443'"])
def test_the_api_of_a_cluster_may_be_named_with_its_port(tools, host: str) -> None:
    text = f"version: 1\nsettings: {{sandbox: {{hosts: [{{host: {host}, access: read, also: kubernetes}}]}}}}"
    found = parse_policy(text, "p.yaml", tools)["settings"]["sandbox"]
    assert found == {"hosts": [{"host": host.strip("'"), "access": "read", "also": ["kubernetes"]}]}
