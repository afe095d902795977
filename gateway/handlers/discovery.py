"""ToolSearch: loads the descriptions of tools that a model sees only by name."""

from __future__ import annotations

import json

from gateway.calls.output import Failure, Output, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.mcp.offered_tools import Tool
    from gateway.model.call import Call

SELECT = "select:"


def search(call: Call, work: Work) -> Output:
    """The full definitions of the tools that are named, or that fit the words best. From then on the session has them
    in full."""
    from gateway.mcp.offered_tools import definitions, offered

    query, most = call.input["query"].strip(), call.input["max_results"]
    tools = offered(work.judge, work.context.mode, work.session)
    if query.startswith(SELECT):
        found = _selected(query[len(SELECT) :], tools, work)
    else:
        found = _ranked(query, tools)[:most]
        if not found:
            raise Failure(f"No tool fits `{query}`.", "Try other words, or `select:Name`.")
    work.session.searched |= {tool.name for tool in found}
    names = [tool.name for tool in found]
    told = {each["name"]: each for each in definitions(work.judge, "anthropic", work.context.mode, work.session)}
    shown = [told[name] for name in names if name in told]
    text = "\n".join(json.dumps(each, ensure_ascii=False, indent=1) for each in shown)
    return Output((Text(text),), {"tools": names})


def _selected(names: str, tools: list[Tool], work: Work) -> list[Tool]:
    known = {tool.name: tool for tool in tools}
    wanted = [work.judge.registry.canonical_name(name.strip()) for name in names.split(",") if name.strip()]
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        from gateway.tools.words import suggestion

        said = ", ".join(f"`{name}`" for name in missing) or "nothing"
        raise Failure(f"There is no tool {said} here.", suggestion(missing[0], known) if missing else "")
    return [known[name] for name in dict.fromkeys(wanted)]


def _ranked(query: str, tools: list[Tool]) -> list[Tool]:
    """The tools that one of the words fits, the best first: a word in the name counts most, then one in the hint and
    the summary, then one in the description. A word with `+` before it must fit."""
    words = query.casefold().split()
    needed = [word[1:] for word in words if word.startswith("+") and len(word) > 1]
    words = [word.lstrip("+") for word in words]
    scored = []
    for place, tool in enumerate(tools):
        texts = _texts(tool)
        if all(any(word in text for text in texts) for word in needed):
            score = sum(weight for word in words if word for text, weight in zip(texts, _WEIGHTS, strict=True)
                        if word in text)  # fmt: skip
            if score:
                scored.append((-score, place, tool))
    return [tool for _score, _place, tool in sorted(scored, key=lambda each: each[:2])]


_WEIGHTS = (10, 5, 3, 1)


def _texts(tool: Tool) -> tuple[str, str, str, str]:
    entry = tool.entry
    found = (tool.name, entry["search_hint"], entry["summary"], tool.description())
    one, two, three, four = (text.casefold() for text in found)
    return one, two, three, four
