"""Why a call was decided as it was: what the record holds of it, what the call does part by part, the rules that won
and lost, what it ran inside, and how it is judged now."""

from __future__ import annotations

import json

from gateway.frontends.console.nodes import PATH, h
from gateway.frontends.console.pages.live import end_of
from gateway.frontends.console.pages.parts import (
    Page,
    badge,
    block,
    empty,
    facts,
    kind,
    long_code,
    marked,
    moment,
    page_head,
    path,
    place,
    table,
    texts,
)
from gateway.model.decision import Decision
from gateway.model.record import said_of
from gateway.policy.explain import by_item, effect_of, matched
from gateway.policy.wording import phrase, visible
from gateway.render.tree import tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.sources import CallTold
    from gateway.model.verdict import Verdict

MOST_EFFECTS = 200


def missing(name: str) -> Page:
    """Where there is no such call."""
    said = [
        "Calls that were not recorded, or that the record no longer keeps, have no page. ",
        h("a", {"href": "/live"}, "The last calls"),
        " stand under Live.",
    ]
    return Page(
        "No such call", (page_head("No such call"), empty(f"Nothing is recorded as {visible(name)}.", said)), 404
    )


def why(told: CallTold) -> Page:
    """One call."""
    decision, verdict = told.decision, told.verdict
    number = decision.get("n")
    word = texts(decision, "decision")
    call = said_of(decision)
    is_same = verdict is not None and verdict.decision.word == word
    main: list[Node | None] = [
        h(
            "header",
            {"class": "page-head"},
            h("p", {"class": "crumb"}, h("a", {"href": "/live"}, "Live"), f" / #{number}"),
            h("h1", badge(word), " ", visible(texts(decision, "tool")), " ", h("span", {"class": "dim"}, f"#{number}")),
            h("p", {"class": "hint"}, moment(texts(decision, "at"), date=True), " · ", _who(decision)),
        ),
        marked(verdict.call.shown, marks_of(verdict))
        if verdict is not None and verdict.call.shown == call
        else block(call or _input(decision), "the call"),
        _then(told),
        _advice(told),
        _rules(verdict) if verdict is not None else None,
        _parts(verdict) if verdict is not None else _recorded_effects(decision),
        _sandbox(told),
        _now(told, is_same),
        h(
            "details",
            h("summary", "The record, line for line"),
            block(json.dumps(decision, indent=2, ensure_ascii=False), "the decision as it is recorded"),
            block(json.dumps(told.outcome, indent=2, ensure_ascii=False), "the outcome as it is recorded")
            if told.outcome is not None
            else None,
        ),
    ]
    return Page(f"#{number} {word}", tuple(each for each in main if each is not None))


def marks_of(verdict: Verdict) -> list[tuple[int, int, str]]:
    """Where in the text each effect stands; what only says that something starts is left out where more is known."""
    return [
        (item.start, item.end, item.effect.kind)
        for item in verdict.analysis.items
        if item.start < item.end and item.effect.kind not in ("use", "exec")
    ]


def _who(decision: Mapping[str, Any]) -> str:
    front, session, agent = (texts(decision, name) for name in ("front", "session", "agent"))
    return visible(
        ", ".join(filter(None, (front, f"agent {agent}" if agent else "", f"session {session}" * bool(session))))
    )


def _input(decision: Mapping[str, Any]) -> str:
    return json.dumps(decision.get("input") or {}, indent=2, ensure_ascii=False)


def _then(told: CallTold) -> Node:
    """What was decided, by which rule, and what became of it."""
    decision, outcome, rule = told.decision, told.outcome, told.data["rule"]
    grant = decision.get("grant")
    answered = None
    if isinstance(grant, dict):
        allowed = "yes" if grant.get("allow") is True else "no"
        answered = f"{allowed}, {visible(str(grant.get('scope', '')))}, by {visible(str(grant.get('by', '')))}"
    by = [h("code", visible(rule["id"])), " ", place(rule["file"], rule["line"]) or "the mode or the gateway itself"]
    if rule["is_gone"]:
        by.append(" (not in the policy that holds now)")
    return h(
        "section",
        h("h2", "What was decided"),
        facts(
            [
                ("decided by", by),
                ("which says", long_code(rule["text"])),
                ("because", visible(rule["because"] or "")),
                ("refused", visible(told.head)),
                ("answer", answered),
                ("became", visible(end_of(decision, outcome)) or _no_end(decision)),
                ("said", visible(texts(outcome or {}, "reason"))),
                ("from", path(texts(decision, "cwd"))),
                (
                    "mode",
                    visible(texts(decision, "mode"))
                    + ("" if decision.get("confined") is not False else ", not confined"),
                ),
            ]
        ),
    )


