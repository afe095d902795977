"""What a model is to the loop: something that answers a conversation, in the form of the Messages API.

Blocks and messages are the API's own, as plain data, so that what a model said is sent back exactly as it was.
"""

from __future__ import annotations

import threading

from gateway.core.cancel import NEVER
from gateway.core.errors import GatewayError
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from gateway.calls.work import Work
    from gateway.core.cancel import Cancel

    Message = Mapping[str, Any]
    Block = Mapping[str, Any]
    Listener = Callable[["Said"], None]
else:
    Protocol = object

# Why a reply ended, as the API says it.
END, CALLS, PAUSED, REFUSED = "end_turn", "tool_use", "pause_turn", "refusal"
TEXT, THINKING = "text", "thinking"
MAX_TOKENS = 8_192
_LOOK_EVERY = 0.1


class Request(Value):
    """A conversation to be answered. `max_tokens`: of the reply; `model`: "" for the model's own default."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    max_tokens: int = MAX_TOKENS
    model: str = ""


class Reply(Value):
    """An answer, whole. `usage`: tokens by kind, `input_tokens` and `output_tokens` among them."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Mapping[str, int]

    @property
    def calls(self) -> tuple[Block, ...]:
        """The calls of tools that it asks for, in order."""
        return tuple(block for block in self.content if block.get("type") == "tool_use")

    @property
    def text(self) -> str:
        """All that it says."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")


class Said(Value):
    """A piece of a reply that is still being made. `kind`: text or thinking."""

    kind: str
    text: str


class ModelError(GatewayError):
    """There is no reply. `remedy`: the one thing to do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy


class Model(Protocol):
    """Safe to use from several threads."""

    @property
    def name(self) -> str:
        """What the record and the transcript call it."""

    def reply(self, request: Request, *, listener: Listener | None = None, cancel: Cancel | None = None) -> Reply:
        """The answer. `listener` is told pieces as they come, on this thread. Raises ModelError; once `cancel` is set,
        at the next piece that comes."""


def small_model(work: Work) -> Model | None:
    """Who reads for a tool, such as the page that it fetched; None where none is configured."""
    found: Model | None = getattr(work.session, "model", None)
    return found


def reply_of(model: Model, request: Request, listener: Listener | None, cancel: Cancel) -> Reply:
    """The model's reply. One that gives no sign of life is left behind when `cancel` is set. Raises ModelError."""
    if cancel is NEVER:
        return model.reply(request, listener=listener)
    found: list[Reply | BaseException] = []

    def ask() -> None:
        try:
            found.append(model.reply(request, listener=listener, cancel=cancel))
        except BaseException as error:
            found.append(error)

    asking = threading.Thread(target=ask, name="gateway-model", daemon=True)
    asking.start()
    while asking.is_alive():
        asking.join(_LOOK_EVERY)
        if cancel.is_set and asking.is_alive():
            raise ModelError("it was cancelled")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]
