"""The clauses that may speak of an effect, found by index and never by scanning.

A candidate is `(clause, forbids, covers)`: `forbids` is what the index alone says for deny and ask (`YES`, or
`MAYBE` where a part of the target is unknown); `covers` what it says for allow: `BOTH`, or one end of a link
(`WRITTEN`, `TARGET`), or 0 where nothing is covered because something is unknown or only part of a tree matches.
"""

from __future__ import annotations

from gateway.model.effect import CARRIERS, HOLE, PATH_KINDS
from gateway.policy import hosts, paths
from gateway.policy.predicates import TESTS
from gateway.policy.subject import MAYBE, NO, YES, Subject
from gateway.policy.table import LANE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.effect import Effect, Item
    from gateway.policy.table import Policy

    Candidate = tuple[int, int, int]

WRITTEN, TARGET, BOTH = 1, 2, 3
# What needs no cover of its own: a call with nothing else follows its tool's level.
WITHOUT_COVER = (*CARRIERS, "session")
# Stands for any name in a folder: to list a folder shows the names in it, whatever they are.
ANY_NAME = "*"
_NOBODY: list[tuple[int, int, int]] = []


class Finder(Subject):
    """What is being judged, with the clauses that may speak of it; remembers what is the same for all effects."""

    __slots__ = ("by_part", "by_tool", "kinds", "parts", "policy")

    def __init__(
        self, policy: Policy, call: Call, context: Context, parts: tuple[Part, ...], items: tuple[Item, ...]
    ) -> None:
        self.call = call
        self.context = context
        self.policy = policy
        self.items = None
        self.parts = parts
        self.kinds = policy.kinds
        self.by_tool = _NOBODY
        if policy.tool_globs or call.tool in policy.tools:
            clauses = [*policy.tools.get(call.tool, ()), *policy.tool_globs]
            self.by_tool = [(clause, YES, BOTH) for clause in clauses]
        by_part = {}
        for number, part in enumerate(parts):
            named = self._by_words(part)
            if named:
                found = self._holding(number, part, named, items)
                if found:
                    by_part[number] = found
        self.by_part: dict[int, list[Candidate]] = by_part

    def sandbox_holds(self, effect: Effect, clause: int) -> bool:
        """Whether an effect contacts a host that is not known, and the sandbox holds what a clause says of it."""
        if effect.kind != "connect" or not self.context.confined or self.context.mode == "bypass":
            return False
        import gateway.policy.unknown_hosts as unknown_hosts  # lazy: most hosts are known

        return unknown_hosts.is_unknown(effect) and unknown_hosts.is_held(self.policy, clause)

    def speaks_of_carriers(self) -> bool:
        """Whether any clause may hold for the calling of the tool, or for the start of one of the programs."""
        return bool(self.by_part or self.by_tool or not self.kinds.keys().isdisjoint(WITHOUT_COVER))

    def candidates(self, item: Item) -> list[Candidate]:
        """Every clause that may hold for this effect."""
        effect: Any = item.effect
        kind = effect.kind
        found = self.by_tool
        if kind in self.kinds:
            found = found + [(clause, YES, BOTH) for clause in self.kinds[kind]]
        if kind in PATH_KINDS:
            here = self._by_path(effect)
            if here:
                found = found + here
        elif kind == "connect":
            found = found + self._by_host(effect.host)
        if item.part in self.by_part:
            found = found + self.by_part[item.part]
        return found

    def look_at(self, item: Item) -> None:
        """From now on predicates are asked of this effect."""
        self.effect = item.effect
        self.part = self.parts[item.part] if item.part >= 0 else None

    def answer(self, tests: list[list[Any]], allow: bool) -> int:
        """Whether all predicates hold for what is looked at, in the lane of allow rules or in that of deny and ask: the
        weakest answer."""
        self.allow = allow
        weakest = YES
        for name, argument in tests:
            answer = TESTS[name](argument, self)
            if answer < weakest:
                if answer is NO:
                    return NO
                weakest = answer
        return weakest

    def is_excepted(self, alternatives: list[list[list[Any]]]) -> bool:
        """Whether an exception holds for this effect, tested as strictly as an allow.

        A shell's call as a whole is never what an exception speaks of: its commands are, each by itself.
        """
        effect = self.effect
        if effect is not None and effect.kind == "use" and self.parts:
            return True
        return any(self.answer(tests, True) is YES for tests in alternatives)

    def _by_path(self, effect: Any) -> list[Candidate]:
        path, real = effect.path, effect.real
        if HOLE in path:
            return _unsure(*paths.lookup_possible(self.policy.paths, path))
        if effect.tree or effect.kind == "list":
            forbidden, covered = self._inside(path, effect)
        else:
            forbidden = covered = self.policy.on_path(path)
        if not real or real == path:
            if forbidden is covered:
                return [(clause, YES, BOTH) for clause in forbidden]
            return [(clause, YES, BOTH if clause in covered else 0) for clause in forbidden]
        if effect.tree or effect.kind == "list":
            there_forbidden, there_covered = self._inside(real, effect)
        else:
            there_forbidden = there_covered = self.policy.on_path(real)
        return [
            (clause, YES, WRITTEN * (clause in covered) + TARGET * (clause in there_covered))
            for clause in dict.fromkeys((*forbidden, *there_forbidden))
        ]

    def _inside(self, path: str, effect: Any) -> tuple[list[int], list[int]]:
        """Patterns that hold for everything in a folder, to forbid; and those that cover all of what is touched.

        A pattern that only some of the names match does not forbid the folder: what it names is hidden or looked for.
        """
        inside = self.policy.on_path(f"{path}/{ANY_NAME}" if path != "/" else f"/{ANY_NAME}")
        if not inside or not effect.tree:
            return inside, inside
        rules, clauses = self.policy.rules, self.policy.clauses
        if all(rules[clauses[clause][0]][LANE] != "allow" for clause in inside):
            return inside, []
        return inside, paths.lookup_tree(self.policy.paths, path, itself=effect.kind in ("write", "delete"))

    def _by_host(self, host: str) -> list[Candidate]:
        return _unsure(*hosts.lookup_possible(self.policy.hosts, host))

    def _by_words(self, part: Part) -> list[int]:
        """Clauses on commands that may speak of this one: by its program and by the words that stand anywhere in it."""
        policy = self.policy
        commands = policy.commands
        program, argv = part.program, part.argv
        found: list[int] = []
        if program in commands or not argv or argv[0] != program or not program.islower():
            for name in names_of(part):
                if name in commands:
                    found += _by_second_word(commands[name], part)
        if "" in commands:
            found += _by_second_word(commands[""], part)
        words = policy.words
        if not words.keys().isdisjoint(argv):
            found += [clause for word in argv[1:] if word in words for clause in words[word]]
        if not part.literal:
            found += self._perhaps(part)
        return found

    def _holding(self, number: int, part: Part, found: list[int], items: tuple[Item, ...]) -> list[Candidate]:
        """Those of them that speak of the kind of one of its effects, and hold, tested once for all of its effects."""
        policy = self.policy
        self.part = part
        holding: list[Candidate] = []
        kinds: set[str] | None = None
        for clause in dict.fromkeys(found) if len(found) > 1 else found:
            rule, tests, of_part = policy.clauses[clause]
            if tests and tests[0][0] == "effect":
                if kinds is None:
                    kinds = {item.effect.kind for item in items if item.part == number}
                if kinds.isdisjoint(tests[0][1]):
                    continue
            allow = policy.rules[rule][LANE] == "allow"
            answer = self.answer(of_part, allow)
            if answer is YES or (answer is MAYBE and not allow):
                holding.append((clause, answer, BOTH if answer is YES else 0))
        return holding

    def _perhaps(self, part: Part) -> list[int]:
        """Clauses that forbid, of which a word that is not known may be the second one."""
        if not any(HOLE in word for word in (*part.argv, *part.operands)):
            return []
        policy = self.policy
        entries = [policy.commands[name] for name in (*names_of(part), "") if name in policy.commands]
        found = [clause for entry in entries for clauses in entry.values() for clause in clauses]
        return [clause for clause in found if policy.rules[policy.clauses[clause][0]][LANE] != "allow"]


def names_of(part: Part) -> set[str] | tuple[str]:
    """What a pattern's first word may call the program: its own name, the file's, either in lower case."""
    program = part.program
    written = part.argv[0] if part.argv else program
    if written == program and program.islower():
        return (program,)
    base = written[written.rfind("/") + 1 :]
    return {program, program.lower(), base, base.lower()} - {""}


def _by_second_word(entry: dict[str, list[int]], part: Part) -> list[int]:
    """A second literal word of a pattern can stand anywhere in the command, behind any options."""
    found = list(entry.get("", ()))
    has_none = entry.keys().isdisjoint
    for said in (part.argv, part.subcommands, part.operands):
        if said and not has_none(said):
            found += [clause for word in said if word and word in entry for clause in entry[word]]
    return found


def _unsure(certain: list[int], possible: list[int]) -> list[Candidate]:
    return [(clause, YES, BOTH) for clause in certain] + [(clause, MAYBE, 0) for clause in possible]
