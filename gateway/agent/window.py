"""How long a conversation may be, how long it is, and how it becomes shorter before it is too long.

Tokens are those that the provider counted with the last reply; what was added since is estimated, rather too high.
Where they no longer fit, the results of old calls are taken out, and where that does not suffice the model is asked to
sum up what was, which then stands in the place of the conversation. The transcript keeps all of it.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.llm.model import Limits, Message

# Bytes of JSON to a token: programs and tables have fewer than prose.
_PER_TOKEN = 3
_IMAGE = 1_600
# Tokens that are kept free for what is asked and said when the conversation is summed up.
_FOR_SUMMARY = 16_000
_SPARE = 16  # a share of the window, for what was estimated too low
LEAST_REPLY = 1_024
KEPT_TURNS = 6
_WORTH = 400  # characters that a result must have to be worth taking out
# What taking results out must bring it down to, of what it may have: else it would be too long again at once.
_ENOUGH = 0.7
_MOST_TASK = 8_000

SUM_UP = """\
[gateway] This conversation is about to become too long. Sum it up for yourself: your summary stands in its place, and
nothing else of it is left to you. Call no tool. Say
1. what was asked for, each wish in the words it was given in, and what of it is done;
2. what you found out: files with their paths, commands that work, decisions with their reasons;
3. what you changed, and how you checked it; what failed, and what it said;
4. what you were doing just now, and the next steps."""
SUMMED_UP = """\
[gateway] The conversation up to here was too long and is gone. You summed it up as follows. What you have read has to
be read again before you change it.

"""
LOST = "There is no summary: the model could not make one. Look at what is there before you go on."


class Window:
    """The length of one conversation. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._told = 0  # the window that the provider has told
        self._counted = 0  # tokens of the first messages, as the provider has counted them
        self._upto = 0
        self._fixed: tuple[object, int] = None, 0

    def count(self, usage: Mapping[str, int], messages: int) -> None:
        """A reply was made, which is the last of so many messages."""
        read = sum(
            usage.get(name, 0) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        self._counted, self._upto = (read + usage.get("output_tokens", 0), messages) if read else (0, 0)

    def learn(self, window: int) -> None:
        """The provider has said how long a conversation may be; 0 where it has not."""
        if window and (not self._told or window < self._told):
            self._told = window

    def forget(self) -> None:
        """The conversation is another one: nobody has counted it."""
        self._counted = self._upto = 0

    def tokens(self, system: str, tools: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> int:
        """How many tokens a request has, at most about."""
        if self._counted and self._upto <= len(messages):
            return self._counted + sum(map(estimated, messages[self._upto :]))
        if self._fixed[0] is not tools:
            self._fixed = tools, estimated(tools)
        return len(system) // _PER_TOKEN + self._fixed[1] + sum(map(estimated, messages))

    def size(self, limits: Limits) -> int:
        """Tokens of a conversation with its reply, 0 where nobody knows a bound."""
        return min(limits.window, self._told) if limits.window and self._told else limits.window or self._told

    def most(self, limits: Limits) -> int:
        """Tokens that a request may have before the conversation is made shorter, 0 for any number."""
        size = self.size(limits)
        return max(size // 2, size - min(limits.reply, _FOR_SUMMARY) - size // _SPARE) if size else 0

    def reply(self, limits: Limits, tokens: int) -> int:
        """Tokens that the reply to a request of so many may have."""
        size = self.size(limits)
        return max(LEAST_REPLY, min(limits.reply, size - tokens - size // _SPARE)) if size else limits.reply


def estimated(value: Any) -> int:
    """Tokens of plain data, rather too many."""
    return _weight(value) // _PER_TOKEN + 4


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        if value.get("type") in ("image", "document") and "source" in value:
            return _IMAGE * _PER_TOKEN
        return sum(len(name) + 6 + _weight(item) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_weight, value)) + 2
    return 8 if not hasattr(value, "items") else _weight(dict(value))


def worth_clearing(messages: Sequence[Message], kept_turns: int = KEPT_TURNS) -> dict[str, int]:
    """The calls whose results can be taken out, with the tokens that this saves: all but those of the last turns."""
    replies = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    end = replies[-kept_turns] if len(replies) >= kept_turns else 0
    found: dict[str, int] = {}
    for message in messages[:end]:
        if message["role"] != "user" or isinstance(message["content"], str):
            continue
        for block in message["content"]:
            if block.get("type") == "tool_result" and _weight(block.get("content")) > _WORTH:
                found[block["tool_use_id"]] = estimated(block.get("content"))
    return found


def is_enough(tokens: int, saved: int, most: int) -> bool:
    """Whether taking results out makes a conversation as much shorter as it should be."""
    return tokens - saved <= most * _ENOUGH


def asking_for_summary(messages: Sequence[Message]) -> list[Message]:
    """The conversation with the wish for its summary at its end."""
    wish = {"type": "text", "text": SUM_UP}
    if messages and messages[-1]["role"] == "user":
        last = messages[-1]["content"]
        blocks = [{"type": "text", "text": last}] if isinstance(last, str) else list(last)
        return [*messages[:-1], {"role": "user", "content": [*blocks, wish]}]
    return [*messages, {"role": "user", "content": [wish]}]


def latter_half(messages: Sequence[Message]) -> list[Message]:
    """A conversation without its first half; it begins with what is said to the model. Results without their calls
    become text."""
    rest = list(messages[len(messages) // 2 :])
    while len(rest) > 1 and rest[0]["role"] == "assistant":
        rest.pop(0)
    first = rest[0]
    if rest and not isinstance(first["content"], str):
        blocks = [
            {"type": "text", "text": json.dumps(block.get("content"))[:_MOST_TASK]}
            if block.get("type") == "tool_result"
            else block
            for block in first["content"]
        ]
        rest[0] = {"role": "user", "content": blocks}
    return rest


def summed_up(summary: str, task: str) -> list[dict[str, Any]]:
    """What stands in the place of the conversation."""
    shown = task if len(task) <= _MOST_TASK else f"{task[:_MOST_TASK]} […]"
    last = f"\n\nThe task, as it was given last:\n{shown}\n\nGo on with it." if shown else "\n\nGo on."
    return [{"type": "text", "text": SUMMED_UP + (summary or LOST) + last}]


def last_task(messages: Sequence[Message]) -> str:
    """What a person has asked for last, as far as a conversation tells it."""
    for message in reversed(messages):
        content = message["content"]
        if message["role"] == "user":
            texts = [content] if isinstance(content, str) else [
                block["text"] for block in content if block.get("type") == "text"
            ]  # fmt: skip
            mine = [each for each in texts if not each.startswith(("[gateway]", "[message from "))]
            if mine:
                return "\n".join(mine)
    return ""
