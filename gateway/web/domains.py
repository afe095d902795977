"""Which results of a search are wanted, by the patterns that policies use for hosts. Pure.

A plain name stands for itself and every name below it, as people mean it of a search; all other patterns are as in a
policy (`*.example.com`, `api-*.example.com`, addresses, groups).
"""

from __future__ import annotations

from gateway.policy import hosts
from gateway.policy.addresses import network
from gateway.tools.paths import UnclearError
from gateway.tools.urls import host, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.policy.hosts import Index


class Domains:
    """What `allowed` and `blocked` leave. Raises ValueError for what is no pattern of hosts."""

    def __init__(self, allowed: Sequence[str], blocked: Sequence[str]) -> None:
        self._allowed = _index(allowed) if allowed else None
        self._blocked = _index(blocked) if blocked else None
        self.allowed, self.blocked = _sites(allowed), _sites(blocked)

    def wants(self, url: str) -> bool:
        """Whether a result leads to a host that is certainly allowed and in no reading blocked."""
        try:
            where = parse(url).host
        except UnclearError:
            return False
        if self._allowed is not None and not hosts.lookup_possible(self._allowed, where)[0]:
            return False
        return self._blocked is None or not hosts.lookup(self._blocked, where)


def patterns(written: str) -> list[str]:
    """The patterns that one entry stands for. Raises ValueError."""
    text = written.strip().lower()
    for scheme in ("https://", "http://"):
        text = text.removeprefix(scheme)
    text = text.rstrip("/").removesuffix(".")
    if not text:
        raise ValueError("a domain must not be empty")
    if not text.isascii() and "*" not in text:
        try:
            text = host(text)
        except UnclearError as error:
            raise ValueError(f"a domain {error.must}") from None
    hosts.build([(text, 0)])
    is_name = "*" not in text and text not in hosts.GROUPS and not network(text)
    return [text, f"*.{text}"] if is_name else [text]


def _index(entries: Sequence[str]) -> Index:
    return hosts.build((pattern, 0) for entry in entries for pattern in patterns(entry))


def _sites(entries: Sequence[str]) -> tuple[str, ...]:
    """The names that providers can be told; (), where any of the entries is none of them."""
    found = []
    for entry in entries:
        first = patterns(entry)[0].removeprefix("*.")
        if "*" in first or "." not in first or first in hosts.GROUPS or network(first):
            return ()
        found.append(first)
    return tuple(dict.fromkeys(found))
