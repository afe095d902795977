"""A session of the agent as a page that people read: Markdown, or HTML that loads nothing and runs nothing.

Both are made from the lines of its transcript, so all that was ever said is there, also what the model was no longer
shown later.
"""

from __future__ import annotations

import html
import json
import re
import time

from gateway.agent.transcript import (
    AGAIN,
    ASSISTANT,
    CLEARED,
    ENDED,
    RESULT,
    SESSION,
    START,
    SUMMARY,
    USER,
    lines,
)
from gateway.core.value import Value
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

MARKDOWN, HTML = FORMS = ("md", "html")
PERSON, MODEL, THOUGHT, CALL, ANSWER, NOTE = "person", "model", "thinking", "call", "result", "note"
_MOST = 200_000
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f2; padding: .6rem; margin: .3rem 0 }
section { margin: 1rem 0; border-left: 3px solid #bbb; padding-left: .8rem }
section.person { border-color: #1f6feb } section.wrong { border-color: #c62828 }
h2 { font-size: .95rem; margin: 0 } summary { cursor: pointer }
p.text { white-space: pre-wrap; margin: .3rem 0 } .when { color: #666; font-weight: normal }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616 } pre { background: #242424 } .when { color: #aaa } }
"""


class Entry(Value):
    """One thing that was said or done. `title`: whose, or of which call; `wrong`: whether a call did not work."""

    kind: str
    title: str
    text: str
    when: float
    wrong: bool = False


def page(path: str, form: str) -> str:
    """The page of a transcript. Raises ConfigError for a file that is none."""
    found = [*entries(path)]
    title = found[0].title if found else ""
    return _html(title, found) if form == HTML else _markdown(title, found)


def entries(path: str) -> Iterator[Entry]:
    """What was said and done, in its order; the first is its head. Raises ConfigError."""
    names: dict[str, str] = {}
    for line in lines(path):
        kind, when = line["type"], float(line.get("time", 0))
        if kind == START:
            yield Entry(NOTE, f"Session {line['session']} with {line['model']}", _stands(line), when)
        elif kind in (USER, SUMMARY):
            for block in line["content"]:
                text = _of_block(block)
                said_by_us = text.startswith("[gateway]") or kind == SUMMARY
                yield Entry(NOTE if said_by_us else PERSON, "gateway" if said_by_us else "Person", text, when)
        elif kind == ASSISTANT:
            for block in line["content"]:
                if block.get("type") == "tool_use":
                    names[block["id"]] = block["name"]
                    given = json.dumps(block.get("input", {}), ensure_ascii=False, indent=2)
                    yield Entry(CALL, f"Call of {block['name']}", given, when)
                elif block.get("type") == "thinking":
                    yield Entry(THOUGHT, "Thinking", str(block.get("thinking", "")), when)
                else:
                    yield Entry(MODEL, "Model", _of_block(block), when)
        elif kind == RESULT:
            block = line["block"]
            wrong = bool(block.get("is_error"))
            title = f"{'Failure' if wrong else 'Result'} of {names.get(block['tool_use_id'], 'a call')}"
            yield Entry(ANSWER, title, _of_content(block.get("content", "")), when, wrong=wrong)
        elif kind == SESSION:
            yield Entry(NOTE, "gateway", _stands(line), when)
        elif kind == AGAIN:
            yield Entry(NOTE, "gateway", f"asked again: {line.get('reason', '')}", when, wrong=True)
        elif kind == CLEARED:
            yield Entry(NOTE, "gateway", f"{len(line['ids'])} old results were taken out for the model", when)
        elif kind == ENDED:
            yield Entry(NOTE, "gateway", f"ended: {line['why']} {line.get('reason', '')}".rstrip(), when)


def _stands(line: Mapping[str, Any]) -> str:
    return f"folder {line['cwd']}, mode {line['mode']}"


def _of_content(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_of_block(block) for block in content) if isinstance(content, list) else ""


def _of_block(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block["text"])
    if kind in ("image", "document"):
        source = block.get("source", {})
        return f"[{kind}: {source.get('media_type', '')}, {len(source.get('data', '')):,} characters]"
    return f"[{kind}]"


def _shown(text: str) -> str:
    """A text with everything in it visible, cut where it is far too long."""
    cut = text if len(text) <= _MOST else f"{text[:_MOST]}\n[{len(text) - _MOST:,} more characters]"
    return "\n".join(visible(line.expandtabs(4)) for line in cut.replace("\r\n", "\n").split("\n"))


def _when(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when)) if when else ""


def _markdown(title: str, found: list[Entry]) -> str:
    parts = [f"# {visible(title)}\n"]
    for each in found:
        text = _shown(each.text).rstrip()
        # What a model or a file says is shown as it is, and never becomes a part of the page.
        longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        mark = " (failed)" if each.wrong and each.kind == ANSWER else ""
        parts.append(f"## {visible(each.title)}{mark}\n\n{_when(each.when)}\n\n{fence}text\n{text}\n{fence}\n")
    return "\n".join(parts)


def _html(title: str, found: list[Entry]) -> str:
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(visible(title))}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{html.escape(visible(title))}</h1>\n"
    )
    return head + "".join(map(_section, found)) + "</body></html>\n"


def _section(each: Entry) -> str:
    name, when = html.escape(visible(each.title)), _when(each.when)
    text = html.escape(_shown(each.text).rstrip())
    kind = f"{each.kind} wrong" if each.wrong else each.kind
    said = f'<h2>{name} <span class="when">{when}</span></h2>'
    if each.kind in (PERSON, MODEL, NOTE):
        return f'<section class="{kind}">{said}<p class="text">{text}</p></section>\n'
    is_open = " open" if each.wrong or text.count("\n") < 12 else ""
    return f'<section class="{kind}"><details{is_open}><summary>{said}</summary><pre>{text}</pre></details></section>\n'
