"""What calls changed, as people read it: names and texts escaped, so that none of them can pass for ours."""

from __future__ import annotations

import os
from time import time

from gateway.core.quantities import age_said, counted, size_said
from gateway.files.diff import unified
from gateway.policy.wording import shortened, visible
from gateway.sandbox.changes.listing import CHANGED, DELETED, MODE, NEW
from gateway.sandbox.changes.state import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.sandbox.changes.listing import Change, Listed
    from gateway.sandbox.changes.undoing import Plan

_SIGNS = {NEW: "+", DELETED: "-", MODE: "m"}
_MOST_NAMES = 12
_MOST_LINES = 2_000
_LONGEST_CALL = 100


def list_text(found: list[Listed]) -> str:
    """Each call with what it changed, the latest last."""
    if not found:
        return "nothing that calls changed in this project is kept\n"
    return "\n".join(_one(each, _MOST_NAMES) for each in found)


def show_text(found: Listed) -> str:
    """One call, with the diff of each file."""
    return "\n".join([_one(found, len(found.changes)), *_diffs(found)])


def _diffs(found: Listed) -> list[str]:
    lines = []
    left = _MOST_LINES
    for change in found.changes:
        said = _diff(change)
        if not said:
            continue
        parts = said.split("\n")
        if len(parts) > left:
            lines.append(f"... the rest is not shown: more than {_MOST_LINES:,} lines differ\n")
            break
        left -= len(parts)
        lines.append(said)
    return lines


def review_text(found: Listed, status: int, problem: str = "") -> str:
    """What a call has changed in layers of its own, for whoever decides: what runs later, can be started, goes, or is
    no text stands by itself; of folders that are new the rest is one line each."""
    of = found.of
    lines = [f"{visible(of.tool)}({visible(shortened(of.call, _LONGEST_CALL))}) has run (status {status})."]
    wants = "What it wants to change:" if found.changes else "In that it has changed nothing, either."
    lines.append(f"It has changed nothing yet but a layer over your files. {wants}")
    folders = _new_folders(found)
    folded: dict[str, list[Change]] = {}
    for change in found.changes:
        above = next((each for each in folders if change.path.startswith(f"{each}/")), "")
        if above and not (change.later or change.executable):
            folded.setdefault(above, []).append(change)
        else:
            lines.append(_line(change, texts=True))
    for folder, inside in folded.items():
        size = size_said(sum(change.now for change in inside))
        lines.append(f"   + {visible(folder)}/  {counted(len(inside), 'new name')}, {size}")
    if found.git:
        lines.append(f"   ~ {counted(found.git, 'name')} in the repository's own folder, kept or discarded as one")
    root = of.project
    lines += [f"   ! stays as it is: {_name(path, root)}: {visible(reason)}" for path, reason in found.missed]
    if problem:
        lines.append(f"{visible(problem)}")
    return "\n".join(lines) + "\n"


def difference_text(found: Listed) -> str:
    """The differences of all files that changed."""
    said = _diffs(found)
    return "\n".join(said) + "\n" if said else "there is nothing to show as text\n"


def _new_folders(found: Listed) -> list[str]:
    """The outermost folders of the project that are not there yet."""
    seen: dict[str, bool] = {}
    found_in: dict[str, None] = {}
    for change in found.changes:
        parts = change.path.split("/")
        for end in range(1, len(parts)):
            folder = "/".join(parts[:end])
            if folder not in seen:
                seen[folder] = os.path.lexists(os.path.join(found.of.project, folder))
            if not seen[folder]:
                found_in[folder] = None
                break
    return list(found_in)


def _line(change: Change, *, texts: bool) -> str:
    size = f"  {_size(change)}" if change.kind == FILE else f"  {change.kind}"
    later = f"  [{change.later}]" if change.later else "  [can be started]" if change.executable else ""
    binary = "  [no text]" if texts and change.kind == FILE and change.what == CHANGED and change.after is None else ""
    return f"   {_SIGNS.get(change.what, '~')} {visible(change.path)}{size}{later}{binary}"


def plan_text(number: int, plan: Plan, root: str) -> str:
    """What undoing does, or has done."""
    lines = [f"{len(plan.restored)} restored, {len(plan.gone)} removed" + (f" ({number})" if number else "")]
    for sign, paths in (("restored", plan.restored), ("removed", plan.gone)):
        lines += [f"  {sign}  {_name(path, root)}" for path in paths[:_MOST_NAMES]]
        if len(paths) > _MOST_NAMES:
            lines.append(f"  ... and {len(paths) - _MOST_NAMES:,} more")
    lines += [f"  left as it is  {_name(path, root)}: {visible(reason)}" for path, reason in plan.stays.items()]
    return "\n".join(lines) + "\n"


def plan_data(plan: Plan) -> dict[str, Any]:
    """The same for programs."""
    return {"restored": list(plan.restored), "removed": list(plan.gone), "left": dict(plan.stays)}


def list_data(found: list[Listed]) -> list[dict[str, Any]]:
    """All of it for programs."""
    return [
        {
            "number": each.of.number,
            "tool": each.of.tool,
            "call": each.of.call,
            "session": each.of.session,
            "time": each.of.time,
            "state": each.of.state,
            "changes": [
                {"path": change.path, "what": change.what, "kind": change.kind, "was": change.was, "now": change.now}
                | ({"runs_later": change.later} if change.later else {})
                for change in each.changes
            ],
            "git": each.git,
            "not_saved": dict(each.missed),
        }
        for each in found
    ]


def _one(each: Listed, most: int) -> str:
    of = each.of
    ago = age_said(int((time() - of.time) * 1e9))
    state = "" if of.state == "kept" else f", {of.state}" + (" in part" if of.partly and of.state == "undone" else "")
    count = counted(len(each.changes), "change")
    lines = [f"{of.number}  {visible(of.tool)}({visible(shortened(of.call, _LONGEST_CALL))})  {count}, {ago}{state}"]
    lines += [_line(change, texts=False) for change in each.changes[:most]]
    if len(each.changes) > most:
        lines.append(f"   ... and {len(each.changes) - most:,} more")
    if each.git:
        lines.append(f"   ~ {counted(each.git, 'name')} in the repository's own folder, undone as one")
    what = "stays as it is" if each.is_draft else "not saved"
    lines += [
        f"   ! {what}: {_name(path, of.project) or 'something'}: {visible(reason)}" for path, reason in each.missed
    ]
    return "\n".join(lines) + "\n"


def _size(change: Change) -> str:
    if change.what == NEW:
        return size_said(change.now)
    if change.what == DELETED or change.was == change.now:
        return size_said(change.was)
    return f"{size_said(change.was)} -> {size_said(change.now)}"


def _diff(change: Change) -> str:
    if change.kind != FILE and not (change.before or change.after):
        return ""
    if change.what == MODE:
        return ""
    if change.before is None or change.after is None:
        return f"{visible(change.path)}: {_size(change)}, not shown as text\n"
    said = unified(change.before, change.after, visible(change.path), is_new=change.what == NEW)
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in said.split("\n"))


def _name(path: str, root: str) -> str:
    return visible(path[len(root) + 1 :] if path.startswith(f"{root}/") else path)
