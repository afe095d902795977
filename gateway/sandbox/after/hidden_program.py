"""Tells a program that the sandbox hides from one that is not installed."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.plan import SandboxPlan

_NOT_FOUND = " is not found"


def explained(failure: str, plan: SandboxPlan, is_program: Callable[[str], bool] | None = None) -> str:
    """Why a command did not start, with the setting that shows its program where the machine has it and the plan does
    not. `is_program`: whether a path outside leads to one."""
    name, found, rest = failure.partition(_NOT_FOUND)
    if not found or rest:
        return failure
    is_there = is_program or _is_program
    path = next((each for each in _places(name, plan) if is_there(each)), "")
    if not path:
        return failure
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    if os.path.basename(folder) == "bin":  # what it needs lies beside it
        folder = os.path.dirname(folder)
    leads = f", which leads to {real}" if real != path else ""
    setting = f'settings: {{sandbox: {{read: ["{_pattern(folder, plan)}"]}}}}'
    return f"{failure}: the sandbox hides {path}{leads}; `{setting}` in your policy shows it"


def _places(name: str, plan: SandboxPlan) -> list[str]:
    if "/" in name:
        return [os.path.normpath(os.path.join(plan.cwd, name))]
    folders = dict(plan.environment).get("PATH", os.defpath).split(":")
    return [f"{folder}/{name}" for folder in folders if folder.startswith("/")]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _pattern(folder: str, plan: SandboxPlan) -> str:
    """A pattern for all below a folder, as policies write it."""
    home = dict(plan.environment).get("HOME", "")
    if home and folder.startswith(home + "/"):
        return f"~{folder[len(home) :]}/**"
    return f"/{folder.rstrip('/')}/**"
