"""The operations of the tool: what each asks of the server, and what of the answer is shown."""

from __future__ import annotations

from gateway.calls.output import Failure
from gateway.core.value import Value
from gateway.lsp.positions import units
from gateway.lsp.visible import MOST_PLACES, completion_kind, named, one_line, symbol_kind, text_of, told_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gateway.core.cancel import Cancel
    from gateway.lsp.documents import Document
    from gateway.lsp.server import LanguageServer
    from gateway.lsp.visible import Places, Spot

MOST_SHOWN = 200
MOST_COMPLETIONS = 50
MOST_CALLS = 100
_MOST_PREPARED = 3
_DEEPEST = 8
_SETTLE = 1.0
# Where a call has to say which symbol it means.
AT_A_PLACE = ("definition", "references", "hover", "implementations", "call_hierarchy", "completion")


class Answer(Value):
    """What a model is shown, and the same as data."""

    lines: tuple[str, ...]
    items: tuple[Any, ...] = ()


class Asked(Value):
    """One question. `at`: the place in the protocol's words, None for operations without one."""

    server: LanguageServer
    document: Document
    places: Places
    cancel: Cancel
    cwd: str
    query: str
    seconds: float
    at: dict[str, int] | None = None

    def ask(self, method: str, **more: Any) -> Any:
        """What the server says of the file, or of the place in it."""
        params: dict[str, Any] = {"textDocument": {"uri": self.document.uri}, **more}
        if self.at is not None:
            params["position"] = self.at
        return self.server.ask(method, params, self.cancel)


def position(document: Document, line: int, column: int, encoding: str) -> dict[str, int]:
    """A line and a character from 1 in the protocol's words. Raises Failure for a place that the file does not have."""
    lines = document.source.lines
    if line > len(lines):
        raise Failure(f"The file has {len(lines):,} line{'s' * (len(lines) > 1)}; `line` is {line:,}.")
    text = lines[line - 1]
    if column > len(text) + 1:
        raise Failure(f"Line {line:,} has {len(text):,} characters; `character` is {column:,}.")
    return {"line": line - 1, "character": units(text, column - 1, encoding)}


def _located(method: str, nothing: str, **more: Any) -> Callable[[Asked], Answer]:
    def operation(asked: Asked) -> Answer:
        answer = asked.ask(method, **more)
        found = list(_firsts(asked.places.spots(answer), MOST_SHOWN + 1))
        lines = _cut([asked.places.told(each) for each in found[:MOST_SHOWN]], len(found))
        if isinstance(answer, list) and len(answer) > MOST_PLACES and len(found) <= MOST_SHOWN:
            lines.append(f"(Only the first {MOST_PLACES:,} of {len(answer):,} places were looked at.)")
        return Answer(tuple(lines) or (nothing,), tuple(each.data() for each in found[:MOST_SHOWN]))

    return operation


def _cut(lines: list[str], count: int) -> list[str]:
    return [*lines, f"(Cut after {MOST_SHOWN}.)"] if count > MOST_SHOWN else lines


def _firsts(found: Iterator[Any], most: int) -> Iterator[Any]:
    for _, each in zip(range(most), found, strict=False):
        yield each


def _hover(asked: Asked) -> Answer:
    """What it says of a symbol; nothing where the symbol comes from a file that the call may not see."""
    found = asked.ask("textDocument/hover")
    text = text_of(found.get("contents")) if isinstance(found, dict) else ""
    if text and asked.server.offers("definition"):
        where = asked.ask("textDocument/definition")
        if asked.places.speaks_of_refused(where):
            text = ""
    return Answer((text or "Nothing is said of this place.",), ({"text": text},) if text else ())


def _symbols(asked: Asked) -> Answer:
    """What the file declares, as a tree where the server gives one."""
    lines: list[str] = []
    items: list[Any] = []
    _tree(asked.ask("textDocument/documentSymbol"), asked, 0, lines, items)
    shown = tuple(_cut(lines[:MOST_SHOWN], len(lines)))
    return Answer(shown or ("The file declares nothing.",), tuple(items[:MOST_SHOWN]))


def _tree(found: Any, asked: Asked, depth: int, lines: list[str], items: list[Any]) -> None:
    for each in found if isinstance(found, list) else ():
        if not isinstance(each, dict) or len(lines) > MOST_SHOWN:
            continue
        location = each.get("location")
        span = each.get("selectionRange") or each.get("range")
        if isinstance(location, dict):
            spot = asked.places.spot(location.get("uri"), location.get("range"))
        else:
            spot = asked.places.spot(asked.document.uri, span)
        if spot is None or spot.path != asked.document.source.real:
            continue
        lines.append("  " * depth + f"{spot.line}:{spot.character} {_symbol(each)}")
        items.append(_symbol_data(each, spot))
        if depth < _DEEPEST:
            _tree(each.get("children"), asked, depth + 1, lines, items)


def _symbol(item: dict[str, Any]) -> str:
    detail = one_line(item.get("detail"), 120)
    return f"{symbol_kind(item.get('kind'))} {one_line(item.get('name'))}" + (f" {detail}" if detail else "")


def _symbol_data(item: dict[str, Any], spot: Spot) -> dict[str, Any]:
    return {"name": one_line(item.get("name")), "kind": symbol_kind(item.get("kind")), **spot.data()}


