"""Verdicts of the real engine in the frozen world of the corpus, under a small policy of every layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from leftovers import contained_here
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.config.layers import PolicyFile
from gateway.config.load import Options, policy_from
from gateway.config.shipped import load_tools
from gateway.core.places import Places
from gateway.host.frozen import world
from gateway.judge.policy_tests import check_examples
from gateway.tools.text import parse_call_text

TESTS = Path(__file__).parents[1]
NOWHERE = "/nonexistent/gateway"

BUILTIN = {
    "rules": [
        {
            "id": "secret-files",
            "deny": {"effect": ["read", "write", "delete"], "path": ["**/.env*", "~/.ssh/**", "//etc/shadow*"]},
            "because": "this file holds passwords, keys or tokens",
            "instead": "ask the person for the one value that you need",
        },
        {"id": "metadata-addresses", "deny": {"effect": "connect", "host": "metadata"}},
    ]
}
ENTERPRISE = {
    "rules": [
        {
            "id": "no-force-push",
            "deny": {"effect": "push", "force": True},
            "lock": True,
            "because": "it rewrites history that others have",
            "instead": "push a new branch and open a merge request",
        },
        {"id": "ask-docker", "ask": "Bash(docker *)", "lock": True},
    ]
}
USER = {
    "rules": [
        {"id": "git", "allow": "Bash(git *)"},
        {"id": "tests", "allow": "Bash(npm test)"},
        {"id": "no-curl", "deny": "Bash(curl *)", "because": "downloads go through WebFetch"},
        {"id": "look-at-docs", "ask": "Edit(docs/**)"},
    ]
}


@pytest.fixture(scope="session")
def open_world(tmp_path_factory: pytest.TempPathFactory):
    """Opens a gateway in the world `project` under the built-in policy and the layers above."""
    place = world(yaml.safe_load((TESTS / "worlds" / "project.yaml").read_text(encoding="utf-8")))
    where = Places(NOWHERE, NOWHERE, NOWHERE, warm(tmp_path_factory.mktemp("compiled") / "gateway"), place.home)
    tools = load_tools(where)
    known: dict[tuple[str, bool, str], Gateway] = {}

    def open_(mode: str = "", confined: bool = True, local: str = "") -> Gateway:
        found = known.get((mode, confined, local))
        if found is None:
            options = Options(place.root, mode=mode, root=place.root)
            files = []
            for layer, rules in (("builtin", BUILTIN), ("enterprise", ENTERPRISE), ("user", USER)):
                text = json.dumps({"version": 1, **rules}, indent=1).encode()
                files.append(
                    PolicyFile(layer, f"{layer}.yaml", text, place.root, "/" if layer == "builtin" else place.root)
                )
            if local:
                files.append(PolicyFile("local", "local.yaml", local.encode(), place.root, place.root))
            found = known[mode, confined, local] = Gateway(
                options,
                where=where,
                confined=confined,
                host=place.host,
                environment={"PATH": "/usr/local/bin:/usr/bin:/bin"},
                loaded=policy_from(files, options, tools, place.home, verify=check_examples),
                contains=contained_here,
            )
        return found

    return open_


@pytest.fixture(scope="session")
def judge(open_world):
    """The gateway and the verdict on a call."""

    def judge_(call: str, mode: str = "", confined: bool = True, local: str = "") -> tuple[Gateway, Any]:
        guard = open_world(mode, confined, local)
        return guard, guard.check(parse_call_text(guard.registry, call))

    return judge_
