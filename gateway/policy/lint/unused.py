"""Rules that took part in no decision for a while, by what a record has of it."""

from __future__ import annotations

from gateway.policy.lint.clauses import Finding, active, is_expired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from gateway.policy.compile import Bound

_REMEDIES = {
    "allow": "remove it if nothing needs it: `gateway policy diff` says what would come out otherwise",
    "ask": "keep it if it is there to guard; nothing ran into it",
    "deny": "keep it if it is there to guard; nothing ran into it",
}


def unused(
    bound: Sequence[Bound],
    used: Container[str],
    decisions: int,
    span: str,
    since: str,
    *,
    changed: Container[str],
    now: float,
) -> Iterator[Finding]:
    """A remark on each rule in force that is not among the used ones, by their ids. `decisions`: how many there were;
    `since`: the day; `span`: the time as it was asked for, so that what is found says the same on the next day;
    `changed`: files that were written since then."""
    for _number, each, rule in active(bound):
        if rule["lane"] not in _REMEDIES or each.level != "enforce" or is_expired(rule, now):
            continue
        if rule["id"] not in used:
            younger = "; its file has changed since then, so it may be younger" if each.file in changed else ""
            yield Finding(
                "unused", "info", layer=each.layer, file=each.file, line=rule["line"], rule=rule["id"],
                message=f"took part in no decision {span}",
                remedy=f"{_REMEDIES[rule['lane']]} (decisions recorded since {since}: {decisions:,}{younger})",
            )  # fmt: skip
