"""An agent of smolagents with the policy before its tools."""

from typing import Any

from smolagents import ActionStep, ChatMessage, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from steps import STEPS, agreed, told

from gateway import Gateway, Options
from gateway.adapters.smolagents import Guarding
from gateway.approval.callback import Callback


@tool
def send_mail(to: str, text: str) -> str:
    """Sends a mail.

    Args:
        to: whom
        text: what it says
    """
    return f"{text!r} is sent to {to}"


class WithoutAccount(Model):
    """Stands for your model: `InferenceClientModel()` or any other."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self._steps = [*STEPS, ("final_answer", {"answer": "Done."})]

    def generate(self, *_what: Any, **_how: Any) -> ChatMessage:
        name, given = self._steps.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=given)
        call = ChatMessageToolCall(id=f"c{len(self._steps)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


# smolagents cannot stop a run for an answer: the gateway asks itself.
asks = Callback(lambda question: agreed(question.verdict.said.person))
with Gateway(Options(cwd=".", binding=True), approver=asks) as gateway:
    guarding = Guarding(gateway)
    tools = [*guarding.tools(), *guarding.guard([send_mail])]
    agent = ToolCallingAgent(tools=tools, model=WithoutAccount(), verbosity_level=0)
    agent.run("Tell Ann when the meeting is.")

steps = [each for each in agent.memory.steps if isinstance(each, ActionStep)]
for (name, _given), step in zip(STEPS, steps, strict=False):
    told(name, step.observations or step.error)
