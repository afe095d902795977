"""Descriptions of programs that layers bring: what each may say, and that a lower one only ever adds."""

# ruff: noqa: E501  one mistake a line

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.commands.analyse import Start, analyse
from gateway.commands.examples import CWD, HOME, effects, shown
from gateway.config.descriptions import ADDS, DESCRIBES, Layered, entries, find_descriptions
from gateway.config.layers import PolicyFile
from gateway.config.load import Options, load_policy, policy_from
from gateway.config.shipped import load_descriptions, load_tools
from gateway.config.trust import TrustStore
from gateway.core.errors import ConfigError
from gateway.core.packed import Descriptions
from gateway.core.places import Places, packaged
from gateway.host.frozen import world
from gateway.judge.policy_tests import check_examples
from gateway.model.call import RawCall
from gateway.model.effect import CARRIERS
from gateway.spec.commands import compile_description

READS = "names: [{name}]\nflags: -q\noperands: [{{kind: path, does: read, rest: true}}]\n"
HARMLESS = "names: [{name}]\nunknown_options: harmless\noperands: [{{kind: text, rest: true}}]\n"
SENDS = HARMLESS + "effects: [connect audit.example.com:443 send]\n"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to root")


FROZEN = {"home": HOME, "root": CWD, "branch": "main", "files": [".git/HEAD", "x"]}


@pytest.fixture(scope="module")
def open_world(tmp_path_factory: pytest.TempPathFactory):
    """Opens a gateway in a frozen project, where layers describe programs and one may lock that."""
    nowhere = "/nonexistent/gateway"
    where = Places(nowhere, nowhere, nowhere, warm(tmp_path_factory.mktemp("compiled") / "gateway"), HOME)
    tools = load_tools(where)
    place = world(FROZEN)
    builtin = packaged("policies/builtin.yaml")

    def open_(described: list[tuple[str, str]], *, trusted: bool = False, lock: str = "") -> Gateway:
        files = [PolicyFile("builtin", builtin, Path(builtin).read_bytes(), CWD, "/")]
        if lock:
            files.append(PolicyFile(lock, "policy.yaml", b"{version: 1, settings: {lock: [commands]}}", CWD, CWD))
        texts = [
            PolicyFile(layer, f"{layer}-{number}.yaml", text.encode(), CWD, CWD)
            for number, (layer, text) in enumerate(described)
        ]
        options = Options(CWD, root=CWD)
        loaded = policy_from(files, options, tools, HOME, trusted=trusted, described=texts, verify=check_examples)
        return Gateway(
            options, where=where, host=place.host, environment={"PATH": "/usr/bin"}, loaded=loaded, confined=False
        )

    return open_


def judged(guard: Gateway, command: str) -> tuple[str, list[str]]:
    """The decision on a command, and its effects."""
    verdict = guard.check(RawCall("Bash", {"command": command}))
    return verdict.decision.word, sorted(
        {shown(item.effect) for item in verdict.analysis.items if item.effect.kind not in CARRIERS}
    )


CODE, SEND, READ = "code", "connect audit.example.com:443 send", "read x"

