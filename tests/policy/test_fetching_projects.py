"""What cargo and uv need in a project: by words, manifests and lock files, which contained code may have written."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.call import RawCall
from gateway.policy.confine import grants_of
from gateway.policy.fetching import FETCHERS, Fetch, OtherwiseError, Project, fetch_of
from gateway.policy.fetching.cargo import LOCKED, WANTED, locked_in
from gateway.policy.fetching.uv import BUILD, NAMES, PROJECT, names_in

HELD = {"id": "held", "allow": {"effect": ["code", "opaque", "write", "connect", "env", "read"], "contained": True}}
ROOT = "/home/dev/project"
BOTH = ["cargo", "uv"]
DIGEST = "ab" * 32


EVERY_OPTION_OF_UV = (
    "uv sync --locked --all-extras --all-groups --dev --no-dev --only-dev --no-default-groups --inexact --exact"
    " --no-install-project --no-editable --reinstall -q --quiet -v --verbose --no-sync --no-progress"
    " --compile-bytecode --check --dry-run --frozen --no-cache -n --all-packages --no-install-workspace --extra a"
    " --no-extra a --group=a --no-group a --only-group a --optional a --python 3 -p 3 --link-mode copy --color never"
    " --bounds lower --package a"
)
EVERY_OPTION_OF_CARGO = (
    "cargo fetch --locked -q --quiet -v --verbose -vv --color never --target=x",
    "cargo update -w --workspace --dry-run --recursive --aggressive -p a --package=b",
)


@pytest.fixture
def judged(guard, monkeypatch):
    """The verdict on a text under a policy, where all lists say what can be fetched."""
    monkeypatch.setattr("gateway.judge.lists.why_not", lambda *_given: "")

    def judge(text: str, registries=tuple(BOTH), mode: str = ""):
        policy = {"settings": {"sandbox": {"registries": list(registries)}}, "rules": [HELD]}
        return guard({"user": policy}, mode=mode).check(RawCall("Bash", {"command": text}), contains=lambda *_: "")

    return judge


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cargo fetch", Fetch("cargo")), ("cargo fetch --locked -q --target x86_64-pc-windows-msvc", Fetch("cargo")),
        ("cargo add serde", Fetch("cargo", ("serde",))),
        ("cargo add serde@1.0 tokio --features full,rt -p mine", Fetch("cargo", ("serde@1.0", "tokio"))),
        ("cargo add --dev 'rand@^0.8'", Fetch("cargo", ("rand@^0.8",))),
        (
            ("cargo add serde --dev --build --optional --no-optional --no-default-features --default-features --dry-run"
            " -F a --features b --rename x -p mine --package=mine"),
            Fetch("cargo", ("serde",)),
        ),
        ("cargo generate-lockfile", Fetch("cargo")),
        ("cargo update", Fetch("cargo", flags=("update",))),
        ("cargo update -p serde", Fetch("cargo", flags=("update",))),
        ("cargo fetch && cargo build --release && ./run.sh", Fetch("cargo")),
        ("cd sub && cargo fetch", Fetch("cargo", projects=(Project(f"{ROOT}/sub"),))),
        ("cargo fetch --manifest-path sub/Cargo.toml", Fetch("cargo", projects=(Project(f"{ROOT}/sub"),))),
        ("uv sync", Fetch("uv")), ("uv sync --locked --all-extras --group docs -q", Fetch("uv")),
        ("uv sync --extra a --no-extra b --no-group c --only-group d --link-mode copy --color never", Fetch("uv")),
        ("uv sync --python 3.12", Fetch("uv")), ("uv add -p 3.12 --optional a --bounds lower x", Fetch("uv", ("x",))),
        ("uv sync --upgrade", Fetch("uv", flags=("upgrade",))), ("uv lock", Fetch("uv")),
        ("uv add httpx 'rich>=13,<15'", Fetch("uv", ("httpx", "rich>=13,<15"))),
        ("uv add --dev pytest", Fetch("uv", ("pytest",))), ("uv remove httpx", Fetch("uv")),
        ("uv run --with six x.py --index-url z", Fetch("uv", ("six",), flags=("run",))),
        ("uv sync && uv run pytest -q", Fetch("uv")), (EVERY_OPTION_OF_UV, Fetch("uv")),
        *((text, Fetch("cargo", flags=("update",) if "update" in text else ())) for text in EVERY_OPTION_OF_CARGO),
    ],
)  # fmt: skip
def test_an_install_in_a_project_is_contained(judged, text: str, expected: Fetch) -> None:
    verdict = judged(text)
    assert (verdict.decision.word, verdict.contained) == ("allow", True), verdict.reason
    found = fetch_of(verdict.analysis, BOTH)
    assert found == expected.replace(targets=found.targets, projects=expected.projects or (Project(ROOT),))
    grants = grants_of(verdict, {"registries": BOTH, "hosts": ["wiki.example"]})
    assert (grants.network, grants.contacts, grants.fetched) == ("off", (), expected.fetcher)
    assert judged(text, ["pip"]).decision.word == "ask"


@pytest.mark.parametrize("mode", ["plan", "read_only"])
@pytest.mark.parametrize("text", ["cargo fetch", "cargo generate-lockfile", "uv lock", "uv sync"])
def test_modes_that_write_nothing_install_nothing(judged, text: str, mode: str) -> None:
    verdict = judged(text, mode=mode)
    assert (verdict.decision.word != "allow", verdict.contained) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "cargo add serde --git https://evil.example/x", "cargo add --registry mine serde", "cargo add --path ../x",
        "cargo add serde --index https://evil.example/", "cargo add https://evil.example/x", "cargo add ./x",
        "cargo fetch --config net.git-fetch-with-cli=true", "cargo fetch --config x.toml", "cargo fetch -Zunstable",
        "cargo update --precise 1.0.0 serde --config x", "cargo fetch --manifest-path $X",
        "cargo fetch --manifest-path x/build.rs", "cargo install ripgrep", "cargo publish", "cargo vendor",
        "cargo fetch && curl https://index.crates.io/secret", "cargo fetch && cargo install x",
        "cargo fetch && npm install x", "cargo fetch && uv sync", "cd $X && cargo fetch", "cargo add $X",
        "CARGO_HOME=/tmp/x ./cargo fetch", "cargo fetch && git push",
        "uv sync --index-url https://evil.example/", "uv sync --index x=https://evil.example/", "uv sync -i x",
        "uv sync --extra-index-url https://evil.example/", "uv sync --default-index https://evil.example/",
        "uv sync --find-links https://evil.example/", "uv sync -f x", "uv add git+https://evil.example/x",
        "uv add https://evil.example/x.whl", "uv add ./x", "uv add --git https://e/x x", "uv add -r r.txt",
        "uv add --editable ../x", "uv add 'x @ https://evil.example/x.whl'", "uv --directory ../x sync",
        "uv sync --config-file x.toml", "uv sync --directory ../other", "uv sync --script x.py",
        "uv sync --keyring-provider subprocess", "uv sync --no-binary",
        "uv run --with git+https://evil.example/x y.py", "uv run --with-requirements r.txt y.py",
        "uv run --with six --index-url https://e/ x.py", "uv tool install x", "uv publish", "uv python install 3.13",
        "uv sync && pip install -t l six", "uv sync && curl https://pypi.org/secret", "uv add $X",
    ],
)  # fmt: skip
def test_everything_else_asks(judged, text: str) -> None:
    verdict = judged(text)
    assert (verdict.decision.word, verdict.contained) in (("ask", False), ("deny", False)), verdict.reason


class Tree:
    """The files of a workspace; nothing beside it can be read."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {f"{ROOT}/{path}": text for path, text in files.items()}

    def __call__(self, path: str) -> str | None:
        if not path.startswith(f"{ROOT}/"):
            raise OtherwiseError("outside")
        return self.files.get(path)

    def folders(self, path: str) -> tuple[str, ...]:
        within = [each.removeprefix(f"{path}/") for each in self.files if each.startswith(f"{path}/")]
        return tuple(sorted({each.partition("/")[0] for each in within if "/" in each}))


