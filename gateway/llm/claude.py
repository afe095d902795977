"""Models behind the Messages API, through the official SDK, which is loaded with the first request."""

from __future__ import annotations

import threading

from gateway.core.errors import fault
from gateway.llm.model import TEXT, THINKING, ModelError, Reply, Said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.core.cancel import Cancel
    from gateway.llm.model import Listener, Request

DEFAULT = "claude-sonnet-5-5"
SMALL = "claude-haiku-5-5"  # for what a tool has read, such as a page
# Kept for the whole conversation: what stands before this is read from the provider's cache.
_CACHED = {"type": "ephemeral"}
_KEY = "set ANTHROPIC_API_KEY, or let a script answer (`--script FILE`)"
_KINDS = {"text": TEXT, "thinking": THINKING}


class Claude:
    """One model of the API. Retries are the SDK's."""

    def __init__(self, model: str = DEFAULT, *, client: Any = None) -> None:
        """`client`: an `anthropic.Anthropic`, by default one made from the environment."""
        self.name = model
        self._client = client
        self._lock = threading.Lock()

    def reply(self, request: Request, *, listener: Listener | None = None, cancel: Cancel | None = None) -> Reply:
        """The answer, streamed. Raises ModelError with what the API or the SDK said."""
        try:
            import anthropic
        except ModuleNotFoundError as error:
            raise ModelError(fault(error)) from error
        try:
            try:
                return self._streamed(request, listener, cancel)
            except UnicodeEncodeError:  # nothing was sent
                return self._streamed(_in_characters(request), listener, cancel)
        except anthropic.AnthropicError as error:
            raise ModelError(_why(error), _remedy(anthropic, error)) from error
        except TypeError as error:  # how the SDK says that it found no key
            raise ModelError(_why(error), _KEY) from error

    def _streamed(self, request: Request, listener: Listener | None, cancel: Cancel | None) -> Reply:
        system: list[dict[str, Any]] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
        with self._connected().messages.stream(
            model=request.model or self.name,
            max_tokens=request.max_tokens,
            system=system if request.system else [],
            messages=list(request.messages),
            tools=list(request.tools),
            cache_control=_CACHED,
        ) as stream:
            for event in stream:
                if cancel is not None and cancel.is_set:
                    raise ModelError("it was cancelled")
                if listener is not None and event.type in _KINDS:
                    listener(Said(_KINDS[event.type], getattr(event, event.type)))
            message = stream.get_final_message()
        usage = {name: count for name, count in message.usage.to_dict().items() if isinstance(count, int)}
        content = tuple(_plain(block.to_dict()) for block in message.content)
        return Reply(content, message.stop_reason or "", usage)

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                import anthropic

                self._client = anthropic.Anthropic()
            return self._client


def _in_characters(request: Request) -> Request:
    """The same, with what is no character written as its escape: bytes of names that are no UTF-8, and halves of
    characters that servers say."""
    return request.replace(
        system=_spelled(request.system), messages=_spelled(request.messages), tools=_spelled(request.tools)
    )


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_spelled(name): _spelled(item) for name, item in value.items()}
    return [_spelled(item) for item in value] if isinstance(value, (list, tuple)) else value


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    """A block as it may be sent back: without what the SDK found in it."""
    return {name: value for name, value in block.items() if name != "parsed_output"}


def _why(error: Exception) -> str:
    if "authentication method" in str(error):
        return "there is no key for the Messages API"
    said = getattr(error, "message", "") or str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    return f"the model gave no answer ({status}): {said}" if status else f"the model gave no answer: {said}"


def _remedy(anthropic: Any, error: Exception) -> str:
    if "authentication method" in str(error):
        return _KEY
    if isinstance(error, anthropic.AuthenticationError):
        return "set ANTHROPIC_API_KEY to a key that is valid"
    if isinstance(error, anthropic.NotFoundError):
        return "name a model that your account has (`--model`)"
    return ""
