"""The cache of judges of the warm service: each is reused as long as everything that it was read from is unchanged."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from gateway.calls.containing import cannot_contain
from gateway.core.value import Value
from gateway.frontends.service.stamps import is_settled, policy_stamp
from gateway.judge.judge import Judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.config.load import Options
    from gateway.frontends.service.stamps import Stamp

MOST = 16


class _Kept(Value):
    """A gateway, the stamp of its files, and when the reading began."""

    gateway: Judge
    stamp: Stamp | None
    began: int


class Keeper:
    """Opens gateways and keeps some. Safe to use from several threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[Options, bool], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def gateway(self, options: Options, environment: Mapping[str, str], *, confined: bool) -> Judge:
        """One that decides as a new process would, by the policy files as they are now. `options` must name the root.
        Raises ConfigError."""
        key = (options.replace(cwd=""), confined)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and not _holds(kept):
                del self._kept[key]  # what follows may raise
                kept = _renewed(kept)
            if kept is None:
                kept = _opened(options, environment, confined)
            self._kept[key] = kept
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return kept.gateway.afresh(options.cwd, environment)

    def __len__(self) -> int:
        return len(self._kept)


def _holds(kept: _Kept) -> bool:
    stamp = kept.stamp
    return stamp is not None and is_settled(stamp, kept.began) and policy_stamp(kept.gateway) == stamp


def _opened(options: Options, environment: Mapping[str, str], confined: bool) -> _Kept:
    began = time.time_ns()
    return _stamped(Judge(options, confined=confined, environment=environment, contains=cannot_contain), began)


def _renewed(kept: _Kept) -> _Kept:
    """By content: what was touched and says the same is the same."""
    began = time.time_ns()
    return _stamped(kept.gateway.renewed(), began)


def _stamped(gateway: Judge, began: int) -> _Kept:
    """The stamp is taken after the reading. A file that was changed in between is younger than `began`, and so is not
    taken for settled."""
    return _Kept(gateway, policy_stamp(gateway), began)
