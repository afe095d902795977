"""Calls as people write them: `Bash(rm -rf *)`, `Read(src/main.py)`, `mcp__github__get_issue({"number": 7})`."""

from __future__ import annotations

from gateway.core.errors import CallError, Problem
from gateway.model.call import RawCall
from gateway.tools.words import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.tools.registry import Registry

_LONGEST = 4_000_000


def parse_call_text(registry: Registry, text: str) -> RawCall:
    """The call that a text means. Raises `CallError`.

    What stands between the first `(` and the last `)` is the match field, taken as it is. A tool without a match
    field takes a JSON object there. A bare name is a call of which no field is known. Fields that the text does
    not give are unknown, not errors.
    """
    if len(text) > _LONGEST:
        raise CallError(Problem(f"call must be at most {_LONGEST:,} characters (got {len(text):,})"))
    stripped = text.strip()
    name, parenthesis, rest = stripped.partition("(")
    name = name.rstrip()
    if not name:
        raise CallError(Problem(f"call must be `Tool(…)` (got {quoted(text)})", remedy="such as `Bash(git status)`"))
    if any(map(str.isspace, name)):  # no tool is named so: it is the text of a command
        remedy = f"a shell command is a call too: {quoted(f'Bash({stripped})')}"
        raise CallError(Problem(f"call must be `Tool(…)` (got {quoted(text)})", remedy=remedy))
    tool = registry.tool(name)
    if not parenthesis:
        return RawCall(tool.name, {}, True)
    if not rest.endswith(")"):
        raise CallError(Problem(f"call must end in `)` (got {quoted(text)})"))
    content = rest[:-1]
    if not tool.match:
        return RawCall(tool.name, _object(content, tool.name) if content.strip() else {}, True)
    if tool.match_kind == "url" and content.startswith("domain:"):
        content = "https://" + content[7:].strip() + "/"
    return RawCall(tool.name, {tool.match: content}, True)


def _object(content: str, name: str) -> dict[str, Any]:
    if not content.lstrip().startswith("{"):
        raise CallError(
            Problem(
                f"`{name}` must be given its input as a JSON object (got {quoted(content)})", remedy=f"{name}({{…}})"
            )
        )
    from gateway.core.plainjson import unambiguous  # lazy: most calls come as fields

    try:
        found = unambiguous(content)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise CallError(Problem(f"input must be a JSON object (got {quoted(content)})", remedy=reason)) from error
    return found  # type: ignore[no-any-return]  # it starts with a brace
