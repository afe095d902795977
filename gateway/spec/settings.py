"""The `settings:` section of a policy file: single values, of which the lowest layer's wins within its bounds."""

from __future__ import annotations

from gateway.model.changes import BOUNDS
from gateway.model.decision import LEVELS, MODES, REVIEWS
from gateway.model.limits import LIMITS
from gateway.spec import read
from gateway.spec.agents import AGENTS, read_agents
from gateway.spec.language_servers import read_language_servers
from gateway.spec.models import read_models
from gateway.spec.predicates import read_alternatives
from gateway.spec.remote import REMOTE, read_remote
from gateway.spec.sandbox import SANDBOX, read_sandbox
from gateway.spec.servers import read_servers
from gateway.spec.web import WEB, read_search, read_web

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.spec.short import ToolNames
    from gateway.spec.yamltext import Complaints, Node

DECISIONS = ("allow", "ask", "deny")
APPROVERS = ("console", "remote", "mcp", "auto", "refuse")

SETTINGS = {
    "mode": "what decides where no rule speaks",
    "levels": "the verdict for calls without effects, by the tool's level",
    "sandbox": "what a call that runs confined by a rule may do beyond what was predicted",
    "limits": "bounds on every call",
    "approvers": "who is asked, in this order",
    "remote": "who may answer from elsewhere, and how they are told that something waits",
    "review": "what the reviewer of the mode `auto` is shown, beside what the mode asks",
    "audit": "how the record of decisions and outcomes is kept",
    "workspace": "folders that count as the workspace besides the project root",
    "trust": "digests of project policies that count as trusted; only the enterprise layer's are used",
    "lock": "settings that no lower layer may set; with `commands`, lower layers' descriptions of programs only add",
    "bounds": "values that lower layers may choose from",
    "pause": "whether a person at a terminal may pause the gateway",
    "shell": "what one command of a session leaves to the next",
    "servers": "MCP servers by name, whose tools may be called",
    "language_servers": "servers that answer questions about code, by name",
    "web": "which hosts WebFetch may find at private addresses, and which it asks without encryption",
    "search": "who searches for WebSearch",
    "models": "what short names of models stand for, and what is not known of a model by its name",
    "mcp": "what MCP clients may answer for a person, and what servers behind the proxy may say and ask",
    "tasks": "how the tasks of a project and an agent's list of things to do are kept",
    "plan": "who accepts a plan where no person is there",
    "agents": "how the hooks of foreign agents answer",
    "tools_in_full": "with more tools than this, those that may wait are shown to a model by name only",
    "second_opinion": "whether a second parser has to find the same commands in a shell text",
    "guarded": "whether the hook of a foreign agent rewrites shell commands that may run into their confined form",
    "proposals": "which rules that agents propose hold for a session by themselves; the enterprise layer says so",
    "contained": "the mildest that becomes of what contained calls change: keep, ask, discard; off: none is contained",
}
AUDIT = {
    "required": "calls that do not run unless they are recorded: those with effects, all of them, or nothing",
    "sync": "whether each record waits for the disk, and not for the kernel alone",
    "file_mb": "size at which a new file begins",
    "keep": "how many full files stay, 0 for all",
    "facts": "whether what decisions were made with is kept, so that they can be judged again (true)",
}
MCP = {
    "elicited": "which questions a yes through an MCP client answers: all, those that are not locked, or none",
    "servers_may": "what servers behind the proxy may ask of a client: elicitation, sampling, roots",
    "hide_secrets": "whether what has the form of a secret is taken out of what servers behind the proxy say",
    "result_characters": "what a client is handed of the text of one result",
    "pins": "whether a tool of a server that has changed is hidden until a person accepts it",
}
ELICITED = ("all", "unlocked", "none")
SERVERS_MAY = ("elicitation", "sampling", "roots")
SHELL = {
    "keep_environment": "whether exported variables stay, of those that `sandbox.env` passes on",
}
TASKS = {
    "one_in_progress": "whether each owner may have one task in progress at most",
    "keep_todos": "whether TodoWrite's list stays when the session has ended",
}
PLAN = {
    "unattended": "what becomes of a plan where no person is there: accept, or refuse",
}
UNATTENDED = ("accept", "refuse")
PROPOSALS = {
    "within": "a proposed rule that opens nothing but what these allow holds until the session ends",
}
REQUIRED = ("effects", "all", "nothing")
_MOST = 10**9


