"""What `gateway policy show --json` prints: the effective policy as data."""

from __future__ import annotations

from gateway.frontends.policy_text import what_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.core.errors import Problem
    from gateway.judge.effective_policy import Effective


def effective_data(found: Effective, layer: str, *, only_sources: bool) -> dict[str, Any]:
    """The whole of it, or of one layer ("" for all); `only_sources`: where policy comes from, and no more."""
    data: dict[str, Any] = {
        "root": found.root,
        "sources": [each.as_dict() for each in found.sources if not layer or each.layer == layer],
        "project": {
            "digest": found.project_digest,
            "trusted": found.project_trusted,
            "kept_digests": list(found.kept_digests),
        },
        "commands": [each.as_dict() for each in found.commands if not layer or each.layer == layer],
        "problems": [_problem(each) for each in found.problems],
    }
    if only_sources:
        return data
    data["mode"] = found.mode
    data["settings"] = {
        name: setting.as_dict() for name, setting in found.settings.items() if not layer or layer in setting.layers()
    }
    data["not_used"] = list(found.skipped)
    data["hooks"] = [_hook(each) for each in found.hooks if not layer or each["layer"] == layer]
    data["tools"] = [{"layer": each, "file": path} for each, path in found.tool_files if not layer or each == layer]
    data["rules"] = [
        {
            "id": each.rule["id"],
            "lane": each.rule["lane"],
            "layer": each.layer,
            "file": each.file,
            "line": each.rule["line"],
            "text": each.rule["text"],
            "level": each.level,
            "state": each.state,
            "lock": each.rule["lock"],
            "expires": each.rule["expires"],
            "because": each.rule["because"],
            "instead": each.rule["instead"],
        }
        for each in found.rules
        if not layer or each.layer == layer
    ]
    return data


def _hook(hook: dict[str, Any]) -> dict[str, Any]:
    told = ("id", "layer", "file", "line", "event", "tools", "guards", "seconds")
    return {**{name: hook[name] for name in told}, "does": what_runs(hook)}


def _problem(problem: Problem) -> dict[str, Any]:
    fields = {name: getattr(problem, name) for name in ("message", "file", "line", "column", "remedy")}
    return {name: value for name, value in fields.items() if value}
