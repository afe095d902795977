"""The verdict oracle: one case a line in `corpus/*.jsonl`, each with the exact decision.

A case is judged by the very code of `gateway check`, in a frozen world, under the presets it names plus the
rules it brings. `docs/changing.md` says where a new line belongs.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from warmed import compiled_once

from gateway.api.gateway import Gateway
from gateway.config.layers import PolicyFile
from gateway.config.load import Loaded, Options, policy_from
from gateway.config.shipped import load_tools
from gateway.core.cache import digest
from gateway.core.errors import CallError
from gateway.core.places import Places, packaged
from gateway.host.frozen import World, world
from gateway.judge.policy_tests import check_examples
from gateway.model.call import RawCall
from gateway.tools.text import parse_call_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.context import Context
    from gateway.tools.registry import Registry

HERE = Path(__file__).parent
SCRATCH = HERE.parent / ".pytest_cache" / "corpus"
CASES = [
    json.loads(line)
    for path in sorted((HERE / "corpus").glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
    if line.strip()
]
FAMILIES = {path.stem for path in (HERE / "corpus").glob("*.jsonl")}
LAYERS_OF_A_CASE = ("enterprise", "user", "project", "local")
# The corpus may grow; it may not shrink.
AT_LEAST, AT_LEAST_EVASIONS = 4600, 2000


@functools.cache
def places_for(home: str) -> Places:
    nowhere = "/nonexistent/gateway"
    return Places(nowhere, nowhere, nowhere, str(compiled_once()), home)


@functools.cache
def frozen(name: str) -> World:
    return world(yaml.safe_load((HERE / "worlds" / f"{name}.yaml").read_text(encoding="utf-8")))


@functools.lru_cache(maxsize=64)
def policy(stack: str, home: str, root: str, mode: str) -> Loaded:
    """The compiled policy of a stack of rules, given as JSON so that equal stacks are compiled once."""
    preset, layers, levels, untrusted, fold = json.loads(stack)
    files = [PolicyFile("builtin", packaged("policies/builtin.yaml"), read("builtin"), root, "/")]
    if preset != "builtin":
        document = yaml.safe_dump({"version": 1, "extends": [preset]}).encode()
        files.append(PolicyFile("user", "user-preset.yaml", document, root, f"{home}/.config/gateway"))
    for layer, rules in layers.items():
        document = json.dumps({"version": 1, **rules}).encode()
        base = f"{home}/.config/gateway" if layer == "user" else root
        if levels.get(layer):
            extended = SCRATCH / f"{digest([document])}.yaml"
            extended.parent.mkdir(parents=True, exist_ok=True)
            extended.write_bytes(document)
            document = json.dumps({"version": 1, "extends": [{"file": str(extended), "level": levels[layer]}]}).encode()
        files.append(PolicyFile(layer, f"{layer}.yaml", document, root, base))
    options = Options(root, mode=mode, root=root)
    return policy_from(files, options, tools(home), home, trusted=not untrusted, fold=fold, verify=check_examples)


@functools.lru_cache(maxsize=64)
def gateway(stack: str, where: str, cwd: str, mode: str, confined: bool, contained: bool) -> Gateway:
    """One for all the cases that it can judge: like any, it decides each call as if it were the first."""
    place = frozen(where)
    return Gateway(
        Options(cwd, mode=mode, root=place.root),
        where=places_for(place.home),
        confined=confined,
        host=place.host,
        environment={"PATH": f"{place.root}/bin:/usr/local/bin:/usr/bin:/bin"},
        loaded=policy(stack, place.home, place.root, mode),
        contains=lambda *_: "" if contained else "no mounts in this case",
    )


@functools.cache
def tools(home: str) -> Registry:
    return load_tools(places_for(home))


@functools.cache
def read(preset: str) -> bytes:
    return Path(packaged(f"policies/{preset}.yaml")).read_bytes()


def stack_of(case: dict[str, Any]) -> str:
    layers: dict[str, dict[str, Any]] = {}
    for lane in ("deny", "ask", "allow"):
        for rule in case.get(lane, ()):
            layers.setdefault("user", {"rules": []})["rules"].append(rule if isinstance(rule, dict) else {lane: rule})
    for layer in LAYERS_OF_A_CASE:
        given = case.get(layer)
        if isinstance(given, dict):
            layers.setdefault(layer, {"rules": []}).update(
                {**given, "rules": [*layers.get(layer, {}).get("rules", []), *given.get("rules", [])]}
            )
        elif given:
            layers.setdefault(layer, {"rules": []})["rules"].extend(given)
    levels = {layer: case[f"{layer}_level"] for layer in LAYERS_OF_A_CASE if f"{layer}_level" in case}
    flags = [case.get("untrusted", False), case.get("case_blind", False)]
    return json.dumps([case.get("preset", "daily"), layers, levels, *flags], sort_keys=True)


def judge(case: dict[str, Any]) -> tuple[str, str]:
    """Decision and deciding rule of one case."""
    place = frozen(case.get("world", "project"))
    cwd = (
        f"{place.root}/{case['cwd']}"
        if "cwd" in case and not case["cwd"].startswith("/")
        else case.get("cwd", place.root)
    )
    guard = gateway(
        stack_of(case), case.get("world", "project"), cwd, case.get("mode", ""),
        not case.get("unconfined", False), case.get("contained", False),
    )  # fmt: skip
    try:
        verdict = guard.check(call_of(case, guard), context_of(case, guard))
    except CallError:
        return "invalid", "no-call"
    return verdict.decision.word, verdict.reason.rule.id


def call_of(case: dict[str, Any], guard: Gateway) -> RawCall:
    if "repeat" in case:
        return RawCall("Bash", {"command": "".join(text * times for text, times in case["repeat"])})
    if "call" in case:
        return parse_call_text(guard.registry, case["call"])
    return RawCall(case["tool"], case.get("input", {}))


def context_of(case: dict[str, Any], guard: Gateway) -> Context:
    return guard.context.replace(**{name: case[name] for name in ("agent", "depth") if name in case})


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """What was compiled for these cases is of no use to other tests, and slows every search for garbage. On paper, what
    lists of packages name can be fetched; what they may say is for tests of `gateway.judge.lists`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.judge.lists.why_not", lambda *_given: "")
        yield
    gateway.cache_clear()
    policy.cache_clear()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_verdict_of_a_family_is_exact(family: str) -> None:
    expected, found = {}, {}
    for case in CASES:
        if "enterprise_level" in case and os.geteuid() != 0:
            continue  # the file that it extends must be root's
        if case["id"].startswith(f"{family}."):
            decision, rule = judge(case)
            expected[case["id"]] = (case["expect"], case.get("rule", rule))
            found[case["id"]] = (decision, rule)
    assert found == expected


def test_every_case_has_an_id_of_its_own_that_names_its_family() -> None:
    ids = [case["id"] for case in CASES]
    assert (len(ids) - len(set(ids)), {name.split(".")[0] for name in ids} - FAMILIES) == (0, set())


def test_the_corpus_does_not_shrink() -> None:
    evasions = [case for case in CASES if case["id"].startswith("evasion-")]
    assert (len(CASES) >= AT_LEAST, len(evasions) >= AT_LEAST_EVASIONS) == (True, True)
