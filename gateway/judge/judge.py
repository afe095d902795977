"""One call through the stages: raw call, canonical call, effects, facts, verdict.

The dry run, the hooks, the servers and the library all come through here.
"""

from __future__ import annotations

import os
import time

from gateway.config.layers import strict_as_both
from gateway.config.load import Loaded, Options, load_policy, project_root, tool_files, with_search, with_servers
from gateway.config.shipped import code_digest, described, load_descriptions, load_foreign, load_tools
from gateway.config.tool_files import without_project
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import Places, places
from gateway.host.machine import Machine
from gateway.host.nested_projects import NestedProjects
from gateway.judge.pipeline import Pipeline, branch_of, context_of
from gateway.model.decision import MODES
from gateway.model.facts import Origin, Seen
from gateway.policy.contain import decide
from gateway.policy.modes import CEILINGS, regions_of
from gateway.policy.table import judged_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from gateway.config.descriptions import Lookup
    from gateway.config.snapshot import Snapshot
    from gateway.host.base import Host
    from gateway.judge.pipeline import Understood
    from gateway.judge.recorded_facts import Recorded
    from gateway.model.analysis import Analysis
    from gateway.model.call import RawCall
    from gateway.model.context import Context
    from gateway.model.verdict import Verdict
    from gateway.policy.fetching import Fetch
    from gateway.policy.modes import Regions
    from gateway.policy.table import Judged
    from gateway.tools.registry import Registry
    from gateway.tools.tool import Tool

    Contains = Callable[[tuple[str, ...], str], str]

_NO_ANNOTATIONS: Mapping[str, Any] = {}
_NOWHERE: frozenset[str] = frozenset()
_POLICIES_KEPT = 64
_REGIONS_KEPT = 64  # of sessions, each with a scratch folder of its own


def nothing_contains(_drafted: tuple[str, ...], _state: str) -> str:
    """Why a judge that nobody told of a sandbox contains no call."""
    return "nobody has looked whether a sandbox holds here"


