"""A shell command that may run, rewritten so that it runs confined, whoever starts it.

The hook of a foreign agent says what may run; the agent runs it. By the setting `guarded` the hook hands back another
command: `gateway exec` with a single-use ticket. What runs then is the text that was judged, in the folder, with the
effects and under the policy that it was judged with, and the kernel holds it to that.

    { gateway_to=$(… exec --ticket N --cwd-to 3 -c 'cd src && ls' 3>&1 >&4 4>&-); gateway_is=$?; } 4>&1; …

Around a command that may move, the agent's own shell follows to the folder that it ended in.
"""

from __future__ import annotations

import time

from gateway.agents.tickets import NUMBER, SECONDS, SECONDS_ASKED, Ticket, TicketError, Tickets, is_number, text_digest
from gateway.approval.digests import identity
from gateway.core.command_lines import client_line
from gateway.core.value import Value
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.sandbox.shell import find_bash, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.judge.judge import Judge
    from gateway.model.verdict import Verdict

SHELL = "Bash"
# One word of a command line may have 131,072 bytes; the agent puts ours into one of its own, quoted once more.
MOST_TEXT = 24_000
# Commands of the shell itself that may leave it elsewhere.
_MOVES = frozenset(("cd", "pushd", "popd", "source", ".", "eval"))
# Agents that start a fresh shell where each call says: nothing follows there, and Gemini CLI takes a substitution for
# an attack.
_FRESH = frozenset(("codex", "gemini", "opencode"))
_MARK, _FOLLOWS = " exec --ticket ", "--cwd-to 3"
_BEFORE, _AFTER = (
    "{ gateway_to=$(",
    (' 3>&1 >&4 4>&-); gateway_is=$?; } 4>&1; [ -z "$gateway_to" ] || cd -- "$gateway_to"; ( exit "$gateway_is" )'),
)


class Guarded(Value):
    """A rewritten command that came by again: the number of its ticket, the text inside, and the ticket, None where
    there is none any more, or never was."""

    number: str
    text: str
    ticket: Ticket | None


def unavailable(judge: Judge) -> str:
    """Why commands cannot run confined here, "" if they can. Where they cannot, they must be judged as unconfined."""
    from gateway.sandbox.backends.choose import why_none

    if not find_bash():
        return "there is no bash on this system"
    sandbox = judge.loaded.settings.get("sandbox")
    permitted = sandbox.value.get("weaker", ()) if sandbox is not None else ()
    return why_none(permitted)


def rewritten(
    judge: Judge, verdict: Verdict, text: str, *, agent: str, session: str = "", asked: bool = False
) -> str | None:
    """The command that runs `text` as it was judged; None where it has to be judged as one that the agent runs itself.

    `verdict`: on the agent's call, judged as confined, by a gateway whose decisions bind. `asked`: it asks, and the
    agent's own person will be shown this command and has to agree to it. Nobody but whoever starts the command learns
    the number of its ticket."""
    wants = (Decision.ALLOW, Decision.ASK) if asked else (Decision.ALLOW,)
    if not judge.loaded.guarded or not verdict.context.confined or verdict.decision not in wants:
        return None
    if len(text.encode("utf-8", "surrogateescape")) > MOST_TEXT or "\0" in text or recognised(text) is not None:
        return None
    context = verdict.context.replace(scratch="", now=0.0)
    own = judge.check(RawCall(SHELL, {"command": text}), context)  # what will run; the agent's tool may be another
    if own.decision not in wants or not own.context.confined:
        return None
    judged = identity(own, judge.loaded_for(own).policy.revision)
    options = judge.options
    seconds = SECONDS_ASKED if own.decision is Decision.ASK else SECONDS
    ticket = Ticket(
        text_digest(text),
        context,
        judged=judged.replace(allow=own.decision is Decision.ASK),
        policies=options.policies,
        trust=options.trust,
        agent=agent,
        session=session,
        until=time.time() + seconds,
    )
    try:
        number = Tickets(judge.places.state).make(ticket)
    except TicketError:
        return None
    return command(number, text, follows=agent not in _FRESH and _moves(own))


def command(number: str, text: str, *, follows: bool) -> str:
    """The words for the agent's shell. `follows`: it goes to where the command ended."""
    words = client_line("exec", "--ticket", number)
    if not follows:
        return quoted([*words, "-c", text])
    return _BEFORE + quoted([*words, *_FOLLOWS.split(), "-c", text]) + _AFTER


def recognised(text: str, state: str = "") -> Guarded | None:
    """What a command is the rewritten form of; None for every other text, and for one that only looks like it.

    With the state folder given, the ticket is looked up: a command without one of its own is nothing but what it says,
    and has to be judged as that."""
    start = text.find(_MARK)
    if start < 0:
        return None
    follows = text.startswith(_BEFORE)
    start += len(_MARK)
    number, start = text[start : start + NUMBER], start + NUMBER
    between = f" {_FOLLOWS} -c " if follows else " -c "
    if not (is_number(number) and text.startswith(between, start)):
        return None
    end = len(text) - len(_AFTER) if follows else len(text)
    inner = _unquoted(text[start + len(between) : end])
    if inner is None or text != command(number, inner, follows=follows):
        return None
    ticket = Tickets(state).known(number) if state else None
    return Guarded(number, inner, ticket if ticket is not None and ticket.is_of(inner) else None)


def _unquoted(word: str) -> str | None:
    """The text of one word as `quoted` writes it."""
    if word.startswith("'") and word.endswith("'") and len(word) > 1:
        return word[1:-1].replace("'\\''", "'")
    return word


def _moves(verdict: Verdict) -> bool:
    """Whether the shell may end in another folder than it began in."""
    for item in verdict.analysis.items:
        effect = item.effect
        if effect.kind == "opaque":
            return True
        if effect.kind in ("exec", "code") and effect.program in _MOVES:  # type: ignore[attr-defined]
            return True
    return False