def needs(
    name: str, files: dict[str, str], *named: str, flags: tuple[str, ...] = (), folder: str = ""
) -> dict[str, str]:
    """The files that the step works from, of a project with these."""
    fetch = Fetch(name, named, projects=(Project(f"{ROOT}/{folder}".rstrip("/")),), flags=flags)
    return FETCHERS[name].needs(fetch, Tree(files))


def wanted(files: dict[str, str], where: str) -> list[dict[str, object]]:
    return list(tomllib.loads(files[f"{where}/Cargo.toml"])["dependencies"].values())


def crate(
    name: str,
    version: str,
    more: str = f'source = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{DIGEST}"',
) -> str:
    return f'[[package]]\nname = "{name}"\nversion = "{version}"\n{more}\n'


MANIFEST = """
[package]
name = "mine"
[dependencies]
serde = { version = "1.0", features = ["derive"], default-features = false }
renamed = { package = "rand", version = "0.8", optional = true }
near = { path = "../near" }
shared = { workspace = true }
[dev-dependencies]
tempfile = "3"
[target.'cfg(unix)'.dependencies]
libc = "0.2"
[workspace]
members = ["a", "more/*"]
[workspace.dependencies]
shared = "2"
"""


def test_a_manifest_asks_for_its_crates_and_those_of_its_workspace() -> None:
    found = needs("cargo", {"Cargo.toml": MANIFEST, "a/Cargo.toml": "[dependencies]\nlog = '0.4'\n"}, "extra@1.2")
    keys = ("package", "version", "features", "default-features")
    assert [tuple(each[key] for key in keys) for each in wanted(found, WANTED)] == [
        ("serde", "1.0", ["derive"], False), ("rand", "0.8", [], True), ("tempfile", "3", [], True),
        ("shared", "2", [], True), ("libc", "0.2", [], True), ("log", "0.4", [], True), ("extra", "1.2", [], True),
    ]  # fmt: skip
    assert f"{LOCKED}/Cargo.toml" not in found