def _no_end(decision: Mapping[str, Any]) -> str:
    return "it did not run" if texts(decision, "decision") == "deny" else "no end is recorded: it runs, or was cut off"


def _advice(told: CallTold) -> Node | None:
    if not told.advice and not told.data["commands"]:
        return None
    rows: list[tuple[str, Any]] = [(label, visible(text)) for label, text in told.advice]
    rows.append(("at the terminal", [h("code", {"class": "line"}, visible(each)) for each in told.data["commands"]]))
    return h("section", h("h2", "What to do"), facts(rows))


def _rules(verdict: Verdict) -> Node:
    """The deciding rule, then those that lost, with why."""
    found = matched(verdict)
    rows = [_rule_row(each) for each in found if not each["lost"]]
    lost = [_rule_row(each) for each in found if each["lost"]]
    heads = ("says", "rule", "stands in", "on", "more")
    return h(
        "section",
        h("h2", "Rules"),
        table("Rules that decide now", heads, rows, stacks=True),
        h("details", h("summary", f"{len(lost)} that lost"), table("Rules that lost", heads, lost, stacks=True))
        if lost
        else None,
    )


def _rule_row(entry: Mapping[str, Any]) -> list[Any]:
    said = "; ".join(filter(None, (entry["lost"] or "", entry["note"] or "")))
    return [
        badge(entry["decision"]),
        [h("div", h("code", visible(entry["id"]))), h("div", long_code(entry["text"]))],
        place(entry["file"], entry["line"]) or h("span", {"class": "dim"}, visible(entry["layer"])),
        h("code", visible(entry["segment"])) if entry["segment"] else "the whole call",
        h("span", {"class": "dim"}, visible(said)) if said else None,
    ]


def _parts(verdict: Verdict) -> Node:
    """The call as a tree: what each part starts, and what it does."""
    tree = tree_of(verdict)
    branches = [_command(each) for each in tree["commands"]]
    if tree["effects"]:
        name = "the shell itself" if tree["commands"] else "the call"
        branches.append(h("li", h("div", {"class": "part"}, name), _effects(tree["effects"])))
    if tree["tokens"]:
        words = " ".join(map(visible, tree["tokens"]))[:400]
        branches.append(h("li", h("div", {"class": "part"}, "words of what cannot be parsed"), h("code", words)))
    if not branches:
        return h("section", h("h2", "What it does"), h("p", "Nothing that needs a rule."))
    return h("section", h("h2", "What it does"), h("ul", {"class": "tree"}, branches))


def _command(node: Mapping[str, Any]) -> Node:
    name = " ".join([node["program"] or "a program whose name is not known", *node["subcommands"]])
    via = f"run by {' '.join(node['via'])}" if node["via"] else ""
    doubts = [
        said
        for field, said in (
            ("described", "not all of its words are described"),
            ("trusted", "the name may mean another program"),
            ("literal", "some words are not known before the run"),
        )
        if node[field] is not True
    ]
    under = [_command(each) for each in node["commands"]]
    return h(
        "li",
        h("div", {"class": "part"}, h("strong", visible(name)), " ", h("span", {"class": "dim"}, visible(via))),
        h("div", {"class": "dim"}, "; ".join(doubts)) if doubts else None,
        _effects(node["effects"]),
        h("ul", {"class": "tree"}, under) if under else None,
    )


