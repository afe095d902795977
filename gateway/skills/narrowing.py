"""What a skill says that it uses, as a rule of the session that forbids everything else; pure."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# Tools whose patterns speak of what a call touches, and which tools and effects such a pattern is to hold.
_EDITING = ("Edit", "Write", "NotebookEdit")
_SHOWING = ("Read", "Glob", "Grep", "LSP")
_PATHS = ("read", "list", "write", "delete")
_TOUCHING: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    **dict.fromkeys(_EDITING, (_EDITING, _PATHS, "Edit")),
    **dict.fromkeys(_SHOWING, (_SHOWING, _PATHS, "Read")),
    "WebFetch": (("WebFetch",), ("connect",), "WebFetch"),
}


def rule(name: str, tools: Iterable[str], always: Collection[str], known: Mapping[str, str]) -> str:
    """The text of a policy file that forbids what is not among `tools`: names such as `Read`, `Bash(git *)`,
    `Edit(docs/**)`. `always`: tools that stay whatever is said, because they change nothing but the session; `known`:
    every name of a tool with its proper one. A tool that nobody knows is forbidden like all that is not named."""
    whole: list[str] = []
    parts: dict[tuple[str, ...], list[str]] = {}
    excepted: list[object] = [{"tool": sorted(always)}] if always else []
    for said in tools:
        short, opening, inner = said.partition("(")
        short = known.get(short.strip(), short.strip())
        if short not in known.values() and not short.startswith("mcp__"):
            continue
        if not opening or inner.strip() in ("*)", "**)"):
            whole.append(short)
        elif short in _TOUCHING:
            parts.setdefault((short,), []).append(f"{_TOUCHING[short][2]}({inner}")
        else:
            excepted.append(f"{short}({inner}")
    because = f"the skill `{name}` uses nothing else"
    rules: list[dict[str, object]] = []
    held: dict[tuple[str, ...], list[str]] = {}
    for (short,), patterns in parts.items():
        held.setdefault(_TOUCHING[short][0], []).extend(patterns)
    for group, patterns in sorted(held.items()):
        inside = [each for each in group if each not in whole]
        if not inside:
            continue
        effects = list(_TOUCHING[group[0]][1])
        rules.append({"deny": {"tool": inside, "effect": effects}, "except": sorted(set(patterns)), "because": because})
        excepted.append({"tool": inside})
    excepted += sorted(set(whole))
    rules.insert(0, {"deny": {"tool": "*"}, **({"except": excepted} if excepted else {}), "because": because})
    return json.dumps({"version": 1, "rules": rules}, ensure_ascii=False)
