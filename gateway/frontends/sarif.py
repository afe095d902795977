"""Findings as SARIF 2.1.0, the form in which reviews of code take them.

What makes a finding the same when its line moves is given by whoever found it, and stands as a fingerprint.
"""

from __future__ import annotations

from hashlib import blake2b
from urllib.parse import quote

from gateway.core.value import Value
from gateway.frontends.jsontext import pretty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST = 5_000  # results of one run that are shown where they are uploaded


class RuleText(Value):
    """A kind of finding: its id, what it says in one line, and in more if there is more to say."""

    id: str
    short: str
    more: str = ""


class Result(Value):
    """One finding. `level`: error, warning or note. `file`: relative to the repository where it lies in it; "" for
    none. `same`: what stays equal as long as it is the same finding."""

    rule: str
    level: str
    message: str
    file: str
    line: int
    same: str
    column: int = 0


def sarif(rules: Sequence[RuleText], results: Iterable[Result]) -> str:
    """One run as JSON; the worst results first where there are more than are shown."""
    order = {"error": 0, "warning": 1}
    some = sorted(results, key=lambda each: (order.get(each.level, 2), each.file, each.line, each.rule, each.same))
    places = {rule.id: place for place, rule in enumerate(rules)}
    driver = {
        "name": "gateway",
        "informationUri": "https://pypi.org/project/agent-gateway/",
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, places) for each in some[:MOST]],
    }
    return pretty({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(rule: RuleText) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": rule.more or rule.short},
        "help": {"text": rule.more or rule.short},
        "properties": {"tags": ["security", "policy"], "precision": "very-high"},
    }


def _result(each: Result, places: dict[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": each.rule,
        "ruleIndex": places[each.rule],
        "level": each.level,
        "message": {"text": each.message},
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(each)},
    }
    if each.file:
        region = {"startLine": max(each.line, 1), **({"startColumn": each.column} if each.column > 0 else {})}
        place = {"artifactLocation": {"uri": _uri(each.file)}, "region": region}
        found["locations"] = [{"physicalLocation": place}]
    return found


def _uri(file: str) -> str:
    path = quote(file.replace("\\", "/"), safe="/~", errors="surrogateescape")
    return f"file://{path}" if file.startswith("/") else path


def _fingerprint(each: Result) -> str:
    data = "\0".join((each.rule, each.file, each.same)).encode("utf-8", "surrogateescape")
    return blake2b(data, digest_size=16).hexdigest()
