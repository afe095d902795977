"""The commands of Helm, from its help: needs helm on PATH.

    describe helm           # writes gateway/commands/helm.commands.yaml

SHAPES says what each command does; one that is not named there is left out, and so asks, as does every option that
runs a program (STARTS), sends login material elsewhere or names another place (PLACES).
"""

from __future__ import annotations

import re

from describing import helptree
from describing.grouping import READS_ADDRESS, WRITES_TREE, Table

SHAPES = {
    # Asks the cluster.
    "list": "shown", "status": "shown", "history": "shown", "get all": "shown", "get hooks": "shown",
    "get manifest": "shown", "get metadata": "shown", "get notes": "shown", "get values": "shown",
    # Reads what lies here.
    "repo list": "local", "search repo": "local", "plugin list": "local",
    "lint": "here", "dependency list": "here", "verify": "file",
    # Reads a chart from here or from where charts come from, and sends nothing to the cluster.
    "show all": "chart", "show chart": "chart", "show crds": "chart", "show readme": "chart", "show values": "chart",
    "template": "rendered",
    # Changes the cluster.
    "install": "released", "upgrade": "released", "uninstall": "changed", "rollback": "changed", "test": "changed",
    # Writes here what comes from there.
    "pull": "pulled", "repo update": "indexed", "repo remove": "indexed", "package": "packed", "create": "created",
}  # fmt: skip
STARTS = ("--post-renderer", "--post-renderer-args")
PLACES = re.compile(
    r"--(password|username|ca-file|cert-file|key-file|keyring|starter|merge|key|passphrase-file|endpoint|set-file|"
    r"dependency-update|repo)$"
)
READ = ("--values",)
WRITTEN = ("--output-dir", "--destination", "--untardir")


def shape(path: tuple[str, ...]) -> str:
    return SHAPES.get(" ".join(path), "")


def option(path: tuple[str, ...], names: tuple[str, ...], form: str) -> str:
    del path
    long = names[-1]
    if long in STARTS or PLACES.match(long):
        return ""
    if form == helptree.VALUE and long in READ:
        return READS_ADDRESS
    if form == helptree.VALUE and long in WRITTEN:
        return WRITES_TREE
    return form


def main() -> None:
    root = helptree.tree("helm", probes=True)
    helptree.write_part("helm", "commands", helptree.group("helm", root, Table(shape, option)), {})
