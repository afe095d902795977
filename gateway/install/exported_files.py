"""The second net in the words of each agent: files with what has to be in them, and what could not be said. Pure."""

from __future__ import annotations

import os

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
from gateway.install.base import MANAGED, PROJECT, USER
from gateway.install.claude import settings
from gateway.install.exported_rules import Prefix
from gateway.install.pieces import JSON, TEXT, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.install.base import Agent, Site
    from gateway.install.exported_rules import Second

    Said = tuple[tuple[Target, ...], tuple[str, ...]]

_MARK = "# Written by `gateway init {} --native`; `gateway init {} --undo` takes it away.\n"


def native(agent: Agent, site: Site, net: Second) -> Said:
    """What to put in, and what the agent's own rules cannot say besides what `net` leaves."""
    return _AGENTS[agent.NAME](agent, site, net)


def _claude(_agent: Agent, site: Site, net: Second) -> Said:
    rules = [claude_command(" ".join(each.words)) for each in net.prefixes]
    rules += [f"Read({each}{below})" for each in net.reads for below in _below(each)]
    rules += [f"Edit({each}{below})" for each in net.writes for below in _below(each)]
    rules += [f"WebFetch(domain:{each})" for each in net.hosts]
    rules += [claude_tool(*each) for each in net.tools]
    return (Target(settings(site), JSON, tuple(Entry(("permissions", "deny"), each) for each in rules)),), ()


def _below(pattern: str) -> tuple[str, ...]:
    """A path rule of ours also holds for all that lies below a folder."""
    return ("",) if "." in pattern.rpartition("/")[2][1:] or pattern.endswith("*") else ("", "/**")


def _codex(agent: Agent, site: Site, net: Second) -> Said:
    left = _unsaid(net, "paths", "hosts", "tools")
    if site.level == MANAGED:
        return (), ("Codex takes rules of commands from its users' and projects' folders alone", *left)
    lines = [_MARK.format("codex", "codex")]
    lines += [codex_rule(each.words, "forbidden", f"{each.because} ({each.rule})") for each in net.prefixes]
    path = os.path.join(agent.folder(site), "rules", "gateway.rules")
    return (Target(path, TEXT, (), "".join(lines)),), left


def _gemini(agent: Agent, site: Site, net: Second) -> Said:
    left = _unsaid(net, "paths", "hosts")
    if site.level == PROJECT:
        return (), ("Gemini CLI takes no rules from projects: use the user's level", *left)
    lines = [_MARK.format("gemini", "gemini")]
    rules = [gemini_rule(*_DENIED, tools=_SHELL, prefix=" ".join(each.words)) for each in net.prefixes]
    rules += [gemini_rule(*_DENIED, tools=in_quotes(tool), server=server) for server, tool in net.tools]
    lines += [f"\n{each}" for each in rules]
    path = os.path.join(agent.folder(site), "policies", "gateway.toml")
    return (Target(path, TEXT, (), "".join(lines)),), left


_DENIED = ("deny", 900)
_SHELL = '"run_shell_command"'


def _copilot(agent: Agent, site: Site, net: Second) -> Said:
    left = list(_unsaid(net, "reads"))
    denied = [copilot_command(" ".join(each.words)) for each in net.prefixes]
    denied += [copilot_tool(*each) for each in net.tools]
    flags = [f"--deny-tool={for_a_shell(each)}" for each in denied]
    if flags:
        left.append(f"Copilot takes denied commands on its command line alone: copilot {' '.join(flags)}")
    if site.level == USER and net.hosts:
        pieces = tuple(Entry(("deniedUrls",), each) for each in net.hosts)
        return (Target(os.path.join(agent.folder(site), "settings.json"), JSON, pieces),), tuple(left)
    return (), (*left, *_unsaid(net, "hosts"))


def _cursor(agent: Agent, site: Site, net: Second) -> Said:
    left = _unsaid(net, "hosts")
    if site.level == MANAGED:
        return (), ("Cursor takes rules from its users' and projects' folders alone", *left)
    programs = dict.fromkeys(each.words[0] for each in net.prefixes if len(each.words) == 1)
    rules = [f"Shell({each})" for each in programs]
    rules += [f"Read({plain_path(each)}{below})" for each in net.reads for below in _below(each)]
    rules += [f"Write({plain_path(each)}{below})" for each in net.writes for below in _below(each)]
    rules += [cursor_tool(*each) for each in net.tools]
    if len(programs) < len(net.prefixes):
        left = ("Cursor's rules name programs, not their first words", *left)
    name = "cli.json" if site.level == PROJECT else "cli-config.json"
    pieces = tuple(Entry(("permissions", "deny"), each) for each in rules)
    return (Target(os.path.join(agent.folder(site), name), JSON, pieces),), left


def _opencode(_agent: Agent, site: Site, net: Second) -> Said:
    from gateway.install.opencode import config

    pieces: list[Entry | Member] = []
    for each in net.prefixes:
        text = " ".join(each.words)
        pieces += [Member(("permission", "bash"), text + end, "deny") for end in ("", " *")]
    for name, paths in (("read", net.reads), ("edit", net.writes)):
        pieces += [
            Member(("permission", name), plain_path(path) + below, "deny") for path in paths for below in _below(path)
        ]
    for server, tool in net.tools:
        pieces.append(Member(("permission",), f"{server}_{tool}", "deny"))
    return (Target(config(site), JSON, tuple(pieces)),), _unsaid(net, "hosts")


def _unsaid(net: Second, *kinds: str) -> tuple[str, ...]:
    counts = {
        "paths": (len({*net.reads, *net.writes}), "paths"),
        "reads": (len({*net.reads, *net.writes}), "paths that must not be read or written"),
        "hosts": (len(net.hosts), "hosts"),
        "tools": (len(net.tools), "tools of MCP servers"),
    }
    return tuple(
        f"its rules do not name {what}: {number} are left to the hook"
        for kind in kinds
        for number, what in (counts[kind],)
        if number
    )


_AGENTS: dict[str, Callable[[Agent, Site, Second], Said]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "cursor": _cursor,
    "opencode": _opencode,
}
__all__ = ["Prefix", "native"]
