"""One call through the stages: raw call, canonical call, effects, facts, verdict.

The dry run, the hooks, the servers and the library all come through here.
"""

from __future__ import annotations

import os
import time
from functools import partial

from gateway.commands.settle import settle
from gateway.load import Loaded, Options, load_descriptions, load_policy, load_tools, project_root, with_layers
from gateway.model.analysis import Analysis
from gateway.model.context import Context
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.model.facts import Wanted
from gateway.nested import NestedProjects
from gateway.observe import Host, observe
from gateway.places import Places, places
from gateway.policy.modes import regions_of
from gateway.policy.protected import is_protected
from gateway.policy.resolve import Judged, resolve
from gateway.repository import git_fact
from gateway.tools.canonical import canonicalise
from gateway.tools.effects import effects_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.descriptions import Lookup
    from gateway.model.call import RawCall
    from gateway.model.effect import Item
    from gateway.model.facts import TreeFact
    from gateway.model.verdict import Verdict
    from gateway.tools.registry import Registry
    from gateway.tools.tool import Tool

UNCONFINED_REQUEST = "dangerously_disable_sandbox"


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
    ) -> None:
        """Reads tools, program descriptions and policies. Raises ConfigError when anything in them is wrong.

        With `loaded` given, no policy file is read, and `options` must hold a real working folder and root.
        """
        self.places = where or places()
        if loaded is None:
            cwd = os.path.realpath(options.cwd or os.getcwd())
            root = os.path.realpath(options.root) if options.root else project_root(cwd)
            options = options.replace(cwd=cwd, root=root)
        self.options = options
        self.host = host or Host()
        self.environment = dict(os.environ if environment is None else environment)
        self.registry: Registry = load_tools(self.places)
        self.loaded: Loaded = loaded or load_policy(self.places, self.options, self.registry)
        self.describe: Lookup = with_layers(load_descriptions(self.places), self.loaded)
        self.search_path = self.environment.get("PATH", "")
        second = self.loaded.settings.get("second_opinion")
        self.second_opinion = second is not None and second.value is True
        self._wider: dict[frozenset[str], Loaded] = {}
        self._judged_tools: dict[str, Judged] = {}
        self._is_fixed = loaded is not None
        # `--policies` stands for all layers: no other file counts.
        self._projects = None if self.options.policies else NestedProjects(self.host, self.options.root)
        self.context = self._context(confined)
        self.regions = regions_of(self.context)

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
            temp=("/tmp", "/var/tmp") if confined else (),
            mode=self.loaded.mode,
            confined=confined,
            branch=self._branch(root),
        )

    def _branch(self, root: str) -> str:
        return git_fact(root, self.host, Context(root, root, self.places.home)).branch

    def check(self, raw: RawCall, context: Context | None = None) -> Verdict:
        """The verdict on a call. Raises CallError for one that cannot be judged as it stands; ConfigError when a
        nested project's policy is broken."""
        context = (context or self.context).replace(now=time.time())
        tool = self.registry.tool(raw.tool)
        call = canonicalise(self.registry, raw, context)
        if call.input.get(UNCONFINED_REQUEST) is True:
            context = context.replace(confined=False, temp=())  # judged as what it asks for; never a switch
        items, text = effects_of(tool, call, context)
        if text is None:
            analysis = Analysis((), items, (), Wanted(_paths(items)))
        else:
            from gateway.commands.analyse import Start, analyse  # calls that are no command do without the grammar

            start = Start(context.cwd, context.home, {"HOME": context.home, "PWD": context.cwd})
            if self.second_opinion:
                start = start.replace(second_opinion=True)
            analysis = analyse(text, start, self.describe)
            analysis = analysis.replace(items=items + analysis.items)
        facts = observe(analysis.wanted, self.host, context, search_path=self.search_path)
        analysis = settle(analysis, facts, context)
        loaded = self._policy_for(analysis, context)
        if loaded.policy.asks_branch:
            context = context.replace(branch=self._branch(context.root))
        judged = self._judged(tool)
        if not (context.confined or judged.filters):
            facts = facts.replace(trees=self._look_below(loaded, analysis, context))
        same = context.workspace == self.context.workspace and context.temp == self.context.temp
        regions = self.regions if same else regions_of(context)
        return resolve(loaded.policy, call, judged, analysis, context, facts, regions)

    def _judged(self, tool: Tool) -> Judged:
        found = self._judged_tools.get(tool.name)
        if found is None:
            found = Judged(tool.level, tool.match_kind == "shell", bool(tool.entry["filters"]))
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
        hidden = partial(is_protected, loaded.policy, kinds, context)
        return observe(Wanted(trees=tuple(trees)), self.host, context, hidden=hidden).trees

    def loaded_for(self, verdict: Verdict) -> Loaded:
        """The policy that a call was judged by, nested projects' rules included."""
        return self._policy_for(verdict.analysis, verdict.context)

    def renewed(self) -> Gateway:
        """This gateway, while the policy files say what they said when it was loaded; else one that has read them anew.
        Raises ConfigError when they are broken."""
        if self._is_fixed:
            return self
        known = [(self.options, self.loaded)]
        known += [
            (self.options.replace(others=tuple(sorted(each))), loaded) for each, loaded in list(self._wider.items())
        ]
        if all(
            load_policy(self.places, options, self.registry).policy.revision == loaded.policy.revision
            for options, loaded in known
        ):
            return self
        return Gateway(
            self.options,
            where=self.places,
            confined=self.context.confined,
            host=self.host,
            environment=self.environment,
        )

    def _policy_for(self, analysis: Analysis, context: Context) -> Loaded:
        """The policy, with the deny and ask rules of every other project that the call reaches into."""
        folders = (context.cwd, *(folder for part in analysis.parts for folder in part.cwds or ()))
        others = self._projects.reached(folders, analysis.items) if self._projects else None
        if not others:
            return self.loaded
        found = self._wider.get(others)
        if found is None:
            options = self.options.replace(others=tuple(sorted(others)))
            found = self._wider[others] = load_policy(self.places, options, self.registry)
        return found


def is_workspace(folder: str, home: str) -> bool:
    """Whether a folder may be a workspace: never `/`, HOME or an ancestor of HOME."""
    return folder != "/" and not (home + "/").startswith(folder + "/")


def _paths(items: tuple[Item, ...]) -> tuple[str, ...]:
    """The known paths that items touch."""
    return tuple(
        [
            effect.path  # type: ignore[attr-defined]
            for effect in [item.effect for item in items]
            if effect.kind in PATH_KINDS and HOLE not in effect.path  # type: ignore[attr-defined]
        ]
    )
