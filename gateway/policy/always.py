"""What "always" would save: a rule that lets a call run which only the mode asks about, and where that is safe the next
ones like it.

`narrowest` speaks of effects that the verdict shows, and of nothing else: these kinds on these paths, this host and
port, the code of these very words. A command's are bound to its exact words besides. What words and targets cannot pin
down (what is not known before the run, variables, processes, changes of the system, text that a program is fed) has no
such rule, and its calls go on asking.

`next_likely` goes along axes that change nothing of what such a call can do: files of the same kind in the same folder
of the workspace, the same host for the same program and subcommand, the code of the same subcommand in the sandbox.
Never along the words of an interpreter, and never for what deletes, sends, shows secrets or lies elsewhere.

Neither says anything with characters that cannot be seen, of which `HOLE` is one.
"""

from __future__ import annotations

import functools
import re

from gateway.model.decision import Decision
from gateway.model.effect import PATH_KINDS
from gateway.policy.change import path_pattern, spelled
from gateway.policy.globs import escape
from gateway.policy.hosts import GROUPS, build, lookup_possible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.command import Part
    from gateway.model.effect import Effect
    from gateway.model.verdict import Outcome, Verdict

_SUBCOMMAND = re.compile(r"[A-Za-z][A-Za-z0-9_-]*([.:][A-Za-z][A-Za-z0-9_-]*)*$")
MAX_ALTERNATIVES = 12
MAX_PATHS = 24


def narrowest(verdict: Verdict) -> list[dict[str, Any]]:
    """Alternatives of an allow rule, in long form, that speak of all the mode asks about, or refuses because it asks
    nobody; [] where no rule should.

    That they really let the call run is for the caller to try.
    """
    asked = [outcome for outcome in verdict.outcomes if outcome.decision is verdict.decision]
    unasked = verdict.decision is Decision.DENY and verdict.context.mode == "dont_ask"
    if not asked or not (unasked or verdict.decision is Decision.ASK):
        return []
    if any(each.reason.rule.lane != "mode" for each in asked):
        return []
    groups: dict[Any, dict[str, Any]] = {}
    for outcome in asked:
        # Once there is too much for a rule, the rest changes nothing: a command may name thousands of files.
        if not _add(groups, verdict, outcome) or len(groups) > MAX_ALTERNATIVES:
            return []
    found = [each for group in groups.values() for each in _exactly_these(group)]
    return [] if len(found) > MAX_ALTERNATIVES else found


def alternatives(verdict: Verdict) -> list[list[dict[str, Any]]]:
    """The rules to try, each as its alternatives in long form, the wider one first; [] where no rule should be saved.

    That one really lets the call run is for the caller to try.
    """
    narrow = narrowest(verdict) if verdict.decision is Decision.ASK else []
    wide = next_likely(verdict) if narrow else []
    return [each for each in (wide, narrow) if each]


def next_likely(verdict: Verdict) -> list[dict[str, Any]]:
    """What `narrowest` says, each alternative as wide as is safe; [] where there is nothing wider.

    For a verdict that has a narrowest rule.
    """
    wide: dict[str, dict[str, Any]] = {}
    narrow: dict[Any, dict[str, Any]] = {}
    for outcome in verdict.outcomes:
        if outcome.decision is not Decision.ASK:
            continue
        one = likely(verdict, outcome)
        if one is None:
            _add(narrow, verdict, outcome)
        else:
            join(wide, one)
    exact = [each for group in narrow.values() for each in _exactly_these(group)]
    found = [*wide.values(), *exact]
    return found if wide and len(found) <= MAX_ALTERNATIVES else []


def join(groups: dict[str, dict[str, Any]], one: dict[str, Any]) -> None:
    """Adds an alternative to those that say the same but of other files."""
    found = groups.setdefault(repr({**one, "path": []}), {**one, "path": []} if "path" in one else one)
    if "path" in one:
        found["path"] += [each for each in one["path"] if each not in found["path"]]


def covering(verdict: Verdict, outcome: Outcome) -> list[dict[str, Any]]:
    """The alternatives that cover one effect: as wide as is safe, else the same target for the same program and
    subcommand, else exactly; [] where no rule should, as for the services of this machine and of private networks."""
    wide = _installing(verdict, outcome) or likely(verdict, outcome)
    host = getattr(verdict.analysis.items[outcome.reason.item].effect, "host", "")
    if host and any(lookup_possible(_near_hosts(), host)):
        return []
    item = verdict.analysis.items[outcome.reason.item]
    if wide and item.effect.kind == "code" and not verdict.analysis.parts[item.part].subcommands:
        wide = None  # its first word names another program, or a target, of which nobody knows what else it can do
    groups: dict[Any, dict[str, Any]] = {}
    if wide is not None or not _add(groups, verdict, outcome):
        return [] if wide is None else [wide]
    who = _same_target(verdict, outcome)
    exact = [each for group in groups.values() for each in _exactly_these(group)]
    return [{**who, **{name: each[name] for name in each if name != "command"}} for each in exact] if who else exact


@functools.cache
def _near_hosts() -> dict[str, Any]:
    return build([(name, number) for number, name in enumerate(GROUPS)])


