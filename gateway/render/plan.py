"""The plan of a confined call as data and as people read it. Of the environment only names are shown."""

from __future__ import annotations

from gateway.audit import secrets
from gateway.model.decision import Decision
from gateway.model.limits import LIMITS
from gateway.policy.wording import visible
from gateway.render.style import wrapped
from gateway.sandbox.base import SandboxError
from gateway.sandbox.plan import plan_of
from gateway.sandbox.profile import profile_of
from gateway.sandbox.survey import Surveyor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.judge.judge import Judge
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.render.style import Style

_LABEL = 13
_ACCESS = (("read", "readable"), ("write", "writable"), ("fixed", "fixed"), ("hidden", "hidden"))


def planned(judge: Judge, verdict: Verdict) -> dict[str, Any] | None:
    """The plan for a call as plain data, with `error` where there can be none; None for a call that does not run
    confined."""
    if verdict.decision is Decision.DENY or not verdict.context.confined:
        return None
    try:
        profile = profile_of(judge.loaded_for(verdict).settings)
        return plan_data(plan_of(verdict, profile, Surveyor(judge, secrets.holds).survey(verdict)))
    except SandboxError as error:
        return {"error": error.reason, "remedy": error.remedy}


def plan_data(plan: SandboxPlan) -> dict[str, Any]:
    """A plan as plain data, without the values of variables and without where secrets come from."""
    network = plan.network
    fetching = [each.as_dict() for each in plan.fetching.allow]
    return {
        "mounts": [mount.as_dict() for mount in plan.mounts],
        "links": [{"path": path, "target": target} for path, target in plan.links],
        "private": list(plan.private),
        "cwd": plan.cwd,
        "environment": [name for name, _ in plan.environment],
        "network": {
            "mode": network.mode,
            "allow": [each.as_dict() for each in network.allow],
            "deny": [each.as_dict() for each in network.deny],
            "inject": [{"host": each.host, "header": each.header} for each in network.inject],
            **({"logins": [list(each) for each in network.logins.pairs]} if network.logins.pairs else {}),
        },
        "limits": plan.limits.as_dict(),
        **({"fetches": fetching} if fetching else {}),
        "contained": plan.contained,
        "free": plan.free,
        "layers": [path for path, _folder in plan.layers],
        "transient": list(plan.transient),
        "watched": list(plan.watched),
        "held": list(plan.held),
        "weaker": list(plan.weaker),
        "permits": list(plan.permits),
        "withheld": [{"what": what, "why": why} for what, why in plan.withheld],
    }


def plan_text(found: dict[str, Any], style: Style) -> str:
    """The plan for people, from its data."""
    if "error" in found:
        lines = _labelled("no plan", [visible(found["error"])], style) + _labelled("help", [found["remedy"]], style)
        return "\n".join(lines) + "\n"
    lines = [style.paint("plan", "strong")]
    for access, label in _ACCESS:
        shown = [_mount(each) for each in found["mounts"] if each["access"] == access]
        lines += _labelled(label, shown, style)
    lines += _labelled("copied", [f"{visible(each)}/" for each in found["layers"]], style)
    lines += _labelled("not kept", [f"{visible(each)}/" for each in found["transient"]], style)
    lines += _labelled("put back", list(map(visible, found["held"])), style)
    lines += _labelled("watched", list(map(visible, found["watched"])), style)
    lines += _labelled("its own", list(map(visible, found["private"])), style)
    links = [f"{visible(each['path'])} -> {visible(each['target'])}" for each in found["links"]]
    lines += _labelled("links", links, style)
    lines += _labelled("starts in", [visible(found["cwd"])], style)
    network = found["network"]
    shown = [_NETWORK[network["mode"]], *map(_endpoint, network["allow"])]
    lines += _labelled("network", shown, style)
    lines += _labelled("refused", list(map(_endpoint, network["deny"])), style)
    lines += _labelled("adds", [f"{each['header']} for {each['host']}" for each in network["inject"]], style)
    lines += _labelled("logs in", _logins(network), style)
    lines += _labelled("environment", [" ".join(found["environment"])], style)
    lines += _labelled("fetches", _fetches(found), style)
    lines += _labelled("limits", [_limits(found["limits"])], style)
    lines += _labelled("permits", [", ".join(found["permits"])], style)
    lines += _labelled("weaker", [", ".join(found["weaker"])], style)
    lines += _labelled("not granted", [f"{visible(each['what'])}: {each['why']}" for each in found["withheld"]], style)
    return "\n".join(lines) + "\n"


