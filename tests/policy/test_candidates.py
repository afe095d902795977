"""Which rules may speak of an effect: by the command that does it, by its path, by its kind; known and not."""

from __future__ import annotations

import pytest

from gateway.model.command import Part
from gateway.model.effect import HOLE, Effect, Exec, Touch

from .test_resolve import CONTEXT, ROOT, compiled, judged

READ = Touch("read", f"{ROOT}/a")


def part(*argv: str, program: str = "") -> Part:
    literal = not any(HOLE in word for word in argv)
    name = program or argv[0]
    return Part(argv, 0, 5, name, (), argv[1:], frozenset(), True, literal, True, True)


# rule, command, program: whether a deny of it holds, as "deny", "ask" where it may hold, or "allow" by the mode
COMMANDS: dict[str, tuple[str, Part, str]] = {
    "by its name": ("Bash(git *)", part("git", "push"), "deny"),
    "by the name of its file": ("Bash(git *)", part("/usr/bin/git", "push", program="git"), "deny"),
    "in a folder": ("Bash(git *)", part("./git", "push", program="git"), "deny"),
    "in capitals, which some file systems take for the same": ("Bash(git *)", part("GIT", "push"), "deny"),
    "by another name of it": ("Bash(my-git *)", part("/opt/My-Git", "push", program="git"), "deny"),
    "another one": ("Bash(git *)", part("gist", "push"), "allow"),
    "one that is called so in a folder of that name": (
        "Bash(git *)",
        part("git/gist", "push", program="gist"),
        "allow",
    ),
    "by its second word": ("Bash(git push *)", part("git", "push", "-v"), "deny"),
    "not by another": ("Bash(git push *)", part("git", "pull"), "allow"),
    "perhaps by a word that nobody knows": ("Bash(git push *)", part("git", HOLE), "ask"),
    "by no word that nobody knows of another one": ("Bash(git push *)", part("gist", HOLE), "allow"),
    "perhaps where no word is known": ("Bash(* push *)", part(HOLE, HOLE), "ask"),
    "where some word is not as it is written, but known": (
        "Bash(git push *)",
        part("git", "push").replace(literal=False),
        "deny",
    ),
    "by a word anywhere": ("Bash(* push)", part("git", "push"), "deny"),
    "not by its own name for a word": ("Bash(* push)", part("push", "git"), "allow"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_a_rule_on_commands_is_found_by_program_and_word(case: str) -> None:
    rule, command, expected = COMMANDS[case]
    found = judged(compiled(user=f"- {{id: no, deny: '{rule}'}}"), READ, parts=(command,))
    assert (found.decision.word, found.reason.rule.id == "no") == (expected, expected != "allow")


@pytest.mark.parametrize(("name", "expected"), [("frob", "allow"), ("FROB", "ask"), ("Frob", "ask")])
def test_capitals_are_another_program_to_a_rule_that_allows(name: str, expected: str) -> None:
    policy = compiled(user="- {id: runs, allow: 'Bash(frob *)'}")
    assert judged(policy, Touch("write", f"{ROOT}/a"), parts=(part(name, "x"),)).decision.word == expected


@pytest.mark.parametrize(("word", "expected"), [("x", "allow"), (HOLE, "ask"), ("y", "ask")])
def test_a_command_of_which_a_word_is_not_known_is_covered_by_no_rule_for_one_of_that_word(word, expected) -> None:
    policy = compiled(user="- {id: runs, allow: 'Bash(run x)'}")
    found = judged(policy, Touch("write", f"{ROOT}/a"), parts=(part("run", word),))
    assert found.decision.word == expected


def test_a_rule_on_other_effects_of_a_command_hides_none_behind_it() -> None:
    policy = compiled(
        user="""- {id: writes, deny: {command: 'run *', effect: write}}
- {id: other, deny: {command: 'run y', effect: read}}
- {id: all, deny: {command: 'run *'}}"""
    )
    found = judged(policy, READ, parts=(part("run", "x"),))
    assert (found.decision.word, found.reason.rule.id) == ("deny", "all")


@pytest.mark.parametrize("effect", [Touch("write", f"{ROOT}/a"), Touch("delete", f"{ROOT}/a")], ids=str)
def test_a_rule_on_one_effect_of_a_command_speaks_of_that(effect: Effect) -> None:
    policy = compiled(user="- {id: writes, deny: {command: 'run *', effect: write}}")
    found = judged(policy, READ, effect, parts=(part("run", "x"),))
    assert (found.decision.word == "deny") == (effect.kind == "write")


@pytest.mark.parametrize(("argv", "expected"), [(("git", "push"), "allow"), (("push", "git"), "ask")])
def test_a_rule_that_allows_a_word_of_any_program_covers_that(argv: tuple[str, ...], expected: str) -> None:
    policy = compiled(user="- {id: pushes, allow: 'Bash(* push)'}")
    assert judged(policy, Touch("write", f"{ROOT}/a"), parts=(part(*argv),)).decision.word == expected


@pytest.mark.parametrize("kind", ["exec", "use"])
def test_a_rule_on_the_start_of_programs_or_the_calling_of_tools_forbids_that(kind: str) -> None:
    found = judged(compiled(user=f"- {{id: no, deny: {{effect: {kind}}}}}"), Exec("run", ("run", "x")))
    assert (found.decision.word, found.reason.rule.id) == ("deny", "no")


WITHIN: dict[str, tuple[str, Effect, str]] = {
    "a deletion of a folder is of the folder, too": (
        "{effect: delete, path: 'src/*'}", Touch("delete", f"{ROOT}/src", tree=True), "ask"),
    "and a write": ("{effect: write, path: 'src/*'}", Touch("write", f"{ROOT}/src", tree=True), "ask"),
    "of both it is covered whole": (
        "{effect: delete, path: 'src/'}", Touch("delete", f"{ROOT}/src", tree=True), "allow"),
    "a look is of what is in it": ("{effect: read, path: '//srv/d/*'}", Touch("read", "/srv/d", tree=True), "allow"),
    "also a list": ("{effect: list, path: '//srv/d/*'}", Touch("list", "/srv/d"), "allow"),
    "of all that is in it": ("{effect: read, path: '//srv/d/*.py'}", Touch("read", "/srv/d", tree=True), "ask"),
    "also of the whole machine": ("{effect: list, path: '//srv/**'}", Touch("list", "/"), "ask"),
}  # fmt: skip


@pytest.mark.parametrize("case", WITHIN)
def test_a_tree_is_covered_by_rules_on_what_it_touches(case: str) -> None:
    when, effect, expected = WITHIN[case]
    assert judged(compiled(user=f"- {{id: all, allow: {when}}}"), effect).decision.word == expected


@pytest.mark.parametrize(("tree", "expected"), [("src/a", "deny"), ("src/b", "ask")])
def test_an_exception_spares_no_tree_of_which_it_leaves_out_a_part(tree: str, expected: str) -> None:
    spared = "{path: 'src/**', path_not: 'src/a/x/**'}"
    policy = compiled(user=f"- {{id: no, deny: {{effect: delete}}, except: [{spared}]}}")
    found = judged(policy, Touch("delete", f"{ROOT}/{tree}", tree=True), context=CONTEXT)
    assert found.decision.word == expected
