"""The gateway's own command line: which files it opens beside those that its words name."""

from __future__ import annotations

from gateway.commands.places import absolute
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word

_TABLE, _POLICY = ".tests.yaml", ".yaml"
# What a folder that stands for the layers may hold; each may extend files elsewhere.
_LAYERS = ("enterprise", "user", "project", "local")


def _policy_files(findings: Findings, run: Invocation) -> None:
    """A policy names the files that it extends, and has its table of tests beside it, or is one beside its policy."""
    for word in run.operands:
        policy = word.text.removesuffix(_TABLE) + _POLICY if word.text.endswith(_TABLE) else word.text
        table = policy.removesuffix(_POLICY) + _TABLE
        for path in (table,) if policy == word.text else (policy,):
            beside = word.replace(text=path if word.literal else HOLE, pattern=None)
            findings.touch("read", beside, run.cwds, run.part)
        _extends(findings, run, policy if word.literal else HOLE, word)


def _policy_folder(findings: Findings, run: Invocation) -> None:
    """What stands for the layers may extend files anywhere."""
    for option, values in run.values:
        for word in values if "--policies" in option["names"] else ():
            for layer in _LAYERS:
                _extends(findings, run, f"{word.text}/{layer}{_POLICY}" if word.literal else HOLE, word)


def _policy_sources(findings: Findings, run: Invocation) -> None:
    """What is compared is a policy file, or a folder with one or with a project's."""
    named = [word for option, values in run.values if "--policy" in option["names"] for word in values]
    for word in (*run.operands, *named):
        for inside in (
            "",
            f"/policy{_POLICY}",
            f"/.gateway/policy{_POLICY}",
            *(f"/{each}{_POLICY}" for each in _LAYERS),
        ):
            _extends(findings, run, f"{word.text}{inside}" if word.literal else HOLE, word)


def _extends(findings: Findings, run: Invocation, path: str, word: Word) -> None:
    """Asks whether a policy extends files: which ones those are is not known before it has been read."""
    for cwd in run.cwds or ("",):
        whole = absolute(path, cwd) if cwd and HOLE not in path else ""
        folder, _, name = whole.rpartition("/")
        findings.ask(
            "settings",
            run.part,
            folder or ("/" if whole else cwd),
            f"gateway policy\0{name or HOLE}",
            word.start,
            word.end,
        )


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "policy_files": _policy_files,
    "policy_folder": _policy_folder,
    "policy_sources": _policy_sources,
}
