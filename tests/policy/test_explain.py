"""A verdict as plain data, and the predicted confinement in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.model.analysis import Analysis
from gateway.model.call import Call
from gateway.model.command import Part
from gateway.model.context import Context
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, Code, Connect, Credential, Effect, Exec, Item, Opaque, Push, Touch, Use
from gateway.model.facts import Facts, PathFact
from gateway.model.rule import Rule, Source
from gateway.model.verdict import Outcome, Reason, Verdict
from gateway.policy.confine import SYSTEM, Confinement, Enforced, confinement
from gateway.policy.explain import MAX_SEGMENT, REASONS, explain, message, reason_of
from gateway.policy.normalised import normalised
from gateway.policy.table import level_rule, mode_rule

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
HERE = Context("/w", "/w", "/home/dev", ("/w",))
FORCE = Rule(
    "no-force-push", "deny", Source("user", "user.yaml", 12, 3), "deny {effect: push, force: true}",
    "rewrites history that others have", "push a new branch",
)  # fmt: skip
GIT = Rule("allow-git", "allow", Source("project", "project.yaml", 3, 3), "allow Bash(git *)")
SECRETS = Rule("secrets", "deny", Source("builtin", "builtin.yaml", 40), "deny Read(.env)", "these are secrets")
LOCKED = Rule("careful", "ask", Source("enterprise", "policy.yaml", 9), "ask Bash(rm *)", lock=True)


def part(text: str, program: str, start: int = 0, **fields: Any) -> Part:
    known = {
        "argv": tuple(text.split()), "start": start, "end": start + len(text), "program": program, "subcommands": (),
        "operands": (), "options": frozenset(), "described": True, "literal": True, "direct": True, "trusted": True,
    }  # fmt: skip
    return Part(**{**known, **fields})


def verdict(
    *outcomes: tuple[Decision, Rule, int],
    text: str = "",
    items: tuple[Item, ...] = (),
    parts: tuple[Part, ...] = (),
    lost: tuple[Reason, ...] = (),
    noted: tuple[Reason, ...] = (),
    tool: str = "Bash",
    context: Context = HERE,
    facts: Facts | None = None,
    note: str = "",
    certain: bool = True,
    tokens: tuple[str, ...] = (),
    demands: tuple[tuple[str, object], ...] = (),
) -> Verdict:
    """A verdict whose strictest outcome decides; items default to the call itself."""
    items = items or (Item(Use(tool)),)
    made = [Outcome(d, Reason(rule, d, at)) for d, rule, at in outcomes]
    first = max(range(len(made)), key=lambda i: made[i].decision)
    reason = made[first].reason.replace(note=note, certain=certain)
    made[first] = Outcome(made[first].decision, reason)
    return Verdict(
        made[first].decision, reason, tuple(made), lost, noted, Call(tool, {"command": text} if text else {}, text),
        Analysis(parts, items, tokens), context, facts or Facts(), demands,
    )  # fmt: skip


PUSH = "git push -f"


def pushing(**fields: Any) -> Verdict:
    items = (
        Item(Use("Bash")),
        Item(Exec("git", ("git", "push", "-f")), 0, 11, 0),
        Item(Push("origin", "main", True), 0, 11, 0),
        Item(Connect("github.com", 22, "send"), 0, 11, 0),
    )
    only = part(PUSH, "git", subcommands=("push",), options=frozenset({"-f", "--force"}), classes=("vcs", "network"))
    lost = (Reason(GIT, ALLOW, 2), Reason(GIT, ALLOW, 3))
    return verdict(
        (DENY, FORCE, 2), (ASK, mode_rule("default"), 3), text=PUSH, items=items, parts=(only,), lost=lost, **fields
    )


def test_the_json_says_everything_that_led_to_the_decision() -> None:
    force = {"id": "no-force-push", "layer": "user", "file": "user.yaml", "line": 12, "text": FORCE.text}
    git = {"id": "allow-git", "layer": "project", "file": "project.yaml", "line": 3, "text": GIT.text}
    assert explain(pushing(), elapsed_us=7) == {
        "tool": "Bash",
        "input": {"command": PUSH},
        "decision": "deny",
        "reason": "rule",
        "message": "`git push -f` was refused by rule `no-force-push`: rewrites history that others have."
        " Instead: push a new branch.",
        "rule": force,
        "matched": [
            {**force, "decision": "deny", "segment": PUSH, "span": [0, 11], "note": "", "lost": None, "effects": [2]},
            {
                **git, "decision": "allow", "segment": PUSH, "span": [0, 11], "note": "",
                "lost": "allow is weaker than deny, by `no-force-push`", "effects": [2, 3],
            },
        ],
        "effects": [
            {"kind": "use", "target": "Bash", "span": None},
            {"kind": "exec", "target": PUSH, "span": [0, 11]},
            {
                "kind": "push", "target": "origin main (force)", "span": [0, 11], "decision": "deny",
                "rule": "no-force-push",
            },
            {
                "kind": "connect", "target": "github.com:22", "span": [0, 11], "known": True, "direction": "send",
                "decision": "ask", "rule": "mode:default",
            },
        ],
        "classes": ["vcs", "network"],
        "changes": "none",
        "confinement": Confinement("not_run").as_json(),
        "elapsed_us": 7,
        "normalised": [],
        "noted": [],
        "cwd": "/w",
        "mode": "default",
    }  # fmt: skip


def test_what_a_call_holds_can_always_be_written_as_json() -> None:
    broken = verdict((ASK, mode_rule("default"), 0), text="cat \udcff\0\u202e", tool="Bash")
    again = json.loads(json.dumps(explain(broken)))
    assert (again["input"], again["decision"]) == ({"command": "cat \udcff\0\u202e"}, "ask")


def test_messages_hide_nothing_from_who_reads_them() -> None:
    shown = message(verdict((DENY, LOCKED.replace(lane="deny"), 0), text="rm \x1b[2K\u202egnp.x\u3164ü"))
    assert (
        shown
        == "`Bash(rm \\x1b[2K\\u202egnp.x\\u3164ü)` was refused by rule `careful`, `ask Bash(rm *)`: it calls `Bash`."
    )


def test_a_rule_that_hits_several_effects_of_one_place_stands_once() -> None:
    items = (Item(Touch("read", "/w/.env"), 4, 8, 0), Item(Touch("list", "/w/.env"), 4, 8, 0))
    found = explain(verdict((DENY, SECRETS, 0), (DENY, SECRETS, 1), text="cat .env", items=items))
    assert [(each["id"], each["lost"], each["effects"]) for each in found["matched"]] == [("secrets", None, [0, 1])]


def test_a_long_segment_is_shortened_and_its_span_stays_exact() -> None:
    text = "x" * 5000
    found = explain(verdict((DENY, SECRETS, 0), text=text, items=(Item(Opaque("too long"), 0, 5000),)))
    assert (len(found["matched"][0]["segment"]), found["matched"][0]["span"]) == (MAX_SEGMENT, [0, 5000])


def test_a_line_has_a_class_only_if_all_its_commands_agree() -> None:
    parts = (part("ls", "ls", classes=("list", "read")), part("cat x", "cat", 5, classes=("read",)))
    assert explain(verdict((ALLOW, mode_rule("default"), 0), text="ls ; cat x", parts=parts))["classes"] == ["read"]


def test_rules_that_only_take_note_stand_apart() -> None:
    watching = Reason(GIT.replace(level="observe"), ALLOW, 0)
    found = explain(verdict((ASK, mode_rule("default"), 0), text="git x", noted=(watching,)))
    assert ([each["id"] for each in found["noted"]], [each["id"] for each in found["matched"]]) == (
        ["allow-git"],
        ["mode:default"],
    )


HIDDEN = (
    Item(Exec("git", ("git", "status")), 0, 10, 0),
    Item(Code("./x", ("./x",), "./x is not described"), 14, 17, 1),
)
CHAIN = (part("git status", "git"), part("./x", "./x", 14))
SHUT = Item(Touch("write", "/w/x"), 2, 3, 0)
TREE = Item(Touch("read", "/w", True), 0, 1, 0)
LOOSE = Item(Touch("read", f"/{HOLE}"), 0, 1, 0)


WHY = [
    ("rule", verdict((ALLOW, GIT, 0)), "Allowed by rule `allow-git`."),
    ("mode", verdict((ALLOW, mode_rule("default"), 0)), "Allowed: mode `default` lets it run without a question."),
    (
        "mode",
        verdict((ASK, mode_rule("default"), 0), text="/w/x", tool="Write", items=(SHUT.replace(start=0, end=4),)),
        "`Write(/w/x)` needs a person's approval: it writes `/w/x`, and no rule covers that.",
    ),
    (
        "level",
        verdict((ASK, level_rule("agent"), 0), tool="Agent"),
        "`Agent` needs a person's approval: no rule covers calls of this tool.",
    ),
    (
        "ceiling",
        verdict(
            (DENY, mode_rule("plan"), 0), text="> x", items=(SHUT,), parts=CHAIN[:1], context=HERE.replace(mode="plan")
        ),
        "`x` was refused: it writes `/w/x`, which mode `plan` never allows.",
    ),
    (
        "nobody_to_ask",
        verdict(
            (DENY, mode_rule("dont_ask"), 0),
            text="> x",
            items=(SHUT,),
            parts=CHAIN[:1],
            context=HERE.replace(mode="dont_ask"),
        ),
        "`x` was refused: it writes `/w/x`, no rule covers that, and nobody is asked in mode `dont_ask`.",
    ),
    (
        "nobody_to_ask",
        verdict((DENY, LOCKED, 0), text="rm x", note="nobody is asked in mode `dont_ask`"),
        "`Bash(rm x)` was refused by rule `careful`: nobody is asked in mode `dont_ask`.",
    ),
    (
        "requirement",
        verdict(
            (DENY, Rule("jail", "require", Source("user", "u.yaml", 1), "require"), 0), note="required: confined true"
        ),
        "`Bash` was refused by rule `jail`: required: confined true.",
    ),
    (
        "unknown_target",
        verdict((ASK, SECRETS, 0), text="$", items=(LOOSE,), parts=CHAIN[:1], note="it may match", certain=False),
        (
            "`$` needs a person's approval: it reads a path that is not known before the run, of which rule `secrets`"
            " may speak."
        ),
    ),
    (
        "below",
        verdict((ASK, SECRETS, 0), text=".", items=(TREE,), parts=CHAIN[:1], note="below: /w/.env", certain=False),
        "`.` needs a person's approval by rule `secrets`: these are secrets; below: /w/.env.",
    ),
    (
        "unparsed",
        verdict((DENY, SECRETS, 0), text="((", tokens=("((",), note="found among words that cannot be parsed"),
        "`((` was refused by rule `secrets`: these are secrets; found among words that cannot be parsed.",
    ),
    (
        "command_injection_detected",
        verdict((ASK, mode_rule("default"), 1), text="git status && ./x", items=HIDDEN, parts=CHAIN),
        (
            "command_injection_detected: `./x` is hidden in or chained to this command and no rule covers it, so it"
            " needs a person's approval. It runs code of `./x` that cannot be seen from here (./x is not described)."
        ),
    ),
]


@pytest.mark.parametrize(("expected", "given", "said"), WHY)
def test_why_has_a_name_for_programs_and_a_sentence_for_models(expected: str, given: Verdict, said: str) -> None:
    assert (reason_of(given), message(given)) == (expected, said)


def test_every_name_of_a_reason_is_tried_here() -> None:
    assert {name for name, _, _ in WHY} == set(REASONS)


def test_a_lone_unknown_program_hides_in_nothing() -> None:
    lone = verdict(
        (ASK, mode_rule("default"), 0),
        text="./x",
        items=(Item(Code("./x", ("./x",), "?"), 0, 3, 0),),
        parts=(part("./x", "./x"),),
    )
    assert reason_of(lone) == "mode"


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("rm x", part("rm x", "rm"), []),
        ("/bin/rm x", part("/bin/rm x", "rm"), ["`/bin/rm` is read as `rm`"]),
        ("r\\m x", part("r\\m x", "rm", argv=("rm", "x")), ["`r\\m` is read as `rm`"]),
        ("rm -fr x", part("rm -fr x", "rm", options=frozenset({"-f", "-r", "--force"})), ["`-fr` is read as `-f -r`"]),
        (
            "git push --forc",
            part("git push --forc", "git", subcommands=("push",), options=frozenset({"--force", "-f"})),
            ["`--forc` is read as `--force`"],
        ),
        (
            "git -C s push",
            part("git -C s push", "git", subcommands=("push",)),
            ["`git -C s push` is read as `git push`"],
        ),
        ("sudo rm x", part("rm x", "rm", 5, direct=False, via=("sudo",)), ["`rm x` is run by `sudo`"]),
        ("rm -- -fr", part("rm -- -fr", "rm", options=frozenset({"-f", "-r"})), []),
    ],
)
def test_readings_are_told(text: str, given: Part, expected: list[str]) -> None:
    assert normalised(text, Analysis((given,), ())) == expected


def test_a_link_is_told_with_where_it_leads() -> None:
    items = (Item(Touch("read", "/w/x", real="/etc/passwd")),)
    assert normalised("", Analysis((), items)) == ["`/w/x` leads to `/etc/passwd`"]


HOLDS = Enforced(
    ("secrets",), ("only-our-hosts",), (("hosts", ["pypi.org"]), ("network", "listed"), ("write", ["./build"]))
)


def touching(decision: Decision, rule: Rule, *effects: Effect, **fields: Any) -> Verdict:
    items = tuple(Item(effect, 0, 1, 0) for effect in effects)
    return verdict(*((decision, rule, n) for n in range(len(items))), text="x", items=items, **fields)


@pytest.mark.parametrize(
    ("given", "expected", "line"),
    [
        (
            touching(ALLOW, mode_rule("default"), Touch("read", "/w/x"), Touch("read", "/etc/hosts")),
            Confinement("analysis", (SYSTEM, "/w"), hidden=("secrets",)),
            "by analysis: reads the system's files, /w; writes nothing; no network; 1 deny rule hides files",
        ),
        (
            touching(
                ASK,
                mode_rule("default"),
                Touch("read", "/srv/x"),
                Touch("write", "/w/new/y"),
                Touch("delete", "/w/z"),
                Connect("a.org", 443, "fetch"),
                Credential("ssh", "/home/dev/.ssh/id"),
            ),
            Confinement(
                "person",
                (SYSTEM, "/w", "/srv/x"),
                ("/w/new", "/w"),
                ("a.org:443",),
                "listed",
                ("/home/dev/.ssh/id",),
                ("secrets",),
            ),
            (
                "if a person agrees: reads the system's files, /w, /srv/x; writes /w/new, /w; network listed:"
                " a.org:443; login material /home/dev/.ssh/id; 1 deny rule hides files"
            ),
        ),
        (
            touching(ALLOW, GIT, Code("npm", ("npm", "test"), "?")),
            Confinement("rule", (SYSTEM, "/w"), ("./build",), ("pypi.org",), "listed", (), ("secrets",)),
            "by rule: reads the system's files, /w; writes ./build; network listed: pypi.org; 1 deny rule hides files",
        ),
        (
            touching(ALLOW, GIT, Code("npm", ("npm", "test"), "?"), demands=(("network", "off"),)),
            Confinement("rule", (SYSTEM, "/w"), ("./build",), (), "off", (), ("secrets",), (("network", "off"),)),
            (
                "by rule: reads the system's files, /w; writes ./build; no network; 1 deny rule hides files;"
                " required: network off"
            ),
        ),
        (touching(DENY, SECRETS, Touch("read", "/w/.env")), Confinement("not_run"), "not run"),
        (
            touching(ALLOW, GIT, Code("npm", ("npm",), "?"), context=HERE.replace(confined=False)),
            Confinement("none", unenforced=("secrets", "only-our-hosts")),
            "none: the agent runs it; inside its code nobody enforces secrets, only-our-hosts",
        ),
        (
            touching(ASK, GIT, Touch("read", "/w/x"), context=HERE.replace(confined=False)),
            Confinement("none"),
            "none: the agent runs it",
        ),
    ],
)
def test_confinement_follows_who_approved(given: Verdict, expected: Confinement, line: str) -> None:
    found = confinement(given, HOLDS)
    assert (found, found.line(), found.as_json()["text"]) == (expected, line, line)


def test_writes_are_let_through_where_something_is_there() -> None:
    """A command may put a new file in the place of the old one, which takes the folder; a redirect does not."""
    facts = Facts(
        {
            "/w/file": PathFact("/w/file", "file"),
            "/w/dir": PathFact("/w/dir", "dir"),
            "/w/new": PathFact("/w/new", "missing"),
        }
    )
    effects = (
        Touch("write", "/w/file"),
        Touch("write", "/w/dir"),
        Touch("write", "/x/new"),
        Touch("write", "/dev/null"),
    )
    by_command = touching(ASK, mode_rule("default"), *effects, facts=facts)
    items = tuple(item.replace(part=-1) for item in by_command.analysis.items)
    by_shell = by_command.replace(analysis=by_command.analysis.replace(items=items))
    assert (confinement(by_command).writes, confinement(by_shell).writes) == (
        ("/w", "/w/dir", "/x"),
        ("/w/file", "/w/dir", "/x"),
    )
