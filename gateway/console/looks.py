"""What each page looks up. Everything here may take a while, and runs beside the loop that answers."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING

from gateway.api.changes import Changes
from gateway.audit.index import Index, Query
from gateway.audit.reading import Moment
from gateway.console.pages import agents, changes, coverage, interruptions, live, policy, why
from gateway.console.pages.parts import Page, empty, page_head
from gateway.core.cache import digest
from gateway.core.errors import StoreError
from gateway.core.places import places
from gateway.judge.effective_policy import effective

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.changes.undoing import Plan
    from gateway.console.nodes import Node
    from gateway.console.sources import Looked, Sources

_DAYS = 14
_MOST_ASKS = 5_000
_SUGGESTED = 8  # shapes for which a rule is looked for
_KEPT = 120.0  # seconds for which what the doctor said is shown again
_RECORDS = 2 * live.SHOWN + 20  # lines that hold as many calls


class Looks:
    """Looks things up for pages."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._one = threading.Lock()
        self._doctor: tuple[float, list[Looked]] = (0.0, [])

    def page(self, path: str, query: Mapping[str, str]) -> Page:
        """The page at an address. Raises GatewayError with what keeps it from being shown."""
        first, _, rest = path.lstrip("/").partition("/")
        if first == "why" and rest:
            told = self._sources.call(rest, plans="plan" in query)
            return why.missing(rest) if told is None else why.why(told)
        if first == "changes" and rest.isdecimal() and len(rest) < 10:
            return self._change(int(rest))
        if not rest:
            found = self._named(first, query)
            if found is not None:
                return found
        head = page_head("There is no such page")
        return Page("No such page", (head, empty("Nothing is at this address.", "Choose a page above.")), 404)

    def _named(self, name: str, query: Mapping[str, str]) -> Page | None:
        match name:
            case "live":
                return self._live(query)
            case "changes":
                return self._changes()
            case "interruptions":
                return self._interruptions()
            case "policy":
                return self._policy(query)
            case "coverage":
                return coverage.coverage(self._sources.coverage())
            case "agents":
                return self._agents("again" in query)
        return None

    def _live(self, query: Mapping[str, str]) -> Page:
        filters = {name: query.get(name, "")[:400] for name in live.FILTERS}
        until = query.get("until", "")[:40]
        if any(filters.values()) or until:
            with Index(self._sources.record) as index:
                found = index.find(Query(**filters, until=until), live.SHOWN)
            calls = [(each.decision, each.outcome) for each in reversed(found) if each.decision is not None]
            return live.live(calls, filters | ({"until": until} if until else {}))
        with Moment(self._sources.record) as moment:
            joined = live.joined(moment.last(_RECORDS))
        return live.live(joined[: live.SHOWN], filters)

    def _changes(self) -> Page:
        found = Changes(self._sources.judge())
        return changes.listing(list(reversed(found.list())), found.root)

    def _change(self, number: int) -> Page:
        found = Changes(self._sources.judge())
        try:
            shown = found.show(number)
        except StoreError as error:
            return changes.missing(number, error.reason)
        try:
            plan, problem = found.plan(number), ""
        except StoreError as error:
            plan, problem = None, error.reason
        return changes.one(shown, found.root, plan, _bound(plan) if plan is not None else "", problem)

    def undo(self, number: object, plan: object) -> tuple[int, str]:
        """Takes back what a call changed, if that would do what was shown. Status and words. Raises StoreError."""
        if type(number) is not int or not isinstance(plan, str):
            return 400, "That is none of the calls."
        with self._one:
            found = Changes(self._sources.judge())
            if _bound(found.plan(number)) != plan:
                return 409, "Something has changed since this page was made: nothing was taken back. Look again."
            done = found.undo(number)
        return 200, f"{len(done.restored)} restored, {len(done.gone)} removed, {len(done.stays)} left as they are."

    def _interruptions(self) -> Page:
        since = (datetime.now(UTC) - timedelta(days=_DAYS)).strftime("%Y-%m-%dT00:00:00.000000Z")
        with Index(self._sources.record) as index:
            found = index.find(Query(decision="ask", since=since), _MOST_ASKS)
        asks = [each.decision for each in found if each.decision is not None]
        shapes = interruptions.shapes_of(asks)
        rules = [self._sources.always(each.last) for each in shapes[:_SUGGESTED]]
        today = datetime.now(UTC).date()
        days = [(today - timedelta(days=ago)).isoformat() for ago in reversed(range(_DAYS))]
        return interruptions.interruptions(asks, shapes, rules, days, is_all=len(asks) < _MOST_ASKS)

    def _policy(self, query: Mapping[str, str]) -> Page:
        judge = self._sources.judge()
        found = effective(places(), judge.options, judge.registry)
        return policy.policy(found, places().home, query.get("call", ""), query.get("policy", ""))

    def _agents(self, again: bool) -> Page:
        with self._one:
            at, found = self._doctor
            if again or not found or monotonic() - at > _KEPT:
                found = self._sources.doctor()
                self._doctor = (monotonic(), found)
        return agents.agents(found)

    def tried(self, text: str, own: str, confined: bool) -> tuple[Node, ...]:
        """What would become of a call."""
        return policy.tried(self._sources.tried(text, confined=confined, policy=own))

    def linted(self, own: str) -> tuple[Node, ...]:
        """What is wrong with a policy's text."""
        return policy.linted(self._sources.linted(own))


def _bound(plan: Plan) -> str:
    """What undoing would do, as a digest: what was shown is what is done."""
    return digest([repr(sorted(part)) for part in (plan.restored, plan.gone, plan.stays.items())])
