"""What every client's hooks have in common: what was said, what is answered, and what a dialect offers.

A dialect is a module with these names; all of it is pure. What a client is answered where policy asks is no dialect's
own: `gateway.agents.questions` has it for all.

    NAME        the word behind `gateway hook`
    EVENTS      its events, each with its kind
    REWRITES    its tools whose shell text can be replaced by an answer
    UNSEEN_INPUT  whether it hands input to what runs without telling its hooks
    read        (what the client wrote, environment, names of its MCP servers if known) -> Event; raises Misfit for what
                is not this client's
    render      (event, answer) -> the exact bytes and exit status
    refuse      (name of the event, reason) -> the answer that this client takes for a refusal of it
"""

from __future__ import annotations

from gateway.agents.refusal import LONGEST, refusal
from gateway.core.plainjson import dumps
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Dialect(Protocol):
        """One client's way to speak."""

        NAME: str
        EVENTS: Mapping[str, str]
        REWRITES: tuple[str, ...]
        UNSEEN_INPUT: bool

        def read(
            self, given: Mapping[str, Any], environment: Mapping[str, str], servers: tuple[str, ...] = ()
        ) -> Event: ...
        def render(self, event: Event, answer: Answer) -> Reply: ...
        def refuse(self, event: str, reason: str) -> Reply: ...


# Kinds of events: a call that is about to run, a question that the client is about to ask, what became of a call, a
# change of the client's own settings, and a prompt that the client is about to take.
BEFORE, PERMISSION, AFTER, CONFIG, PROMPT = "before", "permission", "after", "config", "prompt"
KINDS = (BEFORE, PERMISSION, AFTER, CONFIG, PROMPT)

ALLOW, ASK, DENY, DEFER, SILENCE = "allow", "ask", "deny", "defer", "silence"
# What may be wished for where policy asks and nobody is known to be there.
WISHES = (ASK, DENY, DEFER)

# By which shell an agent has its commands read, as far as a hook can tell.
BASH, ZSH, SH = "bash", "zsh", "sh"
# These start bash itself, whatever shell the person has.
_OWN_BASH = ("gemini", "copilot")
_SHELLS = {"bash": BASH, "zsh": ZSH, "sh": SH, "dash": SH, "ash": SH, "ksh": SH}


class Misfit(Exception):
    """What came is not what this client says. `args`: the reason, for whoever reads a refusal."""


class Became(Value):
    """What became of a call, as far as its client tells: `failed`, exit `status`, `size` of what it gave in characters,
    `seconds`."""

    failed: bool = False
    status: int = 0
    size: int = 0
    seconds: float = 0.0


class Event(Value):
    """What a client says, in the same words for all clients.

    `name`: the event as the client spells it; `kind`: one of `KINDS`. `tool`: as the client names it, and `input` as it
    came. `names`: under which names the call may be judged, the most certain first; several where the client's own name
    leaves open which server a tool belongs to. `server`: the MCP server, "" where there is none or nobody said.
    `cwd`: where the call will run, as the client says. `roots`: where the session started, the first that is there
    counts. `id`: the client's name for the call, "" if it has none. `mode`: the client's own mode in our words, "" for
    none; `own_mode`: in its own. `attended`: whether a person is there, None where that cannot be seen. `subagent`: its
    type, where one calls. `became`: of events after a call. `path`: of a change of settings. Of a prompt: `reads`, the
    files that it may pull in, `runs`, the shell texts that it starts by itself, and `prompt`, its text where that may
    start commands that must be looked up.
    """

    agent: str
    name: str
    kind: str
    tool: str = ""
    input: Mapping[str, Any] = {}
    names: tuple[str, ...] = ()
    server: str = ""
    cwd: str = ""
    roots: tuple[str, ...] = ()
    session: str = ""
    id: str = ""
    mode: str = ""
    own_mode: str = ""
    attended: bool | None = None
    subagent: str = ""
    became: Became | None = None
    path: str = ""
    prompt: str = ""
    reads: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class Answer(Value):
    """What is decided on an event. `decision`: allow, ask, deny, defer or silence. `reason`: for whoever reads it,
    never empty for ask, deny and defer. `changed`: the whole input that is to run instead, None for the one that came.
    """

    decision: str
    reason: str = ""
    changed: Mapping[str, Any] | None = None


