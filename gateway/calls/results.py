"""From what a handler gave back to what a model is handed: as declared, not too long, and in the form of its API."""

from __future__ import annotations

import os

from gateway.calls.output import Failure, Image, Output, Text
from gateway.core.errors import GatewayError, fault
from gateway.tools.frozen import freeze
from gateway.tools.validate import compile_validator, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.calls.ports import InProgress

# Of a result that is too long, this much of its beginning and of its end is shown.
PREVIEW = 2_000
_TAIL = 1_000

_validators: dict[int, tuple[dict[str, Any], Any]] = {}


def limited(output: Output, entry: dict[str, Any], scratch: Callable[[], str] | None) -> Output:
    """The output as its tool's declaration lets a model have it. What is longer lies in a file of the folder that
    `scratch` makes; without that the output stays whole. Raises Failure for structured data that is not what the tool
    declares."""
    if entry.get("output") is not None and not output.is_error:
        _check(output, entry)
    most = entry.get("max_result_chars", DEFAULT)
    if most is None or scratch is None:
        return output
    length = 0
    for block in output.blocks:
        if isinstance(block, Text):
            length += len(block.text)
    if length <= most:
        return output
    text = "\n".join(block.text for block in output.blocks if isinstance(block, Text))
    others = tuple(block for block in output.blocks if not isinstance(block, Text))
    return output.replace(blocks=(Text(_shortened(text, most, scratch)), *others))


DEFAULT = 30_000


def limit(life: InProgress) -> None:
    """Too much for a model goes to a file; what the tool of the call declares of its result is held to."""
    assert life.tool is not None
    scratch = None if life.session.single else life.session.scratch
    life.output, lost = held(life.output, life.tool.entry, scratch)
    life.reports += lost


def held(output: Output, entry: dict[str, Any], scratch: Callable[[], str] | None) -> tuple[Output, tuple[str, ...]]:
    """As `limited`, of a call that has run whatever its result is worth: where that cannot be handed on, the model gets
    why in its place, and whoever is told of the call does, too. Raises nothing."""
    try:
        return limited(output, entry, scratch), ()
    except Exception as error:
        why = str(error) if isinstance(error, Failure) else f"It ran. Its result is lost: {fault(error)}."
        return output.replace(blocks=(Text(why),), data=None, is_error=True), (f"after it had run, {why}",)


def _shortened(text: str, most: int, scratch: Callable[[], str]) -> str:
    """Where the whole text lies, how long it is, and its beginning and end."""
    lines = text.count("\n") + 1
    size = f"{len(text):,} characters in {lines:,} lines"
    try:
        where = f"All of it is in {_kept(text, scratch())}: read the part that you need with Read."
    except (OSError, GatewayError) as error:
        why = getattr(error, "strerror", "") or str(error).rstrip(".")
        where = f"It cannot be kept in a file ({why}), so the rest is lost: ask for less."
    head, tail = min(PREVIEW, most), min(_TAIL, max(most - PREVIEW, 0))
    end = f"\n\n… {len(text) - head - tail:,} characters left out …\n\n{text[-tail:]}" if tail else "\n…"
    return f"The result is too long to show: {size}. {where}\n\n{text[:head]}{end}"


def _kept(text: str, folder: str) -> str:
    """The path of a new file in the folder that holds the text."""
    for number in range(1, 100_000):
        path = os.path.join(folder, f"result-{number}.txt")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
        return path
    raise OSError(0, "too many results are kept already")


def _check(output: Output, entry: dict[str, Any]) -> None:
    known = _validators.get(id(entry))
    if known is None or known[0] is not entry:
        known = _validators[id(entry)] = (entry, compile_validator(entry["output"]))
    if output.data is None:
        raise Failure(f"{entry['name']} gave no structured result, though it declares one.")
    problems = validate(known[1], freeze(dict(output.data)))
    if problems:
        raise Failure(f"{entry['name']} gave a result that is not what it declares: {problems[0]}.")


def tool_result(output: Output, use_id: str) -> dict[str, Any]:
    """The `tool_result` block of the Anthropic API."""
    content = [_anthropic(block) for block in output.blocks]
    content += [{"type": "text", "text": _encodable(note)} for note in output.notes]
    found: dict[str, Any] = {"type": "tool_result", "tool_use_id": use_id, "content": content}
    return found | ({"is_error": True} if output.is_error else {})


def mcp_result(output: Output) -> dict[str, Any]:
    """The result of `tools/call` of the Model Context Protocol."""
    content = [_mcp(block) for block in output.blocks]
    content += [{"type": "text", "text": _encodable(note)} for note in output.notes]
    found: dict[str, Any] = {"content": content, "isError": output.is_error}
    return found | ({"structuredContent": dict(output.data)} if output.data is not None else {})


def _anthropic(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": _encodable(block.text)}
    source = {"type": "base64", "media_type": block.media_type, "data": _base64(block.data)}
    return {"type": "image", "source": source}


def _mcp(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": _encodable(block.text)}
    return {"type": "image", "data": _base64(block.data), "mimeType": block.media_type}


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode("ascii")


def _encodable(text: str) -> str:
    """The text without halves of characters, which no API takes."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
