"""Agent and AgentOutput: other agents that do a task. What they are is in `gateway.agent.children`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.output import Output
    from gateway.calls.work import Work
    from gateway.model.call import Call


def start(call: Call, work: Work) -> Output:
    """Starts an agent, or has one go on. Raises Failure."""
    from gateway.agent.children import host_of

    return host_of(work.session).start(call.input, work)


def output(call: Call, work: Work) -> Output:
    """What became of an agent, or how far it is. Raises Failure."""
    from gateway.agent.children import host_of

    return host_of(work.session).output(call.input, work)