def test_each_version_of_a_lock_file_is_fetched_and_preferred() -> None:
    lock = crate("mine", "0.1.0", "") + crate("a", "1.0.0") + crate("a", "2.0.0-rc.1") + crate("y", "0.9.34+old")
    files = {"Cargo.toml": "[dependencies]\na = '2'\n", "Cargo.lock": lock}
    found = needs("cargo", files)
    assert [(each["package"], each["version"]) for each in wanted(found, LOCKED)] == [
        ("a", "=1.0.0"), ("a", "=2.0.0-rc.1"), ("y", "=0.9.34"),
    ]  # fmt: skip
    assert found[f"{LOCKED}/Cargo.lock"] == found[f"{WANTED}/Cargo.lock"]
    assert [each[:2] for each in locked_in(found[f"{LOCKED}/Cargo.lock"])] == [
        ("a", "1.0.0"), ("a", "2.0.0-rc.1"), ("y", "0.9.34+old"),
    ]  # fmt: skip
    assert f"{WANTED}/Cargo.lock" not in needs("cargo", files, flags=("update",))


@pytest.mark.parametrize(
    "files",
    [
        {}, {"Cargo.toml": "["}, {"Cargo.toml": "dependencies = 1"},
        *({"Cargo.toml": f"[dependencies]\n{line}\n"} for line in (
            "x = {git = 'https://e/'}", "x = {version = '1', registry = 'mine'}",
            "x = {version='1', registry-index='https://e'}",
            "x = {version = '1', artifact = 'bin'}", "x = '1\"\\n[source.crates-io]'", "'x y' = '1'",
            "x = {package = '../x', version = '1'}",
            "x = {version = '1', features = ['\"]']}", "x = {version = '1', features = 'ab'}",
            "x = 1", "x = {version = 1}",
        )),
        {"Cargo.toml": "[patch.crates-io]\nx = {git = 'https://e/'}"}, {"Cargo.toml": "[replace]\n'x:1.0.0' = {git = 'https://e/'}"},
        *({"Cargo.toml": "[package]\nname='m'\n", "Cargo.lock": lock} for lock in (
            crate("x", "1.0.0", "source = 'git+https://e/#1'"), crate("x", "1.0.0", "source = 'registry+https://e/'"),
            crate("x", "1.0.0", "source = 'sparse+https://evil.example/'"), crate("x", "1"), crate("../x", "1.0.0"),
            crate("x", "1.0.0", "source = 'sparse+https://index.crates.io/'"), "package = 1", "[", "package = [1]",
        )),
    ],
)  # fmt: skip
def test_crates_of_elsewhere_are_not_fetched(files) -> None:
    with pytest.raises(OtherwiseError):
        needs("cargo", files)


