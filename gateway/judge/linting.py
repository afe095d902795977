"""Everything that lint finds of policy files: what is odd, what examples and tests fail, which rules have no effect."""

from __future__ import annotations

import time

from gateway.judge.findings import Confirmed, confirm, failing_examples, failing_test, without_effect
from gateway.judge.policy_tables import run_tables
from gateway.judge.policy_tests import Trials, described_by, is_packaged, read_layers
from gateway.policy.lint.lint import ToolTraits, lint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.config.layers import PolicyFile
    from gateway.core.places import Places
    from gateway.tools.registry import Registry


def linted(
    files: Sequence[PolicyFile],
    registry: Registry,
    places: Places,
    root: str,
    descriptions: Sequence[PolicyFile] = (),
    *,
    of: Callable[[str], bool],
) -> Confirmed:
    """The findings on the rules of those of a stack of files that are asked about, as far as the engine bears them
    out. `descriptions`: the files with which the same layers describe programs. Raises ConfigError for files that do
    not load."""
    layered = read_layers(files, registry, root)
    trials = Trials(registry, places, described_by(descriptions, layered, places))
    bound = [trials.rebased(each, places.home) for each in layered.bound]
    levels = layered.settings["levels"].value if "levels" in layered.settings else {}
    odd = lint(bound, traits_of(registry), home=trials.world.home, now=time.time(), of=of)
    found = confirm(odd, bound, trials, levels)
    examples, idle = failing_examples(bound, trials), without_effect(bound, trials, levels)
    rows = run_tables(files, layered, bound, trials, places.home, root, lambda path: not is_packaged(path))
    failing = [failing_test(layer, case) for layer, case, _ in rows if case.problem]
    return found.replace(findings=(*examples, *found.findings, *idle, *failing))


def traits_of(registry: Registry) -> dict[str, ToolTraits]:
    """What the linter must know of the declared tools."""
    found = {}
    for name in registry:
        does = [effect["do"] for effect in registry[name].entry["effects"]]
        shell = any(do in ("shell", "argv") for do in does)
        declared = frozenset() if shell or not does or "opaque" in does else frozenset(does) | {"use"}
        found[name] = ToolTraits(shell, declared)
    return found
