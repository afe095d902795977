"""How a call ends that was refused on its way, that never was judged, or of which nothing but a status is known."""

from __future__ import annotations

from gateway.calls.output import Output, Text
from gateway.core.errors import ConfigError
from gateway.model.call import Call
from gateway.model.result import Result
from gateway.policy.unjudged import unjudged
from gateway.sandbox.run import NOT_RUN
from gateway.tools.frozen import freeze, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.planner import Planner
    from gateway.calls.ports import Serves
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.rule import Rule
    from gateway.model.verdict import Verdict

_LONGEST_NAME = 256
UNCONFINED = "The call asks to run without the sandbox, which is not done here."


class Refused(Exception):
    """A step said no. `result`: how the call ended with it."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.reason)
        self.result = result


def refused(reason: str) -> Result:
    """Nothing ran, and why."""
    return Result("refused", NOT_RUN, reason=reason)


def exited(status: int, seconds: float) -> Result:
    """A tool of ours has done its work, by no command: 0 where it worked, after so many seconds."""
    return Result("exited", status, seconds=seconds)


def said(text: str, *, is_error: bool) -> Output:
    """One text for the model, and no more."""
    return Output((Text(text),), is_error=is_error)


def never_judged(name: str, raw: RawCall, context: Context, rule: Rule) -> Verdict:
    """A denial by this rule, with as much of the call as can be told: a name of any length and letters, any input."""
    shown = name[:_LONGEST_NAME].encode("utf-8", "backslashreplace").decode()
    try:
        given = readable(raw.input)
    except Exception:
        given = freeze({})
    return unjudged(Call(shown, given, ""), context, rule)


def guard_of(services: Serves) -> tuple[Planner, ConfigError | None]:
    """Who judges the call; where the policy files have become broken, who judged before, and what is wrong: then the
    call is refused."""
    try:
        return services.planner, None
    except ConfigError as error:
        return services.planner_before, error
