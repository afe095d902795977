"""What becomes of policy's question at each client: asked by it, left to be asked later, or a refusal.

A client runs a call whose question it does not put to a person. So a question is said only where `PUT` says that this
client, in this mode, was seen to ask about such a call; everywhere else, in a mode that nobody knows as well, it is a
refusal that says what the person can do. `tests/wrap/test_questions_real_clients.py` holds the table against the real
clients.
"""

from __future__ import annotations

from gateway.agents.base import ASK, DEFER, DENY, PERMISSION, SILENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gateway.agents.base import Event

# What a call is about, in the eyes of a client that looks at it before it asks. ORDINARY: nothing in it can be a name
# that some client guards by itself, in any spelling. GUARDED: everything else.
ORDINARY, GUARDED = "ordinary", "guarded"
ABOUT = (ORDINARY, GUARDED)
ANY_MODE = "*"  # of a client that does not tell its mode and asks alike in each

# client -> its mode, as it spells it -> what it puts to a person, or refuses by itself where nobody is there.
PUT: dict[str, dict[str, tuple[str, ...]]] = {
    # Where Claude Code has a check of its own on a call, it lets its mode decide, and a hook's question is gone: what
    # bypassPermissions lets run, runs. In plan mode that holds as well if the session may bypass permissions, which no
    # hook is told. `auto` asks a model. In dontAsk it refuses by itself.
    "claude": {
        "default": ABOUT,
        "acceptEdits": ABOUT,
        "plan": (ORDINARY,),
        "auto": (ORDINARY,),
        "dontAsk": (ORDINARY,),
        "bypassPermissions": (ORDINARY,),
    },
    "codex": {},  # takes a question for a hook that failed, and silence for consent
    "gemini": {ANY_MODE: (ORDINARY,)},  # runs tools of servers that its settings trust, whatever a hook wants
    "copilot": {ANY_MODE: ABOUT},
    "cursor": {},  # its modes were never seen to ask
    "opencode": {},  # a plugin cannot ask
}
# These wait for ever for an answer where nobody is there, which no hook can see: somebody must have said that one is.
WAITS = ("gemini",)
# These can end a run that nobody attends, to be gone on with once policy allows the call.
DEFERS = ("claude",)

_TITLES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "copilot": "Copilot CLI",
    "cursor": "Cursor",
    "opencode": "opencode",
}
OTHERS = (
    "Policy wants others to agree to it from elsewhere, which no agent asks: `gateway exec` does (docs/console.md)."
)
_BY_RULE = "The person can let a rule of the policy allow it, or do it without the agent."

# The tools whose questions were seen to be put to a person in the modes that drop others, each with its fields:
# those that are looked at, and those that may hold anything.
_LOOKED_AT, _FREE = True, False
_TOOLS: dict[str, dict[str, dict[str, bool]]] = {
    "claude": {
        "Bash": {"command": _LOOKED_AT, "description": _FREE, "timeout": _FREE},
        "Write": {"file_path": _LOOKED_AT, "content": _FREE},
        "Edit": {"file_path": _LOOKED_AT, "old_string": _FREE, "new_string": _FREE, "replace_all": _FREE},
    },
    "gemini": {
        "run_shell_command": {"command": _FREE, "description": _FREE, "dir_path": _FREE},
        "write_file": {"file_path": _FREE, "content": _FREE},
        "replace": {
            "file_path": _FREE, "old_string": _FREE, "new_string": _FREE, "instruction": _FREE, "allow_multiple": _FREE,
        },
    },
}  # fmt: skip
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@%+")
_BETWEEN = " \n;|<>=,:&"
_QUOTES = "'\""
_DEVICES = ("CON", "PRN", "AUX", "NUL", *(f"{name}{n}" for name in ("COM", "LPT") for n in range(10)))
_WEB = ("https://", "http://")


def about(event: Event, root: str, leads: Iterable[str]) -> str:
    """What a call is about. `root`: the project; `leads`: where its paths lead when links are resolved, of those that
    lead elsewhere or nobody knows where. ORDINARY only for tools whose questions were seen, and only if every word is
    letters, digits and plain marks, no part of a path is hidden, and no path leads out of the project."""
    if event.agent == "claude" and event.tool.startswith("mcp__"):
        return ORDINARY
    fields = _TOOLS.get(event.agent, {}).get(event.tool)
    if fields is None or any(name not in fields for name in event.input):
        return GUARDED
    looked_at = [event.input[name] for name, is_looked_at in fields.items() if is_looked_at and name in event.input]
    if not looked_at:
        return ORDINARY
    if not _is_plain_path(event.cwd, root) or not all(_is_plain_path(each, root) for each in leads):
        return GUARDED
    for text in looked_at:
        if text.__class__ is not str or not _is_plain(text, root, is_command="command" in fields):
            return GUARDED
    return ORDINARY