class Judge:
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
        contains: Contains = nothing_contains,
        snapshot: Snapshot | None = None,
    ) -> None:
        """Reads tools, program descriptions and policies. Raises ConfigError when anything in them is wrong.

        With `loaded` given, no policy file is read, and `options` must hold a real working folder and root; with
        `snapshot`, those that it holds count, and not what stands on disk. `contains`:
        why calls cannot be contained here, with a layer over these folders that is kept in that state folder, "" if
        they can (`gateway.calls.containing`); asked where it matters.
        """
        self.places = where or places()
        self.contains = contains
        self._snapshot = snapshot
        if loaded is None and snapshot is None:
            cwd = os.path.realpath(options.cwd or os.getcwd())
            root = os.path.realpath(options.root) if options.root else project_root(cwd)
            options = options.replace(cwd=cwd, root=root)
        self.options = options
        self.environment = dict(os.environ if environment is None else environment)
        self.host: Host = host or Machine(self.environment)
        if snapshot is not None:
            self._brought = snapshot.brought
        else:
            self._brought = () if loaded else tool_files(self.places, self.options)
        self.registry: Registry = load_tools(self.places, self._brought)
        self.loaded: Loaded = loaded or self._load(self.options)
        if self._brought and not self.loaded.project_trusted:
            self.registry = without_project(self.registry)
        self.registry = with_search(self.registry, self.loaded.settings)
        self.registry = with_servers(self.registry, self.places, self.options, self.loaded.settings)
        self.describe: Lookup = described(load_descriptions(self.places), self.loaded.commands)
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
        self._head = _head_of(self.options.root, self.host)
        self._told: Origin | None = None
        self._regions: dict[tuple[tuple[str, ...], tuple[str, ...]], Regions] = {}
        self._pipeline = self._new_pipeline()

    def _load(self, options: Options, known: Loaded | None = None) -> Loaded:
        load = load_policy if self._snapshot is None else self._snapshot.load
        return load(self.places, options, self.registry, _problems_of_examples, self._brought, known)

    def _context(self, confined: bool) -> Context:
        extra = self.loaded.settings.get("workspace")
        return context_of(
            self.options.cwd, self.options.root, self.places.home, self.host,
            more=extra.value if extra else (), mode=self.loaded.mode, confined=confined,
        )  # fmt: skip

    def _new_pipeline(self) -> Pipeline:
        return Pipeline(self.describe, self.host, self.search_path, second_opinion=self.second_opinion)

    def check(
        self,
        raw: RawCall,
        context: Context | None = None,
        *,
        foreign: Tool | None = None,
        shell: str = "bash",
        contains: Contains | None = None,
        recorded: Recorded | None = None,
    ) -> Verdict:
        """The verdict on a call. `foreign`: the tool of another agent that is called, which stands for one of ours or
        for none; `shell`: what that agent has shell texts read by; `contains`: in the place of what this judge
        was told. `recorded`: what an earlier look found, in the place of the host, which is not looked at then, nor the
        clock. Raises CallError for a call that cannot be judged as
        it stands; ConfigError when a nested project's policy is broken."""
        given = self.context if context is None else context
        if recorded is None:
            given = given.replace(now=time.time())
        tool = self.registry.tool(raw.tool) if foreign is None else foreign
        found = self.understood(raw, given, tool, shell=shell, recorded=recorded)
        return self.judged(
            found, given, tool, shell=shell, server=raw.server, annotations=raw.annotations, contains=contains,
            recorded=recorded,
        )  # fmt: skip

    def understood(
        self, raw: RawCall, context: Context, tool: Tool, *, shell: str = "bash", recorded: Recorded | None = None
    ) -> Understood:
        """What a call does, before policy is asked: the first half of `check`. Raises CallError."""
        return self._pipeline.understand(tool, raw, context, shell=shell, recorded=recorded)

    def understands_like(self, other: Judge) -> bool:
        """Whether all that is known of calls before policy is asked is the same for both, where both have the host's
        answers from a record."""
        return self._knows() == other._knows()

    def _knows(self) -> tuple[object, ...]:
        named = [self.loaded.settings.get(name) for name in ("servers", "search")]
        values = [setting and setting.value for setting in named]
        return self.loaded.commands, self._brought, self.second_opinion, self.loaded.project_trusted, *values

    def judged(
        self,
        found: Understood,
        given: Context,
        tool: Tool,
        *,
        shell: str = "bash",
        server: str = "",
        annotations: Mapping[str, Any] = _NO_ANNOTATIONS,
        contains: Contains | None = None,
        recorded: Recorded | None = None,
    ) -> Verdict:
        """What policy says of a call that is understood: the second half of `check`. `given`: the circumstances before
        the call made them narrower."""
        call, analysis, facts, context = found.call, found.analysis, found.facts, found.context
        others = self._reached(analysis, context) if recorded is None else frozenset(recorded.seen.others)
        loaded = self.loaded_with(context.rules, others)
        is_known = True
        if loaded.policy.asks_branch:
            branch = branch_of(context.root, self.host, self.places.home) if recorded is None else recorded.branch()
            given, context = given.replace(branch=branch), context.replace(branch=branch)
        elif recorded is None:
            is_known = self._branch_stands()
        judged = self._judged(tool)
        if not (context.confined or judged.filters):
            trees = self._pipeline.look_below(loaded.policy, call, analysis, context, recorded=recorded)
            facts = facts.replace(trees=trees)
        modes = () if self.options.mode else loaded.modes_elsewhere
        asked: dict[tuple[str, ...], str] = {}

        def cannot(drafted: tuple[str, ...]) -> str:
            asks = contains or (self.contains if recorded is None else recorded.cannot_contain)
            found = asked[drafted] = asks(drafted, self.places.state)
            return found

        unfetched: list[str] = []

        def cannot_fetch(fetch: Fetch) -> str:
            from gateway.judge.lists import once  # lazy: few calls install anything

            return once(unfetched, self, context, fetch, recorded)

        rest = (facts, self._regions_of(context), cannot, cannot_fetch)
        if modes:
            each_in = [decide(loaded.policy, call, judged, analysis, each, *rest) for each in in_modes(context, modes)]
            verdict = max(each_in, key=lambda each: each.decision)
        else:
            verdict = decide(loaded.policy, call, judged, analysis, context, *rest)
        return verdict.replace(seen=Seen.make((
            given, facts, self._told or self._origin(), is_known, shell, server, annotations, found.own,
            tuple(sorted(others)) if others else (), tuple(asked.items()), *(unfetched or (None,)),
        )))  # fmt: skip

    def _origin(self) -> Origin:
        """What this judge was told and had read."""
        if self._told is None:
            options = self.options
            self._told = Origin(
                root=options.root, policies=options.policies, mode=options.mode, trust=options.trust,
                binding=options.binding, servers=options.servers, paused=options.paused,
                revision=self.loaded.policy.revision, code=code_digest(),
            )  # fmt: skip
        return self._told

    def _branch_stands(self) -> bool:
        """Whether the branch of this judge's circumstances is certainly the one that is checked out now."""
        stamp = self._head
        return stamp is not None and stamp == _head_of(self.options.root, self.host)

    def _regions_of(self, context: Context) -> Regions:
        key = (context.workspace, context.temp)
        found = self._regions.get(key)
        if found is None:
            if len(self._regions) >= _REGIONS_KEPT:
                self._regions.clear()
            found = self._regions[key] = regions_of(context)
        return found

    def bundle(self) -> bytes | None:
        """What this judge's policy was read from, as `gateway.config.snapshot` keeps it; None where the files have
        changed since, or there are none."""
        if self._is_fixed or self._snapshot is not None:
            return None
        from gateway.config.snapshot import present  # lazy: once for each change of the policy

        found = present(self.places, self.options, self.loaded)
        return None if found is None else found.packed()

    @property
    def code(self) -> str:
        """A digest of the code that judges."""
        return code_digest()

    def binding(self) -> Self:
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
            found = judged_as(tool)
            if not tool.foreign:
                self._judged_tools[tool.name] = found
        return found

    def loaded_for(self, verdict: Verdict) -> Loaded:
        """The policy that a call was judged by, nested projects' rules included."""
        seen = verdict.seen
        others = self._reached(verdict.analysis, verdict.context) if seen is None else frozenset(seen.others)
        return self.loaded_with(verdict.context.rules, others)

    def renewed(self) -> Self:
        """This gateway, while the policy files say what they said when it was loaded; else one that has read them anew.
        Raises ConfigError when they are broken."""
        if self._is_fixed or self._snapshot is not None:
            return self
        if tool_files(self.places, self.options) != self._brought:
            return self._again(self.options)
        known = [(self.options, self.loaded)]
        known += list(self._wider.items())
        if all(self._load(options, loaded).policy.revision == loaded.policy.revision for options, loaded in known):
            return self
        return self._again(self.options)

    def paused(self) -> Self:
        """One to which of all layers only `builtin` and enterprise are policy, in the mode `bypass`: what holds while a
        person has put hooks aside (`gateway.agents.pausing`). Raises ConfigError where they are broken, or do not leave
        that mode open."""
        return self._again(self.options.replace(paused=True, mode="bypass"))

    def afresh(self, cwd: str, environment: Mapping[str, str]) -> Self:
        """One with the same policy, for another folder and environment, that looks at the host anew: what a process of
        its own would make of the same policy files."""
        found = type(self).__new__(type(self))
        host = Machine(environment)
        own = {
            "options": self.options.replace(cwd=os.path.realpath(cwd)),
            "host": host,
            "environment": dict(environment),
            "search_path": environment.get("PATH", ""),
            "_wider": {},
            "_regions": {},
            "_projects": None if self._projects is None else NestedProjects(host, self.options.root),
            "_head": _head_of(self.options.root, host),
        }
        found.__dict__.update(self.__dict__ | own)
        found.context = found._context(self.context.confined)  # noqa: SLF001 - it is one of these
        found._pipeline = found._new_pipeline()  # noqa: SLF001
        return found

    def _again(self, options: Options) -> Self:
        return type(self)(
            options, where=self.places, confined=self.context.confined, host=self.host, environment=self.environment,
            contains=self.contains,
        )  # fmt: skip

    def _reached(self, analysis: Analysis, context: Context) -> frozenset[str]:
        """The other projects that the call reaches into."""
        if self._projects is None:
            return _NOWHERE
        folders: tuple[str, ...] = (context.cwd,)
        for part in analysis.parts:
            if part.cwds and part.cwds != folders:
                folders += part.cwds
        return self._projects.reached(folders, analysis.items)

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
            found = self._wider[options] = self._load(options)
        return found


def _head_of(root: str, host: Host) -> tuple[int, ...] | None:
    """What changes when another branch is checked out in a project, () for one in no repository of its own; None where
    nobody can tell so cheaply."""
    try:
        return tuple(host.stamp(f"{root}/.git/HEAD"))
    except OSError:
        return () if host.is_missing(f"{root}/.git") else None


def in_modes(context: Context, modes: tuple[str, ...]) -> list[Context]:
    """The context in the laxest mode as strict as its own and these others; in several, of which the strictest answer
    counts, where no mode is as strict as all of them. Those that refuse every write come first."""
    found: list[str] = []
    for mode in (context.mode, *modes):
        for at, known in enumerate(found):
            both = strict_as_both(known, mode)
            if both:
                found[at] = both
                break
        else:
            found.append(mode)
    found.sort(key=lambda mode: mode not in CEILINGS)
    return [context.replace(mode=mode) for mode in dict.fromkeys(found)]


def _problems_of_examples(*loading: Any) -> list[Problem]:
    """What is wrong with the examples that rules carry, as `load_policy` asks."""
    from gateway.judge.policy_tests import check_examples  # lazy: compiled policies were tried when they were compiled

    return check_examples(*loading)