@given(st.text(max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_nothing_but_crates_stands_in_what_the_step_is_given(name: str, version: str, feature: str) -> None:
    """Whatever a manifest says: no table that chooses a source, no path, no program."""
    text = "[dependencies]\n" + "".join(
        f"{_text(name)} = {{version = {_text(version)}, features = [{_text(feature)}]}}\n"
    )
    try:
        found = needs("cargo", {"Cargo.toml": text})
    except OtherwiseError:
        return
    read = tomllib.loads(found[f"{WANTED}/Cargo.toml"])
    assert read.keys() == {"package", "lib", "workspace", "dependencies"}
    assert [each.keys() for each in read["dependencies"].values()] == [
        {"package", "version", "features", "default-features"}
    ]


def _text(value: str) -> str:
    return '"' + "".join(f"\\U{ord(each):08x}" for each in value if not 0xD800 <= ord(each) < 0xE000) + '"'


PYPROJECT = """
[project]
name = "mine"
version = "1"
requires-python = ">=3.11"
dependencies = ["httpx>=0.27", "colorama; sys_platform == 'win32'"]
[project.optional-dependencies]
fast = ["uvloop"]
[dependency-groups]
dev = ["pytest", {include-group = "lint"}]
lint = ["ruff"]
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[tool.ruff]
line-length = 1
[tool.uv]
default-groups = ["dev"]
"""


def package(name: str, source: str = '{ registry = "https://pypi.org/simple" }', url: str = "") -> str:
    url = url or f"https://files.pythonhosted.org/packages/aa/bb/cc/{name}-1.0-py3-none-any.whl"
    return f'[[package]]\nname = "{name}"\nversion = "1.0"\nsource = {source}\nwheels = [{{ url = "{url}" }}]\n'


def test_a_project_of_uv_is_asked_for_without_what_runs() -> None:
    lock = 'version = 1\n[[package]]\nname = "mine"\nsource = { editable = "." }\n' + package("httpx") + package("idna")
    found = needs("uv", {"pyproject.toml": PYPROJECT, "uv.lock": lock, ".python-version": "3.12\n"}, "rich")
    read = tomllib.loads(found[f"{PROJECT}/pyproject.toml"])
    assert read["project"] == {
        "name": "mine", "version": "1", "requires-python": ">=3.11",
        "dependencies": ["httpx>=0.27", "colorama; sys_platform == 'win32'"],
        "optional-dependencies": {"fast": ["uvloop"]},
    }  # fmt: skip
    assert read["dependency-groups"] == {"dev": ["pytest"], "lint": ["ruff"], "gateway-added": ["rich"]}
    assert ("tool" in read, found[f"{PROJECT}/uv.lock"], found[f"{PROJECT}/.python-version"]) == (
        False,
        lock,
        "3.12\n",
    )
    assert found[NAMES].split() == [
        "colorama", "editables", "hatchling", "httpx", "idna", "pytest", "rich", "ruff", "uvloop",
    ]  # fmt: skip


def test_settings_of_uv_that_name_no_place_are_harmless() -> None:
    text = PYPROJECT + "package = true\nmanaged = true\ndev-dependencies = ['six']\n"
    plain, more = (needs("uv", {"pyproject.toml": each})[NAMES].split() for each in (PYPROJECT, text))
    assert set(more) - set(plain) == {"six"}


@pytest.mark.parametrize(
    "files",
    [
        {}, {"pyproject.toml": "["}, {"pyproject.toml": "[tool.x]"},
        *({"pyproject.toml": f"[project]\nname = 'm'\n{more}\n"} for more in (
            "dependencies = ['x @ https://e/x.whl']", "dependencies = ['git+https://e/']", "dependencies = ['./x']",
            "dynamic = ['dependencies']", "requires-python = '\"'", "[tool.uv.sources]\nx = {git = 'https://e/'}",
            "[[tool.uv.index]]\nurl = 'https://e/'", "[tool.uv]\nindex-url = 'https://e/'",
            "[tool.uv]\nextra-index-url = ['https://e/']",
            "[tool.uv]\nfind-links = ['https://e/']", "[tool.uv.workspace]\nmembers = ['../x']",
            "[tool.uv.workspace]\nmembers = ['/x']", "[tool.uv.workspace]\nmembers = ['**']",
            "[tool.uv.workspace]\nmembers = [1]", "[tool.uv.sources]\nx = {workspace = true, git = 'https://e/'}",
            "[tool.uv.sources]\nx = {path = '../x'}", "[tool.uv.sources]\n'a\"b' = {workspace = true}",
            "[tool.uv]\noverride-dependencies = ['x']",
            "[tool.uv]\nkeyring-provider = 'subprocess'", "[tool.uv]\nenvironments = ['x']", "[tool]\nuv = 1",
            "[dependency-groups]\ndev = [{include-group = 'none'}]", "[dependency-groups]\ndev = [{path = 'x'}]",
            "[dependency-groups]\n'a b' = []", "[build-system]\nrequires = ['./x']",
            "[build-system]\nbuild-backend = 'x\"y'",
        )),
        {"pyproject.toml": "[project]\nname = '../x'\n"},
        *({"pyproject.toml": PYPROJECT, "uv.lock": lock} for lock in (
            package("x", "{ git = 'https://e/' }"), package("x", "{ registry = 'https://e/simple' }"),
            package("x", "{ url = 'https://e/x.whl' }"), package("x", "{ path = '../x.whl' }"),
            package("x", "{ editable = '../x' }"),
            package("x", url="https://evil.example/x.whl"), package("x", url="https://files.pythonhosted.org/other"),
            package("x", url="https://files.pythonhosted.org.evil.example/packages/x"), package("../x"),
            "package = 1", "[",
        )),
    ],
)  # fmt: skip
def test_packages_of_elsewhere_are_not_fetched(files) -> None:
    with pytest.raises(OtherwiseError):
        needs("uv", files)


ROOTS = {
    "a project": "[project]\nname = 'top'\nversion = '1'\ndependencies = ['core', 'httpx']\n",
    "none of its own": "[dependency-groups]\ndev = ['pytest']\n",
}
WORKSPACE = """
[tool.uv.workspace]
members = ["packages/*", "./app"]
exclude = ["packages/old*"]
[tool.uv.sources]
core = { workspace = true }
"""
MEMBERS = {
    "packages/core/pyproject.toml": "[project]\nname = 'core'\nversion = '1'\ndependencies = ['idna']\n"
    "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n",
    "packages/old-one/pyproject.toml": "[project]\nname = 'old'\nversion = '1'\ndependencies = ['./elsewhere']\n",
    "packages/notes/README.md": "",
    "app/pyproject.toml": "[project]\nname = 'app'\nversion = '1'\ndependencies = ['core', 'rich']\n"
    "[tool.uv.sources]\ncore = { workspace = true }\n",
}


@pytest.mark.parametrize("folder", ["", "app", "packages/core"])
@pytest.mark.parametrize("root", ROOTS)
def test_a_workspace_is_fetched_as_a_whole_from_each_of_its_folders(root: str, folder: str) -> None:
    lock = "".join(
        package(name, f"{{ {kind} = '{where}' }}")
        for name, kind, where in (
            ("top", "virtual", "."),
            ("core", "editable", "packages/core"),
            ("app", "virtual", "app"),
        )
    )
    files = {"pyproject.toml": ROOTS[root] + WORKSPACE, "uv.lock": lock + package("rich"), **MEMBERS}
    found = needs("uv", files, "ruff", folder=folder)
    named = {"ruff", "idna", "rich", "hatchling", *(["httpx"] if root == "a project" else ["pytest"])}
    assert named == set(found.pop(NAMES).split()) - {"editables"}
    assert found.pop(BUILD).split()[0] == "hatchling"
    assert found.pop(f"{PROJECT}/uv.lock") == files["uv.lock"]
    read = {path: tomllib.loads(text) for path, text in found.items()}
    assert read.keys() == {f"{PROJECT}/{each}pyproject.toml" for each in ("", "packages/core/", "app/")}
    top = read[f"{PROJECT}/pyproject.toml"]
    assert top["tool"]["uv"] == {
        "workspace": {"members": ["packages/core", "app"]}, "sources": {"core": {"workspace": True}},
    }  # fmt: skip
    assert ("project" in top, top["dependency-groups"]["gateway-added"]) == (root == "a project", ["ruff"])
    assert read[f"{PROJECT}/app/pyproject.toml"]["tool"]["uv"] == {"sources": {"core": {"workspace": True}}}


def test_a_member_that_a_lock_names_beside_the_workspace_is_not_fetched() -> None:
    files = {"pyproject.toml": ROOTS["a project"] + WORKSPACE, **MEMBERS}
    with pytest.raises(OtherwiseError):
        needs("uv", files | {"uv.lock": package("x", "{ editable = 'packages/old-one' }")})


def test_a_folder_that_a_workspace_leaves_out_is_a_project_of_its_own() -> None:
    files = {"pyproject.toml": ROOTS["a project"] + WORKSPACE, **MEMBERS}
    files["packages/old-one/pyproject.toml"] = "[project]\nname = 'old'\nversion = '1'\ndependencies = ['six']\n"
    assert needs("uv", files, folder="packages/old-one")[NAMES] == "six\n"


CRATES = {
    "Cargo.toml": "[workspace]\nmembers = ['crates/*', 'tools/?x']\nexclude = ['crates/old']\n"
    "[workspace.dependencies]\nserde = '1'\n",
    "crates/a/Cargo.toml": "[dependencies]\nlog = '0.4'\nserde = { workspace = true }\n"
    "near = { path = '../../near' }\n",
    "crates/old/Cargo.toml": "[dependencies]\nevil = { git = 'https://e/' }\n",
    "crates/notes/README.md": "",
    "tools/ax/Cargo.toml": "[dependencies]\nlibc = '0.2'\n",
    "tools/abx/Cargo.toml": "[dependencies]\nevil = { git = 'https://e/' }\n",
    "near/Cargo.toml": "[dependencies]\nrand = '0.8'\nfar = { path = '../../far' }\n",
}


@pytest.mark.parametrize("folder", ["", "crates/a", "near"])
def test_members_that_a_pattern_or_a_path_means_ask_for_their_crates_from_each_folder(folder: str) -> None:
    found = needs("cargo", CRATES, folder=folder)
    assert {each["package"] for each in wanted(found, WANTED)} == {"serde", "log", "libc", "rand"}


@pytest.mark.parametrize("pattern", ["**", "../x", "/x", "[ab]", "a/../b", "crates/**/x"])
def test_patterns_of_members_that_lead_elsewhere_are_not_fetched(pattern: str) -> None:
    with pytest.raises(OtherwiseError):
        needs("cargo", {**CRATES, "Cargo.toml": f"[workspace]\nmembers = ['{pattern}']\n"})


def test_only_so_many_folders_are_looked_into() -> None:
    many = {f"d{number}/{other}/x": "" for number in range(300) for other in ("a",)}
    with pytest.raises(OtherwiseError, match="too many folders"):
        needs("cargo", {**many, "Cargo.toml": "[workspace]\nmembers = ['*/*']\n"})


def test_names_of_a_lock_file_are_those_of_the_registry() -> None:
    own = '[[package]]\nname = "mine"\nsource = { virtual = "." }\n'
    assert names_in(own + package("A.b") + package("c"), (".",)) == ["a-b", "c"]
