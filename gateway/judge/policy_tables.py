"""Tables of tests, and the report on all that was tried of some files: examples of rules and rows of tables.

A table is the list `tests:` of a policy file, or of `x.tests.yaml` beside `x.yaml`. Its rows are judged by the layer
that it belongs to and those above, in the world of `policy_tests`.
"""

from __future__ import annotations

import os

from gateway.config.compiling import compiled_once
from gateway.config.layers import TESTS_ENDING, read_file
from gateway.config.load import tool_names
from gateway.core.errors import CallError, ConfigError, Problem
from gateway.core.value import Value
from gateway.judge.policy_tests import (
    LAYER_NAMES,
    Case,
    Trials,
    described_by,
    examples_of,
    is_packaged,
    read_layers,
    rules_of,
)
from gateway.model.changes import KEEP
from gateway.policy.table import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gateway.config.binding import Layered
    from gateway.config.layers import PolicyFile as File
    from gateway.core.places import Places
    from gateway.policy.compile import Bound
    from gateway.tools.registry import Registry


class Unexercised(Value):
    """A rule that no example and no test ever hit."""

    file: str
    line: int
    rule: str


class Report(Value):
    """Everything that was tried, and which rules of the tested files nothing exercised."""

    cases: tuple[Case, ...]
    rules: int
    unexercised: tuple[Unexercised, ...]

    @property
    def failures(self) -> tuple[Case, ...]:
        """Those that went otherwise than they say."""
        return tuple(case for case in self.cases if case.problem)

    @property
    def coverage(self) -> float:
        """Percentage of rules that something hit; 100 for no rules."""
        return 100.0 * (self.rules - len(self.unexercised)) / self.rules if self.rules else 100.0


def run_tests(
    files: Sequence[File],
    named: Sequence[str],
    registry: Registry,
    places: Places,
    root: str,
    descriptions: Sequence[File] = (),
    whole: bool = False,
) -> Report:
    """Runs the examples and tables of the named files, or of all that are not packaged if none is named.

    `descriptions`: files with which the same layers describe programs. `whole`: tables are about all layers. Raises
    ConfigError for files that do not load.
    """
    layered = read_layers(files, registry, root)
    trials = Trials(registry, places, described_by(descriptions, layered, places))
    bound = [trials.rebased(each, places.home) for each in layered.bound]
    wanted = {os.path.realpath(path) for path in named}

    def is_tested(path: str) -> bool:
        return os.path.realpath(path) in wanted if wanted else not is_packaged(path)

    cases: list[Case] = []
    hit: set[tuple[str, int, str]] = set()
    rules: list[tuple[str, int, str]] = []
    for each in bound:
        for rule in each.rules if is_tested(each.file) else ():
            if rule["id"] in each.without:
                continue
            place = (each.file, rule["line"], rule["id"])
            rules.append(place)
            for case, found in examples_of(trials, each, rule):
                cases.append(case)
                if found:
                    hit.add(place)
    for _, case, spoke in run_tables(files, layered, bound, trials, places.home, root, is_tested, whole=whole):
        cases.append(case)
        hit |= spoke
    missing = tuple(Unexercised(*place) for place in dict.fromkeys(rules) if place not in hit)
    return Report(tuple(cases), len(dict.fromkeys(rules)), missing)


def run_tables(
    files: Sequence[File],
    layered: Layered,
    bound: Sequence[Bound],
    trials: Trials,
    home: str,
    root: str,
    is_tested: Callable[[str], bool],
    *,
    whole: bool = False,
) -> Iterator[tuple[str, Case, set[tuple[str, int, str]]]]:
    """Each row of the tables of the files that `is_tested` is true of: the layer of its file, what came of it, and
    every rule that spoke of its call, by file, line and id. `bound`: what `layered` has, in the example world.
    `whole`: rows are about all layers. Raises ConfigError for a table that is none."""
    upper = _Upper(files, trials, root, home)
    layers = {each.file: each.layer for each in reversed(bound)}
    tables = [(path, path, test) for path, test in layered.tests if is_tested(path)]
    tables += _tables_beside({each.file for each in bound if is_tested(each.file)}, trials.registry)
    for of, path, test in tables:
        layer = layers[of]
        yield layer, *_run_test(trials, *upper.down_to(LAYER_NAMES[-1] if whole else layer), path, test)


