"""Proposals for people. What agents wrote is shown as theirs, with nothing invisible in it."""

from __future__ import annotations

import time

from gateway.approval.proposing import yaml_of
from gateway.policy.wording import shortened, visible
from gateway.render.style import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateway.approval.proposals import Kept
    from gateway.frontends.proposal_trial import Anew
    from gateway.render.style import Style
    from gateway.replay.opening import Opening

_LONGEST = 200


def list_text(found: Sequence[Kept], style: Style) -> str:
    """Each with its rule, how often it was needed, and why somebody says that it is."""
    if not found:
        return "nothing was proposed in this project\n"
    lines = []
    for each in found:
        lines.append(style.paint(visible(each.id), "strong") + f"  {_times(each)}")
        lines += [f"  {line}" for line in wrapped(visible(each.rule), style.width - 2)]
        lines += [f"  {line}" for line in _because(each, style)]
        lines.append("")
    lines.append("`gateway proposals show ID` says what one opens, `accept ID` saves it, `reject ID` takes it away")
    return "\n".join(lines) + "\n"


def one_text(kept: Kept, found: Anew, opens: Opening | None, style: Style) -> str:
    """One proposal with all that is known of what it opens."""
    lines = [style.paint(visible(kept.id), "strong") + f"  {_times(kept)}"]
    lines += _part("the call", [found.shown, f"in {visible(kept.cwd)}, mode {visible(kept.mode)}"], style)
    lines += _because(kept, style)
    if found.proposal is None:
        return "\n".join([*lines, "", f"it cannot be accepted: {found.problem}"]) + "\n"
    lines += ["  the rule", *(f"    {visible(line)}" for line in yaml_of(found.proposal.rule).splitlines())]
    lines += _part("what it lets happen, and nothing else", found.proposal.opens, style)
    lines += _part("calls that show it", found.proposal.calls, style)
    if opens is not None:
        lines += _opening(opens, style)
    return "\n".join(lines) + "\n"


def _opening(opens: Opening, style: Style) -> Iterator[str]:
    yield from _part("calls by which your policy would differ, asked of it before and after", opens.calls, style)
    if not opens.otherwise:
        yield "  " + f"none of {opens.decisions:,} recorded decisions of this project would have come out otherwise"
    for each in opens.otherwise:
        no = f", {each.refused:,} of them refused by somebody" if each.refused else ""
        said = f"{each.count:,} of {opens.decisions:,} recorded decisions would be allowed, were {each.was}{no}"
        yield from _part(f"{said} ({visible(each.rule)})", each.calls, style)
    yield from _part("recorded calls of the same program that would not be allowed", opens.near, style)
    yield from _part("what speaks against it", opens.objections, style)


def _part(head: str, lines: Sequence[str], style: Style) -> Iterator[str]:
    if lines:
        yield f"  {head}"
        yield from (f"    {line}" for each in lines for line in wrapped(visible(each), style.width - 4))


def _times(each: Kept) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(each.last))
    calls = "1 call" if each.count == 1 else f"{each.count:,} calls"
    agent = f", {visible(shortened(each.agent, 40))}" if each.agent else ""
    return f"{calls}, last {when} UTC by {visible(shortened(each.front, 40))}{agent}"


def _because(each: Kept, style: Style) -> Iterator[str]:
    if each.because:
        yield from wrapped(f"says: {visible(shortened(each.because, 2 * _LONGEST))}", style.width - 2)
