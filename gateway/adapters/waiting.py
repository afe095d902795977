"""Questions that a framework has put to a person: what each was about, until it is answered."""

from __future__ import annotations

import threading

from gateway.api.guarding import ASK, Answered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.api.guarding import Looked
    from gateway.model.grant import Grant

_MOST = 10_000


class Waiting:
    """By the framework's name for a call. Safe to use from several threads.

    A yes is bound to what the question was about when it was first put. Where that is not known any more, because
    another process goes on with the conversation, it is bound to the call as it is then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._about: dict[str, Grant] = {}
        self._said: dict[str, str] = {}

    def put(self, call_id: str, looked: Looked) -> bool:
        """Whether a person has to be asked about a call; what the question is about is kept."""
        if looked.decision != ASK or looked.about is None:
            return False
        with self._lock:
            self._about.setdefault(call_id, looked.about)
            self._said[call_id] = looked.shown
            for kept in (self._about, self._said):
                while len(kept) > _MOST:
                    del kept[next(iter(kept))]  # type: ignore[attr-defined]
        return True

    def reason(self, call_id: str) -> str:
        """Why a person is asked about a call, "" where nobody is."""
        with self._lock:
            return self._said.get(call_id, "")

    def answered(self, call_id: str, looked: Looked, *, allow: bool, by: str, note: str = "") -> Answered:
        """The answer to the question about a call, which is put no more."""
        with self._lock:
            about = self._about.pop(call_id, looked.about)
            self._said.pop(call_id, None)
        return Answered(allow, about, by=by, note=note)