# What the semantics promise: who describes, whether the project is trusted and commands are locked; what comes of
# `frobnicate x`, which nobody ships, and of `cat x`, which is shipped.
TABLE: dict[str, tuple[dict[str, str], bool, str, tuple[str, list[str]], tuple[str, list[str]]]] = {
    "nobody says anything": ({}, False, "", ("ask", [CODE]), ("allow", [READ])),
    "the enterprise layer describes": ({"enterprise": READS}, False, "", ("allow", [READ]), ("allow", [READ])),
    "the enterprise layer replaces what is shipped": (
        {"enterprise": SENDS}, False, "", ("ask", [SEND]), ("ask", [SEND]),
    ),
    "the user layer describes what nobody above does, and adds to the rest": (
        {"user": SENDS}, False, "", ("ask", [SEND]), ("ask", [SEND, READ]),
    ),
    "the user layer makes nothing that is shipped more harmless": (
        {"user": HARMLESS}, False, "", ("allow", []), ("allow", [READ]),
    ),
    "a project that is not trusted only adds": (
        {"project": SENDS}, False, "", ("ask", [CODE, SEND]), ("ask", [SEND, READ]),
    ),
    "a project that is not trusted makes nothing harmless": (
        {"project": HARMLESS}, False, "", ("ask", [CODE]), ("allow", [READ]),
    ),
    "a trusted project describes what nobody above does, and adds to the rest": (
        {"project": SENDS}, True, "", ("ask", [SEND]), ("ask", [SEND, READ]),
    ),
    "a trusted project makes harmless what nobody above describes": (
        {"project": HARMLESS}, True, "", ("allow", []), ("allow", [READ]),
    ),
    "the project adds to what the user layer describes": (
        {"user": READS, "project": SENDS}, True, "", ("ask", [SEND, READ]), ("ask", [SEND, READ]),
    ),
    "the user layer adds to what the enterprise layer describes": (
        {"enterprise": READS, "user": SENDS}, False, "", ("ask", [SEND, READ]), ("ask", [SEND, READ]),
    ),
    "under the enterprise layer's lock the user layer only adds": (
        {"user": SENDS}, False, "enterprise", ("ask", [CODE, SEND]), ("ask", [SEND, READ]),
    ),
    "under the enterprise layer's lock a trusted project only adds": (
        {"project": HARMLESS}, True, "enterprise", ("ask", [CODE]), ("allow", [READ]),
    ),
    "under the user layer's lock the user layer describes": (
        {"user": HARMLESS}, False, "user", ("allow", []), ("allow", [READ]),
    ),
    "under the user layer's lock a trusted project only adds": (
        {"project": HARMLESS}, True, "user", ("ask", [CODE]), ("allow", [READ]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_what_each_layer_may_say_of_a_program(open_world, row: str) -> None:
    described, trusted, lock, unknown, shipped = TABLE[row]
    texts = [(layer, text.format(name=name)) for layer, text in described.items() for name in ("frobnicate", "cat")]
    guard = open_world(texts, trusted=trusted, lock=lock)
    assert (judged(guard, "frobnicate x"), judged(guard, "cat x")) == (unknown, shipped)


def test_what_is_added_is_judged_wherever_the_command_hides(open_world) -> None:
    guard = open_world([("project", SENDS.format(name="cat"))])
    assert [
        judged(guard, text) for text in ("sudo cat x", "bash -c 'cat x'", "/bin/cat x", "CAT x", "if ((( cat x")
    ] == [
        ("ask", [SEND, READ, "system privilege root"]),
        ("ask", [SEND, READ]),
        ("ask", [CODE, SEND, READ]),
        ("ask", [CODE, SEND, READ]),
        ("ask", [SEND, "opaque", READ]),
    ]


def test_a_script_that_the_text_writes_is_followed_whatever_is_said_of_its_name(open_world) -> None:
    text = "printf 'rm -rf /home/dev/project/x' > frobnicate; ./frobnicate"
    plain, added = open_world([]), open_world([("project", HARMLESS.format(name="frobnicate"))])
    assert judged(plain, text) == judged(added, text) == (
        "ask", [CODE, "delete x", "write frobnicate"],
    )  # fmt: skip


def test_an_option_that_an_addition_does_not_list_is_code(open_world) -> None:
    guard = open_world([("user", READS.format(name="cat"))])
    assert (judged(guard, "cat -q x"), judged(guard, "cat -n x"), judged(guard, "cat x")) == (
        ("allow", [READ]), ("ask", [CODE, READ]), ("allow", [READ]),
    )  # fmt: skip


def test_a_name_that_differs_from_a_known_one_only_in_case_is_no_new_one(open_world) -> None:
    guard = open_world([("user", HARMLESS.format(name="CAT"))])
    assert judged(guard, "CAT x") == ("ask", [CODE, READ])


def test_a_description_lends_nobody_the_name_of_another_program(open_world) -> None:
    text = "names: [cat, frobnicate]\noperands: [{kind: text, rest: true}]\n"
    verdict = open_world([("user", text)]).check(RawCall("Bash", {"command": "frobnicate x"}))
    assert [part.program for part in verdict.analysis.parts] == ["frobnicate"]


def test_rules_go_by_what_layers_say_of_a_program(open_world) -> None:
    """And the examples of rules do: they run when the policy is loaded."""
    guard = open_world([("enterprise", SENDS.format(name="frobnicate"))])
    rules = b"""{version: 1, rules: [{deny: {effect: connect, host: audit.example.com},
        matches: [frobnicate x], not_matches: [ls]}]}"""
    files = [PolicyFile("user", "user.yaml", rules, CWD, CWD)]
    described = [PolicyFile("enterprise", "f.yaml", SENDS.format(name="frobnicate").encode(), CWD, CWD)]
    options = Options(CWD, root=CWD)
    assert policy_from(files, options, guard.registry, HOME, described=described, verify=check_examples).commands
    with pytest.raises(ConfigError, match="must be matched by rule"):
        policy_from(files, options, guard.registry, HOME, verify=check_examples)


def test_commands_that_are_handed_on_do_not_multiply_without_end(open_world) -> None:
    text = "names: [nice]\noperands: [{kind: command, rest: true}]\n"
    guard = open_world([("user", text), ("project", text)])
    verdict = guard.check(RawCall("Bash", {"command": "nice " * 14 + "cat x"}))
    assert (verdict.decision.word, len(verdict.analysis.parts) < 5000) == ("ask", True)


# Where the files lie.


@pytest.fixture
def here(tmp_path: Path) -> Places:
    for name in ("config", "state", "home/project/.git"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/project/.git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")))


def root_of(places: Places) -> str:
    return f"{places.home}/project"


def put(folder: str, name: str, text: str) -> Path:
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_each_layer_has_a_folder_of_its_own_and_other_files_in_it_are_not_read(here: Places) -> None:
    for folder in (here.config, f"{root_of(here)}/.gateway"):
        put(folder, "commands/b.yaml", READS.format(name="b"))
        put(folder, "commands/a.yaml", READS.format(name="a"))
        put(folder, "commands/note.txt", "no description")
    found = find_descriptions(here, root_of(here))
    assert [(file.layer, Path(file.path).name) for file in found] == [
        ("user", "a.yaml"), ("user", "b.yaml"), ("project", "a.yaml"), ("project", "b.yaml"),
    ]  # fmt: skip


def test_a_folder_of_policies_brings_its_own_descriptions_and_no_others(here: Places, tmp_path: Path) -> None:
    put(here.config, "commands/a.yaml", READS.format(name="a"))
    given = tmp_path / "given"
    put(str(given), "user.yaml", "version: 1\n")
    path = put(str(given), "commands/frobnicate.yaml", READS.format(name="frobnicate"))
    found = find_descriptions(here, root_of(here), policies=str(given))
    assert [(file.layer, file.path) for file in found] == [("user", str(path))]
    guard = Gateway(Options(root_of(here), policies=str(given)), where=here)
    assert guard.describe("frobnicate")
    assert not guard.describe("a")


@only_root
@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_an_enterprise_folder_that_others_can_write_is_refused(here: Places, mode: int) -> None:
    path = put(here.enterprise, "commands/a.yaml", READS.format(name="a"))
    path.parent.chmod(mode)
    with pytest.raises(ConfigError, match="must belong to root"):
        find_descriptions(here, root_of(here))


@pytest.mark.parametrize("what", ["fifo", "link"])
def test_a_description_that_cannot_be_read_is_an_error_and_no_absence(here: Places, what: str) -> None:
    path = put(here.config, "commands/a.yaml", "")
    path.unlink()
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"a\.yaml: (a policy file must be a regular file|cannot be read)"):
        find_descriptions(here, root_of(here))


MISTAKES: dict[str, tuple[str, str]] = {
    "an unknown key": (
        "names: [x]\nflag: -a\n", "FILE:2:1: description must have known keys only\n  help: did you mean `flags`?",
    ),
    "no names": ("flags: -a\n", "FILE:1:1: description must have the key `names`"),
    "a name with a folder": (
        "names: [bin/x]\n", "FILE:1:9: name must be that of a program, without its folder (got `bin/x`)",
    ),
    "a hook of ours": (
        "names: [x]\nspecial: [git]\n",
        ("FILE:2:1: special must be left to shipped descriptions\n"
        "  help: say it with the other keys; the part that they cannot say is `code`"),
    ),
    "a built-in": (
        "names: [x]\nbuiltin: true\n",
        "FILE:2:1: builtin must be left to shipped descriptions\n  help: leave it out: what bash has built in is known",
    ),
    "an example that does not hold": (
        "names: [x]\noperands: [{kind: path, does: read}]\nexamples:\n  x a: [write a]\n",
        ("FILE:4:3: example must do what it says (`x a` says [write a], does [read a])\n"
        "  help: correct the example or the description"),
    ),
    "no YAML": ("names: [x\n", "FILE:2:1: "),
}  # fmt: skip


@pytest.mark.parametrize("layer", ["user", "project"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_description_decides_nothing_at_all(here: Places, layer: str, mistake: str) -> None:
    text, said = MISTAKES[mistake]
    folder = here.config if layer == "user" else f"{root_of(here)}/.gateway"
    path = put(folder, "commands/x.yaml", text)
    with pytest.raises(ConfigError) as raised:
        Gateway(Options(root_of(here)), where=here)
    assert str(raised.value).startswith(said.replace("FILE", str(path)))


def test_two_files_of_a_layer_that_describe_a_program_are_an_error(here: Places) -> None:
    first = put(here.config, "commands/a.yaml", READS.format(name="x"))
    second = put(here.config, "commands/b.yaml", READS.format(name="x"))
    with pytest.raises(ConfigError) as raised:
        Gateway(Options(root_of(here)), where=here)
    assert str(raised.value) == (
        f"{second}:1:8: `x` must be described once in the user layer (got it again)\n"
        f"  help: it stands in {first} already"
    )


def test_what_a_project_describes_is_part_of_what_is_trusted(here: Places) -> None:
    path = put(f"{root_of(here)}/.gateway", "commands/frobnicate.yaml", READS.format(name="frobnicate"))

    def loaded() -> tuple[str, bool, list[str]]:
        tools = load_tools(here)
        found = load_policy(here, Options(root_of(here), root=root_of(here)), tools, check_examples)
        return found.project_digest, found.project_trusted, [may for _rank, may, _description in found.commands]

    digest, *before = loaded()
    TrustStore(here.state).accept(os.path.realpath(root_of(here)), digest, "now")
    after = loaded()
    path.write_text(SENDS.format(name="frobnicate"), encoding="utf-8")
    changed, *then = loaded()
    assert (before, after, then, changed != digest) == (
        [False, [ADDS]], (digest, True, [DESCRIBES]), [False, [ADDS]], True,
    )  # fmt: skip


def test_a_changed_description_holds_for_the_next_gateway_although_policies_are_cached(here: Places) -> None:
    for text, expected in ((READS, READ), (SENDS, SEND), (READS, READ)):
        put(here.config, "commands/frobnicate.yaml", text.format(name="frobnicate"))
        guard = Gateway(Options(root_of(here)), where=here)
        analysis = analyse("frobnicate x", Start(CWD, HOME), guard.describe)
        assert [shown(item.effect) for item in analysis.items if item.effect.kind not in CARRIERS] == [expected]


def test_without_descriptions_of_layers_the_shipped_ones_are_looked_up_as_they_are(here: Places) -> None:
    assert type(Gateway(Options(root_of(here)), where=here).describe) is Descriptions


# Whatever lower layers say.


PROGRAMS = ("cat", "git", "sudo", "frobnicate", "xargs", "make")
COMMANDS = (
    "cat -n x", "git -C sub push -f origin main", "sudo cat x | tee y", "frobnicate --all x > y", "xargs cat < x",
    "make install", "./frobnicate x", "git add . && git commit -m x", "sudo -u dev frobnicate *", "bash -c 'cat $F'",
    "cat x | sudo frobnicate", "CAT x", "find . -exec cat {} +", "cat x; (((", "git log -- frobnicate",
)  # fmt: skip
_OPERANDS = st.sampled_from(
    ["{kind: text, rest: true}", "{kind: path, does: write, rest: true}", "{kind: command, rest: true}",
     "{kind: shell, rest: true}", "{kind: url, rest: true}", "{kind: path, does: read, tree: true, default: '.', rest: true}"]
)  # fmt: skip
_EFFECTS = st.sampled_from(
    ["effects: [code odd]", "effects: [connect x.org:1 send]", "effects: [opaque odd]", "code: odd",
     "unknown_options: harmless", "flags: -n -f --all -m", "values: -C -u -m", "alone: x", "inert: -n -C -u -f",
     "subcommands: {push: {}, '*': {effects: [system install x]}}", "dialect: dash", "dialect: keys", "assign: true"]
)  # fmt: skip


def _key(line: str) -> str:
    """The key of a line; those that list options are one, for no option may be listed twice."""
    key = line.partition(":")[0]
    return "options" if key in ("flags", "values", "inert") else key


@st.composite
def _descriptions(draw: st.DrawFn) -> str:
    keys = draw(st.lists(_EFFECTS, max_size=4, unique_by=_key))
    names = draw(st.lists(st.sampled_from(PROGRAMS), min_size=1, max_size=3, unique=True))
    operands = draw(st.lists(_OPERANDS, max_size=1))
    return "\n".join([f"names: [{', '.join(names)}]", *keys, *(f"operands: [{each}]" for each in operands)])


@given(
    st.lists(st.tuples(st.sampled_from(["user", "project"]), _descriptions()), max_size=3), st.booleans(), st.booleans()
)
def test_no_lower_layer_takes_an_effect_away_but_of_names_that_a_trusted_one_may_describe(
    shipped: Descriptions, found: list[tuple[str, str]], trusted: bool, locked: bool
) -> None:
    compiled = [(layer, compile_description(text, "x.yaml", layer)) for layer, text in found]
    compiled.sort(key=lambda each: each[0], reverse=True)
    layered = Layered(shipped, entries(compiled, trusted=trusted, locked_by="enterprise" if locked else ""))
    newly = {name for name in PROGRAMS if (known := layered(name)) and "undescribed" not in known and not shipped(name)}
    for command in COMMANDS:
        if not any(name in command for name in newly):
            assert set(effects(command, shipped)) <= set(effects(command, layered))
        assert locked <= (not newly)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Descriptions:
    cache = warm(tmp_path_factory.mktemp("compiled") / "gateway")
    return load_descriptions(Places("/nonexistent", "/nonexistent", "/nonexistent", cache, "/nonexistent"))
