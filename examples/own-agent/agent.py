"""An agent of one's own in fifteen lines: a model, the gateway's tools, a policy, somebody to ask, and a way back."""

import sys

from gateway import Gateway, Options
from gateway.agent.loop import Agent
from gateway.api.changes import Changes
from gateway.approval.callback import Callback
from gateway.llm.claude import Claude
from gateway.llm.script import load

person = Callback(lambda question: input(f"{question.verdict.said.person} [y/N] ") == "y")
model = load(sys.argv[2]) if len(sys.argv) > 2 else Claude()  # Claude wants ANTHROPIC_API_KEY
options = Options(cwd=".", binding=True, mode="accept_edits")
with Gateway(options, approver=person) as gateway, gateway.session() as session:
    outcome = Agent(gateway, model, session).run(sys.argv[1])
    print(outcome.text or outcome.reason)
    changes = Changes(gateway)
    for call in reversed(changes.list(session.name)):
        names = ", ".join(change.path for change in call.changes)
        if input(f"{call.of.tool} changed {names}. Keep it? [Y/n] ") == "n":
            changes.undo(call.of.number)
            print("taken back")
