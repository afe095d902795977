"""A model that says what a YAML file has it say: for examples, demonstrations and tests, without any account.

    version: 1
    turns:
      - say: I will look at the file.
        calls:
          - Read: {file_path: notes.txt}
      - expect: [the meeting is on Tuesday]   # in what came back; otherwise the run ends with a complaint
        say: It is on Tuesday.

Which turn comes next follows from the conversation alone, so a session that is taken up goes on where it was. Where
several conversations are scripted, `conversations` lists them, each with `prompt`, a regular expression on its first
message.
"""

from __future__ import annotations

import json

from gateway.core.value import Value
from gateway.llm.model import CALLS, END, TEXT, ModelError, Reply, Said

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from gateway.core.cancel import Cancel
    from gateway.llm.model import Listener, Message, Request

STOPS = (END, CALLS, "max_tokens", "refusal")
# Characters to a token: what is counted where no model counts.
_PER_TOKEN = 4


class Turn(Value):
    """One reply. `expect`, `lacks`: texts that must and must not be in the message that it answers; `stop`: why it
    ends, "" for what follows from its calls."""

    say: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    expect: tuple[str, ...]
    lacks: tuple[str, ...]
    stop: str
    line: int


class Conversation(Value):
    """`prompt`: what its first message must match, None for any."""

    prompt: re.Pattern[str] | None
    turns: tuple[Turn, ...]


class Scripted:
    """Answers from a script."""

    def __init__(self, conversations: tuple[Conversation, ...], *, name: str = "scripted", file: str = "") -> None:
        self.name = name
        self._conversations = conversations
        self._file = file

    def reply(self, request: Request, *, listener: Listener | None = None, cancel: Cancel | None = None) -> Reply:
        """The turn that comes next in the conversation. Raises ModelError where none does, or where what came back is
        not what the script expects."""
        if cancel is not None and cancel.is_set:
            raise ModelError("it was cancelled")
        number = sum(message["role"] == "assistant" for message in request.messages)
        turn = self._turn(request.messages, number)
        came = said_in(request.messages[-1])
        for text in turn.expect:
            if text not in came:
                raise self._error(turn, f"turn {number + 1} expects `{text}`, and what came is: {came[:2_000]}")
        for text in turn.lacks:
            if text in came:
                raise self._error(turn, f"turn {number + 1} expects no `{text}`, and what came is: {came[:2_000]}")
        content: list[dict[str, Any]] = []
        if turn.say:
            content.append({"type": "text", "text": turn.say})
            if listener is not None:
                listener(Said(TEXT, turn.say))
        content += [
            {"type": "tool_use", "id": f"call_{number + 1}_{index}", "name": tool, "input": given}
            for index, (tool, given) in enumerate(turn.calls, 1)
        ]
        read = sum(len(json.dumps(message)) for message in request.messages) + len(request.system)
        usage = {"input_tokens": read // _PER_TOKEN, "output_tokens": len(json.dumps(content)) // _PER_TOKEN}
        return Reply(tuple(content), turn.stop or (CALLS if turn.calls else END), usage)

    def _turn(self, messages: Any, number: int) -> Turn:
        first = said_in(messages[0])
        for each in self._conversations:
            if each.prompt is None or each.prompt.search(first):
                if number < len(each.turns):
                    return each.turns[number]
                raise ModelError(f"the script has {len(each.turns)} turns for this conversation, and no more")
        raise ModelError(f"the script has no conversation that begins with `{first[:200]}`")

    def _error(self, turn: Turn, what: str) -> ModelError:
        where = f"{self._file}:{turn.line}: " if self._file else ""
        return ModelError(f"{where}{what}")


def said_in(message: Message) -> str:
    """All text of a message, results of calls included."""
    content = message["content"]
    if isinstance(content, str):
        return content
    found = []
    for block in content:
        if block["type"] == "text":
            found.append(block["text"])
        elif block["type"] == "tool_result":
            found.append(said_in(block))
    return "\n".join(found)
