"""What a model is to the loop: something that answers a conversation, in the form of the Messages API.

Blocks and messages are the API's own, as plain data, so that what a model said is sent back exactly as it was.
"""

from __future__ import annotations

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
STOPPED, LENGTH, WINDOW = "stop_sequence", "max_tokens", "model_context_window_exceeded"
TEXT, THINKING, INPUT = "text", "thinking", "input"
MAX_TOKENS = 8_192
# What asking again can do about a failure: nothing; it may be gone by then; the provider has too much to do; the
# conversation must become shorter first.
LASTING, PASSING, BUSY, TOO_LONG = "lasting", "passing", "busy", "too_long"


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
    """A piece of a reply that is still being made. `kind`: text, thinking, or input of a call."""

    kind: str
    text: str


class Limits(Value):
    """What a model can take. `window`: tokens of a conversation with its reply, 0 where nobody knows; `reply`: tokens
    of one reply."""

    window: int = 0
    reply: int = MAX_TOKENS


class ModelError(GatewayError):
    """There is no reply, and nothing of it was acted on. `remedy`: the one thing to do about it; `kind`: what asking
    again can do; `wait`: seconds that the provider wants to be left alone, None where it said nothing; `window`: tokens
    that a conversation may have, where the provider told so."""

    def __init__(
        self, reason: str, remedy: str = "", *, kind: str = LASTING, wait: float | None = None, window: int = 0
    ) -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy
        self.kind = kind
        self.wait = wait
        self.window = window


class Model(Protocol):
    """Safe to use from several threads. A model that knows what it can take has `limits(name)` besides, which gives
    `Limits`; `name` as in `Request.model`."""

    @property
    def name(self) -> str:
        """What the record and the transcript call it."""

    def reply(self, request: Request, *, listener: Listener | None = None, cancel: Cancel | None = None) -> Reply:
        """The answer. `listener` is told pieces as they come, on this thread. Raises ModelError; once `cancel` is set,
        at the next piece that comes."""


def limits_of(model: Model, name: str = "") -> Limits:
    """What a model can take, as far as it says so."""
    known: Callable[[str], Limits] | None = getattr(model, "limits", None)
    return Limits() if known is None else known(name)


def small_model(work: Work) -> Model | None:
    """Who reads for a tool, such as the page that it fetched; None where none is configured."""
    found: Model | None = getattr(work.session, "model", None)
    return found
