"""Idempotency keys: what a call does is done once, even if it is repeated because its outcome is unknown.

A call's key is its place in the conversation: models need not give every call an id of its own. Where a session goes on
after a call of which nobody knows what became, the first call of the same tool with the same input has the key of that
one: whoever keeps keys, such as the mail of teams, finds that it was done already, or does it now.
"""

from __future__ import annotations

import json

from gateway.agent.transcript import NOT_BEGUN, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.agent.transcript import Past
    from gateway.llm.model import Block


class Keys:
    """The keys of one conversation. Not for use by several threads at once."""

    def __init__(self, conversation: str, past: Past | None = None) -> None:
        """`conversation`: its name, which stays when it is taken up again; `past`: what it goes on from."""
        self._conversation = conversation if past is None else str(past.start.get("session", conversation))
        self._open: dict[str, str] = {}  # by what is called, the key of a call that nobody knows the end of
        if past is not None:
            self._look_back(past)

    def of(self, blocks: Sequence[Block], turn: int) -> list[str]:
        """The keys of the calls of one turn: of the reply of this number, from 1."""
        found: list[str] = []
        for block in blocks:
            key = self._open.get(_said(block), "")
            found.append(key if key and key not in found else self._own(block, turn))
        return found

    def ended(self, block: Block, *, is_error: bool) -> None:
        """A call has come to an end that is known: one that worked is not made again by accident."""
        if not is_error:
            self._open.pop(_said(block), None)

    def _own(self, block: Block, turn: int) -> str:
        return f"{self._conversation}/{turn}/{block['id']}"

    def _look_back(self, past: Past) -> None:
        calls: dict[str, Block] = {}
        for block, turn in _blocks(past):
            if block["type"] == "tool_use":
                calls[block["id"]] = block
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                call = calls[block["tool_use_id"]]
                if call["id"] in past.unknown and block.get("content") == UNKNOWN:
                    self._open.setdefault(_said(call), self._own(call, turn))
                elif block.get("content") != NOT_BEGUN:
                    self.ended(call, is_error=block.get("is_error") is True)


def _blocks(past: Past) -> Iterable[tuple[Block, int]]:
    """What was said, each with the number of the reply that it belongs to. Of a session that was summarised the first
    replies are gone."""
    turn = max(0, past.turns - sum(message["role"] == "assistant" for message in past.messages))
    for message in past.messages:
        turn += message["role"] == "assistant"
        if not isinstance(message["content"], str):
            for block in message["content"]:
                yield block, turn


def _said(block: Block) -> str:
    return json.dumps([block["name"], block["input"]], sort_keys=True)
