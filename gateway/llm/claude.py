"""Models behind the Messages API, through the official SDK, which is loaded with the first request."""

from __future__ import annotations

import threading

from gateway.core.errors import fault
from gateway.llm.assembling import Assembly
from gateway.llm.failures import failure, most_tokens
from gateway.llm.known_models import Models
from gateway.llm.model import ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.core.cancel import Cancel
    from gateway.llm.model import Limits, Listener, Reply, Request

DEFAULT = "claude-sonnet-5-5"
SMALL = "claude-haiku-5-5"  # for what a tool has read, such as a page
# Kept for the whole conversation: what stands before this is read from the provider's cache.
_CACHED = {"type": "ephemeral"}
# Seconds: servers that think send a ping every few of them.
SILENCE = 90.0
CONNECT = 20.0


class Claude:
    """One model of the API. A request is made once: who asks again, and how often, is for the caller to say."""

    def __init__(
        self, model: str = DEFAULT, *, client: Any = None, silence: float = SILENCE, models: Models | None = None
    ) -> None:
        """`models`: what names stand for, and what is known of them; `client`: an `anthropic.Anthropic`, by default one
        made from the environment; `silence`: seconds without a byte, pings included, after which the server counts as
        gone."""
        self.name = model
        self._client = client
        self._silence = silence
        self._models = models or Models()
        self._lock = threading.Lock()
        self._most: dict[str, int] = {}  # tokens of a reply, for models whose provider has told

    def limits(self, name: str = "") -> Limits:
        """What the model of a name can take, "" for its own."""
        name = self._models.named(name or self.name)
        found = self._models.known(name).limits
        return found.replace(reply=self._most.get(name, found.reply))

    def reply(self, request: Request, *, listener: Listener | None = None, cancel: Cancel | None = None) -> Reply:
        """The answer, streamed. Raises ModelError for whatever goes wrong, with what the API or the SDK said."""
        try:
            import anthropic  # noqa: F401 - the extra may be missing
        except ModuleNotFoundError as error:
            raise ModelError(fault(error)) from error
        try:
            try:
                return self._fitted(request, listener, cancel)
            except UnicodeEncodeError:  # nothing was sent
                return self._fitted(_in_characters(request), listener, cancel)
        except Exception as error:
            raise failure(error) from error

    def _fitted(self, request: Request, listener: Listener | None, cancel: Cancel | None) -> Reply:
        """The reply, asked for as long as the model can make it."""
        name = self._models.named(request.model or self.name)
        if not name:
            raise ModelError(
                f"no model is called `{request.model or self.name}`", "say which with the setting `models`"
            )
        try:
            most = min(request.max_tokens, self._most.get(name, request.max_tokens))
            return self._streamed(request.replace(model=name, max_tokens=most), listener, cancel)
        except Exception as error:
            most = most_tokens(error)
            if not 0 < most < request.max_tokens:
                raise
            self._most[name] = most
        return self._streamed(request.replace(model=name, max_tokens=most), listener, cancel)

    def _streamed(self, request: Request, listener: Listener | None, cancel: Cancel | None) -> Reply:
        system: list[dict[str, Any]] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
        assembly = Assembly()
        with self._connected().messages.create(
            model=request.model,
            max_tokens=request.max_tokens,
            system=system if request.system else [],
            messages=list(request.messages),
            tools=list(request.tools),
            cache_control=_CACHED,
            stream=True,
        ) as stream:
            for event in stream:
                if cancel is not None and cancel.is_set:
                    raise ModelError("it was cancelled")
                said = assembly.take(event.to_dict(warnings=False) if hasattr(event, "to_dict") else event)
                if listener is not None and said is not None:
                    listener(said)
                if assembly.is_whole:
                    break
        return assembly.reply()

    def _connected(self) -> Any:
        from httpx2 import Timeout

        with self._lock:
            if self._client is None:
                from anthropic import Anthropic

                self._client = Anthropic()
            return self._client.with_options(max_retries=0, timeout=Timeout(self._silence, connect=CONNECT))


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
