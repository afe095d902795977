"""What `gateway doctor` says of a repository: what in it starts programs or is obeyed by an agent, without any call."""

from __future__ import annotations

from gateway.frontends.finding import BETTER, OK, Finding
from gateway.install.repository import LOADS, STARTS, brought

_TITLES = {
    STARTS: "starts by itself, and no hook sees it",
    LOADS: "may run commands when it is loaded",
    "obeyed": "is obeyed as the person's own words",
}


def project_findings(agent: str, title: str, project: str) -> tuple[Finding, ...]:
    """What an agent takes from this project by itself: a finding of all that no hook decides about, else of what there
    is. Nothing where there is nothing."""
    found = brought(agent, project)
    if not found:
        return ()
    lines = tuple(
        f"{each.path}: {each.what}; {'judged before it runs' if each.judged else _TITLES[each.kind]}" for each in found
    )
    unseen = [each for each in found if each.kind != "obeyed" and not each.judged]
    if not unseen:
        return (Finding(agent, OK, text=f"what {title} takes from this project", remedy="", details=lines),)
    text = f"what {title} takes from this project; {len(unseen)} of it cannot be judged"
    return (
        Finding(
            agent,
            BETTER,
            text=text,
            remedy=f"read it before you start {title} here, as you would a program",
            details=lines,
        ),
    )
