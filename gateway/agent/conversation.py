"""What was said between a person, a model and the tools, as the model is shown it: written down before it counts.

Where it becomes too long it is made shorter; the transcript keeps what the model is no longer shown.
"""

from __future__ import annotations

from gateway.agent import window
from gateway.agent.transcript import ASSISTANT, CLEARED, RESULT, SUMMARY, USER, without_results
from gateway.agent.window import Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.agent.transcript import Past, Transcript
    from gateway.llm.model import Block, Limits, Message, Reply, Request

STOPPED = "[gateway] The person stopped this reply here. Nothing that it would have called has run."


class Conversation:
    """Not for use by several threads at once, but for results."""

    def __init__(self, transcript: Transcript | None = None, past: Past | None = None) -> None:
        self.messages: list[Message] = list(past.messages) if past is not None else []
        self.turns = past.turns if past is not None else 0
        self.used: dict[str, int] = dict(past.used) if past is not None else {}
        self.window = Window()
        self.task = window.last_task(self.messages)
        self._transcript = transcript

    def write(self, kind: str, **what: Any) -> None:
        """Adds a line to the transcript, where one is kept. Raises OSError."""
        if self._transcript is not None:
            self._transcript.write(kind, **what)

    def hear(self, content: Sequence[Block], **more: Any) -> None:
        """Something is said to the model. `more`: what the transcript keeps of it besides."""
        self.write(USER, content=list(content), **more)
        if self.messages and self.messages[-1]["role"] == "user":
            content = [*_blocks(self.messages.pop()), *content]
        self.messages.append({"role": "user", "content": list(content)})

    def says(self, text: str) -> None:
        """A text is said to the model."""
        self.hear([{"type": "text", "text": text}])

    def replied(self, reply: Reply) -> None:
        """The model has said something, whole."""
        self.write(ASSISTANT, content=list(reply.content), stop=reply.stop_reason, usage=dict(reply.usage))
        self.messages.append({"role": "assistant", "content": list(reply.content)})
        self.window.count(reply.usage, len(self.messages))
        self.turns += 1
        self._count(reply.usage)

    def stopped(self, text: str) -> None:
        """The person stopped a reply that had said so much. What it said stays known to the model."""
        if text.strip():
            content = [{"type": "text", "text": text.rstrip()}]
            self.write(ASSISTANT, content=content, stop="cancelled", usage={})
            self.messages.append({"role": "assistant", "content": content})
            self.turns += 1
            self.says(STOPPED)

    def answered(self, block: Block) -> Block:
        """A call has its result, which `results` says to the model with those beside it. Safe from any thread."""
        self.write(RESULT, block=block)
        return block

    def results(self, blocks: Sequence[Block]) -> None:
        """The calls of the last reply have all been answered."""
        self.messages.append({"role": "user", "content": list(blocks)})

    def _count(self, usage: Mapping[str, int]) -> None:
        for name, count in usage.items():
            self.used[name] = self.used.get(name, 0) + count

    def tokens(self, request: Request) -> int:
        """About how many tokens a request with this conversation has."""
        return self.window.tokens(request.system, request.tools, self.messages)

    def shorten(
        self,
        request: Request,
        limits: Limits,
        ask: Callable[[Sequence[Message]], Reply],
        *,
        kept_turns: int = window.KEPT_TURNS,
    ) -> str:
        """Makes it shorter, by what it takes; says to people what was done. `ask`: the model's reply to other messages,
        which raises ModelError; `kept_turns`: whose results stay."""
        most, tokens = self.window.most(limits), self.tokens(request)
        worth = window.worth_clearing(self.messages, kept_turns)
        saved = sum(worth.values())
        if worth and (window.is_enough(tokens, saved, most) if most else saved):
            self.write(CLEARED, ids=list(worth))
            self.messages = without_results(self.messages, frozenset(worth))
            self.window.forget()
            return f"the conversation became too long: {len(worth)} old results were taken out"
        self.sum_up(ask(self.for_summary()))
        return "the conversation became too long and was summed up"

    def for_summary(self) -> list[Message]:
        """The conversation with the wish for its summary at its end."""
        return window.asking_for_summary(self.messages)

    def sum_up(self, reply: Reply | None) -> None:
        """Puts a summary in the place of all that was said; none where the model could make none."""
        content = window.summed_up(reply.text if reply is not None else "", self.task)
        usage = dict(reply.usage) if reply is not None else {}
        self.write(SUMMARY, content=content, usage=usage)
        self.messages = [{"role": "user", "content": content}]
        self._count(usage)
        self.window.forget()


def _blocks(message: Message) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
