"""Facts of the host turn an analysis into what will really happen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from gateway.commands.analyse import Start, analyse
from gateway.commands.examples import shown
from gateway.commands.settle import MAX_ITEMS, MAX_MATCHES, settle
from gateway.model.context import Context
from gateway.model.effect import HOLE, Connect, Touch
from gateway.model.facts import NO_FACTS, Facts, GitFact, PathFact

if TYPE_CHECKING:
    from gateway.model.analysis import Analysis

CWD = "/home/dev/project"
CONTEXT = Context(CWD, CWD, "/home/dev", (CWD,))
SSH_SEND = ("connect github.com:22 send", "credential ~/.ssh")
BOTH_FETCH = ("connect github.com:22 fetch", "connect host.org:443 fetch", "credential", "credential ~/.ssh")
OWN = GitFact(CWD, True, "topic", (("origin", "git@github.com:a/b.git"), ("up", "https://host.org/x")))


def settled(text: str, facts: Facts, descriptions: dict[str, Any]) -> Analysis:
    return settle(analyse(text, Start(CWD, "/home/dev"), descriptions.get), facts, CONTEXT)


def effects(text: str, facts: Facts, descriptions: dict[str, Any], context: Context = CONTEXT) -> list[str]:
    items = settle(analyse(text, Start(CWD, "/home/dev"), descriptions.get), facts, context).items
    return sorted({shown(item.effect) for item in items if item.effect.kind != "exec"})


def files(**kinds: str) -> Facts:
    return Facts(paths={f"{CWD}/{name}": PathFact(f"{CWD}/{name}", kind) for name, kind in kinds.items()})


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        ((f"{CWD}/a.py", f"{CWD}/b.py"), ["read a.py", "read b.py"]),
        ((), ["read *.py"]),
        (None, ["read . tree"]),
        (tuple(f"{CWD}/{n}.py" for n in range(MAX_MATCHES + 1)), ["read . tree"]),
    ],
)
def test_a_glob_becomes_what_it_matches(
    matches: tuple[str, ...] | None, expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert effects("cat *.py", Facts(globs={f"{CWD}/*.py": matches}), descriptions) == expected


def test_globs_of_many_files_are_whole_folders_once_there_are_too_many_of_them(descriptions: dict[str, Any]) -> None:
    patterns = ["*" * (number + 1) + ".py" for number in range(20)]
    matches = tuple(f"{CWD}/{number}.py" for number in range(MAX_MATCHES))
    facts = Facts(globs={f"{CWD}/{pattern}": matches for pattern in patterns})
    items = settled(f"cat {' '.join(patterns)}", facts, descriptions).items
    assert MAX_ITEMS < len(items) <= MAX_ITEMS + MAX_MATCHES + len(patterns)
    assert items[-1].effect == Touch("read", CWD, True, False, "", "only\0" + patterns[-1])


@pytest.mark.parametrize(
    ("text", "pattern", "skips"),
    [
        ("rm -- *.log", "*.log", "only\0*.log"),
        ("rm -- x?", "x?", "only\0x?"),
        ("rm -- *", "*", ""),
        ("rm -- **", "**", ""),
        ("rm -r -- *.log", "*.log", ""),
        ("rm -- *.[ab]", "*.[ab]", ""),
        ("rm -- */x.log*", "*/x.log*", "only\0x.log*"),
        ("rm -- */*", "*/*", ""),
    ],
)
def test_a_glob_of_too_many_files_is_files_of_these_names(
    text: str, pattern: str, skips: str, descriptions: dict[str, Any]
) -> None:
    items = settled(text, Facts(globs={f"{CWD}/{pattern}": None}), descriptions).items
    assert [item.effect for item in items if item.effect.kind == "delete"] == [
        Touch("delete", CWD, True, False, "", skips)
    ]


@pytest.mark.parametrize(
    ("text", "pattern", "matches", "code"),
    [
        ("sort *", "*", ("a", "-oF"), True),
        ("sort *", "*", ("a", "b"), False),
        ("sort *", "*", None, True),
        ("sort -- *", "*", ("-oF",), False),
        ("sort ./*", "*", ("-oF",), False),
        ("sort src/*", "src/*", ("src/-oF",), False),
        ("cat *", "*", ("-oF",), False),
    ],
)
def test_a_file_name_that_would_be_read_as_an_option_is_code(
    text: str, pattern: str, matches: tuple[str, ...] | None, code: bool, descriptions: dict[str, Any]
) -> None:
    found = None if matches is None else tuple(f"{CWD}/{name}" for name in matches)
    assert ("code" in effects(text, Facts(globs={f"{CWD}/{pattern}": found}), descriptions)) == code


def test_a_path_tells_where_its_links_lead(descriptions: dict[str, Any]) -> None:
    facts = Facts(paths={f"{CWD}/link": PathFact("/etc/passwd", "file")})
    touched = [item.effect for item in settled("cat link", facts, descriptions).items if item.effect.kind == "read"]
    assert touched == [Touch("read", f"{CWD}/link", False, False, "/etc/passwd")]


@pytest.mark.parametrize(("kind", "skips"), [("dir", "only\0*.py"), ("file", "")])
def test_what_of_a_folder_is_not_named_is_not_named_behind_its_link(
    kind: str, skips: str, descriptions: dict[str, Any]
) -> None:
    facts = Facts(paths={f"{CWD}/src": PathFact("/x", kind)})
    items = settled("find src -name '*.py' | xargs cat", facts, descriptions).items
    expected = Touch("read", f"{CWD}/src", kind == "dir", False, "/x", skips)
    assert [item.effect for item in items if item.effect.kind == "read"] == [expected]


def test_what_a_glob_matches_is_a_tree_unless_it_is_a_file(descriptions: dict[str, Any]) -> None:
    facts = files(a="file", b="dir").replace(globs={f"{CWD}/?": tuple(f"{CWD}/{name}" for name in "abc")})
    assert effects("rm -r -- ?", facts, descriptions) == ["delete a", "delete b tree", "delete c tree"]


def test_a_tree_that_is_a_file_is_that_file(descriptions: dict[str, Any]) -> None:
    assert effects("rm -r f", files(f="file"), descriptions) == ["delete f"]
    assert effects("rm -r f", files(f="dir"), descriptions) == ["delete f tree"]
    assert effects("rm -r f", NO_FACTS, descriptions) == ["delete f tree"]
    assert effects("cat f; rm -r f", files(f="file"), descriptions) == ["delete f", "read f"]
    assert effects("rm f; rm -r f", files(f="file"), descriptions) == ["delete f", "delete f tree"]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("cp a d", "dir", ["read a", "write d", "write d/a"]),
        ("cp a d", "file", ["read a", "write d"]),
        ("cp a d", "missing", ["read a", "write d"]),
        ("mkdir d && cp a d", "missing", ["read a", "write d", "write d/a"]),
        ("python3 -c \"import shutil; shutil.copy('a', 'd')\"", "dir", ["code", "read a", "write d", "write d/a"]),
    ],
)
def test_a_destination_that_is_a_folder_receives_the_source(
    text: str, kind: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert effects(text, files(d=kind), descriptions) == expected


def test_an_installed_program_of_a_package_is_looked_for_in_all_folders_above(descriptions: dict[str, Any]) -> None:
    wanted = analyse("npx eslint", Start(CWD, "/home/dev"), descriptions.get).wanted.paths
    above = (CWD, "/home/dev", "/home", "")
    assert [path for path in wanted if path.endswith("/eslint")] == [
        f"{each}/node_modules/.bin/eslint" for each in above
    ]


def test_a_link_inside_a_destination_folder_is_followed(descriptions: dict[str, Any]) -> None:
    link = PathFact("/etc/passwd", "file")
    facts = Facts(paths={f"{CWD}/d": PathFact(f"{CWD}/d", "dir"), f"{CWD}/d/a": link})
    written = [item.effect for item in settled("cp a d", facts, descriptions).items if item.effect.kind == "write"]
    assert written == [Touch("write", f"{CWD}/d"), Touch("write", f"{CWD}/d/a", False, False, "/etc/passwd")]
    assert f"{CWD}/d/a" in analyse("cp a d", Start(CWD, "/home/dev"), descriptions.get).wanted.paths


def test_without_facts_a_destination_may_be_a_folder(descriptions: dict[str, Any]) -> None:
    assert effects("cp a d", NO_FACTS, descriptions) == ["read a", "write d", "write d/a"]


@pytest.mark.parametrize(
    ("text", "facts", "trusted", "code"),
    [
        ("cat f", Facts(), True, False),
        ("cat f", Facts(untrusted_programs=frozenset(("cat",))), False, True),
        ("/bin/cat f", Facts(programs={"cat": "/bin/cat"}), True, False),
        ("/bin/cat f", Facts(programs={"cat": "/usr/bin/cat"}), False, True),
        ("/bin/cat f", Facts(), False, True),
        ("./cat f", Facts(programs={"cat": "/bin/cat"}), False, True),
    ],
)
def test_a_program_counts_as_itself_only_if_path_gives_that_very_file(
    text: str, facts: Facts, trusted: bool, code: bool, descriptions: dict[str, Any]
) -> None:
    analysis = settled(text, facts, descriptions)
    assert analysis.parts[0].trusted == trusted
    assert ("code" in {item.effect.kind for item in analysis.items}) == code


@pytest.mark.parametrize(
    ("text", "facts", "trusted"),
    [
        ("echo x > .tool-versions; cat f", Facts(chosen=frozenset(("cat",))), False),
        ("echo x > ~/.config/mise/conf.d/a.toml; cat f", Facts(chosen=frozenset(("cat",))), False),
        ("cat .tool-versions; cat f", Facts(chosen=frozenset(("cat",))), True),
        ("echo x > a; cat f", Facts(chosen=frozenset(("cat",))), True),
        ("echo x > .tool-versions; cat f", Facts(), True),
        ("cd a && cat f", Facts(wanders=True), False),
        ("cd a && cat f", Facts(), True),
        ("cat f", Facts(wanders=True), True),
        ("echo x > /p/cat; cat f", Facts(searched=("/p",)), False),
        ("echo x > /p/rm; cat f", Facts(searched=("/p",)), True),
        ("echo x > /p/cat; cat f", Facts(), True),
    ],
)
def test_what_a_text_writes_and_where_it_goes_decides_which_program_a_name_means(
    text: str, facts: Facts, trusted: bool, descriptions: dict[str, Any]
) -> None:
    assert settled(text, facts, descriptions).parts[-1].trusted == trusted


@pytest.mark.parametrize(
    ("text", "pattern", "matches", "expected"),
    [
        ("cat /dev/s*", "/dev/s*", ("/dev/stdin", "/dev/stx"), ["read /dev/stx"]),
        ("chmod 1 /dev/s*", "/dev/s*", ("/dev/stdin", "/dev/stx"), ["delete /dev/stdin", "write /dev/stx"]),
        ("tee /dev/s*", "/dev/s*", ("/dev/stdin", "/dev/stx"), ["write /dev/stx"]),
        ("ls; chmod 1 /dev/s*", "/dev/s*", ("/dev/stdin",), ["delete /dev/stdin", "list ."]),
        ("rm /dev/s*", "/dev/s*", ("/dev/stdin", "/dev/stx"), ["delete /dev/stdin", "delete /dev/stx"]),
        ("cat *.py x", f"{CWD}/*.py", (f"{CWD}/a.py",), ["read a.py", "read x"]),
    ],
)
def test_streams_that_a_glob_matches_are_no_files(
    text: str, pattern: str, matches: tuple[str, ...], expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert effects(text, Facts(globs={pattern: matches}), descriptions) == expected


def test_every_program_of_a_text_is_looked_at(descriptions: dict[str, Any]) -> None:
    facts = Facts(programs={"ls": "/bin/ls"}, untrusted_programs=frozenset(("cat", "frob", "sort")))
    analysis = settled("frob; ls; /bin/ls; cat *.py f; x/wc f; sort f; nub; rm g", facts, descriptions)
    told = [part.trusted for part in analysis.parts]
    assert told == [False, True, True, False, False, False, True, True]
    assert [item.effect.why for item in analysis.items if item.effect.kind == "code"] == [
        "frob is not described",
        "nub is not described",
        "cat lies where it could have been replaced",
        "x/wc may be another program than wc",
        "sort lies where it could have been replaced",
    ]
    assert "delete g" in [shown(item.effect) for item in analysis.items]


@pytest.mark.parametrize(
    ("pushes", "pushed"),
    [
        ("", ["push origin topic"]),
        ("settings", ["push origin ?"]),
        ("force", ["push origin ? force"]),
    ],
)
def test_a_push_without_a_ref_sends_what_the_settings_say(
    pushes: str, pushed: list[str], descriptions: dict[str, Any]
) -> None:
    facts = Facts(git={CWD: OWN.replace(pushes=pushes)})
    found = effects("git push --no-verify origin", facts, descriptions)
    assert [effect for effect in found if effect.startswith("push")] == pushed


@pytest.mark.parametrize(
    ("fact", "code"), [(OWN, False), (GitFact(CWD, False, "main"), True), (GitFact("", False, ""), True), (None, True)]
)
def test_git_outside_the_projects_own_repository_is_code(
    fact: GitFact | None, code: bool, descriptions: dict[str, Any]
) -> None:
    facts = Facts(git={CWD: fact} if fact else {})
    assert ("code" in effects("git status", facts, descriptions)) == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git push --no-verify", [*SSH_SEND, "push origin topic"]),
        ("git push --no-verify -f origin HEAD", [*SSH_SEND, "push origin topic force"]),
        ("git push --no-verify up +a:b", ["connect host.org:443 send", "credential", "push up b force"]),
        ("git push --no-verify nowhere x", ["connect ? send", "credential", "push nowhere x"]),
        ("git ls-remote up", ["connect host.org:443 fetch", "credential"]),
        (
            "git fetch --all",
            [*BOTH_FETCH, "write .git tree"],
        ),
    ],
)  # fmt: skip
def test_remotes_and_branches_come_from_the_repository(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert effects(text, Facts(git={CWD: OWN}), descriptions) == expected


def test_remotes_that_nobody_knows_are_any_host_at_any_port(descriptions: dict[str, Any]) -> None:
    items = settled("git fetch --all", Facts(git={}), descriptions).items
    assert Connect(HOLE, 0, "fetch") in [item.effect for item in items]


HERE = ("origin", "git@example.com:x/y.git")


@pytest.mark.parametrize(
    ("remotes", "defaults", "text", "expected"),
    [
        pytest.param((HERE, ("origin (push)", "https://fork.org/r")), ("", ""), "git push --no-verify origin a",
                     ["connect fork.org:443 send", "credential", "push origin a"], id="pushed-elsewhere"),
        pytest.param((HERE, ("origin (push)", "https://fork.org/r")), ("", ""), "git ls-remote origin",
                     ["connect example.com:22 fetch", "credential ~/.ssh"], id="fetched-where-it-was"),
        pytest.param((HERE, ("origin (push)", "")), ("", ""), "git push --no-verify origin a",
                     ["connect ? send", "credential", "push origin a"], id="pushed-nobody-knows-where"),
        pytest.param((HERE, ("fork", "https://fork.org/r")), ("", "fork"), "git push --no-verify",
                     ["connect fork.org:443 send", "credential", "push fork topic"], id="the-default-for-pushes"),
    ],
)  # fmt: skip
def test_a_push_goes_where_the_repository_says(
    remotes: tuple[tuple[str, str], ...],
    defaults: tuple[str, str],
    text: str,
    expected: list[str],
    descriptions: dict[str, Any],
) -> None:
    facts = Facts(git={CWD: OWN.replace(remotes=remotes, defaults=defaults)})
    assert effects(text, facts, descriptions) == expected


def test_a_repository_further_up_is_the_one_that_is_written(descriptions: dict[str, Any]) -> None:
    facts = Facts(git={f"{CWD}/sub": OWN})
    assert effects("cd sub && git tag v1", facts, descriptions) == ["write .git tree"]


def test_a_folder_that_receives_thousands_of_files_is_settled_by_one_look_at_the_items(
    descriptions: dict[str, Any],
) -> None:
    """Each source is asked about by itself; twice as many must not be four times the work."""
    costs = []
    for many in (500, 1000):
        text = "cp " + " ".join(f"f{number}" for number in range(many)) + " out"
        analysis = analyse(text, Start(CWD, "/home/dev"), descriptions.get)
        facts = files(out="dir")
        steps = [0]
        before = sys.getprofile()
        sys.setprofile(lambda _frame, _event, _argument, steps=steps: steps.__setitem__(0, steps[0] + 1))
        try:
            found = settle(analysis, facts, CONTEXT)
        finally:
            sys.setprofile(before)
        assert f"{CWD}/out/f{many - 1}" in {getattr(item.effect, "path", "") for item in found.items}
        costs.append(steps[0])
    assert costs[1] < 2.2 * costs[0]


def test_settling_leaves_no_question_and_nothing_to_expand(descriptions: dict[str, Any]) -> None:
    analysis = settled("cp * d; git push; cat *.py; /x/rm y", NO_FACTS, descriptions)
    assert analysis.pending == ()
    assert not any(item.effect.glob for item in analysis.items if isinstance(item.effect, Touch))


def test_that_a_program_may_be_another_one_is_told_before_what_it_would_run(descriptions: dict[str, Any]) -> None:
    facts = Facts(untrusted_programs=frozenset(("python3",)))
    items = settled("ls; python3 x.py", facts, descriptions).items
    told = [item.effect.why for item in items if item.effect.kind == "code"]
    assert told == ["python3 lies where it could have been replaced", "runs a Python program"]


@pytest.mark.parametrize(
    ("text", "doubted"),
    [
        ('ruby -e \'File.symlink("/etc", "x")\'; cat x/passwd', True),
        ('ls; ruby -e \'File.symlink("/etc", "x")\'; cat x/passwd', True),
        ("tar xf a.tar; cat x/passwd", True),
        ("ruby -e 1; cat x/passwd", False),
        ("cat x/passwd", False),
    ],
)
def test_what_is_named_behind_what_may_bring_links_is_in_doubt(
    text: str, doubted: bool, descriptions: dict[str, Any]
) -> None:
    items = settled(text, NO_FACTS, descriptions).items
    whys = [item.effect.why for item in items if item.effect.kind == "code"]
    assert any(why.startswith("what it names may be a link that") for why in whys) == doubted


STATE, OTHERS = "credential terraform.tfstate changed", f"{CWD}/terraform.tfstate.d/*/terraform.tfstate"


@pytest.mark.parametrize(
    ("state", "others", "expected"),
    [
        (PathFact(f"{CWD}/terraform.tfstate", "file"), (), ["code", STATE]),
        (PathFact(f"{CWD}/terraform.tfstate", "missing"), (), ["code"]),
        (
            PathFact(f"{CWD}/terraform.tfstate", "missing"),
            (f"{CWD}/terraform.tfstate.d/test/terraform.tfstate",),
            ["code", "credential terraform.tfstate.d/test/terraform.tfstate changed"],
        ),
        (PathFact(f"{CWD}/terraform.tfstate", "missing"), None, ["code", "credential terraform.tfstate.d changed"]),
        (None, (), ["code", STATE]),
    ],
)
def test_what_code_loads_counts_in_the_sandbox_unless_it_is_known_not_to_be_there(
    state: PathFact | None, others: tuple[str, ...] | None, expected: list[str], descriptions: dict[str, Any]
) -> None:
    paths = {
        f"{CWD}/{each}": PathFact("", "missing")
        for each in (".terraform/terraform.tfstate", "terraform.tfstate.backup")
    }
    if state is not None:
        paths[f"{CWD}/terraform.tfstate"] = state
    facts = Facts(paths=paths, globs={OTHERS: others})
    assert effects("terraform plan", facts, descriptions) == expected
    assert effects("terraform plan", facts, descriptions, CONTEXT.replace(confined=False)) == ["code"]


def test_what_the_same_text_makes_is_loaded(descriptions: dict[str, Any]) -> None:
    facts = Facts(paths={f"{CWD}/.env": PathFact(f"{CWD}/.env", "missing")})
    assert "read .env" not in effects("dotenv -- x", facts, descriptions)
    for text in ("cp x .env; dotenv -- x", "unzip x.zip && dotenv -- x", "cp -r ../x . && dotenv -- x"):
        assert "read .env" in effects(text, facts, descriptions)