def summary_text(plan: SandboxPlan, style: Style) -> str:
    """What a plan lets a call do that matters to whoever approves it, in a few lines."""
    lines = [style.paint("inside the sandbox", "strong")]
    for label, said in summary_rows(plan):
        lines += _labelled(label, said, style)
    return "\n".join(lines) + "\n"


def summary_rows(plan: SandboxPlan) -> list[tuple[str, list[str]]]:
    """The same as labels, each with what it is of."""
    found = plan_data(plan)
    network = found["network"]
    writable = [_mount(each) for each in found["mounts"] if each["access"] == "write"]
    hidden = sum(each["access"] == "hidden" for each in found["mounts"])
    rows = [
        ("may change", writable or ["nothing but its own /tmp and HOME, which are gone afterwards"]),
        ("network", [_NETWORK[network["mode"]], *map(_endpoint, network["allow"])]),
        ("fetches", _fetches(found)),
        ("adds", [f"{each['header']} for {each['host']}" for each in network["inject"]]),
        ("logs in", _logins(network)),
        ("hidden", [f"{hidden} files or folders that policy denies"] if hidden else []),
        ("permits", [", ".join(found["permits"])] if found["permits"] else []),
        ("not granted", [f"{visible(each['what'])}: {each['why']}" for each in found["withheld"]]),
    ]
    return [(label, said) for label, said in rows if said]


_FETCHED = "before it runs, what it installs, in a step of its own that sees nothing of the project:"
_NETWORK = {"off": "none but its own loopback", "listed": "only these:", "open": "any public host"}


def _logins(network: dict[str, Any]) -> list[str]:
    """With which of the kubeconfig's logins which of its clusters is read."""
    found = [f"as {visible(user)} to the cluster {visible(cluster)}" for cluster, user in network.get("logins", ())]
    return [f"outside of the sandbox: {', '.join(found)}"] if found else []


def _fetches(found: dict[str, Any]) -> list[str]:
    """What is fetched in a step of its own, from where."""
    hosts = found.get("fetches", ())
    return [_FETCHED, *map(_endpoint, hosts)] if hosts else []


def _mount(mount: dict[str, Any]) -> str:
    path = visible(mount["path"]) + ("/" if mount["folder"] and mount["path"] != "/" else "")
    return f"{path}  {mount['rule']}" if mount["rule"] else path


def _endpoint(endpoint: dict[str, Any]) -> str:
    place = f"{visible(endpoint['host'])}:{endpoint['port']}" if endpoint["port"] else visible(endpoint["host"])
    if socket := endpoint.get("socket"):
        place = f"{visible(socket)} (its daemon, by {endpoint['told']})"
    place += " (only to read)" if endpoint["access"] else ""
    return f"{place}  {endpoint['rule']}" if endpoint["rule"] else place


def _limits(limits: dict[str, Any]) -> str:
    """Those that hold, in the order of their records."""
    kept = [(limits[limit.field] / limit.factor, limit.word) for limit in LIMITS.values() if limit.field]
    return ", ".join(f"{value:,.15g} {word}" for value, word in kept if value)


def _labelled(label: str, texts: Iterable[str], style: Style) -> list[str]:
    lines: list[str] = []
    for text in texts:
        if not text:
            continue
        for line in wrapped(text, style.width - _LABEL - 2):
            head = "" if lines else label
            lines.append(f"  {style.paint(f'{head:<{_LABEL}}', 'dim') if head else ' ' * _LABEL}{line}")
    return lines
