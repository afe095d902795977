"""Which calls run contained, what becomes of their changes, and what tightens that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.model.call import RawCall
from gateway.model.decision import MODES
from gateway.policy import contain
from gateway.policy.explain import explain, message

if TYPE_CHECKING:
    from gateway.model.verdict import Verdict

CONTAINED = {"id": "held", "allow": {"effect": ["code", "opaque", "write", "delete", "connect"], "contained": True}}


@pytest.fixture
def decided(guard):
    """What a policy makes of a text: decision, what becomes of changes, rule."""

    def decide(layers, text: str, *, mode: str = "default", holds: bool = True) -> tuple[str, str, str]:
        judge = guard(layers, mode=mode)
        found = judge.check(
            RawCall("Bash", {"command": text}), contains=lambda *_: "" if holds else "there is no sandbox"
        )
        assert found.contained is (found.changes in ("keep", "discard"))
        assert explain(found)["changes"] == found.changes  # what `check --json` says
        return found.decision.word, found.changes, found.reason.rule.id

    return decide


@pytest.mark.parametrize(
    ("text", "decision", "changes"),
    [
        ("python src/main.py", "allow", "keep"),
        ("./run.sh", "allow", "keep"),
        ("$x y", "allow", "keep"),
        ("rm -rf build", "allow", "keep"),
        ("python src/main.py > out.txt", "allow", "keep"),
        ("curl http://localhost:8000/", "allow", "keep"),
        ("./run.sh & curl http://localhost:8000/", "allow", "keep"),
        ("cat README.md", "allow", "none"),
        ("python src/main.py; curl https://example.com/", "ask", "none"),
        ("python src/main.py; curl $HOST", "ask", "none"),
        ("python src/main.py; curl http://10.0.0.1/", "ask", "none"),
        ("python src/main.py; echo x > /srv/x", "ask", "none"),
        ("python src/main.py; echo x > /srv/$x", "ask", "none"),
        ("python src/main.py; cat /srv/x", "ask", "none"),
        ("python src/main.py; git push origin topic", "ask", "none"),
        ("python src/main.py; git fetch origin", "ask", "none"),
        ("python src/main.py; apt-get install x", "ask", "none"),
        ("python src/main.py; kill 1234", "ask", "none"),
        ("python src/main.py; cat .env", "deny", "none"),
        ("python src/main.py; echo x > .git/hooks/pre-commit", "ask", "none"),
    ],
)
def test_an_allow_of_contained_calls_covers_what_fits_in_their_plan(decided, text, decision, changes) -> None:
    assert decided({"user": [CONTAINED]}, text)[:2] == (decision, changes)


@pytest.mark.parametrize(
    "text", ["python src/main.py", "$x y", "rm -rf build", "./run.sh & curl http://localhost:8000/"]
)
def test_where_nothing_holds_it_the_same_call_asks(decided, text: str) -> None:
    assert decided({"user": [CONTAINED]}, text, holds=False)[:2] == ("ask", "none")


@pytest.mark.parametrize("mode", ["plan", "read_only"])
@pytest.mark.parametrize(
    ("text", "decision", "changes"),
    [
        ("python src/main.py", "allow", "discard"),
        ("$x y", "allow", "discard"),
        ("./run.sh & curl http://localhost:8000/", "allow", "discard"),
        ("python src/main.py > out.txt", "deny", "none"),
        ("rm -rf build", "deny", "none"),
        ("python src/main.py; curl https://example.com/", "ask", "none"),
        ("python src/main.py; git push origin topic", "deny", "none"),
        ("cat README.md", "allow", "none"),
    ],
)
def test_modes_that_write_nothing_throw_away_what_is_contained(decided, mode, text, decision, changes) -> None:
    assert decided({"user": [CONTAINED]}, text, mode=mode)[:2] == (decision, changes)


def test_where_somebody_can_be_asked_afterwards_it_runs_before_they_are_asked(guard) -> None:
    judge = guard({"user": [CONTAINED | {"changes": "ask"}]})
    call = RawCall("Bash", {"command": "python src/main.py"})
    lays: list[tuple[str, ...]] = []

    def contains(drafted: tuple[str, ...], _state: str) -> str:
        lays.append(drafted)
        return "no layers here" if drafted and len(lays) > 1 else ""

    context = judge.context.replace(reviewed=True)
    first, second = judge.check(call, context, contains=contains), judge.check(call, context, contains=contains)
    assert (first.decision.word, first.contained, first.changes) == ("allow", True, "ask")
    assert (second.decision.word, second.contained, second.changes) == ("ask", False, "ask")
    assert lays == [context.workspace, context.workspace, ()]


SHOWS = {
    "id": "shows",
    "allow": {"effect": "code", "contained": True, "command": ["* --help", "hledger balance *"]},
    "changes": "discard",
}
BUILDS = {"id": "builds", "allow": {"effect": "code", "confined": True, "command": "npm test *"}}


# text: the decision and what becomes of changes where nobody can be asked about them afterwards, and where somebody can
FOR_ITS_OUTPUT = {
    "frobnicate --help": ("allow", "discard", "ask"),
    "./run.sh --help": ("allow", "discard", "ask"),
    "frobnicate --help | head -20": ("allow", "discard", "ask"),
    "cat README.md; hledger balance": ("allow", "discard", "ask"),
    "frobnicate --help 2>/dev/null": ("allow", "discard", "ask"),
    # what somebody may want to keep
    "frobnicate": ("ask", "ask", "ask"),
    "frobnicate --help > out.txt": ("ask", "ask", "ask"),
    "frobnicate --help; rm README.md": ("ask", "ask", "ask"),
    "frobnicate --help; frobnicate": ("ask", "ask", "ask"),
    "frobnicate --help; npm test": ("ask", "ask", "ask"),
    "npm test": ("allow", "none", "none"),
    # what does not fit, or is not as written
    "frobnicate --help; curl https://example.com/": ("ask", "none", "none"),
    "frobnicate --help > /srv/x": ("ask", "none", "none"),
    "bash -c 'frobnicate --help'": ("ask", "ask", "ask"),
    "$x --help": ("ask", "ask", "ask"),
    "sudo frobnicate --help": ("ask", "none", "none"),
}


def test_where_nobody_can_be_asked_afterwards_what_is_run_for_its_output_loses_its_changes(guard) -> None:
    judge = guard({"user": [CONTAINED | {"changes": "ask"}, SHOWS, BUILDS]})

    def check(text: str, *, reviewed: bool = False, lays: bool = True) -> Verdict:
        context = judge.context.replace(reviewed=reviewed)
        call = RawCall("Bash", {"command": text})
        return judge.check(call, context, contains=lambda folders, _: "" if lays or not folders else "no layers here")

    found = {}
    for text in FOR_ITS_OUTPUT:
        alone = check(text)
        found[text] = (alone.decision.word, alone.changes, check(text, reviewed=True).changes)
    assert found == FOR_ITS_OUTPUT
    assert {check(text, lays=False).changes for text in FOR_ITS_OUTPUT} == {"ask", "none"}


@pytest.mark.parametrize("confined", [True, False], ids=["confined", "unconfined"])
@pytest.mark.parametrize("changes", ["ask", "discard"])
@pytest.mark.parametrize(
    "call",
    [
        RawCall("Bash", {"command": "touch new"}),
        RawCall("Bash", {"command": "rm README.md"}),
        RawCall("Bash", {"command": "python src/main.py"}),
        RawCall("Write", {"file_path": "/home/dev/project/new", "content": "x"}),
        RawCall("Edit", {"file_path": "/home/dev/project/src/a.py", "old_string": "a", "new_string": "b"}),
    ],
    ids=lambda call: " ".join(map(str, call.input.values()))[:30],
)
def test_a_wish_to_see_changes_lets_nothing_run_that_no_layer_holds(guard, call, changes, confined) -> None:
    judge = guard({"user": [CONTAINED | {"changes": "ask"}]}, confined=confined)
    usual = judge.check(call, judge.context, contains=lambda *_: "")
    wished = judge.context.replace(changes=changes, reviewed=True)
    found = judge.check(call, wished, contains=lambda *_: "")
    assert found.decision.word == "ask" or (confined and found.changes == changes)
    assert usual.decision.word == "ask"


@pytest.mark.parametrize("changes", ["ask", "discard"])
def test_a_command_that_would_run_runs_in_layers_where_somebody_wishes_to_see_its_changes(guard, changes: str) -> None:
    judge = guard({"user": [{"id": "made", "allow": "Bash(touch *)"}]}, mode="accept_edits")
    wished = judge.context.replace(changes=changes, reviewed=True)
    call = RawCall("Bash", {"command": "touch new"})
    found = [judge.check(call, wished, contains=contains) for contains in (lambda *_: "", lambda *_: "no layers here")]
    assert [(each.decision.word, each.changes) for each in found] == [("allow", changes), ("ask", "ask")]


@pytest.mark.parametrize("changes", ["ask", "discard"])
def test_where_nothing_confines_a_command_that_would_run_a_wish_to_see_its_changes_asks(guard, changes: str) -> None:
    judge = guard({"user": [{"id": "made", "allow": "Bash(touch *)"}]}, confined=False, mode="accept_edits")
    for text, decision in (("touch new", "ask"), ("cat README.md", "allow")):
        wished = judge.context.replace(changes=changes, reviewed=True)
        found = judge.check(RawCall("Bash", {"command": text}), wished, contains=lambda *_: "")
        assert found.decision.word == decision


ASKS, BY_RULE, SHOWN_AFTER = ("ask", "none", "mode:default"), ("ask", "none", "asks"), ("allow", "ask", "mode:default")
BEFORE = ("ask", "ask", "changes:ask")


def writing(path: str) -> RawCall:
    return RawCall("Write", {"file_path": path, "content": "x"})


# What becomes of a call where somebody sees its changes when it has run, and where no layer can hold them until then.
SEEN_AFTER: list[tuple[str | RawCall, tuple[str, str, str], tuple[str, str, str]]] = [
    ("cat README.md", ("allow", "none", "mode:default"), ("allow", "none", "mode:default")),
    ("touch new", SHOWN_AFTER, BEFORE),
    ("rm README.md", SHOWN_AFTER, BEFORE),
    ("touch new; rm -r build; touch more", SHOWN_AFTER, BEFORE),
    ("make; touch new", SHOWN_AFTER, BEFORE),
    ("make", ("allow", "ask", "made"), BEFORE),
    ("touch /tmp/x", SHOWN_AFTER, BEFORE),
    ("touch /srv/x", ASKS, ASKS),
    ("touch new; touch /srv/x", ASKS, ASKS),
    ("touch $x", ASKS, ASKS),
    ("touch new; cat /srv/x", ASKS, ASKS),
    ("touch new; kill 12", ASKS, ASKS),
    ("touch new; curl https://x.org", ASKS, ASKS),
    ("python3 a.py", ASKS, ASKS),
    ("touch src/a", BY_RULE, BY_RULE),
    ("touch new; touch src/a", BY_RULE, BY_RULE),
    (writing("/home/dev/project/new"), SHOWN_AFTER, BEFORE),
    (writing("/home/dev/project/src/a"), BY_RULE, BY_RULE),
    (writing("/home/dev/project/to-src/a"), BY_RULE, BY_RULE),
    (writing("/srv/x"), ASKS, ASKS),
    (writing("/srv/far/x"), ("allow", "none", "far"), ("allow", "none", "far")),
    (writing("/tmp/x"), ASKS, ASKS),
    (RawCall("Read", {"file_path": "/srv/x"}), ASKS, ASKS),
    (RawCall("Bash", {"command": "touch new", "dangerouslyDisableSandbox": True}), ASKS, ASKS),
]


def test_what_the_mode_asks_about_is_shown_when_it_has_run_where_a_layer_holds_it(guard) -> None:
    rules = [
        {"id": "asks", "ask": {"effect": "write", "path": "src/**"}},
        {"id": "made", "allow": "Bash(make)"},
        {"id": "far", "allow": "Edit(//srv/far/**)"},
    ]
    judge = guard({"user": rules})
    wished = judge.context.replace(changes="ask", reviewed=True)

    def check(call: str | RawCall, holds: bool) -> tuple[str, str, str]:
        call = call if isinstance(call, RawCall) else RawCall("Bash", {"command": call})
        found = judge.check(call, wished, contains=lambda *_: "" if holds else "no layers here")
        assert found.decision is max(each.decision for each in found.outcomes)
        return found.decision.word, found.changes, found.reason.rule.id

    assert [(call, check(call, True), check(call, False)) for call, _held, _unheld in SEEN_AFTER] == SEEN_AFTER


# The changes that are wished, and whether somebody sees them: what becomes of a command that a rule allows, of a
# contained one, and of one whose contained part does what the mode asks about.
WISHES = {
    ("none", False): (("allow", "none"), ("allow", "keep"), ("ask", "none")),
    ("ask", True): (("allow", "ask"), ("allow", "ask"), ("allow", "ask")),
    ("ask", False): (("ask", "ask"), ("ask", "ask"), ("ask", "none")),
    ("discard", True): (("allow", "discard"), ("allow", "discard"), ("ask", "none")),
    ("discard", False): (("allow", "discard"), ("allow", "discard"), ("ask", "none")),
}


def test_changes_are_seen_or_thrown_away_as_the_session_wishes(guard) -> None:
    code = {"id": "held", "allow": {"effect": "code", "contained": True}}
    judge = guard({"user": [code, {"id": "made", "allow": "Bash(make)"}]})
    texts = ("make", "python src/main.py", "python src/main.py > out.txt")
    found = {}
    for changes, reviewed in WISHES:
        wished = judge.context.replace(changes=changes, reviewed=reviewed)
        said = [judge.check(RawCall("Bash", {"command": text}), wished, contains=lambda *_: "") for text in texts]
        found[changes, reviewed] = tuple((each.decision.word, each.changes) for each in said)
    assert found == WISHES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./run.sh; touch ~/.cache/x/y", ("allow", "keep")),
        ("./run.sh; echo x > ~/.npm/y", ("allow", "keep")),
        ("./run.sh; touch ~/build/x", ("ask", "none")),
        ("./run.sh; touch ~/.cargo/registry/x", ("ask", "none")),
    ],
)
def test_what_changes_caches_that_the_sandbox_lets_be_written_fits(decided, text: str, expected) -> None:
    written = {"settings": {"sandbox": {"write": ["~/.cache/**", "~/.npm/**", "~/build/**"]}}, "rules": [CONTAINED]}
    assert decided({"user": written}, text)[:2] == expected


def test_unconfined_calls_are_not_contained(guard) -> None:
    judge = guard({"user": [CONTAINED]}, confined=False)
    found = judge.check(RawCall("Bash", {"command": "python src/main.py"}), contains=lambda *_: "")
    assert (found.decision.word, found.contained, found.changes) == ("ask", False, "none")


@pytest.mark.parametrize(
    ("layers", "decision", "changes"),
    [
        ({"user": [CONTAINED | {"changes": "keep"}]}, "allow", "keep"),
        ({"user": [CONTAINED | {"changes": "ask"}]}, "ask", "ask"),
        ({"user": [CONTAINED | {"changes": "discard"}]}, "allow", "discard"),
        ({"user": [CONTAINED | {"changes": "ask"}, CONTAINED | {"id": "milder"}]}, "allow", "keep"),
        ({"enterprise": [{"require": {"changes": "ask"}}], "user": [CONTAINED]}, "ask", "ask"),
        (
            {"enterprise": [{"require": {"changes": "ask"}, "for": {"tool": "Read"}}], "user": [CONTAINED]},
            "allow",
            "keep",
        ),
        ({"project": [{"require": {"changes": "ask"}}], "user": [CONTAINED]}, "ask", "ask"),
        ({"enterprise": {"settings": {"contained": "ask"}}, "user": [CONTAINED]}, "ask", "ask"),
        ({"enterprise": {"settings": {"contained": "off"}}, "user": [CONTAINED]}, "ask", "none"),
        ({"enterprise": {"settings": {"contained": "discard"}}, "user": [CONTAINED]}, "allow", "discard"),
        ({"user": [CONTAINED], "project": {"settings": {"contained": "ask"}}}, "ask", "ask"),
        (
            {
                "enterprise": {"settings": {"contained": "ask"}},
                "user": {"rules": [CONTAINED], "settings": {"contained": "keep"}},
            },
            "ask",
            "ask",
        ),
        (
            {
                "user": {"rules": [CONTAINED], "settings": {"contained": "off"}},
                "project": {"settings": {"contained": "keep"}},
            },
            "ask",
            "none",
        ),
        ({"enterprise": [{"ask": {"effect": "code"}}], "user": [CONTAINED]}, "ask", "none"),
        ({"enterprise": [{"deny": {"effect": "code", "contained": True}}], "user": [CONTAINED]}, "ask", "none"),
        ({"enterprise": [{"deny": {"effect": "code", "contained": False}}], "user": [CONTAINED]}, "allow", "keep"),
        ({"enterprise": [{"deny": {"effect": "code", "contained": False}}], "user": ["Bash"]}, "deny", "none"),
        ({"enterprise": [{"require": {"contained": True}}], "user": [CONTAINED]}, "allow", "keep"),
    ],
)
def test_the_mildest_rule_holds_for_an_effect_and_every_layer_tightens_it(decided, layers, decision, changes) -> None:
    layers = {
        name: [{"allow": each} if isinstance(each, str) else each for each in found]
        if isinstance(found, list)
        else found
        for name, found in layers.items()
    }
    assert decided(layers, "python src/main.py")[:2] == (decision, changes)


def test_rules_that_only_observe_contain_nothing(guard, tmp_path) -> None:
    (tmp_path / "held.yaml").write_text("version: 1\nrules:\n- {id: held, allow: {effect: code, contained: true}}\n")
    for level, decision in (("observe", "ask"), ("warn", "ask"), ("enforce", "allow")):
        extended = {"file": str(tmp_path / "held.yaml")} | ({} if level == "enforce" else {"level": level})
        judge = guard({"user": {"extends": [extended], "rules": []}})
        found = judge.check(RawCall("Bash", {"command": "python src/main.py"}), contains=lambda *_: "")
        assert (level, found.decision.word) == (level, decision)


def test_what_a_rule_allows_by_itself_keeps_its_profile(decided) -> None:
    layers = {"user": [CONTAINED, {"id": "by-name", "allow": "Bash(npm test)"}]}
    assert decided(layers, "npm test") == ("allow", "none", "by-name")
    assert decided(layers, "npm test; ./run.sh")[:2] == ("allow", "keep")


def test_people_are_told_that_it_can_be_undone(guard) -> None:
    found = guard({"user": [CONTAINED]}).check(RawCall("Bash", {"command": "./run.sh"}), contains=lambda *_: "")
    assert message(found) == "Contained: runs, changes kept, can be undone (rule `held`)."
    told = explain(found)
    assert (told["changes"], told["confinement"]["kind"], told["confinement"]["network"]) == (
        "keep",
        "contained",
        "off",
    )


def test_a_verdict_on_a_contained_call_judged_again_is_the_same(guard) -> None:
    judge = guard({"user": [CONTAINED]})
    first = judge.check(RawCall("Bash", {"command": "./run.sh"}), contains=lambda *_: "")
    again = judge.check(RawCall("Bash", {"command": "./run.sh"}), first.context, contains=lambda *_: "")
    refused = judge.check(RawCall("Bash", {"command": "./run.sh"}), first.context, contains=lambda *_: "no")
    assert (again.changes, again.context.replace(now=0.0)) == ("keep", first.context.replace(now=0.0))
    assert (refused.decision.word, refused.contained) == ("ask", False)


SPEAKING = (
    {"id": "sends", "ask": {"effect": ["connect"], "contained": False}},
    {"id": "hidden", "deny": {"effect": ["read"], "path": ["secret/**"]}, "except": [{"contained": True}]},
    {"id": "built", "allow": {"command": ["make *"]}},
    {"id": "watched", "ask": {"exec": ["git", "stash"]}},
    {"id": "kept", "deny": {"effect": ["delete"], "path": ["src/**"]}},
    {"id": "reads", "allow": {"effect": ["env"]}},
)
TEXTS = (
    "./run.sh", "./run.sh; git stash", "./run.sh; curl http://localhost:8000/", "./run.sh; cat secret/x", "git stash",
    "rm -rf src", "./run.sh; rm src/main.py", "make all", "make all; ./run.sh; cat /srv/x", "./run.sh; printenv TOKEN",
    "kill 1234", "$x y; git stash", "cat $x", "./run.sh | tee out.txt", "rm -rf build; cat ~/.ssh/id_rsa", "if ./run",
    "X=1 ./run.sh", "curl http://localhost:8000/", "echo x > .git/config", "apt-get install x; ./run", "cat secret/x",
)  # fmt: skip


@pytest.mark.parametrize(
    "above",
    [
        [],
        [{"require": {"contained": True}}, {"id": "code", "deny": {"effect": ["code"], "contained": False}}],
        [{"require": {"changes": "ask"}}],
    ],
)
def test_no_verdict_is_another_one_where_the_second_judgement_is_spared(guard, above, monkeypatch) -> None:
    judge = guard({"enterprise": above, "user": [CONTAINED, *SPEAKING]}, mode="default")
    tool = judge.registry.tool("Bash")
    found = [judge.understood(RawCall("Bash", {"command": text}), judge.context, tool) for text in TEXTS]
    contexts = [
        judge.context.replace(mode=mode, changes=changes, reviewed=changes == "ask")
        for mode in MODES
        for changes in ("none", "ask")
    ]

    def verdicts() -> list[object]:
        return [
            judge.judged(each.replace(context=context), context, tool, contains=lambda *_: "").replace(seen=None)
            for each in found
            for context in contexts
        ]

    spared = verdicts()
    monkeypatch.setattr(contain, "_stays", lambda *_: False)
    assert verdicts() == spared
