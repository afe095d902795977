"""One call through the stages: raw call, canonical call, effects, facts, verdict.

The dry run, the hooks, the servers and the library all come through here.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from gateway.commands.settle import settle
from gateway.errors import ConfigError, Problem
from gateway.load import (
    Loaded,
    Options,
    load_descriptions,
    load_foreign,
    load_policy,
    load_tools,
    project_root,
    tool_files,
    with_layers,
    with_search,
    with_servers,
)
from gateway.model.analysis import Analysis
from gateway.model.context import Context
from gateway.model.decision import MODES
from gateway.model.effect import HOLE, PATH_KINDS, Item, Opaque
from gateway.model.facts import Wanted
from gateway.nested import NestedProjects
from gateway.observe import Host, observe
from gateway.places import Places, places
from gateway.policy.modes import regions_of
from gateway.policy.protected import is_protected
from gateway.policy.resolve import Judged, resolve
from gateway.repository import git_fact
from gateway.toolfiles import without_project
from gateway.tools.canonical import canonicalise_for
from gateway.tools.effects import effects_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
    from typing import Any, Self

    from gateway.calling import Calls
    from gateway.descriptions import Lookup
    from gateway.life import Done
    from gateway.model.call import RawCall
    from gateway.model.facts import TreeFact
    from gateway.model.verdict import Verdict
    from gateway.policy.modes import Regions
    from gateway.sandbox.run import Cancel
    from gateway.schedule import Turn
    from gateway.session import Session
    from gateway.tools.handling import Progress
    from gateway.tools.registry import Registry
    from gateway.tools.tool import Tool

UNCONFINED_REQUEST = "dangerously_disable_sandbox"
TEMP = ("/tmp", "/var/tmp")  # what every confined call has for itself
_POLICIES_KEPT = 64
_REGIONS_KEPT = 64  # of sessions, each with a scratch folder of its own


class Gateway:
    """Loads once, judges many calls. Safe to use from several threads: nothing it holds changes but caches."""

    def __init__(
        self,
        options: Options,
        *,
        where: Places | None = None,
        confined: bool = True,
        host: Host | None = None,
        environment: Mapping[str, str] | None = None,
        loaded: Loaded | None = None,
        **serving: Any,
    ) -> None:
        """Reads tools, program descriptions and policies. Raises ConfigError when anything in them is wrong.

        With `loaded` given, no policy file is read, and `options` must hold a real working folder and root. What else
        is given serves calls that run (`gateway.serving.Services`): `approver`, who is asked where policy asks; `log`,
        `runner` and `front`.
        """
        self._serving = serving
        self._calls: Calls | None = None
        self._making = allocate_lock()
        self.places = where or places()
        if loaded is None:
            cwd = os.path.realpath(options.cwd or os.getcwd())
            root = os.path.realpath(options.root) if options.root else project_root(cwd)
            options = options.replace(cwd=cwd, root=root)
        self.options = options
        self.host = host or Host()
        self.environment = dict(os.environ if environment is None else environment)
        self._brought = () if loaded else tool_files(self.places, self.options)
        self.registry: Registry = load_tools(self.places, self._brought)
        self.loaded: Loaded = loaded or load_policy(self.places, self.options, self.registry, self._brought)
        if self._brought and not self.loaded.project_trusted:
            self.registry = without_project(self.registry)
        self.registry = with_search(self.registry, self.loaded.settings)
        self.registry = with_servers(self.registry, self.places, self.options, self.loaded.settings)
        self.describe: Lookup = with_layers(load_descriptions(self.places), self.loaded)
        self.foreign = load_foreign(self.places)
        self.search_path = self.environment.get("PATH", "")
        second = self.loaded.settings.get("second_opinion")
        self.second_opinion = second is not None and second.value is True
        self._wider: dict[Options, Loaded] = {}
        self._judged_tools: dict[str, Judged] = {}
        self._is_fixed = loaded is not None
        # `--policies` stands for all layers: no other file counts.
        self._projects = None if self.options.policies else NestedProjects(self.host, self.options.root)
        self.context = self._context(confined)
        self._regions: dict[tuple[tuple[str, ...], tuple[str, ...]], Regions] = {}

    def _context(self, confined: bool) -> Context:
        root, home = self.options.root, self.places.home
        extra = self.loaded.settings.get("workspace")
        folders = (root, *(os.path.join(root, os.path.expanduser(each)) for each in (extra.value if extra else ())))
        real = (fact.real for folder in folders if (fact := self.host.path(folder)) is not None)
        return Context(
            cwd=self.options.cwd,
            root=root,
            home=home,
            workspace=tuple(dict.fromkeys(folder for folder in real if is_workspace(folder, home))),
            temp=TEMP if confined else (),
            mode=self.loaded.mode,
            confined=confined,
            branch=self._branch(root),
        )

    def _branch(self, root: str) -> str:
        return git_fact(root, self.host, Context(root, root, self.places.home)).branch

    def check(
        self, raw: RawCall, context: Context | None = None, *, foreign: Tool | None = None, shell: str = "bash"
    ) -> Verdict:
        """The verdict on a call. `foreign`: the tool of another agent that is called, which stands for one of ours or
        for none; `shell`: what that agent has shell texts read by. Raises CallError for a call that cannot be judged as
        it stands; ConfigError when a nested project's policy is broken."""
        context = (self.context if context is None else context).replace(now=time.time())
        tool = self.registry.tool(raw.tool) if foreign is None else foreign
        call = canonicalise_for(tool, raw, context)
        if call.input.get(UNCONFINED_REQUEST) is True:
            context = context.replace(confined=False, temp=())  # judged as what it asks for; never a switch
        items, text = effects_of(tool, call, context)
        if text is None:
            # No sandbox makes temporary folders this call's own: it works on those that everybody uses.
            context = context.replace(temp=(context.scratch,) if context.scratch else ())
            analysis = Analysis((), items, (), Wanted(_paths(items)))
        else:
            from gateway.commands.analyse import Start, analyse  # calls that are no command do without the grammar

            variables = {"HOME": context.home, "PWD": context.cwd}
            start = Start.make((context.cwd, context.home, variables, 0, self.second_opinion))
            analysis = analyse(text, start, self.describe)
            items += analysis.items
            if shell != "bash":
                items += _read_otherwise(text, shell)
            analysis = Analysis.make((analysis.parts, items, analysis.tokens, analysis.wanted, analysis.pending))
        facts = observe(analysis.wanted, self.host, context, search_path=self.search_path)
        analysis = settle(analysis, facts, context)
        loaded = self._policy_for(analysis, context)
        if loaded.policy.asks_branch:
            context = context.replace(branch=self._branch(context.root))
        judged = self._judged(tool)
        if not (context.confined or judged.filters):
            facts = facts.replace(trees=self._look_below(loaded, analysis, context))
        regions = self._regions_of(context)
        return resolve(loaded.policy, call, judged, analysis, context, facts, regions)

    def _regions_of(self, context: Context) -> Regions:
        key = (context.workspace, context.temp)
        found = self._regions.get(key)
        if found is None:
            if len(self._regions) >= _REGIONS_KEPT:
                self._regions.clear()
            found = self._regions[key] = regions_of(context)
        return found

    # What runs. Nothing of it is imported before the first call: a process that only judges does not pay for it.

    def call(
        self,
        raw: RawCall,
        *,
        session: Session | None = None,
        cancel: Cancel | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Done:
        """The whole life of one call: judged, approved, recorded, run and recorded again (`gateway.life`).

        Blocks until it has ended; never raises for what a call is or does. `session`: whose working folder, mode and
        answers hold; by default one that all calls without a session share, until `close`. `cancel` ends the call with
        every process of it, from any thread. `progress` is told what happens meanwhile, maybe on another thread.
        """
        return self.calls.call(raw, session, cancel, progress)

    async def call_async(
        self,
        raw: RawCall,
        *,
        session: Session | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Done:
        """As `call`, without blocking the loop. When the task is cancelled, everything that the call has started has
        ended before the cancellation goes on."""
        return await self.calls.call_async(raw, session, progress)

    def stream(self, raw: RawCall, *, session: Session | None = None) -> AsyncIterator[Progress | Done]:
        """What happens while a call runs, as it comes, and last what became of it. Whoever stops reading ends it."""
        return self.calls.stream(raw, session)

    def batch(
        self,
        raws: Iterable[RawCall],
        *,
        session: Session | None = None,
        cancel: Cancel | None = None,
        progress: Callable[[int, Progress], None] | None = None,
    ) -> list[Done]:
        """The calls of one turn, in their order (`gateway.schedule`): those that are safe to run together do, ten at a
        time or what GATEWAY_MAX_CONCURRENCY says, every other one alone. The session changes when all have ended."""
        return self.calls.batch(raws, session, cancel, progress)

    async def batch_async(
        self,
        raws: Iterable[RawCall],
        *,
        session: Session | None = None,
        progress: Callable[[int, Progress], None] | None = None,
    ) -> list[Done]:
        """As `batch`, without blocking the loop. A cancelled turn cancels what runs."""
        return await self.calls.batch_async(raws, session, progress)

    def stream_batch(
        self, raws: Iterable[RawCall] | AsyncIterable[RawCall], *, session: Session | None = None
    ) -> AsyncIterator[tuple[int, Progress | Done]]:
        """As `batch`, while the calls are still coming: each starts as soon as it is there and those before it let it.
        Yields the place of a call with its progress, and with what became of it, the latter in the order of the
        calls; last, as progress, which changes to the session that a call asks for are not made."""
        return self.calls.stream_batch(raws, session)

    def turn(
        self,
        *,
        session: Session | None = None,
        cancel: Cancel | None = None,
        progress: Callable[[int, Progress], None] | None = None,
    ) -> Turn:
        """As `batch`, for calls that are added one by one; for programs without asyncio."""
        return self.calls.turn(session, cancel, progress)

    def session(
        self, *, name: str | None = None, environment: Mapping[str, str] | None = None, single: bool = False
    ) -> Session:
        """A new session, which starts where this gateway was opened. Closing it ends its background commands. `single`:
        it is for one call, whose result is given whole."""
        return self.calls.session(name=name, environment=environment, single=single)

    def tools(self, form: str = "anthropic", *, mode: str = "", session: Session | None = None) -> list[dict[str, Any]]:
        """The definitions that a model is offered (`gateway.offer`): without the tools that policy denies for every
        input, and with only the name of those that wait to be searched for. `form`: anthropic, mcp or schema."""
        from gateway.offer import definitions

        return definitions(self, form, mode or (session.context.mode if session is not None else ""), session)

    @property
    def calls(self) -> Calls:
        """What runs calls for this gateway, made when it is first needed."""
        with self._making:
            if self._calls is None:
                from gateway.calling import Calls

                self._calls = Calls(self, **self._serving)
            return self._calls

    def close(self) -> None:
        """Ends what serves calls, if there is anything. No call may be running."""
        with self._making:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def binding(self) -> Gateway:
        """This gateway, if what it decides may be done; else one with the machine's own enterprise layer besides."""
        if self._is_fixed or self.options.binding or not self.options.policies:
            return self
        return self._again(self.options.replace(binding=True))

    def refuses_mode(self, mode: str) -> str:
        """Why a session must not change to this mode, "" if it may."""
        if mode not in MODES:
            return f"there is no mode `{mode}`"
        if self.loaded.modes and mode not in self.loaded.modes:
            return f"the policy leaves open {', '.join(self.loaded.modes)}"
        return ""

    def refuses_rules(self, rules: tuple[str, ...]) -> str:
        """Why a session must not have these rules, each the text of a policy file; "" if it may."""
        try:
            self.loaded_with(rules)
        except ConfigError as error:
            return str(error)
        return ""

    def _judged(self, tool: Tool) -> Judged:
        found = self._judged_tools.get(tool.name)
        if found is None or tool.foreign:
            found = Judged(tool.level, tool.match_kind == "shell", bool(tool.entry["filters"]))
            if not tool.foreign:
                self._judged_tools[tool.name] = found
        return found

    def _look_below(self, loaded: Loaded, analysis: Analysis, context: Context) -> Mapping[tuple[str, str], TreeFact]:
        """What is protected below the trees of a call that nothing will hide it from: the second, last look."""
        trees = dict.fromkeys(
            (effect.path, effect.skips)  # type: ignore[attr-defined]
            for effect in [item.effect for item in analysis.items]
            if effect.kind in PATH_KINDS and effect.tree and HOLE not in effect.path  # type: ignore[attr-defined]
        )
        kinds = frozenset(item.effect.kind for item in analysis.items if item.effect.kind in PATH_KINDS)

        def hidden(path: str) -> bool:
            return is_protected(loaded.policy, kinds, context, path)

        return observe(Wanted(trees=tuple(trees)), self.host, context, hidden=hidden).trees

    def loaded_for(self, verdict: Verdict) -> Loaded:
        """The policy that a call was judged by, nested projects' rules included."""
        return self._policy_for(verdict.analysis, verdict.context)

    def renewed(self) -> Gateway:
        """This gateway, while the policy files say what they said when it was loaded; else one that has read them anew.
        Raises ConfigError when they are broken."""
        if self._is_fixed:
            return self
        if tool_files(self.places, self.options) != self._brought:
            return self._again(self.options)
        known = [(self.options, self.loaded)]
        known += list(self._wider.items())
        if all(
            load_policy(self.places, options, self.registry, self._brought).policy.revision == loaded.policy.revision
            for options, loaded in known
        ):
            return self
        return self._again(self.options)

    def paused(self) -> Gateway:
        """One to which of all layers only `builtin` and enterprise are policy, in the mode `bypass`: what holds while a
        person has put hooks aside (`gateway.pausing`). Raises ConfigError where they are broken, or do not leave that
        mode open."""
        return self._again(self.options.replace(paused=True, mode="bypass"))

    def afresh(self, cwd: str, environment: Mapping[str, str]) -> Gateway:
        """One with the same policy, for another folder and environment, that looks at the host anew: what a process of
        its own would make of the same policy files."""
        found = Gateway.__new__(Gateway)
        host = Host()
        own = {
            "options": self.options.replace(cwd=os.path.realpath(cwd)),
            "host": host,
            "environment": dict(environment),
            "search_path": environment.get("PATH", ""),
            "_calls": None,
            "_making": allocate_lock(),
            "_wider": {},
            "_regions": {},
            "_projects": None if self._projects is None else NestedProjects(host, self.options.root),
        }
        found.__dict__.update(self.__dict__ | own)
        found.context = found._context(self.context.confined)  # noqa: SLF001 - it is one of these
        return found

    def _again(self, options: Options) -> Gateway:
        return Gateway(
            options,
            where=self.places,
            confined=self.context.confined,
            host=self.host,
            environment=self.environment,
            **self._serving,
        )

    def _policy_for(self, analysis: Analysis, context: Context) -> Loaded:
        """The policy, with the deny and ask rules of every other project that the call reaches into."""
        if self._projects is None:
            return self.loaded_with(context.rules)
        folders: tuple[str, ...] = (context.cwd,)
        for part in analysis.parts:
            if part.cwds and part.cwds != folders:
                folders += part.cwds
        return self.loaded_with(context.rules, self._projects.reached(folders, analysis.items))

    def loaded_with(self, rules: tuple[str, ...], others: frozenset[str] = frozenset()) -> Loaded:
        """The policy with a session's rules and those of further projects. Raises ConfigError when they are wrong."""
        if not (rules or others):
            return self.loaded
        if self._is_fixed:
            raise ConfigError(Problem("a policy that was handed over takes no rules besides"))
        options = self.options.replace(others=tuple(sorted(others)), rules=rules)
        found = self._wider.get(options)
        if found is None:
            if len(self._wider) >= _POLICIES_KEPT:
                self._wider.clear()
            found = self._wider[options] = load_policy(self.places, options, self.registry, self._brought)
        return found


def is_workspace(folder: str, home: str) -> bool:
    """Whether a folder may be a workspace: never `/`, HOME or an ancestor of HOME."""
    return folder != "/" and not (home + "/").startswith(folder + "/")


def _read_otherwise(text: str, shell: str) -> tuple[Item, ...]:
    """What nobody knows of a text that another shell than bash reads."""
    from gateway.commands.othershells import reads_otherwise

    why = reads_otherwise(text, shell)
    return (Item(Opaque(why), 0, len(text)),) if why else ()


def _paths(items: tuple[Item, ...]) -> tuple[str, ...]:
    """The known paths that items touch."""
    return tuple(
        [
            effect.path  # type: ignore[attr-defined]
            for effect in [item.effect for item in items]
            if effect.kind in PATH_KINDS and HOLE not in effect.path  # type: ignore[attr-defined]
        ]
    )