def read_settings(node: Node, tools: ToolNames, complaints: Complaints) -> dict[str, Any]:
    """The settings that the file sets, checked, as plain data. `tools`: as the short form of rules needs them."""
    found: dict[str, Any] = {}
    for name, value in read.known_keys(node, "`settings`", SETTINGS, complaints).items():
        what = f"`{name}`"
        if name == "mode":
            found[name] = read.choice(value, what, MODES, complaints)
        elif name == "levels":
            levels = read.known_keys(value, what, LEVELS, complaints)
            found[name] = {
                level: read.choice(item, f"`{level}`", DECISIONS, complaints) for level, item in levels.items()
            }
        elif name == "sandbox":
            found[name] = read_sandbox(value, complaints)
        elif name == "limits":
            limits = read.known_keys(value, what, LIMITS, complaints)
            found[name] = {
                limit: read.integer(item, f"`{limit}`", complaints, LIMITS[limit].least, LIMITS[limit].most)
                for limit, item in limits.items()
            }
        elif name == "audit":
            found[name] = _audit(read.known_keys(value, what, AUDIT, complaints), complaints)
        elif name == "shell":
            keys = read.known_keys(value, what, SHELL, complaints)
            found[name] = {key: read.boolean(item, f"`{key}`", complaints) for key, item in keys.items()}
        elif name == "tasks":
            keys = read.known_keys(value, what, TASKS, complaints)
            found[name] = {key: read.boolean(item, f"`{key}`", complaints) for key, item in keys.items()}
        elif name == "plan":
            keys = read.known_keys(value, what, PLAN, complaints)
            found[name] = {key: read.choice(item, f"`{key}`", UNATTENDED, complaints) for key, item in keys.items()}
        elif name == "proposals":
            keys = read.known_keys(value, what, PROPOSALS, complaints)
            found[name] = {key: read_alternatives(item, "allow", tools, complaints) for key, item in keys.items()}
        elif name == "agents":
            found[name] = read_agents(value, complaints)
        elif name == "servers":
            found[name] = read_servers(value, complaints)
        elif name == "language_servers":
            found[name] = read_language_servers(value, complaints)
        elif name == "web":
            found[name] = read_web(value, complaints)
        elif name == "search":
            found[name] = read_search(value, complaints)
        elif name == "models":
            found[name] = read_models(value, complaints)
        elif name == "mcp":
            found[name] = _mcp(read.known_keys(value, what, MCP, complaints), complaints)
        elif name == "tools_in_full":
            found[name] = read.integer(value, what, complaints, 0, _MOST)
        elif name == "approvers":
            found[name] = read.choices(value, what, APPROVERS, complaints)
        elif name == "remote":
            found[name] = read_remote(value, complaints)
        elif name == "review":
            found[name] = read.choice(value, what, REVIEWS, complaints)
        elif name == "contained":
            found[name] = read.choice(value, what, BOUNDS, complaints)
        elif name in ("workspace", "trust"):
            found[name] = read.texts(value, what, complaints, empty=True)
        elif name == "lock":
            found[name] = read.choices(value, what, lockable(), complaints)
        elif name == "bounds":
            bounds = read.known_keys(value, what, ("mode",), complaints)
            found[name] = {key: read.choices(item, f"`{key}`", MODES, complaints) for key, item in bounds.items()}
        else:
            found[name] = read.boolean(value, what, complaints)
    return found


def _audit(given: dict[str, Node], complaints: Complaints) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        what = f"`{name}`"
        if name == "required":
            found[name] = read.choice(value, what, REQUIRED, complaints)
        elif name in ("sync", "facts"):
            found[name] = read.boolean(value, what, complaints)
        else:
            found[name] = read.integer(value, what, complaints, 0 if name == "keep" else 1, 10**6)
    return found


def _mcp(given: dict[str, Node], complaints: Complaints) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        what = f"`{name}`"
        if name == "elicited":
            found[name] = read.choice(value, what, ELICITED, complaints)
        elif name == "servers_may":
            found[name] = read.choices(value, what, SERVERS_MAY, complaints) if value.value != [] else []
        elif name == "result_characters":
            found[name] = read.integer(value, what, complaints, 1_000, 10**7)
        else:
            found[name] = read.boolean(value, what, complaints)
    return found


def lockable() -> tuple[str, ...]:
    """Names that `lock:` may hold: whole settings, and single keys of those that are sections."""
    whole = tuple(name for name in SETTINGS if name not in ("trust", "lock", "bounds"))
    sections: dict[str, Iterable[str]] = {
        "levels": LEVELS, "sandbox": SANDBOX, "limits": LIMITS, "audit": AUDIT, "shell": SHELL, "mcp": MCP,
        "agents": AGENTS, "web": WEB, "tasks": TASKS, "plan": PLAN,
        "remote": REMOTE, "proposals": PROPOSALS,
    }  # fmt: skip
    return (*whole, "commands", *(f"{section}.{key}" for section, keys in sections.items() for key in keys))