class Reply(Value):
    """What a hook writes, whole, and its exit status."""

    stdout: bytes = b""
    stderr: bytes = b""
    status: int = 0


NOTHING = Reply()


def universal_refusal(reason: str) -> Reply:
    """The refusal that suits all clients (`gateway.agents.refusal`)."""
    return Reply(*refusal(reason))


def said(value: Mapping[str, Any], status: int = 0) -> Reply:
    """One JSON object on standard output, in ASCII, and nothing else."""
    return Reply(dumps(value).encode("ascii") + b"\n", b"", status)


def reason(text: str) -> str:
    """A reason as clients take it: not empty, not longer than they show, without what is no character."""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return shown.encode("utf-8", "backslashreplace").decode() if shown.strip() else "gateway refused this call"


# ------------------------------------------------------------------- reading what a client wrote, strictly typed


def text(given: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    """A field that holds text; "" where it is missing and not `needed`. Raises Misfit."""
    value = given.get(name)
    if value is None and not needed:
        return ""
    if value.__class__ is not str or (needed and not value):
        raise Misfit(f"`{name}` must be text")
    return value


def fields(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A field that holds an object. Raises Misfit."""
    value = given.get(name)
    if value.__class__ is not dict:
        raise Misfit(f"`{name}` must be an object")
    return value


def event_name(given: Mapping[str, Any], events: Mapping[str, str], field: str = "hook_event_name") -> str:
    """The event's name, which must be one that the dialect knows. Raises Misfit."""
    name = text(given, field, needed=True)
    if name not in events:
        raise Misfit(f"event `{name[:80]}` is not one that the gateway answers")
    return name


def unlike(given: Mapping[str, Any], agent: str, *others: str) -> None:
    """Raises Misfit if any of these fields is there, which only another client writes."""
    for name in others:
        if name in given:
            raise Misfit(f"this is not how {agent} calls: it does not say `{name}`")


def server_name(name: str) -> tuple[str, str]:
    """Server and tool in `mcp__server__tool`, ("", "") if it is no such name."""
    if not name.startswith("mcp__"):
        return "", ""
    server, _, tool = name[5:].partition("__")
    return (server, tool) if server and tool else ("", "")


def joined(name: str, mark: str, servers: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The canonical names that a server's tool may have whose client joins both with `mark`: each way to part them,
    only those whose server is among `servers` where these are known."""
    found = []
    at = name.find(mark, 1)
    while 0 < at < len(name) - len(mark):
        found.append((name[:at], name[at + len(mark) :]))
        at = name.find(mark, at + 1)
    known = [(server, tool) for server, tool in found if server in servers]
    return tuple([f"mcp__{server}__{tool}" for server, tool in known or found])


def size(value: Any, depth: int = 0) -> int:
    """About how many characters of text a result holds."""
    if value.__class__ is str:
        return len(value)
    if depth > 20:
        return 0
    if value.__class__ is dict:
        return sum([size(each, depth + 1) for each in value.values()])
    if value.__class__ is list:
        return sum([size(each, depth + 1) for each in value])
    return 0


def shell_of(agent: str, environment: Mapping[str, str]) -> str:
    """`bash`, `zsh`, `sh`, or the name of one that reads texts altogether otherwise. The person's own shell is what
    most agents take; Codex lets the model choose one that no hook is told."""
    if agent in _OWN_BASH:
        return BASH
    if agent == "codex":
        return ZSH
    named = environment.get("CLAUDE_CODE_SHELL", "") if agent == "claude" else ""
    path = named or environment.get("SHELL", "")
    name = path[path.rfind("/") + 1 :]
    if not name:
        return BASH
    found = _SHELLS.get(name)
    if agent in ("claude", "opencode") and found not in (BASH, ZSH):
        return ZSH  # neither takes another one; which of the two it takes instead nobody can tell
    return found or name
