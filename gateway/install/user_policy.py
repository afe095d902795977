"""The policy that `gateway init` writes for a user who has none: `daily` and presets by trade, with commands that run
confined where a sandbox holds them here. Pure, but for the look whether there is a policy.
"""

from __future__ import annotations

import os

from gateway.config.layers import layer_folders, read_layer
from gateway.core.value import Value
from gateway.install import files
from gateway.install.pieces import TEXT, Target
from gateway.install.planning import OWN_MARK, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.core.places import Places
    from gateway.install.receipts import Kept

TRADES = {
    "python": "installs from pypi.org and files.pythonhosted.org (pip, uv, poetry, pdm)",
    "node": "installs from registry.npmjs.org and registry.yarnpkg.com (npm, pnpm, yarn)",
    "systems": "fetches from crates.io and proxy.golang.org (cargo, go), and `ptrace` for debuggers and sanitizers",
}
"""Presets for a kind of work, and what each opens, for commands of that kind alone and in the sandbox."""
ACCEPT, FOLLOW = "accept", "follow"
EDITS = (ACCEPT, FOLLOW)
"""Who decides whether edits and contained work run unasked: this policy, or the agent's own mode."""
_DAILY_TAKES = ("landlock",)
_BOUNDED = "[default, accept_edits, plan, read_only, auto, dont_ask]"


class Wish(Value):
    """What a person asked for. `guarded`: commands are to run confined."""

    trades: tuple[str, ...] = ()
    edits: str = ""
    guarded: bool = True


def content(wish: Wish) -> str:
    """The policy that says so."""
    lines = [
        f"{OWN_MARK[1]}`; it is yours to change. What holds: gateway policy show",
        "version: 1",
        f"extends: [{', '.join(('daily', *wish.trades))}]",
        "settings:",
        f"  guarded: {str(wish.guarded).lower()}",
    ]
    if wish.edits == ACCEPT:
        lines.append("  mode: accept_edits")
    if wish.edits == FOLLOW:
        lines += ["  agents: {modes: follow}", f"  bounds: {{mode: {_BOUNDED}}}"]
    return "\n".join(lines) + "\n"


def cannot_hold() -> str:
    """Why no sandbox that `daily` takes holds commands here, "" if one does."""
    from gateway.sandbox.backends.choose import why_none  # lazy: it looks at the machine

    return why_none(_DAILY_TAKES)


def path_of(where: Places) -> str:
    """Where a user's policy lies."""
    return os.path.join(where.config, "policy.yaml")


def target(where: Places, wish: Wish, kept: Mapping[str, Kept]) -> Target | None:
    """The file that is to be there, None where the user has a policy already: that stays as it is. What an earlier run
    wrote and nobody has changed since gives way to what this one was asked for; asked for nothing, it stays. Raises
    ConfigError."""
    path = path_of(where)
    if path in kept:
        _real, text = files.read(path)
        if is_changed(where, kept):
            return None
        if text is not None and not (wish.trades or wish.edits):
            return Target(path, TEXT, content=text)
        before = _said(text or "")
        trades = tuple(dict.fromkeys((*before.trades, *wish.trades)))
        return Target(path, TEXT, content=content(wish.replace(trades=trades, edits=wish.edits or before.edits)))
    user = next(each for each in layer_folders(where, "") if each.layer == "user")
    return None if read_layer(user) else Target(path, TEXT, content=content(wish))


def is_changed(where: Places, kept: Mapping[str, Kept]) -> bool:
    """Whether somebody has changed the policy that an earlier run wrote: then it is that person's own."""
    path = path_of(where)
    if path not in kept:
        return False
    _real, text = files.read(path)
    return text is not None and digest(text) != kept[path].content


def _said(text: str) -> Wish:
    """What was asked for when this text of ours was written."""
    extends = next((line for line in text.splitlines() if line.startswith("extends: ")), "")
    edits = ACCEPT if "mode: accept_edits" in text else FOLLOW if "modes: follow" in text else ""
    return Wish(tuple(each for each in TRADES if each in extends), edits)


def told(title: str, rewrites: bool, holds: str, text: str | None) -> list[str]:
    """What the policy means for a person who works with this agent, in a few lines. `rewrites`: the agent takes another
    command in place of its own; `holds`: why no sandbox holds here, "" if one does; `text`: the policy that was
    written, None where the user has one of their own."""
    if holds:
        unheld = f"no sandbox holds here ({holds}), so {title} runs commands itself and more of them ask"
        return [f"{unheld}: gateway doctor says what would change that"]
    if text is None:
        own = (
            "your own policy stays as it is; with `settings: {guarded: true}` in it, commands that may run unasked run"
        )
        return [f"{own} in the sandbox, where builds, tests and checks of the project need no question"]
    if not rewrites:
        return [f"{title} runs commands as it has them, outside of the sandbox: use gateway-shell or `gateway mcp`"]
    held = "commands that may run unasked run in the sandbox: they can change the project and copies of caches, nothing"
    wish = _said(text)
    lines = [
        f"{held} else, and reach no host; `gateway changes` lists what they changed, `gateway undo` takes it back",
        f"{title} gains: building, testing and checking the project runs without a question",
    ]
    if wish.edits == ACCEPT:
        lines.append("edits, own scripts, unknown programs and deletes in the project run without a question, too")
    elif wish.edits == FOLLOW:
        so = f"where {title} accepts edits by itself, edits, own scripts, unknown programs and deletes in the project"
        lines.append(f"{so} run without a question; its mode without any questions is not followed")
    else:
        ask = (
            f"edits, own scripts and unknown programs ask, also where {title} accepts edits by itself: --edits {ACCEPT}"
        )
        lines.append(f"{ask} has them run in the sandbox, --edits {FOLLOW} where {title} accepts edits")
    lines += [f"`{each}` opens: {TRADES[each]}" for each in wish.trades]
    left = [each for each in TRADES if each not in wish.trades]
    return [*lines, f"for your trade: --preset {', '.join(left)}"] if left else lines
