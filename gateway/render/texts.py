"""What is said of a call at each stage, without colours: from the declaration of its tool, or in the general form.

Nothing that a tool, a file or a model says reaches a terminal unseen: every character without a shape of its own is
written as its escape, line by line.
"""

from __future__ import annotations

from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from gateway.calls.output import Done, Output, Progress

MOST_FIELD = 2_000
MOST_CONDENSED = 160
TAB = 4


def shown(text: str) -> str:
    """The text with everything in it visible; lines stay lines, and tabs become blanks."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(visible(line.expandtabs(TAB)) for line in lines)


def call_text(entry: Mapping[str, Any], fields: Mapping[str, Any], match: str, *, full: bool) -> str:
    """A call as its tool says it looks, else as `Tool(its match field)`, in full with all its other fields."""
    text = _call_text(entry, fields, match, full=full)
    return text or visible(entry["name"])  # nothing that it speaks of was given


def _call_text(entry: Mapping[str, Any], fields: Mapping[str, Any], match: str, *, full: bool) -> str:
    form = _form(entry, "call", full=full)
    if form is not None and (not full or all(fields.get(name) is not None for name in _named(form))):
        return _in_form(_filled(form, fields), full=full)
    if form is not None:  # what it speaks of is not all there: the short form, and whatever else was given
        short = _form(entry, "call", full=False) or form
        others = [f"  {name}: {_spelled(value)}" for name, value in fields.items() if name not in _named(short)]
        return shown("\n".join([_filled(short, fields), *others]))
    first = _spelled(fields.get(match)) if match else ""
    if not full:
        return _in_form(f"{entry['name']}({first})", full=False)
    others = [f"  {name}: {_spelled(value)}" for name, value in fields.items() if name != match]
    return shown("\n".join([f"{entry['name']}({first})", *others]))


def progress_text(entry: Mapping[str, Any], progress: Progress, *, full: bool) -> str:
    """What happens meanwhile."""
    form = _form(entry, "progress", full=full)
    text = progress.text if form is None else _filled(form, {"message": progress.text, "summary": progress.kind})
    return shown(text)


def result_text(
    entry: Mapping[str, Any],
    fields: Mapping[str, Any],
    done: Done,
    *,
    full: bool,
    seen: Collection[str] = frozenset(),
) -> str:
    """What came of the call: what its tool says it looks like, else what the model gets without the lines that were
    seen as they came."""
    stage = _stage(done)
    form = _form(entry, stage, full=full)
    text = done.text
    if seen and form is None:
        text = "\n".join(line for line in text.split("\n") if line not in seen)
    if stage in ("refusal", "error") and done.result.reason and not done.ran:
        text = done.result.reason
    if form is not None:
        return shown(_filled(form, {**fields, "message": text, "summary": summary(done.output)}))
    return shown(text if full or stage != "result" else condensed(text))


def _stage(done: Done) -> str:
    if not done.ran:
        return "refusal"
    return "error" if done.output.is_error else "result"


def condensed(text: str, lines: int = 12) -> str:
    """The beginning of a text, and how much more there is."""
    found = text.split("\n")
    if len(found) <= lines + 1:
        return text
    return "\n".join(found[:lines]) + f"\n… {len(found) - lines} more lines (--full shows them)"


def summary(output: Output) -> str:
    """A result in a few words."""
    texts = [block.text for block in output.blocks if hasattr(block, "text")]
    pictures = len(output.blocks) - len(texts)
    lines = sum(text.count("\n") + 1 for text in texts if text)
    parts = [f"{lines} line{'s' if lines != 1 else ''}"] if lines else []
    parts += [f"{pictures} picture{'s' if pictures != 1 else ''}"] if pictures else []
    parts += [f"{len(output.changed)} file{'s' if len(output.changed) != 1 else ''} changed"] if output.changed else []
    return ", ".join(parts) or "nothing"


def _form(entry: Mapping[str, Any], stage: str, *, full: bool) -> list[dict[str, Any]] | None:
    forms = (entry.get("render") or {}).get(stage)
    if not forms:
        return None
    wanted, other = ("full", "condensed") if full else ("condensed", "full")
    found: list[dict[str, Any]] | None = forms.get(wanted) or forms.get(other)
    return found


def _named(parts: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(part["field"] for part in parts if "field" in part)


def _filled(parts: list[dict[str, Any]], fields: Mapping[str, Any]) -> str:
    """The template line by line; a line whose fields are all missing is left out."""
    text, lines = "", []
    given = needed = 0

    def end() -> None:
        nonlocal text, given, needed
        if not needed or given:
            lines.append(text)
        text, given, needed = "", 0, 0

    for part in parts:
        if "field" in part:
            needed += 1
            value = fields.get(part["field"])
            given += value is not None
            text += _spelled(value)
            continue
        first, *rest = part["text"].split("\n")
        text += first
        for each in rest:
            end()
            text = each
    end()
    return "\n".join(lines)


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return shortened(value, MOST_FIELD)
    if isinstance(value, bool):
        return "true" if value else "false"
    import json

    return shortened(json.dumps(value, ensure_ascii=False), MOST_FIELD)


def _in_form(text: str, *, full: bool) -> str:
    text = text.strip("\n")
    return shown(text) if full else shortened(shown(text.replace("\n", " ⏎ ")), MOST_CONDENSED)
