"""Examples of settings. What each means stands beside its reader, in `gateway.spec.settings` and `gateway.spec.sandbox`."""

# ruff: noqa: E501  one example a line

from __future__ import annotations

from gateway.model.limits import LIMITS
from gateway.spec.agents import AGENTS
from gateway.spec.models import MODEL
from gateway.spec.reference.entry import Entry
from gateway.spec.remote import REMOTE
from gateway.spec.sandbox import SANDBOX
from gateway.spec.settings import AUDIT, MCP, PLAN, PROPOSALS, SETTINGS, SHELL, TASKS
from gateway.spec.web import SEARCH, WEB

_EXAMPLES: dict[str, tuple[str, str]] = {
    "mode": ("accept_edits", "plan"),
    "levels": ("{session: ask}", "{read: allow, agent: ask}"),
    "sandbox": ("{network: 'off'}", "{write: [~/.cache/pip], hosts: [pypi.org, files.pythonhosted.org]}"),
    "limits": ("{seconds: 600}", "{memory_mb: 2048, processes: 100}"),
    "approvers": ("[console]", "[mcp, refuse]"),
    "remote": (
        "{origin: 'https://gateway.example.com', notify: [{kind: ntfy, url: 'https://ntfy.sh/topic-of-mine'}]}",
        "{people: 2, requester: false, sign_in: passkey, seconds: 300}",
    ),
    "review": ("asks", "all"),
    "audit": ("{required: all}", "{sync: true, file_mb: 64, keep: 10, facts: false}"),
    "workspace": ("[../shared]", "[~/src/library, //srv/data]"),
    "trust": ("[]", f"['{'ab' * 32}']"),
    "lock": ("[mode]", "[sandbox.network, commands]"),
    "bounds": ("{mode: [default, plan]}", "{mode: [default, accept_edits, plan, read_only]}"),
    "pause": ("false", "true"),
    "shell": ("{keep_environment: true}", "{keep_environment: false}"),
    "servers": (
        "{files: {command: [mcp-server-filesystem, .], is: filesystem}}",
        "{tracker: {url: 'https://mcp.example.com/', headers: {Authorization: 'Bearer {env:TRACKER}'}, seconds: 30}}",
    ),
    "language_servers": (
        "{python: {command: [pyright-langserver, --stdio], languages: python}}",
        "{rust: {command: [rust-analyzer], languages: [rust], after_edit: 5}}",
    ),
    "web": ("{private: [docs.internal.example.com]}", "{plain: [localhost]}"),
    "search": ("{provider: brave, key: {env: BRAVE_KEY}}", "{provider: searxng, url: 'https://search.example.com/'}"),
    "models": (
        "{sonnet: {name: claude-sonnet-5-5}, haiku: {name: claude-haiku-5-5}}",
        "{claude-sonnet-5-5: {price: {read: 300, said: 1500}, window: 200000, reply: 64000}}",
    ),
    "mcp": ("{elicited: none}", "{servers_may: [roots], pins: true, result_characters: 20000}"),
    "tasks": ("{one_in_progress: true}", "{keep_todos: true}"),
    "plan": ("{unattended: refuse}", "{unattended: accept}"),
    "proposals": (
        "{within: 'Edit(build/**)'}",
        "{within: [{exec: [npm, run], effect: code, confined: true}, 'WebFetch(domain:docs.example.com)']}",
    ),
    "agents": ("{modes: follow, page: 60}", "{modes: stricter, allow: silence}"),
    "tools_in_full": ("20", "0"),
    "second_opinion": ("true", "false"),
    "guarded": ("true", "false"),
    "contained": ("ask", "'off'"),
}
_SANDBOX: dict[str, tuple[str, str]] = {
    "read": ("[~/.cargo/bin/**]", "[//opt/tools, ./shared/**]"),
    "write": ("[./build]", "[~/.cache/pip, //srv/scratch/**]"),
    "hide": ("['*.pem']", "[./customers/**, ~/notes]"),
    "show": ("['tests/certs/*.pem']", "[./dev.tfvars]"),
    "hosts": (
        "['*.example.com', 'registry.example.com:8443']",
        "[{host: files.acme.example, access: read, named_by: acme.example}, {host: c.example, access: read, also: kubernetes}]",
    ),
    "registries": ("npm", "[npm, pip, uv, cargo]"),
    "daemons": ("docker", "[docker]"),
    "network": ("listed", "'off'"),
    "sockets": ("[//run/postgresql/.s.PGSQL.5432]", "[~/.ssh/agent.sock]"),
    "env": ("[CI]", "['NPM_CONFIG_*', EDITOR]"),
    "set": ("{CI: '1'}", "{PYTHONHASHSEED: '0', NO_COLOR: '1'}"),
    "weaker": ("[landlock]", "[landlock, landlock-unscoped]"),
    "permit": ("[ptrace]", "[perf, namespaces]"),
    "inject": (
        "[{host: api.example.com, header: X-Key, source: 'env:API_KEY'}]",
        "[{host: '*.example.com', header: Authorization, source: 'file:~/token', template: 'Bearer {}'}]",
    ),
}

SETTING: dict[str, Entry] = {
    name: Entry(about, files=tuple(f"settings: {{{name}: {each}}}" for each in _EXAMPLES[name]))
    for name, about in SETTINGS.items()
}
SANDBOXED: dict[str, Entry] = {
    name: Entry(about, files=tuple(f"settings: {{sandbox: {{{name}: {each}}}}}" for each in _SANDBOX[name]))
    for name, about in SANDBOX.items()
}
LIMITED: dict[str, Entry] = {
    name: Entry(
        each.about,
        files=tuple(f"settings: {{limits: {{{name}: {value}}}}}" for value in (each.usual or 4, 2 * (each.usual or 4))),
        more=f"In {each.unit}, from {each.least} to {each.most:,}. Where nothing is set: {each.shown()}. Bounded: {each.kept}.",
    )
    for name, each in LIMITS.items()
}
# Sections whose keys are told in a line each: their examples are those of the setting.
SECTIONS = {
    "audit": AUDIT, "mcp": MCP, "shell": SHELL, "agents": AGENTS, "tasks": TASKS, "plan": PLAN, "web": WEB, "search": SEARCH,
    "proposals": PROPOSALS,
    "models": MODEL, "remote": REMOTE,
}  # fmt: skip
