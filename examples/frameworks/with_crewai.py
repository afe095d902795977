"""An agent of crewai with the policy before its tools."""

from typing import Any

from crewai import Agent
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool
from steps import STEPS, agreed, told

from gateway import Gateway, Options
from gateway.adapters.crewai import Guarding, standing_still
from gateway.approval.callback import Callback


class SendMail(BaseTool):
    name: str = "send_mail"
    description: str = "Sends a mail."

    def _run(self, to: str, text: str) -> str:
        return f"{text!r} is sent to {to}"


class WithoutAccount(BaseLLM):
    """Stands for your model: `LLM(model="anthropic/…")` or any other."""

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *_what: Any, **_how: Any) -> Any:
        read = [each["content"] for each in messages if each["role"] == "tool"]
        if read:
            told(STEPS[len(read) - 1][0], read[-1])
        if len(read) == len(STEPS):
            return "Done."
        name, given = STEPS[len(read)]
        return [{"id": f"c{len(read)}", "name": name.lower(), "input": given}]


# crewai asks while the run stands still: so does the gateway.
asks = standing_still(Callback(lambda question: agreed(question.verdict.said.person)))
with Gateway(Options(cwd=".", binding=True), approver=asks) as gateway:
    guarding = Guarding(gateway)
    tools = [*guarding.tools(), *guarding.guard([SendMail()])]
    llm = WithoutAccount(model="scripted")
    agent = Agent(role="Assistant", goal="Help", backstory="You help.", llm=llm, tools=tools)
    agent.kickoff("Tell Ann when the meeting is.")
