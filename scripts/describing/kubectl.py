"""The commands of `kubectl`, from its help: needs kubectl on PATH.

    describe kubectl        # writes gateway/commands/kubectl.commands.yaml

SHAPES says what each command does; one that is not named there stands in kubectl.yaml by hand, or asks. Every option
that names files (FILES) reads them; the options that all commands have, and what prints by a template in a file, stand
in kubectl.yaml.
"""

from __future__ import annotations

from describing import helptree
from describing.grouping import READS, READS_TREE, Table

SHAPES = {
    "get": "shown", "describe": "shown", "explain": "shown", "logs": "shown:logs", "top node": "shown",
    "top pod": "shown",
    "api-resources": "shown", "api-versions": "shown", "events": "shown", "wait": "shown", "rollout status": "shown",
    "rollout history": "shown", "auth can-i": "shown", "auth whoami": "shown", "apply view-last-applied": "shown",
    "apply": "changed", "apply set-last-applied": "changed", "delete": "changed", "patch": "changed",
    "replace": "changed", "scale": "changed", "autoscale": "changed", "label": "changed", "annotate": "changed",
    "expose": "changed", "set env": "changed", "set image": "changed", "set resources": "changed",
    "set selector": "changed", "set serviceaccount": "changed", "set subject": "changed", "drain": "changed",
    "cordon": "changed", "uncordon": "changed", "taint": "changed", "rollout pause": "changed",
    "rollout restart": "changed", "rollout resume": "changed", "rollout undo": "changed",
    "certificate approve": "changed", "certificate deny": "changed", "auth reconcile": "changed",
}  # fmt: skip
FILES = {"--filename": READS_TREE, "--kustomize": READS_TREE, "--patch-file": READS}
# Where kubectl.yaml says what they do.
OF_ALL = frozenset(("--help", "--output", "--template", "--save-config", "--profile"))
BY_HAND = frozenset((
    "attach", "cluster-info", "completion", "config", "cp", "create", "debug", "diff", "edit", "exec", "kustomize",
    "plugin", "port-forward", "proxy", "run", "version",
))  # fmt: skip


def shape(path: tuple[str, ...]) -> str:
    return SHAPES.get(" ".join(path), "")


def option(path: tuple[str, ...], names: tuple[str, ...], form: str) -> str:
    del path
    if names[-1] in OF_ALL:
        return ""
    return FILES.get(names[-1], form)


def main() -> None:
    root = helptree.tree("kubectl", probes=True, wanted=lambda name: name not in BY_HAND)
    helptree.write_part("kubectl", "commands", helptree.group("kubectl", root, Table(shape, option)), {})
