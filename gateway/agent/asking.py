"""One reply of a model, asked for until there is one: what passes is tried again, and a model that hangs is left.

| failure | tried again |
| --- | --- |
| passing: the connection, the stream, 408, 409, 429, 5xx, errors of the provider, silence, what makes no sense | yes |
| busy: the provider is overloaded | yes; after a few in a row the fallback model is asked, where one is named |
| lasting: what was asked for is wrong, or not allowed | no; the fallback model is asked once |
| too long: the conversation does not fit | no: it has to become shorter first (`gateway.agent.window`) |

Nothing of a reply that is not whole is acted on, so that asking again does nothing twice.
"""

from __future__ import annotations

import random
import threading
from time import monotonic

from gateway.core.cancel import Cancel
from gateway.core.value import Value
from gateway.llm.model import BUSY, LASTING, PASSING, TEXT, THINKING, TOO_LONG, ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.llm.model import Listener, Model, Reply, Request, Said

_LOOK_EVERY = 0.1
# Characters of a token of a reply, at the very most: what says more than its tokens can hold never ends.
_PER_TOKEN = 16
_NAMED = 4_000


class Patience(Value):
    """How long a model is waited for. All times in seconds.

    `tries`: how often it is asked; `first`, `longest`: the wait after the first failure, doubled with each up to this;
    `asked`: the longest wait that a provider may ask for; `busy`: failures of an overloaded provider in a row after
    which the fallback is asked; `begin`: until the first piece of a reply; `stall`: between two pieces; `whole`: for
    all of it.
    """

    tries: int = 10
    first: float = 0.5
    longest: float = 32.0
    asked: float = 900.0
    busy: int = 3
    begin: float = 600.0
    stall: float = 300.0
    whole: float = 3_600.0


class Again(Value):
    """A reply failed, and is asked for once more: what was told of it so far is void. `wait`: seconds until then;
    `model`: who is asked then; `number`: which try that is."""

    reason: str
    number: int
    wait: float
    model: str


class StoppedError(ModelError):
    """The person stopped it. `text`: what it had said by then."""

    def __init__(self, text: str = "") -> None:
        super().__init__("it was cancelled")
        self.text = text


