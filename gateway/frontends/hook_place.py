"""Where the session of a hook works, in which mode, and whether a person has put its hooks aside."""

from __future__ import annotations

import os
from time import time

from gateway.agents.base import Misfit
from gateway.config.load import project_root
from gateway.policy.modes import CEILINGS
from gateway.tools.paths import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.agents.base import Event
    from gateway.judge.judge import Judge
    from gateway.model.context import Context
    from gateway.tools.tool import Tool

_STRICTER = ("plan", "dont_ask")


def paused_of(gateway: Judge) -> Judge | None:
    """What holds while a person has put hooks aside, None where nobody has, or policy does not let it be."""
    if not os.path.lexists(os.path.join(gateway.places.state, "pause.json")):
        return None  # as nearly always, and nothing more is loaded
    from gateway.agents.pausing import pause_of

    holds = pause_of(gateway.places.state, gateway.options.root, gateway.loaded.settings, time())
    return gateway.paused() if holds is not None and not gateway.refuses_mode("bypass") else None


def folder_of(cwd: str) -> str:
    """The folder that a call is made from. Raises Misfit."""
    if not cwd.startswith("/") or "\0" in cwd:
        raise Misfit("the folder that the call is made from must be an absolute path")
    return os.path.realpath(cwd)


def root_of(event: Event, environment: Mapping[str, str], cwd: str, folder: str) -> str:
    """Where the session started: as the client says, else as the hook's own folder tells, which no call can choose."""
    for each in event.roots:
        if each.startswith("/") and "\0" not in each and os.path.isdir(each):
            return os.path.realpath(each)
    start = os.path.realpath(folder) if folder else cwd
    return project_root(start, environment)


def worked_in(tool: Tool, given: Mapping[str, Any], context: Context) -> Context:
    """Where a call works, if one of its fields says so. Raises Misfit."""
    folder = given.get(tool.entry.get("cwd") or "")
    if folder is None:
        return context
    if folder.__class__ is not str:
        raise Misfit("the folder that the call works in must be text")
    return context.replace(cwd=os.path.realpath(absolute(folder, context.cwd, context.home)))


def mode_of(event: Event, gateway: Judge, setting: Mapping[str, Any], *, is_paused: bool) -> str:
    """The policy's mode, or the client's own where that is stricter or the setting `agents` says so."""
    ours, theirs = gateway.context.mode, event.mode
    if is_paused:
        return ours
    follow = setting.get("modes", "stricter")
    if not theirs or follow == "ignore" or ours in CEILINGS:
        return ours
    if theirs in _STRICTER:
        return theirs
    return theirs if follow == "follow" and not gateway.refuses_mode(theirs) else ours
