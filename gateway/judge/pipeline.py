"""From a raw call to what it is predicted to do here: canonical form, effects, one look at the host, settled.

What policy says of it comes after (`gateway.judge.judge`); tests of policies stop here and resolve on their own.
"""

from __future__ import annotations

import os

from gateway.commands.settle import settle
from gateway.core.value import Value
from gateway.host.observe import observe
from gateway.host.repository import git_fact
from gateway.model.analysis import Analysis
from gateway.model.context import Context
from gateway.model.effect import HOLE, LEAVE, PATH_KINDS, Item, Opaque, System
from gateway.model.facts import Wanted
from gateway.policy.modes import SYSTEM_VIEW
from gateway.tools.canonical import canonicalise
from gateway.tools.effects import effects_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gateway.config.descriptions import Lookup
    from gateway.host.base import Host
    from gateway.judge.recorded_facts import Recorded
    from gateway.model.call import Call, RawCall
    from gateway.model.facts import Facts, TreeFact
    from gateway.policy.table import Policy
    from gateway.tools.tool import Tool

UNCONFINED_REQUEST = "dangerously_disable_sandbox"
MAX_ACTIVATED = 4  # scripts of environments that one text sources
TEMP = ("/tmp", "/var/tmp")  # what every confined call has for itself


class Understood(Value):
    """A call in canonical form, what it is predicted to do, what was found on the host, and the circumstances that it
    is judged in: those that were given, made narrower by what the call is. `own`: as in `Seen`."""

    call: Call
    analysis: Analysis
    facts: Facts
    context: Context
    own: bool | None = None


