"""Calls that install packages and do nothing else, by programs that keep fetching and running apart. Pure.

Such a program runs no code that it fetched, nor any of the project, before all is there, and then by a shell that can
be chosen: one that ends the call's network first. So what reads from a registry is that program alone, never the code.
Its words are held to a grammar here, because any other option may choose another shell, place or source.
"""

from __future__ import annotations

import re

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gateway.model.analysis import Analysis
    from gateway.model.command import Part
    from gateway.model.effect import Effect

_HARMLESS = frozenset(("use", "exec", "read", "list", "write", "delete", "session"))
"""Kinds of effects that such a call may have beside its own."""


class Registry(Value):
    """A host that an install reads from; `named_by` and `also` as in the setting `sandbox.hosts`."""

    host: str
    named_by: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class Installer(Value):
    """`installs`: its subcommands that fetch packages and then run their scripts; `runs`: those that only run scripts
    of the project, by the same shell; `flags`, `values`: options without and with a value, the latter with what it may
    be; `operand`: what a package is named by; `whys`: what its description says of the code that it runs."""

    name: str
    installs: frozenset[str]
    runs: frozenset[str]
    flags: frozenset[str]
    values: dict[str, re.Pattern[str]]
    operand: re.Pattern[str]
    whys: frozenset[str]
    registries: tuple[Registry, ...]

    def reaches(self, effect: Effect) -> bool:
        """Whether an effect is that one of its registries is read."""
        if effect.kind != "connect":
            return False
        found = (effect.host, effect.port, effect.direction)  # type: ignore[attr-defined]
        return any(found == (each.host, 443, "fetch") for each in self.registries)


_NPM_NAME = r"(?:@[a-z0-9_][a-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*"
_WORDS = re.compile(r"[A-Za-z0-9._@/-]*")
NPM = Installer(
    "npm",
    installs=frozenset((
        "install", "i", "in", "ins", "inst", "add", "ci", "clean-install", "update", "up", "upgrade", "install-test",
        "it", "cit", "install-ci-test", "dedupe", "ddp",
    )),
    runs=frozenset(("run", "run-script", "rum", "urn", "test", "t", "tst")),
    flags=frozenset((
        "-D", "--save-dev", "-S", "--save", "-P", "--save-prod", "-O", "--save-optional", "--save-peer", "-E",
        "--save-exact", "--no-save", "-B", "--save-bundle", "--production", "--legacy-peer-deps", "--strict-peer-deps",
        "--no-audit", "--no-fund", "--no-progress", "--prefer-offline", "--prefer-online", "--ignore-scripts",
        "--package-lock-only", "--no-package-lock", "--no-optional", "--force", "-f", "--silent", "-s", "--quiet", "-q",
        "--verbose", "-d", "--json", "--no-color", "--workspaces", "--ws", "--include-workspace-root", "--dry-run",
        "--no-bin-links", "--no-update-notifier",
    )),
    values={
        "--omit": re.compile("dev|optional|peer"),
        "--include": re.compile("dev|optional|peer|prod"),
        "--loglevel": re.compile("silent|error|warn|notice|http|info|verbose|silly"),
        "--only": re.compile("prod|production|dev|development"),
        "-w": _WORDS,
        "--workspace": _WORDS,
    },
    operand=re.compile(rf"{_NPM_NAME}(?:@[A-Za-z0-9.^~*<>=|+ -]+)?"),
    whys=frozenset(("runs the packages' install scripts", "runs the project's scripts")),
    registries=(Registry("registry.npmjs.org"),),
)  # fmt: skip
INSTALLERS = {each.name: each for each in (NPM,)}
"""Those that can be let read from their registries, by the name that policy uses."""


def install_of(analysis: Analysis, names: Collection[str]) -> Installer | None:
    """The program by which a call installs packages and does nothing else that could reach a registry, of those that
    policy names; None for every other call."""
    found = next((INSTALLERS[part.program] for part in analysis.parts if part.program in INSTALLERS), None)
    if found is None or found.name not in names or analysis.tokens:
        return None
    installs = {number for number, part in enumerate(analysis.parts) if _fits(found, part, found.installs)}
    runs = {number for number, part in enumerate(analysis.parts) if _fits(found, part, found.runs)}
    if not installs:
        return None
    for item in analysis.items:
        kind = item.effect.kind
        if kind in _HARMLESS:
            continue
        if kind == "connect" and item.part in installs and found.reaches(item.effect):
            continue
        if kind == "code" and item.part in installs | runs and item.effect.why in found.whys:  # type: ignore[attr-defined]
            continue
        if kind == "opaque" and item.part in runs:
            continue  # what the scripts of what was fetched do
        return None
    return found


def _fits(installer: Installer, part: Part, subcommands: frozenset[str]) -> bool:
    """Whether a command is the installer's with one of some subcommands, and with nothing that is not known here. Of
    what only runs scripts, the words behind `--` are theirs."""
    if part.program != installer.name or not (part.literal and part.direct and part.trusted) or part.expanded:
        return False
    words = iter(part.argv[1:])
    if next(words, "") not in subcommands:
        return False
    runs = subcommands is installer.runs
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--" and runs:
            return True
        if word in installer.flags:
            continue
        if name in installer.values:
            if not installer.values[name].fullmatch(value if equals else next(words, "-")):
                return False
        elif not (re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*", word) if runs else installer.operand.fullmatch(word)):
            return False
    return True