class _Upper:
    """What holds down to a layer: a table of tests says what its own layer and those above it make of a call, and
    stays right whatever the layers below allow, refuse or choose."""

    def __init__(self, files: Sequence[File], trials: Trials, root: str, home: str) -> None:
        self._files, self._root = files, root
        self._trials, self._home = trials, home
        self._known: dict[str, tuple[Policy, str]] = {}

    def down_to(self, layer: str) -> tuple[Policy, str]:
        """The policy of all layers down to this one, and its mode."""
        found = self._known.get(layer)
        if found is None:
            last = LAYER_NAMES.index(layer)
            files = [file for file in self._files if LAYER_NAMES.index(file.layer) <= last]
            layered = read_layers(files, self._trials.registry, self._root)
            bound = [self._trials.rebased(each, self._home) for each in layered.bound]
            values = {name: setting.value for name, setting in layered.settings.items()}
            compiled = compiled_once(bound, home=self._trials.world.home)
            policy = Policy(
                **compiled,
                levels=values.get("levels", {}),
                review=values.get("review", ""),
                contained=values.get("contained", KEEP),
                registries=tuple(values.get("sandbox", {}).get("registries", ())),
            )
            found = self._known[layer] = policy, values.get("mode", "default")
        return found


def _tables_beside(paths: Iterable[str], registry: Registry) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The rows of `x.tests.yaml` beside each `x.yaml`: whose they are, where they stand, and each of them."""
    from gateway.spec.policy import parse_policy

    for path in sorted(paths):
        beside = path.removesuffix(".yaml") + TESTS_ENDING
        if path.endswith(TESTS_ENDING) or not os.path.lexists(beside):
            continue
        doc = parse_policy(read_file(beside), beside, tool_names(registry))
        if doc["rules"] or doc["settings"] or doc["extends"]:
            remedy = f"put the rest into {os.path.basename(path)}"
            raise ConfigError(Problem("a table of tests must hold nothing but `tests`", file=beside, remedy=remedy))
        for test in doc["tests"]:
            yield path, beside, test


def _run_test(
    trials: Trials, policy: Policy, mode: str, path: str, test: dict[str, Any]
) -> tuple[Case, set[tuple[str, int, str]]]:
    """One row of a table, and every rule that spoke of its call."""
    shown = test.get("call") or f"{test['tool']}({test['input']})"
    wanted = test.get("rule", "")
    context = trials.context(
        confined=not test.get("unconfined", False), mode=test.get("mode", mode), cwd=test.get("cwd", "")
    )
    try:
        if "call" in test:
            verdict = trials.verdict(shown, policy, context)
        else:
            verdict = trials.verdict_on(test["tool"], test["input"], policy, context)
    except CallError as error:
        reasons = "; ".join(each.message for each in error.problems)
        return Case(
            "test",
            path,
            line=test["line"],
            rule=wanted,
            call=shown,
            problem=f"call must be one that can be judged: {reasons}",
        ), set()
    problem = ""
    rule = verdict.reason.rule
    if verdict.decision.word != test["expect"] or (wanted and rule.id != wanted):
        by = f" by `{wanted}`" if wanted else ""
        problem = f"`{shown}` must get {test['expect']}{by} (got {verdict.decision.word} by `{rule.id}`)"
    spoke = {(found.source.file, found.source.line, found.id) for found in rules_of(verdict)}
    return Case("test", path, line=test["line"], rule=wanted, call=shown, problem=problem), spoke
