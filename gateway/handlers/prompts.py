"""Prompts of MCP servers as slash commands: `/mcp__server__prompt what it is told`.

A prompt is got as `mcp__server__prompts.get`, judged like any call; what it says is text of its server.
"""

from __future__ import annotations

import shlex

from gateway.calls.output import Failure, Output
from gateway.core.errors import GatewayError
from gateway.mcp.circumstances import going
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.tools.words import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.calls.work import Work

START = "mcp__"


def expanded(name: str, args: str, work: Work) -> Output:
    """What the prompt says. `name`: of the command, without its slash."""
    server, _, own = name.removeprefix(START).partition("__")
    judged = f"{START}{server}__prompts.get"
    may = work.session.may
    if may is not None and not may(judged):
        raise Failure(f"There is no prompt `{name}` for this agent.")
    assert work.server is not None
    assert work.call is not None
    given: dict[str, str] = {}
    if _may_list(RawCall(judged, {"name": own, "arguments": given}, server=server), work):
        with work.server(server) as there:
            known = {each.own: each for each in there.prompts(work.cancel)}
        if own not in known:
            raise Failure(f"The MCP server `{server}` has no prompt `{own}`.", suggestion(own, known) if known else "")
        given = filled(known[own].arguments, args, name)
    done = work.call(RawCall(judged, {"name": own, "arguments": given}, server=server))
    if not done.ran:
        raise Failure(f"The prompt `{name}` was refused: {done.result.reason}")
    return done.output.replace(data=None)


def _may_list(raw: RawCall, work: Work) -> bool:
    """Whether the server may be asked what its prompt must be told: not where policy denies to get it. Raises Failure
    where somebody has to be asked first whether anything may go to where the server is."""
    try:
        verdict = work.judge.check(raw, work.context)
    except GatewayError:
        return False  # what cannot be judged is refused as a call, and recorded
    joined = work.session.joined
    if going(verdict) is Decision.ASK and (joined is None or not joined.runs(raw.server)):
        why = (
            f"The MCP server `{raw.server}` does not run for this session, and policy asks before anything goes there."
        )
        raise Failure(why, "A call of one of its tools asks.")
    return verdict.decision < Decision.DENY


def filled(arguments: Sequence[tuple[str, bool]], args: str, name: str) -> dict[str, str]:
    """The arguments of a prompt from what it was told: `name=value` where it has such a name, else word by word, the
    last one with all that is left. Raises Failure for what must be given and is not."""
    names = [each for each, _ in arguments]
    found: dict[str, str] = {}
    rest: list[str] = []
    for word in _words(args):
        key, is_named, value = word.partition("=")
        if is_named and key in names and key not in found:
            found[key] = value
        else:
            rest.append(word)
    free = [each for each in names if each not in found]
    for place, each in enumerate(free[: len(rest)]):
        found[each] = " ".join(rest[place:]) if place == len(free) - 1 else rest[place]
    missing = [each for each, must in arguments if must and not found.get(each)]
    if missing:
        wanted = " ".join(f"<{each}>" if must else f"[{each}]" for each, must in arguments)
        raise Failure(f"The prompt `{name}` must be told {', '.join(missing)}.", f"Such as: /{name} {wanted}")
    if rest and not free:
        raise Failure(f"The prompt `{name}` takes {len(names)} arguments, and was told more.")
    return found


def _words(args: str) -> list[str]:
    try:
        return shlex.split(args)
    except ValueError:  # a quotation mark that nothing closes
        return args.split()