class Pipeline:
    """The stages before policy, for one host. Safe to use from several threads."""

    def __init__(self, describe: Lookup, host: Host, search_path: str, *, second_opinion: bool = False) -> None:
        """`describe`: what known programs do; `search_path`: the PATH that programs are found by; `second_opinion`:
        whether a second parser reads shell texts as well."""
        self._describe = describe
        self._host = host
        self._search_path = search_path
        self._second_opinion = second_opinion

    def understand(
        self, tool: Tool, raw: RawCall, context: Context, *, shell: str = "bash", recorded: Recorded | None = None
    ) -> Understood:
        """What a call of this tool does. `shell`: what shell texts are read by; `recorded`: the answers of an earlier
        look, in the place of the host's. Raises CallError."""
        call = canonicalise(tool, raw, context)
        leaves = call.input.get(UNCONFINED_REQUEST) is True
        if leaves:
            context = context.replace(confined=False, temp=())  # judged as what it asks for; never a switch
        items, text = effects_of(tool, call, context)
        if leaves:
            items += (Item(System(LEAVE, "")),)
        host, own = self._host, None
        if text is None:
            # No sandbox makes temporary folders this call's own: it works on those that everybody uses, but for what
            # lies in its session's.
            paths = _paths(items)
            temp: tuple[str, ...] = (context.scratch,) if context.scratch else ()
            if context.shared and context.confined:
                if recorded is None:
                    from gateway.host.room_view import RoomView  # lazy: those of somebody else's tools have none

                    host = view = RoomView(host, context.shared, (*context.workspace, context.scratch))
                    own = view.are_own(paths)
                else:
                    own = recorded.own()
                temp += TEMP if own else ()
            context = context.replace(temp=temp)
            analysis = Analysis((), items, (), Wanted(paths))
        else:
            analysis = self._analysed(text, items, context, shell, {})

        def look(wanted: Wanted) -> Facts:
            if recorded is not None:
                return recorded.observe(wanted, context)
            return observe(wanted, host, context, search_path=self._search_path)

        if text is not None and analysis.wanted.activates and context.confined:
            found = self._activated(analysis, text, items, context, shell, look)
            if found is not None:
                return Understood.make((call, *found, context, own))
        facts = look(analysis.wanted)
        return Understood.make((call, settle(analysis, facts, context), facts, context, own))

    def _activated(
        self,
        analysis: Analysis,
        text: str,
        items: tuple[Item, ...],
        context: Context,
        shell: str,
        look: Callable[[Wanted], Facts],
    ) -> tuple[Analysis, Facts] | None:
        """The same text read once more, now that it is known what the scripts set that it sources; None where they do
        more than that, or may be others by then. Only for calls that a sandbox holds to what was predicted."""
        known: dict[str, tuple[str, ...]] = {}
        while unknown := tuple([path for path in analysis.wanted.activates if path not in known]):
            if len(known) + len(unknown) > MAX_ACTIVATED:
                return None
            known.update(look(Wanted(activates=unknown)).activates)
            if not all(known.get(path) for path in unknown):
                return None
            analysis = self._analysed(text, items, context, shell, known)
        from gateway.commands.activation import holds

        facts = look(analysis.wanted).replace(activates=known)
        settled = settle(analysis, facts, context)
        return (settled, facts) if holds(settled, facts) else None

    def _analysed(
        self,
        text: str,
        items: tuple[Item, ...],
        context: Context,
        shell: str,
        activates: Mapping[str, tuple[str, ...]],
    ) -> Analysis:
        import gateway.commands.analyse as commands  # lazy: calls that are no command do without the grammar

        variables = {"HOME": context.home, "PWD": context.cwd}
        start = commands.Start.make((context.cwd, context.home, variables, 0, self._second_opinion, activates))
        analysis = commands.analyse(text, start, self._describe, items)
        return analysis if shell == "bash" else analysis.replace(items=analysis.items + _read_otherwise(text, shell))

    def look_below(
        self, policy: Policy, call: Call, analysis: Analysis, context: Context, recorded: Recorded | None = None
    ) -> Mapping[tuple[str, str], TreeFact]:
        """What policy protects below the trees of a call that nothing will hide it from: the second, last look."""
        trees = dict.fromkeys(
            (effect.path, effect.skips)  # type: ignore[attr-defined]
            for effect in [item.effect for item in analysis.items]
            if effect.kind in PATH_KINDS and effect.tree and HOLE not in effect.path  # type: ignore[attr-defined]
        )
        if not trees:
            return {}
        if recorded is not None:
            return recorded.below(tuple(trees))
        from gateway.policy.protected import protecting  # lazy: most calls are about no trees

        kinds = frozenset(item.effect.kind for item in analysis.items if item.effect.kind in PATH_KINDS)
        hidden = protecting(policy, kinds, context, call, analysis.parts)
        return observe(Wanted(trees=tuple(trees)), self._host, context, hidden=hidden).trees


def context_of(
    cwd: str, root: str, home: str, host: Host, *, more: Iterable[str] = (), mode: str, confined: bool
) -> Context:
    """The circumstances of calls made in a folder of a project. `more`: further folders of the workspace, relative to
    the project's root or to HOME."""
    folders = (root, *(os.path.join(root, os.path.expanduser(each)) for each in more))
    real = (fact.real for folder in folders if (fact := host.path(folder)) is not None)
    return Context(
        cwd=cwd,
        root=root,
        home=home,
        workspace=tuple(dict.fromkeys(folder for folder in real if is_workspace(folder, home))),
        temp=TEMP if confined else (),
        mode=mode,
        confined=confined,
        branch=branch_of(root, host, home),
    )


def branch_of(root: str, host: Host, home: str) -> str:
    """The branch that is checked out in a project, "" for none."""
    return git_fact(root, host, Context(root, root, home)).branch


def is_workspace(folder: str, home: str) -> bool:
    """Whether a folder may be a workspace: never `/`, HOME or an ancestor of HOME, nor a folder that programs of the
    system lie in, though one that lies there may be."""
    return folder not in ("/", "/usr/local", *SYSTEM_VIEW) and not (home + "/").startswith(folder + "/")


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
