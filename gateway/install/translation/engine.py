"""What rules of ours make of a call: the engine itself, in the fixed world in which examples of rules are judged.

No shipped rule holds here, so that what is compared is what was translated: the shipped ones only refuse and ask more.
Calls are unconfined, as an agent's own are.
"""

from __future__ import annotations

import shlex

from gateway.config.layers import PolicyFile, read_file
from gateway.core.errors import CallError
from gateway.core.places import packaged
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE, Asked, Where
from gateway.judge.policy_tests import Trials, read_layers
from gateway.model.call import RawCall
from gateway.model.effect import HOLE
from gateway.policy.compile import compile_policy
from gateway.policy.table import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.core.places import Places
    from gateway.judge.pipeline import Understood
    from gateway.model.verdict import Verdict
    from gateway.policy.compile import Bound
    from gateway.tools.registry import Registry

_FILE = "imported.yaml"


class Engine:
    """Judges calls by policies that are given as text. `where`: the world that it judges in."""

    def __init__(self, registry: Registry, places: Places) -> None:
        self._trials = Trials(registry, places)
        self._registry = registry
        self._context = self._trials.context(confined=False)
        self._seen: dict[Asked, Understood | None] = {}
        self._empty = Policy(**compile_policy((), home="/"), levels={})
        self._free: dict[Asked, str] = {}
        world = self._trials.world
        self.where = Where(world.home, world.root)

    def policy(self, text: str, layer: str = "user") -> Policy:
        """Raises ConfigError for a text that is no policy."""
        root = self.where.project if layer == "project" else f"{self.where.home}/.config/gateway"
        file = PolicyFile(layer, _FILE, text.encode(), base=self.where.project, root=root)
        bound = read_layers([file], self._registry, self.where.project).bound
        return Policy(**compile_policy(bound, home=self.where.home), levels={})

    def shipped(self) -> Policy:
        """What holds for everybody, and what the preset `guard` adds."""
        root = self.where.project
        files = [
            PolicyFile("builtin", path, read_file(path), base=root, root="/")
            for path in (packaged("policies/builtin.yaml"),)
        ] + [PolicyFile("user", _FILE, b"version: 1\nextends: [guard]\n", base=root, root=root)]
        bound = read_layers(files, self._registry, root).bound
        return Policy(**compile_policy(bound, home=self.where.home), levels={})

    def policy_of(self, bound: Iterable[Bound], home: str) -> Policy:
        """Rules that are bound to this machine, as if its project and home were those of the engine's world."""
        rebased = [self._trials.rebased(each, home) for each in bound]
        return Policy(**compile_policy(rebased, home=self.where.home), levels={})

    def verdict(self, policy: Policy, asked: Asked) -> Verdict | None:
        """None for a call that cannot be judged."""
        found = self._understood(asked)
        return None if found is None else self._trials.under(found, policy, self._context)

    def decision(self, policy: Policy, asked: Asked) -> str:
        """allow, ask or deny; a call that cannot be judged is refused."""
        found = self.verdict(policy, asked)
        return "deny" if found is None else found.decision.word

    def free(self, asked: Asked) -> str:
        """What is decided where there is no rule."""
        found = self._free.get(asked)
        if found is None:
            found = self._free[asked] = self.decision(self._empty, asked)
        return found

    def parts(self, asked: Asked) -> tuple[tuple[tuple[str, ...], str], ...]:
        """The simple commands that a text itself names, in whatever it joins them by: the words of each, () where they
        are not known before the run, and its own text."""
        found = self._understood(asked)
        if asked.kind != SHELL or found is None or found.analysis.tokens:
            return (((), asked.text),)
        made = []
        for part in found.analysis.parts:
            if not part.via:
                known = not any(HOLE in word for word in part.argv) and part.literal
                made.append((part.argv if known else (), asked.text[part.start : part.end]))
        return tuple(made)

    def inner(self, asked: Asked) -> tuple[tuple[str, ...], ...]:
        """The words of every command of a text, those that are handed to other programs too, by their plain names and
        without what stands before a subcommand."""
        found = self._understood(asked)
        made = []
        for part in () if found is None else found.analysis.parts:
            if part.program and not any(HOLE in word for word in part.argv):
                made.append((part.program, *part.argv[1:]))
                if part.subcommands and part.subcommands[0] in part.argv:
                    made.append((part.program, *part.argv[part.argv.index(part.subcommands[0]) :]))
        return tuple(made)

    def _understood(self, asked: Asked) -> Understood | None:
        if asked not in self._seen:
            try:
                self._seen[asked] = self._trials.understood(_raw(asked), self._context)
            except CallError:
                self._seen[asked] = None
        return self._seen[asked]


def _raw(asked: Asked) -> RawCall:
    if asked.kind == SHELL:
        return RawCall("Bash", {"command": asked.text})
    if asked.kind == READ:
        return RawCall("Read", {"file_path": asked.text})
    if asked.kind == WRITE:
        return RawCall("Write", {"file_path": asked.text, "content": "x"})
    if asked.kind == FETCH:
        return RawCall("WebFetch", {"url": asked.text, "prompt": "x"})
    assert asked.kind == MCP
    server, _, tool = asked.text.partition("/")
    return RawCall(f"mcp__{server}__{tool}", {})


def joined(words: tuple[str, ...]) -> str:
    """Words as one command."""
    return shlex.join(words)
