"""Parts of work on a cluster of Ray: actors that are made once and are handed one part after the other.

Where `RAY_ADDRESS` names a cluster it is used, else one is started here for as long as it takes. Every node must have
the same gateway, and see the record under the same path.
"""

from __future__ import annotations

import os
from importlib import import_module
from logging import ERROR
from typing import TYPE_CHECKING

from gateway.config.shipped import code_digest
from gateway.core.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_STORE = 256 << 20  # bytes of shared memory for what is handed on


class _Worker:
    """One actor."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]], code: str) -> None:
        if code_digest() != code:
            raise RuntimeError("a node of the cluster has another version of the gateway")
        self._work = make()

    def work(self, part: Any) -> Any:
        return self._work(part)


def map_on_ray(make: Callable[[], Callable[[Any], Any]], parts: Sequence[Any], workers: int) -> Iterator[Any]:
    """The results in the order of the parts. Raises ConfigError where Ray is not installed."""
    try:
        ray, pool = import_module("ray"), import_module("ray.util").ActorPool
    except ImportError as error:
        remedy = "install it: pip install 'agent-gateway[ray]'"
        raise ConfigError(Problem("`ray` is not installed", remedy=remedy)) from error
    is_ours = not ray.is_initialized()
    if is_ours:
        local = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": _STORE}
        ray.init(log_to_driver=False, logging_level=ERROR, **({} if os.environ.get("RAY_ADDRESS") else local))
    try:
        worker = ray.remote(num_cpus=1)(_Worker)
        code = code_digest()
        actors = [worker.remote(make, code) for _ in range(min(workers, len(parts)))]
        yield from pool(actors).map(lambda actor, part: actor.work.remote(part), parts)
    finally:
        if is_ours:
            ray.shutdown()
