"""What pages show, and that no text of a record is ever anything else than text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest
from consoles import until
from fuzzing import share
from pages_read import HOSTILE, Reader

from gateway.approval.proposals import Kept
from gateway.frontends.console import nodes
from gateway.frontends.console.files import assets
from gateway.frontends.console.nodes import at_home, h, html, text
from gateway.frontends.console.pages import agents, interruptions, live, policy, proposals, suggestions, why
from gateway.frontends.console.pages.frame import MENU, document
from gateway.frontends.console.pages.parts import Page, block, marked
from gateway.frontends.console.pages.pending import pending
from gateway.frontends.console.question_queue import Waiting
from gateway.frontends.console.sources import CallTold, Linted, Looked, Tried

if TYPE_CHECKING:
    from consoles import Running

DECISION: dict[str, Any] = {
    "n": 7, "kind": "decision", "id": "a-1", "at": "2026-01-31T10:00:00.000000Z", "front": "exec", "tool": "Bash",
    "decision": "ask", "reason": "mode", "rule": ["mode:default", "builtin", "", 0], "cwd": "/p", "mode": "default",
    "input": {"command": "curl https://example.org/x"}, "session": "s", "agent": "", "policy": "f" * 8,
    "effects": [["use", "Bash"], ["exec", "curl https://example.org/x"], ["connect", "example.org:443"]],
    "grant": {"allow": True, "scope": "once", "by": "ann"}, "because": "",
}  # fmt: skip
OUTCOME: dict[str, Any] = {
    "n": 8, "kind": "outcome", "id": "a-1", "at": "2026-01-31T10:00:01.000000Z", "ended": "exited", "status": 0,
    "reason": "", "violations": [["read", "/x", "r", "kernel", 2]], "hints": ["no"], "backend": "namespaces",
    "degraded": ["x"],
}  # fmt: skip
DATA: dict[str, Any] = {
    "rule": {"id": "r", "layer": "user", "file": "/f", "line": 3, "text": "deny: x", "because": "b", "is_gone": True},
    "blocked": [{"kind": "read", "target": "/x", "count": 2, "rule": "r", "hint": "h", "certain": False}],
    "commands": ["gateway audit show 7"],
}


def told(decision: dict[str, Any], outcome: dict[str, Any] | None, data: dict[str, Any]) -> CallTold:
    return CallTold("refused", decision, outcome=outcome, data=data, advice=(("now", data["rule"]["id"]),), problem="p")


def interrupted(decision: dict[str, Any], rule: str) -> Page:
    shapes = interruptions.shapes_of([decision])
    return interruptions.interruptions([decision], shapes, [rule], ["2026-01-31"], is_all=True)


def replaced(value: Any, by: str) -> list[Any]:
    """The value with each text in it replaced, one at a time."""
    if isinstance(value, str):
        return [by]
    if isinstance(value, dict):
        return [{**value, name: each} for name, item in value.items() for each in replaced(item, by)]
    if isinstance(value, list):
        return [[*value[:at], each, *value[at + 1 :]] for at, item in enumerate(value) for each in replaced(item, by)]
    return []


def others(value: Any) -> list[Any]:
    """The value with each field of it of another type: whoever could write a line could write anything."""
    return [{**value, name: other} for name in value for other in (None, 5, [], {}, ["x"], [["x"]], True)]


def shown(page: Page) -> Reader:
    return Reader(document(assets(), page, "/live"))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_script_in_any_field_of_a_record_is_text(hostile: str):
    frame = shown(Page("x", ()))
    at = HOSTILE.index(hostile)  # each field holds a third of them, another one than the next field
    for decision in share(replaced(DECISION, hostile), 3, at):
        for page in (
            live.live([(decision, None)], dict.fromkeys(live.FILTERS, hostile)),
            why.why(told(decision, OUTCOME, DATA)),
            interrupted(decision, hostile),
        ):  # fmt: skip
            assert shown(page).is_safe(frame)
    for outcome in share(replaced(OUTCOME, hostile), 3, at):
        assert shown(why.why(told(DECISION, outcome, DATA))).is_safe(frame)
    for data in share(replaced(DATA, hostile), 3, at):
        assert shown(why.why(told(DECISION, OUTCOME, data))).is_safe(frame)
    assert shown(Page(hostile, policy.linted([Linted("error", 1, hostile, hostile)]))).is_safe(frame)
    assert shown(Page("x", policy.tried(Tried(problem=hostile)))).is_safe(frame)


def test_the_twin_a_page_without_escaping_is_not_safe():
    frame = shown(Page("x", ()))
    assert not Reader(document(assets(), Page("x", ()), "/live").replace("</main>", HOSTILE[0] + "</main>")).is_safe(
        frame
    )
    assert not Reader(document(assets(), Page("x", ()), "/live").replace("</main>", "<p onclick=x></main>")).is_safe(
        frame
    )


def test_a_record_of_any_form_is_shown():
    for decision in others(DECISION):
        live.live([(decision, OUTCOME)], {})
        why.why(told(decision, OUTCOME, DATA))
        interruptions.shapes_of([decision])
    for outcome in others(OUTCOME):
        live.row(DECISION, outcome)
        why.why(told(DECISION, outcome, DATA))


def question(**fields: Any) -> Waiting:
    shown = {
        "id": "q", "tool": "Bash", "call": "touch x", "text": "ASK", "cwd": "/p", "always": "allow: x", "file": "/f",
        "later": "y", "head": "ASK", "may": ["once", "session", "always"], "seconds": 300.0, "marks": [[6, 7, "write"]],
        "asked": [{"kind": "write", "does": "writes `x`", "rule": "r", "file": "/f", "line": 1}],
        "plan": [["may change", ["/p"]]], "at": ["page"], "people": 1, "not_by": "", "brief": "touch x",
    }  # fmt: skip
    return Waiting("q", "d", shown={**shown, **fields}, pid=1, came=0.0, until=300.0)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_script_in_any_field_of_a_question_is_text(hostile: str):
    frame = shown(Page("x", ()))
    for fields in replaced(question().shown, hostile):
        assert shown(pending([question(**fields)], 0.0, may_answer=True)).is_safe(frame)


def test_a_question_has_the_answers_that_the_terminal_has():
    page = pending([question()], 0.0, may_answer=True)
    given = [each.get("data-answer") for tag, each in shown(page).elements if tag == "button"]
    assert given == ["once", "session", "always", "no", "no-session"]
    locked = pending([question(may=["once"])], 0.0, may_answer=True)
    assert [each.get("data-answer") for tag, each in shown(locked).elements if tag == "button"] == ["once", "no"]
    assert "button" not in [tag for tag, _ in shown(pending([question()], 0.0, may_answer=False)).elements]


def test_parts_of_a_call_are_marked_by_what_they_do_and_nothing_in_it_is_invisible():
    call = "rm x > y\n\u202ez"
    found = html(marked(call, [(0, 4, "delete"), (0, 8, "read"), (5, 8, "write"), (3, 99, "code"), (-1, 2, "code")]))
    assert found == (
        '<pre class="call" tabindex="0" aria-label="the call">\n'
        '<mark class="k-delete" title="delete">rm x<sup>D</sup></mark> '
        '<mark class="k-write" title="write">&gt; y<sup>W</sup></mark>\n\\u202ez</pre>'
    )


def test_a_long_text_is_cut_and_can_be_seen_whole():
    found = text(block("x" * 10_000_000, "a text"))
    assert found.count("x") == 10_000_000 + 4_000
    assert "show all 10,000,000 characters" in found


def test_alike_calls_count_as_one_shape():
    other = {**DECISION, "n": 9, "grant": {"allow": False, "by": "ann"},
             "effects": [["exec", "/usr/bin/curl https://example.org/y"], ["connect", "example.org:443"]]}  # fmt: skip
    git = {**DECISION, "effects": [["exec", "git push origin main"], ["push", "origin"]], "rule": ["r", "user", "f", 1]}
    nobody = {**DECISION, "grant": {"allow": False, "by": "nobody"}}
    found = interruptions.shapes_of([DECISION, other, nobody, git])
    assert [(each.what, each.does, each.where, each.count, each.answered, each.agreed) for each in found] == [
        ("curl", "connect", "example.org:443", 3, 2, 1),
        ("git push", "push", "", 1, 1, 1),
    ]
    assert [interruptions.cause_of(each) for each in (DECISION, git)] == [
        interruptions.CAUSES[1],
        interruptions.CAUSES[0],
    ]


ADDRESSES = [path for path, _ in MENU if path != "/agents"]
KNOWN = re.compile(
    r"/(pending|live|changes|interruptions|proposals|policy|coverage|agents)(\?.*)?|/(why|changes)/\d+(\?plan=1)?"
)


@pytest.fixture(scope="module")
def lived(running: Running) -> Running:
    """A console of somebody who has run something, and was refused something."""
    running.run("exec", "--", "ls")
    running.run("exec", "--", "touch", "x")
    return running


@pytest.mark.parametrize("path", [*ADDRESSES, "/why/1", "/why/3", "/live?decision=ask", "/live?text=x&host=*"])
def test_every_page_is_one_document_with_one_heading_and_links_that_lead_somewhere(lived: Running, path: str):
    answer = lived.get(path, lived.reader)
    assert answer.status == 200, answer.text[-400:]
    found = Reader(answer.text)
    tags = [tag for tag, _ in found.elements]
    assert (tags.count("h1"), tags.count("main")) == (1, 1)
    names = [each["id"] for _, each in found.elements if "id" in each]
    assert len(names) == len(set(names))
    for tag, each in found.elements:
        if tag == "a" and (each["href"] or "").startswith("/"):
            assert KNOWN.fullmatch(str(each["href"]))
        if tag == "label" and "for" in each:
            assert each["for"] in names
        if tag == "th":
            assert each.get("scope") in ("col", "row")


def test_a_page_says_the_same_as_html_and_as_a_tree(lived: Running):
    tree = json.loads(lived.get("/why/1", lived.reader, Accept="application/json").text)

    def again(node: Any) -> Any:
        return node if isinstance(node, str) else h(node[0], node[1], [again(each) for each in node[2]])

    page = lived.get("/why/1", lived.reader).text
    assert "".join(html(again(each)) for each in tree["main"]) in page


def test_a_rule_that_ends_a_question_is_tried_on_the_call_that_asked(lived: Running):
    found = Reader(lived.get("/interruptions", lived.reader).text)
    way = next(str(each["href"]) for tag, each in found.elements if tag == "a" and "policy=" in str(each.get("href")))
    shown = Reader(lived.get(way, lived.reader).text).said
    assert "touch x" in shown
    assert "id: less-asking" in shown
    own = parse_qs(way.partition("?")[2])["policy"][0]
    told = lived.post("/api/try", lived.opened(), {"call": "touch x", "policy": own}).text
    assert '["span",{"class":"badge allow"}' in told


def test_rules_from_answers_are_looked_for_once_somebody_wants_them(lived: Running):
    assert "Look for rules" in Reader(lived.get("/interruptions", lived.reader).text).said
    begun = lived.post("/api/preview", lived.opened(), {"kind": "suggest", "text": ""}).json
    assert begun["work"]
    told = until(lambda: (found := lived.get(f"/api/work/{begun['work']}", lived.reader).json)["ended"] and found)
    assert "Nothing that policy asks about was agreed to here." in json.dumps(told["main"])
    assert lived.post("/api/save", lived.opened(), {"work": begun["work"]}).status == 409


def test_a_script_in_what_is_suggested_is_text():
    hostile = "<img src=x onerror=alert(1)>\u202e"
    rule = {"text": hostile, "questions": 2, "sessions": 0, "days": 1, "others_count": 1}
    rule |= {key: [hostile] for key in ("ends", "asks", "others", "opens")}
    found = {"rules": [rule], "agreed": 2, "ended": 2, "elsewhere": 1, "unjudged": 1, "vetoed": [[hostile, 1]]}
    found |= {"doubtful": 1, "presets": [{"name": hostile, "questions": 2, "ends": [hostile]}]}
    page = "".join(map(html, suggestions.suggested(found)))
    assert ("<img" in page, "&lt;img" in page) == (False, True)
    assert "\u202e" not in re.sub(r'data-text="[^"]*"', "", page)


@pytest.mark.parametrize("against", [[], ["it does harm"]], ids=["acceptable", "harmful"])
def test_a_script_in_what_is_proposed_is_text_and_what_does_harm_has_no_yes(against: list[str]):
    hostile = "<img src=x onerror=alert(1)>\u202e"
    kept = Kept(
        id=hostile, rule=hostile * 9, tool="Bash", server="", input={}, front=hostile, cwd=hostile, mode=hostile,
        agent=hostile, depth=0, confined=True, session="", count=2, first=0.0, last=1.0, because=hostile,
    )  # fmt: skip
    otherwise = {"was": "ask", "rule": hostile, "count": 1, "refused": 1, "calls": [hostile]}
    opening = {"calls": [hostile], "otherwise": [otherwise], "decisions": 2, "near": [hostile], "objections": against}
    found = kept.as_dict() | {"call": hostile, "problem": "", "opening": opening}
    found |= {"propose": {"opens": [hostile], "calls": [hostile]}}
    shown = [*proposals.proposals([kept], hostile).main, *proposals.opened(found, "w")]
    page = "".join(map(html, shown))
    assert ("<img" in page, "&lt;img" in page) == (False, True)
    assert "\u202e" not in re.sub(r'data-(text|reject)="[^"]*"', "", page)
    assert ('data-save="w"' in page) is not bool(against)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (h("code", {"class": "place path"}, "/home/ann/a/b.yaml:3"), "~/a/b.yaml:3"),
        (h("p", "in ", h("code", {"class": "path"}, "/home/ann/x")), "in ~/x"),
        (h("span", {"class": "path"}, "writes ", h("b", "/home/ann/x")), "writes ~/x"),
        (h("code", {"class": "path"}, "/home/anna/x"), "/home/anna/x"),
        (h("pre", {"class": "call"}, "cat /home/ann/x"), "cat /home/ann/x"),
        (h("code", "cat '/home/ann/x'"), "cat '/home/ann/x'"),
    ],
)
def test_a_persons_folder_is_short_in_paths_alone(node: Any, said: str):
    assert text(at_home(node, "/home/ann")) == said


def test_a_recent_call_is_found_without_an_index(lived: Running):
    """A record of millions is not gone through for what has just happened."""
    number, index = 1, lived.home / ".local/state/gateway/audit/index.sqlite"
    index.unlink(missing_ok=True)
    assert lived.get(f"/why/{number}", lived.reader).status == 200
    assert not index.exists()
    assert lived.get("/live?decision=ask", lived.reader).status == 200
    assert index.exists()


def test_what_is_not_there_is_said_to_be_missing(running: Running):
    for path in ("/why/999999", "/why/x", "/changes/99", "/nothing", "/live/x"):
        answer = running.get(path, running.reader)
        assert (answer.status, "<h1>" in answer.text) == (404, True)


def test_a_call_on_paper_is_judged_and_a_text_is_checked_and_neither_is_kept(running: Running):
    before = running.get("/live", running.reader).text.count("<li")
    told = running.post("/api/try", running.opened(), {"call": "cat .env", "confined": True}).text
    assert "secret-files" in told
    own = "version: 1\nrules:\n  - id: none\n    deny: Bash(ls)\n"
    assert "none" in running.post("/api/try", running.opened(), {"call": "ls", "policy": own}).text
    assert "not judged" in running.post("/api/try", running.opened(), {"call": "Nothing(x)", "policy": "rules: ["}).text
    assert "error" in running.post("/api/lint", running.opened(), {"policy": "rules: ["}).text
    assert running.get("/live", running.reader).text.count("<li") == before


def test_the_doctors_view_shows_the_worst_first():
    looked = [Looked("a", "ok", "fine"), Looked("b", "broken", "bad", "mend it", ("one", "two"))]
    said = text(h("div", agents.agents(looked).main))
    assert said.index("bad") < said.index("fine")
    assert "→ mend it" in said


def test_elements_of_pages_are_those_of_the_lists():
    assert {tag for tag, _ in shown(live.live([(DECISION, OUTCOME)], {})).elements} - {
        "html", "head", "meta", "title", "link", "script", "body",
    } <= nodes.TAGS  # fmt: skip
