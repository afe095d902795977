"""An agent of langchain with the policy before its tools."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from steps import STEPS, agreed, told

from gateway import Gateway, Options
from gateway.adapters.langchain import GatewayMiddleware


def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    return f"{text!r} is sent to {to}"


class WithoutAccount(BaseChatModel):
    """Stands for your model: `langchain_anthropic.ChatAnthropic(...)` or any other."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, _tools: Any, **_how: Any) -> "WithoutAccount":
        return self

    def _generate(self, messages: list[Any], *_what: Any, **_how: Any) -> ChatResult:
        place = sum(isinstance(each, AIMessage) for each in messages)
        calls = [{"name": name, "args": given, "id": f"c{place}"} for name, given in STEPS[place : place + 1]]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else "Done.", tool_calls=calls))])


with Gateway(Options(cwd=".", binding=True)) as gateway:
    middleware = GatewayMiddleware(gateway)
    agent = create_agent(WithoutAccount(), [send_mail], middleware=[middleware], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [("user", "Tell Ann when the meeting is.")]}, config)
    while "__interrupt__" in state:
        request = state["__interrupt__"][0].value["action_requests"][0]
        decision = "approve" if agreed(request["description"]) else "reject"
        state = agent.invoke(Command(resume={"decisions": [{"type": decision}]}), config)

for message in state["messages"]:
    if isinstance(message, ToolMessage):
        told(message.name, message.content)
