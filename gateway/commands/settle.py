"""Turns an analysis into what will really happen here, with the facts that one look at the host gave.

Globs become the files they match, paths get the places their links lead to, names that are not the programs
they seem to be become `Code`, git's remotes become hosts. A fact that is missing never makes anything milder.
"""

from __future__ import annotations

from gateway.commands.incoming_files import doubt_behind, mark, put_there
from gateway.commands.places import CHANGERS, MAX_MATCHES, literal_folder, stream, unescaped
from gateway.model.analysis import Analysis
from gateway.model.effect import PATH_KINDS, Code, Item, Touch
from gateway.model.facts import CHOOSERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.facts import Facts

MAX_ITEMS = 2_000  # as many globs may stand in one line as there is room
_NONE: frozenset[str] = frozenset()
_ANYTHING = frozenset("[]\\(){}+@!|")


def settle(analysis: Analysis, facts: Facts, context: Context) -> Analysis:
    """The analysis with every question answered. Pure; `facts` may lack any answer."""
    parts = analysis.parts
    items: list[Item] = []
    paths = facts.paths
    gone: dict[str, int] | None = None
    brings = runs = False
    for item in analysis.items:
        effect: Any = item.effect
        kind = effect.kind
        if kind not in PATH_KINDS:
            runs = runs or kind == "code"
            items.append(item)
            continue
        path, tree = effect.path, effect.tree
        if kind == "write" and (tree or effect.glob):
            brings = True
        if effect.glob:
            _expand(items, item, kind, path, tree, facts, parts)
            continue
        fact = paths.get(path)
        if fact is not None:
            real = fact.real if fact.real != path else ""
            if tree and fact.kind == "file":
                if gone is None:
                    gone = _taken_away(analysis.items)
                tree = gone.get(path, item.part) != item.part
            if not real and tree is effect.tree:
                items.append(item)
                continue
            items.append(item.replace(effect=Touch(kind, path, tree, False, real, effect.skips if tree else "")))
        else:
            items.append(item)
    if (brings or runs) and (trees := mark(items, parts)):
        doubt_behind(items, parts, trees)
    parts = _programs(parts, items, facts, _looked_up_elsewhere(analysis, context) if facts.wanders else _NONE)
    if analysis.pending:
        import gateway.commands.questions as questions  # lazy: plain commands leave no question open

        questions.answer(items, parts, analysis.pending, facts, context)
    return Analysis.make(
        (parts, tuple(items), analysis.tokens, analysis.wanted, (), analysis.secrets, analysis.sourced)
    )


def _expand(
    items: list[Item], item: Item, kind: str, pattern: str, tree: bool, facts: Facts, parts: tuple[Part, ...]
) -> None:
    """A glob: each file it matches; its own text if there is none; the whole folder if there are too many."""
    matches = facts.globs.get(pattern)
    own = not matches and item.part >= 0 and parts[item.part].program == "git"  # it expands what the shell leaves
    if matches is None or len(matches) > MAX_MATCHES or len(items) > MAX_ITEMS or own:
        skips = "" if tree or own else _only_names(pattern)
        items.append(item.replace(effect=Touch(kind, literal_folder(pattern), True, False, "", skips)))
        return
    changes = kind == "write" and item.part >= 0 and parts[item.part].program in CHANGERS
    for path in matches or (unescaped(pattern),):
        does = kind
        if stream(path) and kind != "delete":
            if not changes:
                continue
            does = "delete"  # as `Findings.touch` has it
        fact = facts.paths.get(path)
        real = fact.real if fact is not None and fact.real != path else ""
        below = tree and not (fact is not None and fact.kind == "file")
        skips = item.effect.skips if below else ""  # type: ignore[attr-defined]
        items.append(item.replace(effect=Touch(does, path, below, False, real, skips)))


def _taken_away(items: tuple[Item, ...]) -> dict[str, int]:
    """The names that parts of a text take away, each with the part, -2 for several: what such a name was says nothing
    of what it will be for the other parts."""
    found: dict[str, int] = {}
    for item in items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.kind == "delete":
            known = found.get(effect.path)
            found[effect.path] = item.part if known is None or known == item.part else -2
    return found


def _only_names(pattern: str) -> str:
    """`Touch.skips` for files whose names match the end of a pattern, "" where every name does, or nobody can tell."""
    name = pattern[pattern.rfind("/") + 1 :]
    return "" if not _ANYTHING.isdisjoint(name) or not name.strip("*") else f"only\0{name}"


def _looked_up_elsewhere(analysis: Analysis, context: Context) -> frozenset[str]:
    """Where PATH holds folders that depend on where one stands: the programs that are started elsewhere than where the
    call begins, which is where they were looked for."""
    here = (context.cwd,)
    asked = frozenset(analysis.wanted.programs)
    found = [part.argv[0] for part in analysis.parts if part.argv and part.cwds is not None and part.cwds != here]
    return asked.intersection(found)


def _programs(parts: tuple[Part, ...], items: list[Item], facts: Facts, elsewhere: frozenset[str]) -> tuple[Part, ...]:
    """Names that mean another file than PATH's, or one that the agent could have written, are `Code`."""
    settled: list[Part] | None = None
    others: dict[int, Item] = {}
    untrusted = facts.untrusted_programs | elsewhere if elsewhere else facts.untrusted_programs
    if facts.chosen and any(_chooses(item) for item in items):
        untrusted = untrusted | facts.chosen
    if facts.searched:
        untrusted = untrusted | put_there(parts, items, facts.searched)
    for index, part in enumerate(parts):
        if not part.program or not part.described:
            if not part.described and part.trusted and part.program in untrusted:
                settled = settled or list(parts)
                settled[index] = part.replace(trusted=False)
            continue
        name = part.argv[0]
        base = name.rpartition("/")[2]
        if "/" in name:
            if facts.programs.get(base) == name and base not in untrusted:
                settled = settled or list(parts)
                settled[index] = part.replace(trusted=True)
                continue
            why = f"{name} may be another program than {base}"
        elif base in untrusted:
            settled = settled or list(parts)
            settled[index] = part.replace(trusted=False)
            why = f"{name} lies where it could have been replaced"
        else:
            continue
        others[index] = Item(Code(part.program, part.argv, why), part.start, part.end, index)
    if others:
        # Each before other code of its command: it is why a rule that names the program does not hold.
        before: list[Item] = []
        for item in items:
            if item.effect.kind == "code" and item.part in others:
                before.append(others.pop(item.part))
            before.append(item)
        items[:] = [*before, *others.values()]
    return parts if settled is None else tuple(settled)


def _chooses(item: Item) -> bool:
    """Whether a file is written by which a version manager chooses what it starts."""
    effect = item.effect
    if not isinstance(effect, Touch) or effect.kind != "write":
        return False
    return effect.path.endswith(CHOOSERS) or "/.config/mise/conf.d/" in effect.path