class Asking:
    """Who answers one conversation. Not for use by several threads at once."""

    def __init__(self, model: Model, fallback: Model | None = None, patience: Patience | None = None) -> None:
        """`fallback`: who is asked where `model` cannot be had; it then answers until `afresh`."""
        self._model = model
        self._fallback = fallback
        self._patience = patience or Patience()
        self._has_fallen_back = False

    @property
    def model(self) -> Model:
        """Who is asked next."""
        return self._fallback if self._has_fallen_back and self._fallback is not None else self._model

    def name_of(self, request: Request) -> str:
        """The name of the model that answers a request."""
        return self.model.name if self._has_fallen_back else request.model or self.model.name

    def afresh(self) -> None:
        """A new task begins: the model itself is asked again."""
        self._has_fallen_back = False

    def ask(
        self,
        request: Request,
        cancel: Cancel,
        listener: Listener | None = None,
        tell: Callable[[Again], None] | None = None,
    ) -> Reply:
        """The reply. `listener` is told its text and its thinking as they come, `tell` that it is asked for again.
        Raises ModelError where there is none, StoppedError once `cancel` is set."""
        tries = busy = 0
        while True:
            tries += 1
            try:
                return self._once(request, cancel, listener)
            except StoppedError:
                raise
            except ModelError as error:
                busy = busy + 1 if error.kind == BUSY else 0
                own = not self._has_fallen_back
                again = self._again(request, error, tries, busy)
                if own and self._has_fallen_back:
                    tries = busy = 0
            if tell is not None:
                tell(again)
            if cancel.wait(again.wait) or cancel.is_set:
                raise StoppedError

    def _again(self, request: Request, error: ModelError, tries: int, busy: int) -> Again:
        """What is done about a failure. Raises ModelError where nothing is."""
        patience = self._patience
        wait = min(patience.longest, patience.first * 2 ** (tries - 1)) * random.uniform(0.75, 1.0)
        if error.wait is not None:
            wait = max(error.wait, wait)
        has_no_use = error.kind == LASTING or tries >= patience.tries or wait > max(patience.asked, patience.longest)
        if error.kind == TOO_LONG:
            raise error
        if (has_no_use or busy >= patience.busy) and self._fallback is not None and not self._has_fallen_back:
            self._has_fallen_back = True
            return Again(error.reason, 1, 0.0, self._fallback.name)
        if not has_no_use:
            return Again(error.reason, tries + 1, wait, self.name_of(request))
        if error.kind == LASTING:
            raise error
        many = f"asked {tries} times: " if tries > 1 else ""
        later = f"; it asks to be left alone for {wait:,.0f} seconds" if tries < patience.tries else ""
        remedy = error.remedy or "go on later (`--resume`), or name another model to fall back on (`--fallback-model`)"
        raise ModelError(f"{many}{error.reason}{later}", remedy, kind=error.kind, wait=error.wait) from error

    def _once(self, request: Request, cancel: Cancel, listener: Listener | None) -> Reply:
        """One try, on a thread of its own. Raises ModelError; one that gives no sign of life is left behind."""
        if cancel.is_set:
            raise StoppedError
        watch = _Watch(request.max_tokens * _PER_TOKEN + _NAMED, listener)
        model = self.model
        asked = request.replace(model="") if self._has_fallen_back else request
        found: list[Reply | BaseException] = []

        def ask() -> None:
            try:
                found.append(model.reply(asked, listener=watch.heard, cancel=watch.leaves))
            except BaseException as error:
                found.append(error)

        asking = threading.Thread(target=ask, name="gateway-model", daemon=True)
        asking.start()
        while asking.is_alive():
            asking.join(_LOOK_EVERY)
            reason = "" if not asking.is_alive() else watch.hangs(self._patience)
            if cancel.is_set or reason:
                watch.leave()
            if cancel.is_set:
                raise StoppedError(watch.text)
            if reason:
                raise ModelError(reason, kind=PASSING)
        outcome = found[0]
        if isinstance(outcome, BaseException) and watch.is_endless:
            raise ModelError(_ENDLESS, kind=PASSING) from outcome
        if isinstance(outcome, Exception) and not isinstance(outcome, ModelError):
            raise ModelError(f"the model failed: {type(outcome).__name__}: {outcome}") from outcome
        if isinstance(outcome, BaseException):
            raise outcome
        _check(outcome)
        return outcome


def _check(reply: Reply) -> None:
    """Raises ModelError for a reply that nobody can act on."""
    if not reply.content or not all(isinstance(block.get("input"), dict) for block in reply.calls):
        raise ModelError("the model's reply says nothing, or calls without an input", kind=PASSING)


_ENDLESS = "the model's reply went on beyond what its tokens can hold"


class _Watch:
    """What has been heard of one try, and when."""

    def __init__(self, most: int, listener: Listener | None) -> None:
        self.leaves = _Leaves()
        self.is_endless = False
        self._most = most
        self._listener = listener
        self._texts: list[str] = []
        self._length = 0
        self._begun = self._last = monotonic()
        self._has_begun = False
        self._lock = threading.Lock()

    @property
    def text(self) -> str:
        """What it has said so far."""
        with self._lock:
            return "".join(self._texts)

    def heard(self, said: Said) -> None:
        """A piece has come. One of a try that was left behind is nobody's."""
        with self._lock:
            if self.leaves.is_set:
                return
            self._last, self._has_begun = monotonic(), True
            self._length += len(said.text)
            if self._length > self._most:
                self.is_endless = self.leaves.is_set = True
                return
            if said.kind == TEXT:
                self._texts.append(said.text)
            if self._listener is not None and said.kind in (TEXT, THINKING):
                self._listener(said)

    def leave(self) -> None:
        """Whatever still comes is void."""
        with self._lock:
            self.leaves.is_set = True

    def hangs(self, patience: Patience) -> str:
        """Why it is not waited for any longer, "" while it is."""
        now = monotonic()
        silent = now - self._last
        if self.is_endless:
            return _ENDLESS
        if silent > (patience.stall if self._has_begun else patience.begin):
            return f"the model has said nothing for {silent:,.0f} seconds"
        if now - self._begun > patience.whole:
            return f"the model's reply has not ended within {patience.whole:,.0f} seconds"
        return ""


class _Leaves(Cancel):
    """That a try is left behind. It has no descriptors: models look at `is_set`."""

    def __init__(self) -> None:
        self._read = self._write = -1
        self._lock = threading.Lock()
        self.is_set = False
