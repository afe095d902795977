"""What the model of one session gets of MCP servers: their tools and prompts, for as long as they run.

Servers are started when the session's model is first asked, and join it whenever they come up; one that ends takes its
tools away and is started again. Their tools are shown as they are pinned (`gateway.mcp.pins`), what policy denies is
left out, and each call is judged like any other.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from time import monotonic

from gateway.calls.output import Failure, Output
from gateway.core.cancel import Cancel
from gateway.core.errors import ConfigError, GatewayError
from gateway.core.value import Value
from gateway.mcp.circumstances import asking, circumstances, context_of
from gateway.mcp.links import PROMPT
from gateway.mcp.server_tools import Theirs
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.explain import message
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.calls.ports import Serves
    from gateway.calls.session import Session
    from gateway.judge.judge import Judge
    from gateway.mcp.blocking import Server
    from gateway.mcp.server_pool import Servers
    from gateway.mcp.server_tools import Prompt

# How long a session's first request waits for its servers; who comes later joins later.
JOIN_SECONDS = 10.0
LOOK_AGAIN_SECONDS = 1.0
_LOOK_EVERY = 0.05
_MOST_NAMED = 20
_LONGEST = 2_000  # of what people are told at once
_MOST_PROMPTS = 200


class News(Value):
    """What has changed. `told`: what the model should know, and people too; `people`: what only they should."""

    told: tuple[str, ...] = ()
    people: tuple[str, ...] = ()


class _Listing(Value):
    """What one server offers. `of`: by which it is known to be so still."""

    of: tuple[object, ...]
    tools: tuple[Theirs, ...]
    prompts: tuple[Prompt, ...]


class Catalogue:
    """`look` is for one thread at a time, the rest for any. `version` changes with what there is."""

    def __init__(self, servers: Servers, services: Serves, session: Session) -> None:
        self.version = 0
        self._servers = servers
        self._services = services
        self._session = session
        # An agent that another one has started asks nobody whether a server may start for it.
        self._asks = session.context.depth == 0
        self._mode = ""
        self._looked = 0.0
        self._cancel = Cancel()
        self._starting: dict[str, threading.Thread] = {}
        # By name what is not started until it is another one or judged in other circumstances, and what was said of it.
        self._refused: dict[str, tuple[Mapping[str, Any], tuple[object, ...], Decision]] = {}
        self._listings: dict[str, _Listing] = {}
        self._tools: dict[str, Theirs] = {}
        self._for_people: dict[str, bool] = {}  # what they should know, and whether it was told
        self._saying = threading.Lock()
        session.ends_with_it(self._close)

    # ------------------------------------------------------------------------------------------------ what there is

    def tools(self) -> tuple[Theirs, ...]:
        """The tools of all servers that run, whatever a session's own rules say of them."""
        return tuple(self._tools.values())

    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of all servers that run, but for those that policy denies."""
        return tuple(each for listing in self._listings.values() for each in listing.prompts)

    def runs(self, server: str) -> bool:
        """Whether a server was there when last looked."""
        return server in self._listings

    def judged(self, name: str) -> str:
        """The name by which policy knows a tool that the model calls by this one."""
        found = self._tools.get(name)
        return name if found is None else found.judged

    def raw(self, name: str, given: Mapping[str, Any]) -> RawCall:
        """A call as the model makes it, with whose tool it is and what its server says of it."""
        found = self._tools.get(name)
        if found is None:
            return RawCall(name, given)
        return RawCall(found.judged, given, server=found.server, annotations=found.annotations)

    # ----------------------------------------------------------------------------------------------- looking around

    def look(self, cancel: Cancel) -> News:
        """Starts what should run, and finds out what has come and gone since it was last called."""
        if monotonic() - self._looked > LOOK_AGAIN_SECONDS:
            self._looked = monotonic()
            self._services.look_again()
        try:
            judge, declared = self._services.planner.judge, self._servers.declared()
        except ConfigError:
            return News()  # every call is refused until that is mended, and says why
        is_first = self._mode != self._session.context.mode
        if is_first:
            self._mode = self._session.context.mode
            self._refused.clear()
        self._servers.look_over(self._session)
        self._bring_up(judge, declared, is_first, cancel)
        found = {}
        for name, each in declared.items():
            server = None if self._is_starting(name) else self._servers.running(name, self._session, each)
            if server is None or not server.lend():
                continue
            try:
                listing = self._listing(judge, server, cancel)
            finally:
                server.give_back()
            if listing is not None:
                found[name] = listing
        if cancel.is_set:
            return News()  # who did not answer in that time has not gone
        for name in self._listings.keys() - declared.keys():
            self._servers.leave(name, self._session)
        told = () if is_first else tuple(self._compared(found))
        if found != self._listings:
            self._listings = found
            self._tools = self._named(judge)
            self.version += 1
        with self._saying:
            people = tuple(text for text, was_told in self._for_people.items() if not was_told)
            self._for_people |= dict.fromkeys(people, True)
        return News(told, people)

    def _compared(self, found: Mapping[str, _Listing]) -> list[str]:
        """What the model should know of the difference to what there was."""
        told = [
            f"The MCP server `{name}` does not run any more: its tools and prompts are gone until it does again."
            for name in self._listings.keys() - found.keys()
        ]
        for name, listing in found.items():
            names = {tool.name for tool in listing.tools}
            if name not in self._listings:
                told.append(f"The MCP server `{name}` runs now, with these tools: {_some(names)}.")
                continue
            before = {tool.name for tool in self._listings[name].tools}
            if gone := before - names:
                told.append(f"These tools of the MCP server `{name}` are gone: {_some(gone)}.")
            if come := names - before:
                told.append(f"The MCP server `{name}` has new tools: {_some(come)}.")
        return told

    def _named(self, judge: Judge) -> dict[str, Theirs]:
        """The tools by the names that the model has for them. What a layer declares itself is not a server's."""
        found: dict[str, Theirs] = {}
        for listing in self._listings.values():
            for tool in listing.tools:
                if judge.registry.canonical_name(tool.judged) in judge.registry:
                    continue
                if tool.name in found or judge.registry.canonical_name(tool.name) in judge.registry:
                    self._say(f"`{tool.judged}` is hidden: another tool has this name for the model.")
                else:
                    found[tool.name] = tool
        return found

    def _say(self, text: str) -> None:
        """Tells people, once."""
        with self._saying:
            self._for_people.setdefault(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…", False)

    # ------------------------------------------------------------------------------------------- what servers offer

    def _listing(self, judge: Judge, server: Server, cancel: Cancel) -> _Listing | None:
        """What a server offers, None for one that does not say."""
        prompts = self._prompts(server, cancel)
        if prompts is None:
            return None
        known = self._listings.get(server.name)
        of = (server, server.link.seen, server.prompts_seen(), judge)
        if known is not None and known.of == of:
            return known
        offered, told = server.link.offered(judge, self._mode, "")
        for each in told[:_MOST_NAMED]:
            self._say(str(server.hidden(each)))
        if len(told) > _MOST_NAMED:
            more = len(told) - _MOST_NAMED
            self._say(f"{more:,} more tools of {server.name} are hidden, or hold characters that cannot be seen")
        shown = server.declared.get("always_load", ())
        tools = [Theirs(server.name, each, shown) for each in server.hidden(offered)]
        may = [each for each in prompts[:_MOST_PROMPTS] if self._may_get(judge, each)]
        return _Listing(of, tuple(tools), tuple(may))

    def _prompts(self, server: Server, cancel: Cancel) -> list[Prompt] | None:
        """Its prompts, once it has listed its tools, if either may have changed. One that does not say is given up."""
        try:
            server.look_at_tools(cancel)
            return server.prompts(cancel)
        except Failure as failure:
            if not cancel.is_set:
                self._say(str(failure))
                server.give_up(failure.message)
            return None

    def _may_get(self, judge: Judge, prompt: Prompt) -> bool:
        raw = RawCall(f"mcp__{prompt.server}__{PROMPT}", {"name": prompt.own}, server=prompt.server)
        try:
            return judge.check(raw, self._session.context).decision < Decision.DENY
        except GatewayError:
            return False  # what cannot be judged is not shown

    # ---------------------------------------------------------------------------------------------- what should run

    def _bring_up(
        self, judge: Judge, declared: Mapping[str, Mapping[str, Any]], is_first: bool, cancel: Cancel
    ) -> None:
        now = circumstances(self._session, judge) if declared else ()
        for name, each in declared.items():
            if (
                self._servers.running(name, self._session, each) is None
                and not self._is_starting(name)
                and self._refused.get(name, ())[:2] != (each, now)
                and self._servers.pause(name, self._session) <= 0
            ):
                self._begin(judge, name, each, now, cancel)
        end = monotonic() + JOIN_SECONDS
        while is_first and any(map(self._is_starting, declared)) and monotonic() < end and not cancel.is_set:
            cancel.wait(_LOOK_EVERY)

    def _is_starting(self, name: str) -> bool:
        thread = self._starting.get(name)
        return thread is not None and thread.is_alive()

    def _begin(self, judge: Judge, name: str, each: Mapping[str, Any], now: tuple[object, ...], cancel: Cancel) -> None:
        """Starts a server: at once and beside the rest where policy lets it, else once somebody has said so, who is
        asked but once, unless the policy ended one that was let. A call of one of its tools asks again."""
        decision, why = self._judged(judge, name, each)
        if decision is Decision.ALLOW:
            thread = threading.Thread(target=self._start, args=(name, self._cancel), name=f"gateway-join-{name}")
            thread.daemon = True
            self._starting[name] = thread
            thread.start()
            return
        before = self._refused.get(name)
        self._refused[name] = each, now, decision
        if decision is Decision.ASK and self._asks:
            was_asked = before is not None and before[0] == each and before[2] is Decision.ASK
            if was_asked and name not in self._listings:
                return
            if self._is_let(name, each, cancel):
                self._start(name, cancel)
        elif decision is Decision.DENY:
            self._say(f"The MCP server `{name}` does not start: {why}")

    def _start(self, name: str, cancel: Cancel) -> None:
        with suppress(GatewayError):  # of a session that has ended meanwhile
            try:
                with self._servers.lent(name, self._session, cancel) as server:
                    self._prompts(server, cancel)
            except Failure as failure:
                if not cancel.is_set:
                    self._say(str(failure))

    def _is_let(self, name: str, each: Mapping[str, Any], cancel: Cancel) -> bool:
        """Whether somebody lets a server be asked where it is. One that runs here asks for itself as it starts."""
        if not each["url"]:
            return True
        from gateway.calls.lifecycle import Life

        raw = RawCall(f"mcp__{name}__tools.list", {}, server=name)
        done = Life(self._services, raw, self._session, cancel=cancel, work=lambda _call, _work: Output()).live()
        if not done.ran and not cancel.is_set:
            self._say(f"The MCP server `{name}` does not join: {done.result.reason}")
        return done.ran

    def _judged(self, judge: Judge, name: str, each: Mapping[str, Any]) -> tuple[Decision, str]:
        """Whether it may start, or be asked where it is, unasked; what policy says where it may not."""
        try:
            if each["url"]:
                decision, verdict = asking(judge, name, self._session.context)
            else:
                context = context_of(self._session, judge)
                verdict = judge.check(RawCall("Bash", {"command": quoted(each["command"])}), context)
                decision = verdict.decision
        except GatewayError as error:
            return Decision.DENY, str(error)
        return decision, message(verdict)

    def stop(self) -> None:
        """Has what is being started end; returns at once."""
        self._cancel.set()

    def _close(self) -> None:
        """Ends what is being started. The servers themselves end with the session."""
        self.stop()
        for thread in self._starting.values():
            thread.join()
        self._cancel.close()


def _some(names: set[str]) -> str:
    """The names, or the first of many."""
    listed = sorted(names)
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "") or "none"


def catalogue_of(session: Session, servers: Servers, services: Serves) -> Catalogue:
    """What the model of a session gets of these servers from now on."""
    if session.joined is None:
        session.joined = Catalogue(servers, services, session)
    found: Catalogue = session.joined
    return found
