"""Who searches: for each provider what it is asked and what its answer means. Pure.

A provider is two functions and a line in `PROVIDERS`: from a query to a request, from its JSON to results.
"""

from __future__ import annotations

import json

from gateway.core.value import Value
from gateway.web.body import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.web.domains import Domains

MOST_RESULTS = 20
MOST_TITLE = 300
MOST_EXTRACT = 1_000
MOST_URL = 2_000
_SITES_IN_QUERY = 10  # more would make queries longer than providers take
_BRAVE_MOST = 400


class Ask(Value):
    """A request to a provider. `query`: what is added to its address."""

    method: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] | None = None
    body: bytes | None = None


class Found(Value):
    """One result."""

    title: str
    url: str
    extract: str
    age: str = ""


class AnswerError(ValueError):
    """A provider's answer is none; the message says what is wrong with it."""


class Provider(Value):
    """`ask`: the request for a query, a key ("" for none) and domains. `read`: the results in its JSON, raises
    AnswerError. `problem`: what it says of a failure, "" for nothing."""

    name: str
    ask: Callable[[str, str, Domains], Ask]
    read: Callable[[Any], list[Found]]
    problem: Callable[[Any], str]


def _brave(query: str, key: str, domains: Domains) -> Ask:
    words = _with_sites(query, domains, _BRAVE_MOST)
    return Ask(
        "GET", (("q", words), ("count", str(MOST_RESULTS)), ("result_filter", "web"), ("text_decorations", "false")),
        {"Accept": "application/json", "X-Subscription-Token": key},
    )  # fmt: skip


def _read_brave(answer: Any) -> list[Found]:
    if not isinstance(answer, dict) or answer.get("type") not in ("search", None):
        raise AnswerError("it is no answer to a search")
    web = answer.get("web")
    rows = _rows(web.get("results") if isinstance(web, dict) else [])
    return [_found(row, "description", "age") for row in rows]


def _brave_problem(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    return _said(error.get("detail") or error.get("code")) if isinstance(error, dict) else ""


def _tavily(query: str, key: str, domains: Domains) -> Ask:
    body: dict[str, Any] = {"query": query, "max_results": MOST_RESULTS, "search_depth": "basic"}
    if domains.allowed:
        body["include_domains"] = list(domains.allowed)
    if domains.blocked:
        body["exclude_domains"] = list(domains.blocked)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return Ask("POST", headers=headers, body=json.dumps(body).encode())


def _read_tavily(answer: Any) -> list[Found]:
    if not isinstance(answer, dict) or "results" not in answer:
        raise AnswerError("it has no `results`")
    return [_found(row, "content", "published_date") for row in _rows(answer["results"])]


def _tavily_problem(answer: Any) -> str:
    detail = answer.get("detail") if isinstance(answer, dict) else None
    return _said(detail.get("error") if isinstance(detail, dict) else detail)


def _searxng(query: str, key: str, domains: Domains) -> Ask:
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    return Ask("GET", (("q", _with_sites(query, domains)), ("format", "json")), headers)


def _read_searxng(answer: Any) -> list[Found]:
    if not isinstance(answer, dict) or "results" not in answer:
        raise AnswerError("it has no `results`")
    return [_found(row, "content", "publishedDate") for row in _rows(answer["results"])]


def _searxng_problem(answer: Any) -> str:
    return _said(answer.get("error")) if isinstance(answer, dict) else ""


PROVIDERS: Mapping[str, Provider] = {
    "brave": Provider("Brave", _brave, _read_brave, _brave_problem),
    "tavily": Provider("Tavily", _tavily, _read_tavily, _tavily_problem),
    "searxng": Provider("SearXNG", _searxng, _read_searxng, _searxng_problem),
}


def _with_sites(query: str, domains: Domains, most: int = 2_000) -> str:
    """The query with what search engines understand of the domains, as far as there is room; the results are looked at
    again anyway."""
    words = [query]
    if 0 < len(domains.allowed) <= _SITES_IN_QUERY:
        words.append(" OR ".join(f"site:{name}" for name in domains.allowed))
    words += [f"-site:{name}" for name in domains.blocked[:_SITES_IN_QUERY]]
    while len(words) > 1 and len(" ".join(words)) > most:
        words.pop()
    return words[0][:most] if len(words) == 1 else " ".join(words)


def _rows(rows: Any) -> list[Mapping[str, Any]]:
    if not isinstance(rows, list):
        raise AnswerError("its results are no list")
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("url"), str)]


def _found(row: Mapping[str, Any], extract: str, age: str) -> Found:
    return Found(
        _text(row.get("title"), MOST_TITLE), row["url"], _text(row.get(extract), MOST_EXTRACT), _text(row.get(age), 40)
    )


def _said(problem: Any) -> str:
    return _text(problem, 300)


def _text(value: Any, most: int) -> str:
    """Text on one line, with what hides in it shown, without the tags that some put around words."""
    if not isinstance(value, str):
        return ""
    for tag in ("<strong>", "</strong>", "<b>", "</b>", "<em>", "</em>"):
        value = value.replace(tag, "")
    from html import unescape

    text = " ".join(shown(unescape(value)).split())
    return text if len(text) <= most else text[: most - 1] + "…"
