"""What "always" would save: the narrowest rule that lets a call run which only the mode asks about.

Each alternative of the rule speaks of effects that the verdict shows, and of nothing else: these kinds on these paths,
this host and port, the code of these very words. A command's are bound to its exact words besides. What words and
targets cannot pin down (what is not known before the run, variables, processes, changes of the system, text that a
program is fed) has no such rule, and its calls go on asking.
"""

from __future__ import annotations

from gateway.model.decision import Decision
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.policy.change import path_pattern, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.command import Part
    from gateway.model.effect import Effect
    from gateway.model.verdict import Outcome, Verdict

MAX_ALTERNATIVES = 12
MAX_PATHS = 24


def narrowest(verdict: Verdict) -> list[dict[str, Any]]:
    """Alternatives of an allow rule, in long form, that speak of all the mode asks about; [] where no rule should.

    That they really let the call run is for the caller to try.
    """
    asked = [outcome for outcome in verdict.outcomes if outcome.decision is Decision.ASK]
    if not asked or verdict.decision is not Decision.ASK or any(each.reason.rule.lane != "mode" for each in asked):
        return []
    groups: dict[Any, dict[str, Any]] = {}
    for outcome in asked:
        # Once there is too much for a rule, the rest changes nothing: a command may name thousands of files.
        if not _add(groups, verdict, outcome) or len(groups) > MAX_ALTERNATIVES:
            return []
    found = [each for group in groups.values() for each in _exactly_these(group)]
    too_many = any(len(each.get("path", ())) > MAX_PATHS for each in found)
    return [] if too_many or len(found) > MAX_ALTERNATIVES else found


def _exactly_these(group: dict[str, Any]) -> list[dict[str, Any]]:
    """An alternative whose paths stand for themselves and not for what may come to lie below them; several where one of
    the paths lies below another."""
    paths = group.get("path", ())
    if not paths or group.pop("tree"):
        return [group]
    nested = any(one != other and one.startswith(other.rstrip("/") + "/") for one in paths for other in paths)
    parts = [[path] for path in paths] if nested or "." in paths else [paths]
    return [{**group, "path": part, "path_not": [f"{path}/**" for path in part]} for part in parts]


def _add(groups: dict[Any, dict[str, Any]], verdict: Verdict, outcome: Outcome) -> bool:
    """Adds one asked effect to the alternative that it belongs to; False where no rule should cover it."""
    item = verdict.analysis.items[outcome.reason.item]
    if outcome.reason.rule.id.startswith("level:"):
        return _add_tool(groups, verdict)
    part = verdict.analysis.parts[item.part] if item.part >= 0 else None
    words = "" if part is None else exact_words(part)
    if part is not None and not words:
        return False
    effect: Any = item.effect
    if effect.kind in PATH_KINDS:
        return _add_path(groups, verdict, words, effect)
    if effect.kind == "connect":
        return _add_host(groups, words, effect)
    if effect.kind == "code" and part is not None:
        return _add_code(groups, verdict, part, words, effect)
    if effect.kind == "opaque" and part is None:
        return _add_tool(groups, verdict)
    return False


def exact_words(part: Part) -> str:
    """The command pattern that matches these very words; "" where words cannot spell one."""
    if not (part.direct and part.literal and part.argv) or part.expanded:
        return ""
    if not all(word.isprintable() for word in part.argv) or part.argv[0].endswith(":"):
        return ""
    return " ".join(map(spelled, part.argv))


def _add_path(groups: dict[Any, dict[str, Any]], verdict: Verdict, words: str, effect: Any) -> bool:
    paths = [path for path in (effect.path, effect.real) if path]
    if any(HOLE in path or not path.isprintable() for path in paths):
        return False
    command = {"command": words} if words else {}
    new = {**command, "effect": effect.kind, "path": [], "tree": effect.tree}
    found = groups.setdefault((words, effect.kind, effect.tree), new)["path"]
    found += [each for path in paths if (each := _pattern(path, verdict)) not in found]
    return len(found) <= MAX_PATHS


def _add_host(groups: dict[Any, dict[str, Any]], words: str, effect: Any) -> bool:
    if HOLE in effect.host or not effect.host.isprintable() or effect.sends or effect.direction == "listen":
        return False
    command = {"command": words} if words else {}
    port = {"port": effect.port} if effect.port else {}
    if not words and (effect.direction != "fetch" or not effect.port):
        return False
    groups[words, "connect", effect.host, effect.port, effect.direction] = {
        **command, "effect": "connect", "direction": effect.direction, "host": effect.host, **port,
    }  # fmt: skip
    return True


def _add_code(groups: dict[Any, dict[str, Any]], verdict: Verdict, part: Part, words: str, effect: Any) -> bool:
    """The code of exactly these words, in this folder and in the sandbox. Where a program is fed what it runs, or may
    be, its words do not tell."""
    if not verdict.context.confined or not _words_tell(part, effect):
        return False
    cwds = part.cwds if part.cwds is not None else (verdict.context.cwd,)
    if not cwds or any(not folder.isprintable() for folder in cwds):
        return False
    patterns = [_pattern(folder, verdict) for folder in cwds]
    groups[words, "code"] = {"command": words, "effect": "code", "cwd": patterns, "confined": True}
    return True


def _words_tell(part: Part, effect: Effect) -> bool:
    """Whether the words of a command say what runs."""
    if "not known" in effect.why or "input" in effect.why:  # type: ignore[attr-defined]
        return False
    if any(word in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") for word in part.argv[1:]):
        return False
    return len(part.argv) > 1 or "/" in part.argv[0]


def _pattern(path: str, verdict: Verdict) -> str:
    return "." if path == verdict.context.root else path_pattern(path, verdict)


def _add_tool(groups: dict[Any, dict[str, Any]], verdict: Verdict) -> bool:
    """Calls of one tool of one server: nothing of them is known but its name."""
    call = verdict.call
    if not call.tool.startswith("mcp__") or verdict.analysis.parts or verdict.analysis.tokens:
        return False
    groups["tool"] = {"tool": call.tool, **({"server": call.server} if call.server else {})}
    return True