def _is_plain(text: str, root: str, *, is_command: bool) -> bool:
    if not is_command:
        return bool(text) and _is_plain_word(text, root)
    text = text.replace("&&", ";").replace("2>&1", " ")
    if "&" in text:  # a command in the background
        return False
    for scheme in _WEB:
        text = text.replace(scheme, " ")
    for mark in _QUOTES:
        text = text.replace(mark, "")
    for mark in _BETWEEN:
        text = text.replace(mark, " ")
    return all(_is_plain_word(word, root) for word in text.split(" ") if word)


def _is_plain_word(word: str, root: str) -> bool:
    if not _WORD.issuperset(word):
        return False
    if word[0] == "/":
        return word == "/dev/null" or _is_plain_path(word, root)
    if word[0] == "-":
        return "." not in word and "/" not in word  # the value of an option that is written together with it
    return _are_plain(word.split("/"))


def _is_plain_path(path: str, root: str) -> bool:
    """Whether an absolute path lies in the project, which lies in nothing hidden itself."""
    below = root.rstrip("/") + "/"
    inside = bool(root) and (path == root or (path.startswith(below) and _WORD.issuperset(path[len(below) :])))
    return inside and _are_plain(path.split("/"))


def _are_plain(names: list[str]) -> bool:
    for name in names:
        if name == ".":
            continue
        if name[:1] == "." or name[-1:] in (".", " ") or name.upper().rpartition(".")[2] in _DEVICES:
            return False
    return True


def _is_put(event: Event, what: str) -> bool:
    modes = PUT.get(event.agent, {})
    return what in modes.get(ANY_MODE, modes.get(event.own_mode, ()))


def wants_others(settings: Mapping[str, Any]) -> bool:
    """Whether policy wants others than the agent's own person to agree (`OTHERS` says so)."""
    from gateway.approval.base import wants_others as wants

    return "remote" in settings and wants(settings["remote"].value)


def title_of(agent: str) -> str:
    """What people call an agent."""
    return _TITLES.get(agent, agent)


def asking(event: Event, wish: str, what: str) -> str:
    """The word that answers an event where policy asks. `wish`: what is wished for where nobody is known to be there;
    `what`: what the call is about. SILENCE only where the client is about to ask its own person."""
    if event.kind == PERMISSION:
        return SILENCE
    if wish == DEFER and event.agent in DEFERS and event.attended is False:
        return DEFER
    if wish == DENY and event.attended is not True:
        return DENY
    if not _is_put(event, what) or (event.agent in WAITS and wish != ASK):
        return DENY
    return ASK


def refusal_instead(event: Event, wish: str, what: str) -> str:
    """Why a question became a refusal, and what the person can do, for whoever reads it."""
    title = title_of(event.agent)
    nobody = "Nobody can be asked about it here, so it does not run"
    modes = PUT.get(event.agent, {})
    if wish == DENY:
        return f"{nobody}."
    if _is_put(event, what):
        return f"{nobody}. Where a person sits in front of {title}, `--unattended ask` has it ask."
    if not modes:
        return f"{nobody}: {title} cannot be made to ask. {_BY_RULE}"
    if ANY_MODE in modes:
        return f"{nobody}: {title} may run it without asking. {_BY_RULE}"
    asks = ", ".join([f"`{name}`" for name, put in modes.items() if what in put])
    mode = f"its mode `{event.own_mode[:40]}`" if event.own_mode in modes else "a mode that is not known to ask"
    return f"{nobody}: in {mode} {title} may run it without asking. It asks in {asks}. {_BY_RULE}"


def refused_in(agent: str, mode: str) -> tuple[str, ...]:
    """What a question about it becomes a refusal in this mode of a client's."""
    modes: Mapping[str, Any] = PUT.get(agent, {})
    put = modes.get(ANY_MODE, modes.get(mode, ()))
    return tuple([each for each in ABOUT if each not in put])
