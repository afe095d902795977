"""Assembles a reply from the events of a Messages API stream. An incomplete one is no reply."""

from __future__ import annotations

import json

from gateway.llm.model import CALLS, INPUT, PASSING, TEXT, THINKING, ModelError, Reply, Said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_BROKE_OFF = "the model's reply broke off"
# Fields of a block that grow with deltas, and how listeners are told of them.
_GROWING = {
    "text_delta": ("text", TEXT),
    "thinking_delta": ("thinking", THINKING),
    "signature_delta": ("signature", ""),
}


class Assembly:
    """One reply. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._open: set[int] = set()
        self._usage: dict[str, int] = {}
        self._stop = ""
        self.is_whole = False  # the last event has come: what follows it belongs to no reply

    def take(self, event: Mapping[str, Any]) -> Said | None:
        """Takes in the next event, as plain data; what listeners are told of it. Events that nobody knows mean nothing,
        as the API wants it. Raises ModelError for one that does not fit those before it."""
        try:
            return self._take(event)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ModelError("the model's reply makes no sense", kind=PASSING) from error

    def _take(self, event: Mapping[str, Any]) -> Said | None:
        kind = event["type"]
        if kind == "message_start":
            self._count(event["message"].get("usage"))
        elif kind == "content_block_start":
            index = event["index"]
            self._blocks[index] = dict(event["content_block"])
            self._open.add(index)
        elif kind == "content_block_delta":
            return self._grow(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._open.remove(event["index"])
        elif kind == "message_delta":
            self._stop = event["delta"].get("stop_reason") or self._stop
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.is_whole = True
        return None

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Said | None:
        if index not in self._open:
            raise KeyError(index)
        kind = delta["type"]
        if kind in _GROWING:
            field, told = _GROWING[kind]
            block = self._blocks[index]
            block[field] = block.get(field, "") + delta[field]
            return Said(told, delta[field]) if told else None
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(delta["partial_json"])
            return Said(INPUT, delta["partial_json"])
        if kind == "citations_delta":
            self._blocks[index].setdefault("citations", []).append(delta["citation"])
        return None

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        self._usage |= {name: count for name, count in (usage or {}).items() if type(count) is int}

    def reply(self) -> Reply:
        """The whole of it. The input of a call that was cut off by the greatest length is empty: its reply is not acted
        on. Raises ModelError where the stream has ended before it was whole."""
        if not self.is_whole or not self._stop or self._open:
            raise ModelError(_BROKE_OFF, kind=PASSING)
        for index, pieces in self._inputs.items():
            self._blocks[index]["input"] = self._input("".join(pieces))
        return Reply(tuple(block for _index, block in sorted(self._blocks.items())), self._stop, self._usage)

    def _input(self, text: str) -> Any:
        try:
            return json.loads(text) if text else {}
        except ValueError as error:
            if self._stop != CALLS:
                return {}
            raise ModelError("the input of a call in the model's reply is no JSON", kind=PASSING) from error
