"""What each page looks up. Everything here may take a while, and runs beside the loop that answers."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any

from gateway.api.changes import Changes
from gateway.audit.index import Index, Query, behind
from gateway.audit.reading import Moment
from gateway.core.cache import digest
from gateway.core.errors import ConfigError, Problem, StoreError
from gateway.core.places import packaged, places
from gateway.frontends.console.nodes import data, h
from gateway.frontends.console.pages import (
    agents,
    changes,
    coverage,
    interruptions,
    live,
    policy,
    proposal,
    proposals,
    suggestions,
    why,
)
from gateway.frontends.console.pages.parts import Page, empty, page_head
from gateway.frontends.console.question_queue import SHOWN_SECONDS
from gateway.frontends.console.work import Work
from gateway.judge.effective_policy import effective
from gateway.policy.wording import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.sources import Looked, Proposed, Sources
    from gateway.frontends.console.work import Job
    from gateway.sandbox.changes.undoing import Plan

_DAYS = 14
_COVERED_DAYS = 30
_MOST_ASKS = 5_000
_SUGGESTED = 8  # shapes for which a rule is looked for
_KEPT = 120.0  # seconds for which what the doctor said is shown again
_READ_AT_ONCE = 4 << 20  # bytes that an index takes in without anybody being told
_ANSWERED_DAYS = 90  # whose answers rules are made from
_INDEX, _REPLAY = "index", "replay"  # as `frontends/console_work.py` knows them
_BUSY = "Two things are being worked out already: wait for one of them."
_RECORDS = 2 * live.SHOWN + 20  # lines that hold as many calls


class Looks:
    """Looks things up for pages."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._one = threading.Lock()
        self._doctor: tuple[float, list[Looked]] = (0.0, [])
        self._work = Work(sources.working)
        self._shown: dict[str, float] = {}  # when what came out was first handed to a page

    def page(self, path: str, query: Mapping[str, str]) -> Page:
        """The page at an address. Raises GatewayError with what keeps it from being shown."""
        first, _, rest = path.lstrip("/").partition("/")
        reading = self._reading(first, rest, query)
        if reading is not None:
            return reading
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
            case "proposals":
                return proposals.proposals(self._sources.proposals(), self._sources.root)
            case "policy":
                return self._policy(query)
            case "coverage":
                return self._coverage()
            case "agents":
                return self._agents("again" in query)
        return None

    def _reading(self, name: str, rest: str, query: Mapping[str, str]) -> Page | None:
        """The page that is shown while the record is read for one that looks all over it; None where that is short."""
        is_filtered = any(query.get(each) for each in (*live.FILTERS, "until"))
        is_old = name == "why" and bool(rest) and not self._sources.is_recent(rest)
        if name not in ("interruptions", "coverage") and not (name == "live" and is_filtered) and not is_old:
            return None
        if behind(self._sources.record) <= _READ_AT_ONCE:
            return None
        job = self._work.begin(_INDEX, {"record": self._sources.record}, name=_INDEX)
        if job is None:
            return Page("Busy", (page_head("Busy"), empty(_BUSY)), 503)
        shown = proposal.progress(job.done, job.of, "the record is read, once")
        head = page_head("One moment", "What is asked for looks all over the record.")
        return Page(
            "One moment", (head, h("section", {"class": "card", "data-work": job.id, "data-then": "again"}, shown))
        )

    def preview(self, kind: object, text: object) -> tuple[tuple[Node, ...], str]:
        """What is wrong with a change of a policy, and the work that finds out what it does, "" where there is none.
        Raises GatewayError."""
        if not isinstance(kind, str) or not isinstance(text, str):
            return (empty("That is no change."),), ""
        if kind == suggestions.KIND:
            return self._suggesting()
        if kind == proposals.KIND:
            return self._opening(text)
        proposed = self._sources.proposed(kind, text)
        noted = policy.linted(proposed.noted) if proposed.noted else ()
        if proposed.is_broken:
            return (*noted, empty("It is not saved while it is broken.")), ""
        given = {
            "record": self._sources.record, "root": proposed.root, "layer": proposed.layer, "name": proposed.name,
            "content": proposed.content, "since": _since(_DAYS),
        }  # fmt: skip
        job = self._work.begin(_REPLAY, given, about={"proposed": proposed})
        if job is None:
            return (*noted, empty(_BUSY)), ""
        return (*noted, proposal.progress(0, 0, "the record is judged anew")), job.id

    def _suggesting(self) -> tuple[tuple[Node, ...], str]:
        """The work that finds rules from answers."""
        root = self._sources.judge().options.root
        given = {"record": self._sources.record, "root": root, "since": _since(_ANSWERED_DAYS)}
        job = self._work.begin(suggestions.KIND, given, name=suggestions.KIND, about={"shows": suggestions.suggested})
        if job is None:
            return (empty(_BUSY),), ""
        return (proposal.progress(job.done, job.of, "what was answered is judged anew"),), job.id

    def _opening(self, name: str) -> tuple[tuple[Node, ...], str]:
        """The work that finds out what a proposal would open."""
        given = {
            "record": self._sources.record, "root": self._sources.root, "name": name, "since": _since(_ANSWERED_DAYS),
        }  # fmt: skip
        job = self._work.begin(proposals.KIND, given, about={"proposal": name})
        if job is None:
            return (empty(_BUSY),), ""
        return (proposal.progress(0, 0, "the record is judged anew"),), job.id

    def worked(self, name: str) -> dict[str, Any] | None:
        """How far a piece of work is, and what came out; None for one that is unknown."""
        job = self._work.find(name)
        if job is None:
            return None
        if job.is_ended:
            self._shown.setdefault(name, monotonic())
        proposed: Proposed | None = job.about.get("proposed")
        told: dict[str, Any] = {"ended": job.is_ended, "done": job.done, "of": job.of}
        if job.is_ended and job.problem:
            told["main"] = [data(empty("It could not be worked out.", visible(job.problem)))]
        elif job.is_ended and (shows := job.about.get("shows")) is not None:
            told["main"] = [data(each) for each in shows(job.result)]
        elif job.is_ended and "proposal" in job.about:
            told["main"] = [data(each) for each in proposals.opened(job.result, job.id)]
        elif job.is_ended and proposed is not None:
            shown = proposal.previewed(proposed, job.result, self._asked(), _DAYS, job.id)
            told["main"] = [data(each) for each in shown]
        return told

    def save(self, name: object) -> str:
        """Makes the change that a piece of work has looked at; what was done, in words. Raises GatewayError."""
        job = self._work.find(name) if isinstance(name, str) else None
        if job is None or not job.is_ended or job.problem or not {"proposed", "proposal"} & set(job.about):
            raise ConfigError(Problem("that change was not looked at, or is saved already: nothing was saved"))
        shown = self._shown.get(job.id)
        if shown is None or monotonic() - shown < SHOWN_SECONDS:
            raise ConfigError(Problem("that came too soon after the change was shown: nothing was saved"))
        with self._one:
            said = self._saved(job)
        self._work.take(job.id)
        self._shown.pop(job.id, None)
        return said

    def _saved(self, job: Job) -> str:
        proposed: Proposed | None = job.about.get("proposed")
        if proposed is not None:
            return self._sources.save(proposed)
        if not job.result["can_be_accepted"]:
            raise ConfigError(Problem("it cannot be accepted: nothing was saved"))
        return self._sources.accept(job.about["proposal"], job.result["bound"])

    def reject(self, name: object) -> str:
        """Takes a proposal away for good; what was done, in words. Raises GatewayError."""
        if not isinstance(name, str):
            raise ConfigError(Problem("that is none of the proposals"))
        with self._one:
            return self._sources.reject(name)

    def _asked(self) -> int | None:
        """How many questions there were in the days that are shown, None where counting them takes long."""
        if behind(self._sources.record) > _READ_AT_ONCE:
            return None
        with Index(self._sources.record) as index:
            return index.count(Query(decision="ask", since=_since(_DAYS)))

    def close(self) -> None:
        """Ends what is being worked out."""
        self._work.close()

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
        since = _since(_DAYS)
        with Index(self._sources.record) as index:
            found = index.find(Query(decision="ask", since=since), _MOST_ASKS)
        asks = [each.decision for each in found if each.decision is not None]
        shapes = interruptions.shapes_of(asks)
        rules = [self._sources.always(each.last) for each in shapes[:_SUGGESTED]]
        today = datetime.now(UTC).date()
        days = [(today - timedelta(days=ago)).isoformat() for ago in reversed(range(_DAYS))]
        more = suggestions.asking(_ANSWERED_DAYS)
        return interruptions.interruptions(asks, shapes, rules, days, is_all=len(asks) < _MOST_ASKS, more=more)

    def _policy(self, query: Mapping[str, str]) -> Page:
        judge = self._sources.judge()
        found = effective(places(), judge.options, judge.registry)
        own = self._sources.editable()
        return policy.policy(found, places().home, own, query.get("call", ""), query.get("policy", ""))

    def _coverage(self) -> Page:
        judge = self._sources.judge()
        rules = effective(places(), judge.options, judge.registry).rules
        own = [each for each in rules if each.layer != "builtin" and not each.file.startswith(packaged("policies"))]
        with Index(self._sources.record) as index:
            decided = index.rules(_since(_COVERED_DAYS))
        return coverage.coverage(self._sources.coverage(), own, decided, _COVERED_DAYS)

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


def _since(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT00:00:00.000000Z")
