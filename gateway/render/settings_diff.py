"""Changes of settings files, as people are shown them before they agree."""

from __future__ import annotations

from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.files import Change
    from gateway.render.style import Style


def difference(change: Change) -> list[str]:
    """The change of a file as lines of a unified diff."""
    import difflib

    before = "/dev/null" if change.before is None else change.path
    after = "/dev/null" if change.after is None else change.path
    old, new = (change.before or "").splitlines(True), (change.after or "").splitlines(True)
    return [
        line if line.endswith("\n") else line + "\n\\ no newline at the end\n"
        for line in difflib.unified_diff(old, new, before, after)
    ]


def brief(changes: Sequence[Change]) -> str:
    """The changes in a line for each file: where it leads, and how many lines come and go."""
    lines = []
    for change in changes:
        signs = [line[:1] for line in difference(change)[2:]]
        leads = f", which leads to {visible(change.real)}" if change.real != change.path else ""
        numbers = f"{signs.count('+')} lines more, {signs.count('-')} less"
        lines.append(f"{visible(change.path)}{leads}: {numbers}; --diff shows them\n")
    return "".join(lines)


def shown(changes: Sequence[Change], style: Style) -> str:
    """The changes for people, with everything in them visible."""
    colours = {"+": "allow", "-": "deny", "@": "strong"}
    lines = []
    for change in changes:
        if change.real != change.path:
            lines.append(f"{visible(change.path)} leads to {visible(change.real)}\n")
        for line in difference(change):
            text = visible(line.rstrip("\n").expandtabs(4))
            colour = colours.get(line[:1], "")
            lines.append((style.paint(text, colour) if colour else text) + "\n")
    return "".join(lines)