def _effects(effects: Iterable[Mapping[str, Any]]) -> Node | None:
    rows = [
        h(
            "li",
            kind(each["kind"]),
            " ",
            path(each["target"] or each.get("why") or ""),
            f" → {visible(each['real'])}" if each.get("real") else None,
            [" ", badge(each["decision"]), " ", h("span", {"class": "rule"}, visible(each["rule"]))]
            if "decision" in each
            else None,
        )
        for each in [*effects][:MOST_EFFECTS]
    ]
    return h("ul", {"class": "effects"}, rows) if rows else None


def _recorded_effects(decision: Mapping[str, Any]) -> Node | None:
    rows = decision.get("effects")
    found = [
        h("li", kind(each[0]), " ", h("code", visible(each[1])))
        for each in (rows if isinstance(rows, list) else [])
        if isinstance(each, list)
        and len(each) == 2
        and all(isinstance(part, str) for part in each)
        and each[0] != "use"
    ]
    return h("section", h("h2", "What it does"), h("ul", {"class": "effects"}, found)) if found else None


def _sandbox(told: CallTold) -> Node | None:
    """What it ran inside, what was refused there, and what to do instead."""
    outcome, plan = told.outcome or {}, told.plan
    rows = [
        [
            h("code", visible(f"{each['kind']} {each['target']}")),
            each["count"],
            h("code", visible(each["rule"])) if each["rule"] else "",
            visible(each["hint"] or "") + ("" if each["certain"] else " (as its output suggests)"),
        ]
        for each in told.data["blocked"]
    ]
    shown = None
    if plan is not None and "error" in plan:
        shown = facts([("now", visible(str(plan["error"]))), ("help", visible(str(plan["remedy"])))])
    elif plan is not None:
        network = plan["network"]
        hosts = ", ".join(str(each.get("host", "")) for each in network["allow"])
        writable = [each["path"] for each in plan["mounts"] if each["access"] == "write"]
        hidden = sum(each["access"] == "hidden" for each in plan["mounts"])
        shown = facts(
            [
                (
                    "may change",
                    [h("code", {"class": "line"}, visible(each)) for each in writable] or "nothing that stays",
                ),
                (
                    "network",
                    {"off": "none but its own loopback", "open": "any public host"}.get(
                        network["mode"], visible(hosts)
                    ),
                ),
                ("hidden", f"{hidden} files or folders that policy denies" if hidden else None),
                ("not granted", [h("div", visible(f"{each['what']}: {each['why']}")) for each in plan["withheld"]]),
            ]
        )
    number = told.decision.get("n")
    more = None
    if plan is None and told.verdict is not None and told.verdict.context.confined:
        more = h("p", h("a", {"href": f"/why/{number}?plan=1", "class": "more"}, "plan it as of now"))
    if shown is None and more is None and not rows and not outcome.get("backend"):
        return None
    weaker = outcome.get("degraded")
    return h(
        "section",
        h("h2", "The sandbox"),
        facts(
            [
                ("held by", visible(texts(outcome, "backend"))),
                ("weaker", visible(", ".join(map(str, weaker))) if isinstance(weaker, list) else None),
            ]
        ),
        table("What it refused", ("what", "times", "rule", "instead"), rows, numbers=(1,)) if rows else None,
        h("h3", "As it would be planned now") if shown is not None else None,
        shown,
        more,
    )


def _now(told: CallTold, is_same: bool) -> Node:
    """Judged once more, as it stands in the record, by the policy as it is now."""
    verdict = told.verdict
    if verdict is None:
        return h("section", h("h2", "Now"), h("p", visible(told.problem)))
    then = texts(told.decision, "decision")
    strongest = by_item(verdict).get(verdict.reason.item)
    item = verdict.analysis.items[verdict.reason.item] if verdict.analysis.items else None
    does = phrase(item.effect) if item is not None and verdict.decision is not Decision.ALLOW else ""
    found = effect_of(item, strongest) if item is not None else {}
    return h(
        "section",
        h("h2", "Then and now"),
        facts(
            [
                ("then", badge(then)),
                ("now", [badge(verdict.decision.word), " the same" if is_same else " it has changed"]),
                ("it", h("span", {"class": PATH}, visible(does)) if does else None),
                ("by", h("code", visible(verdict.reason.rule.id))),
                ("on", path(found.get("target", "")) if does else None),
            ]
        ),
    )