def _installing(verdict: Verdict, outcome: Outcome) -> dict[str, Any] | None:
    """The alternative for what a subcommand of a described program changes of the system by installing, in the sandbox:
    that holds it to the hosts and files that are predicted, which its other effects need a rule for besides. What comes
    from an address has that host among them."""
    item = verdict.analysis.items[outcome.reason.item]
    effect: Any = item.effect
    part = verdict.analysis.parts[item.part] if item.part >= 0 else None
    if effect.kind != "system" or effect.action != "install" or part is None or not verdict.context.confined:
        return None
    who = _who(part, "system")
    if who is None or not part.subcommands or part.expanded or not effect.what.isprintable():
        return None
    return {**who, "effect": "system", "action": "install", "what": effect.what, "confined": True}


def _same_target(verdict: Verdict, outcome: Outcome) -> dict[str, Any]:
    """Whose effects on the same file or folder of the workspace are like this one, whatever its other words; {} where
    the words are to stay, as those of a command that runs code: they may say whose."""
    from gateway.policy.lint.programs import INTERPRETERS

    item = verdict.analysis.items[outcome.reason.item]
    effect: Any = item.effect
    part = verdict.analysis.parts[item.part] if item.part >= 0 else None
    root = verdict.context.root
    if part is None or effect.kind not in PATH_KINDS or effect.kind == "delete" or part.program in INTERPRETERS:
        return {}
    if not root or not f"{effect.path}/".startswith(f"{root}/") or (effect.real and effect.real != effect.path):
        return {}
    if any(each.part == item.part and each.effect.kind in ("code", "opaque") for each in verdict.analysis.items):
        return {}
    return _who(part, effect.kind) or {}


def likely(verdict: Verdict, outcome: Outcome) -> dict[str, Any] | None:
    """The alternative that covers one effect and others like it, as wide as is safe; None where none would be, as for
    an effect that not even `narrowest` could speak of."""
    item = verdict.analysis.items[outcome.reason.item]
    effect: Any = item.effect
    part = verdict.analysis.parts[item.part] if item.part >= 0 else None
    who = _who(part, effect.kind)
    if who is None or not _add({}, verdict, outcome):
        return None
    if effect.kind in PATH_KINDS:
        files = _files_like(effect, verdict)
        return {**who, "effect": effect.kind, "path": [files]} if files else None
    if part is None:
        return None
    if effect.kind == "connect":
        port = {"port": effect.port} if effect.port else {}
        return {**who, "effect": "connect", "direction": effect.direction, "host": effect.host, **port}
    if effect.kind != "code":
        return None
    patterns = [_pattern(folder, verdict) for folder in (part.cwds or (verdict.context.cwd,))]
    return {**who, "effect": "code", "cwd": patterns, "confined": True}


def _who(part: Part | None, kind: str) -> dict[str, Any] | None:
    """Whose calls the rule speaks of: a program with its subcommand, or a tool; None where that says too little."""
    if part is None:  # a tool that writes a file, or a redirection: what it does says all
        return {}
    from gateway.policy.lint.programs import INTERPRETERS

    name = part.argv[0].rpartition("/")[2]
    if not (part.direct and part.trusted and part.program) or not part.program.isprintable():
        return None
    if kind == "code" and (part.program in INTERPRETERS or name in INTERPRETERS):
        return None  # its words are what runs
    words = [part.program, *part.subcommands]
    if kind == "code" and not part.subcommands:  # then its first word may tell what it does
        plain = part.argv[1] if len(part.argv) > 1 else ""
        if not _SUBCOMMAND.match(plain):
            return None
        words.append(plain)
    return {"exec": words if len(words) > 1 else words[0]}


def _files_like(effect: Any, verdict: Verdict) -> str:
    """What is of the same kind in the folder of a file of the workspace, as a pattern; "" where nothing is."""
    root = verdict.context.root
    if not root or effect.kind == "delete" or effect.tree or (effect.real and effect.real != effect.path):
        return ""
    path = effect.path
    if not path.isprintable() or not path.startswith(root + "/"):
        return ""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem or not ending:
        return ""
    suffix = dot + ending
    return f"./*{escape(suffix)}" if folder == root else f"{path_pattern(folder, verdict)}/**/*{escape(suffix)}"


def _exactly_these(group: dict[str, Any]) -> list[dict[str, Any]]:
    """An alternative whose paths stand for themselves and not for what may come to lie below them; several where one of
    the paths lies below another."""
    paths = group.get("path", ())
    if not paths or group.pop("tree"):
        return [group]
    plain = [path.removeprefix("./") for path in paths]
    nested = any(one != other and one.startswith(other.rstrip("/") + "/") for one in plain for other in plain)
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
    return effect.kind == "opaque" and _add_tool(groups, verdict)


def exact_words(part: Part) -> str:
    """The command pattern that matches these very words; "" where words cannot spell one."""
    if not (part.direct and part.literal and part.argv) or part.expanded:
        return ""
    if not all(word.isprintable() for word in part.argv) or part.argv[0].endswith(":"):
        return ""
    return " ".join(map(spelled, part.argv))


def _add_path(groups: dict[Any, dict[str, Any]], verdict: Verdict, words: str, effect: Any) -> bool:
    paths = [path for path in (effect.path, effect.real) if path]
    if not all(path.isprintable() for path in paths):
        return False
    command = {"command": words} if words else {}
    new = {**command, "effect": effect.kind, "path": [], "tree": effect.tree}
    found = groups.setdefault((words, effect.kind, effect.tree), new)["path"]
    found += [each for path in paths if (each := _pattern(path, verdict)) not in found]
    return len(found) <= MAX_PATHS


def _add_host(groups: dict[Any, dict[str, Any]], words: str, effect: Any) -> bool:
    if not effect.host.isprintable() or effect.sends or effect.direction == "listen":
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
    if any(word in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") for word in part.argv):
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
