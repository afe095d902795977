"""Docker's commands for swarms, plugins, contexts and builders, from its help: needs docker and podman on PATH.

    describe docker         # writes gateway/commands/docker.swarm.yaml

SHAPES says what commands of these names do, SHOWN and CHANGED which commands have them. What runs or fills containers,
and what podman has as well, stands in docker.yaml and docker.objects.yaml by hand. An option that podman reads in
another way is left out, as the description speaks of both.
"""

from __future__ import annotations

from describing import helptree
from describing.grouping import READS, Table

SHOWN = frozenset(("ls", "ps", "inspect", "logs", "services", "show"))
CHANGED = frozenset((
    "rm", "demote", "promote", "update", "rollback", "scale", "leave", "use", "disable", "enable", "set", "ca", "init",
    "join", "prune", "unlock",
))  # fmt: skip
OBJECTS = frozenset(("config", "context", "node", "secret", "service", "stack", "swarm", "plugin", "builder"))
# They take a file, or bring what is run from elsewhere.
NOT_TOLD = frozenset(("plugin set", "plugin enable", "service update", "swarm ca", "swarm join"))
ADDED = {
    ("config",): {"create": {"use": "made", "values": "-l|--label --template-driver"}},
    ("secret",): {"create": {"use": "made", "values": "-d|--driver -l|--label --template-driver"}},
    ("swarm",): {"join-token unlock-key": {
        "flags": "-q|--quiet --rotate", "operands": [{"kind": "text", "optional": True}],
        "effects": ["system secret show"],
    }},
    ("stack",): {"config": {
        "flags": "--skip-interpolation", "operands": [],
        "options": {"-c|--compose-file": {"value": "path", "does": READS}},
    }},
}  # fmt: skip


def shape(path: tuple[str, ...]) -> str:
    words = " ".join(path)
    if len(path) != 2 or path[0] not in OBJECTS or words in NOT_TOLD:
        return ""
    if path[1] == "inspect" and path[0] in ("service", "plugin", "config"):
        return "inspected"
    if words == "service logs":
        return "shown:logs"
    return "shown" if path[1] in SHOWN else "changed" if path[1] in CHANGED else ""


def option(path: tuple[str, ...], names: tuple[str, ...], form: str) -> str:
    if path[-1] == "inspect" and names[-1] == "--format":
        return ""
    return form


def main() -> None:
    root = helptree.tree("docker", probes=True, wanted=OBJECTS.__contains__)
    podman = helptree.tree("podman", probes=True, wanted=OBJECTS.__contains__)
    helptree.write_part("docker", "swarm", helptree.group("docker", root, Table(shape, option), podman), ADDED)