def _workspace_symbols(asked: Asked) -> Answer:
    """What the workspace declares, of what may be seen."""
    found = asked.server.ask("workspace/symbol", {"query": asked.query}, asked.cancel)
    lines: list[str] = []
    items: list[Any] = []
    for each in found if isinstance(found, list) else ():
        location = each.get("location") if isinstance(each, dict) else None
        if not isinstance(location, dict) or len(lines) > MOST_SHOWN:
            continue
        start = {"start": {"line": 0, "character": 0}}  # a server may name the file alone
        spot = asked.places.spot(location.get("uri"), location.get("range", start))
        if spot is None:
            continue
        within = one_line(each.get("containerName"), 120)
        lines.append(f"{asked.places.at(spot)} {_symbol(each)}" + (f" in {within}" if within else ""))
        items.append(_symbol_data(each, spot))
    like = f" that is called like `{one_line(asked.query)}`" if asked.query else ""
    shown = tuple(_cut(lines[:MOST_SHOWN], len(lines)))
    return Answer(shown or (f"Nothing{like} is declared.",), tuple(items[:MOST_SHOWN]))


def _call_hierarchy(asked: Asked) -> Answer:
    """Who calls a function, and what it calls."""
    prepared = asked.ask("textDocument/prepareCallHierarchy")
    lines: list[str] = []
    items: list[Any] = []
    for each in (prepared if isinstance(prepared, list) else [])[:_MOST_PREPARED]:
        spot = _spot_of(each, asked)
        if spot is None:
            continue
        lines.append(f"{_symbol(each)} ({asked.places.at(spot)})")
        for method, end, head in (
            ("callHierarchy/incomingCalls", "from", "is called by"),
            ("callHierarchy/outgoingCalls", "to", "calls"),
        ):
            found = asked.server.ask(method, {"item": each}, asked.cancel)
            told = list(_firsts(_calls(found, end, each, asked), MOST_CALLS))
            lines.append(f"  {head}:" if told else f"  {head} nothing")
            lines += [f"    {line}" for line, _ in told]
            items += [{"of": one_line(each.get("name")), "way": head, **data} for _, data in told]
    return Answer(tuple(lines) or ("No function is called here or declared.",), tuple(items))


def _calls(found: Any, end: str, item: Any, asked: Asked) -> Iterator[tuple[str, dict[str, Any]]]:
    for each in found if isinstance(found, list) else ():
        other = each.get(end) if isinstance(each, dict) else None
        spot = _spot_of(other, asked)
        if other is None or spot is None:
            continue
        uri = other.get("uri") if end == "from" else item.get("uri")  # where the calls themselves stand
        ranges = each.get("fromRanges")
        spots = [asked.places.spot(uri, span) for span in (ranges if isinstance(ranges, list) else [])[:10]]
        at = sorted({spot.line for spot in spots if spot is not None})
        told = f" (line{'s' * (len(at) > 1)} {', '.join(map(str, at))})" if at else ""
        yield f"{asked.places.at(spot)} {_symbol(other)}{told}", {**_symbol_data(other, spot), "lines": at}


def _spot_of(item: Any, asked: Asked) -> Spot | None:
    if not isinstance(item, dict):
        return None
    return asked.places.spot(item.get("uri"), item.get("selectionRange") or item.get("range"))


def _diagnostics(asked: Asked) -> Answer:
    """What is wrong with the file as it lies on the disk."""
    found = asked.server.problems(asked.document, asked.seconds, asked.cancel, _SETTLE)
    if found is None:
        late = f"it said nothing of the file for {asked.seconds:g} s"
        why = "the call was cancelled" if asked.cancel.is_set else late
        raise Failure(f"{asked.server.title} gave no answer: {why}.")
    lines, items = [], []
    for each in found[:MOST_SHOWN]:
        lines.append(told_problem(each))
        lines += [f"    see {line}" for line in asked.places.related(each)]
        items.append({"line": each.line, "character": each.character, "severity": each.severity,
                      "source": each.source, "code": each.code, "message": one_line(each.message, 1_000)})  # fmt: skip
    shown = named(asked.document.source.real, asked.cwd)
    return Answer(tuple(_cut(lines, len(found))) or (f"{shown} has no problems.",), tuple(items))


def _completion(asked: Asked) -> Answer:
    """What could stand at a place."""
    found = asked.ask("textDocument/completion", context={"triggerKind": 1})
    given = found.get("items") if isinstance(found, dict) else found
    known = [each for each in given if _has_label(each)] if isinstance(given, list) else []
    known.sort(key=lambda each: str(each.get("sortText") or each.get("label")))
    lines, items = [], []
    for each in known[:MOST_COMPLETIONS]:
        label, detail = one_line(each.get("label")), one_line(each.get("detail"), 160)
        lines.append(f"{label} ({completion_kind(each.get('kind'))})" + (f" {detail}" if detail else ""))
        items.append({"label": label, "kind": completion_kind(each.get("kind")), "detail": detail})
    if len(known) > MOST_COMPLETIONS:
        lines.append(f"(The first {MOST_COMPLETIONS} of {len(known):,}.)")
    return Answer(tuple(lines) or ("Nothing is known that could stand here.",), tuple(items))


def _has_label(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("label"), str)


OPERATIONS: dict[str, Callable[[Asked], Answer]] = {
    "definition": _located("textDocument/definition", "No definition was found."),
    "references": _located(
        "textDocument/references", "No references were found.", context={"includeDeclaration": True}
    ),
    "hover": _hover,
    "symbols": _symbols,
    "workspace_symbols": _workspace_symbols,
    "implementations": _located("textDocument/implementation", "No implementation was found."),
    "call_hierarchy": _call_hierarchy,
    "diagnostics": _diagnostics,
    "completion": _completion,
}
