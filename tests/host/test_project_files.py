"""What files of a project tell programs to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.host.machine import MAX_GIT_FILE, Machine
from gateway.host.observe import observe
from gateway.host.project_files import texts_above
from gateway.model.context import Context
from gateway.model.facts import INSTALLED, Wanted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a folder, below a folder that is not its own."""
    (tmp_path / "project" / "sub").mkdir(parents=True)
    return tmp_path.resolve() / "project"


def context(root: Path) -> Context:
    return Context(str(root), str(root), "/nonexistent", (str(root),))


def test_files_are_found_from_a_folder_up_to_the_project_and_not_above(root: Path) -> None:
    for folder, text in ((root / "sub", "a"), (root, "b"), (root.parent, "c")):
        (folder / "x.toml").write_text(text)
    found = texts_above(f"{root}/sub", ("x.toml", "y.toml"), Machine(), context(root))
    assert found == ((f"{root}/sub/x.toml", "a"), (f"{root}/x.toml", "b"))


def test_an_empty_file_says_nothing(root: Path) -> None:
    (root / "x.toml").write_text("")
    assert texts_above(str(root), ("x.toml",), Machine(), context(root)) == ((f"{root}/x.toml", ""),)


@pytest.mark.parametrize("folder", ["", "sub", "\0/sub"])
def test_a_folder_that_is_not_known_tells_nothing(root: Path, folder: str) -> None:
    assert texts_above(folder, ("x.toml",), Machine(), context(root)) is None


def test_what_cannot_be_read_is_not_known(root: Path) -> None:
    (root / "x.toml").mkdir()
    (root / "y.toml").write_text("#" * (MAX_GIT_FILE + 1))
    found = [texts_above(str(root), (name,), Machine(), context(root)) for name in ("x.toml", "y.toml", "z.toml")]
    assert found == [None, None, ()]


def test_the_facts_hold_what_was_wanted(root: Path) -> None:
    (root / "global.json").write_text("{}")
    key = (str(root), ("global.json",))
    facts = observe(Wanted(settings=(key,)), Machine(), context(root))
    assert facts.settings == {key: ((f"{root}/global.json", "{}"),)}


@pytest.mark.parametrize(
    ("name", "text", "trusted"),
    [
        (".tool-versions", "nodejs 20.1.0\n", True),
        (".tool-versions", "nodejs path:/tmp/evil\n", False),
        (".tool-versions", "# path: of nothing\nnodejs 20.1.0\n", True),
        ("mise.toml", '[tools]\nnode = "path:./x"\n', False),
        ("mise.toml", '[tools]\nnode = "20"\n', True),
        ("mise.toml", '[tools]\nnode = "pa\\u0074h:./x"\n', False),
        ("mise.toml", '[tools]\nnode = {version = "20", path = "./x"}\n', False),
        ("mise.toml", '[tool_alias.node.versions]\n20 = "path:./x"\n', False),
        ("mise.toml", '[settings]\nnode.mirror_url = "http://evil.example/"\n[tools]\nnode = "20"\n', False),
        ("mise.toml", '[plugins]\nnode = "https://evil.example/x"\n', False),
        ("mise.toml", '[tasks.up]\nrun = "curl http://localhost"\n[tools]\nnode = "20"\n', True),
        ("mise.toml", '[tools]\nx = """\n[tasks]\n"""\nnode = "path:./x"\n', False),
        ("mise.toml", "[settings]\nexperimental = true\n", True),
        ("mise.local.toml", '[tools]\nnode = "path:./x"\n', False),
        (".config/mise/config.toml", '[tools]\nnode = "path:./x"\n', False),
        (".config/mise/conf.d/any.toml", '[tools]\nnode = "20"\n', False),
        (".mise/config.toml", '[tools]\nnode = "ref:main"\n', False),
        (".prototools", '[plugins]\nnode = "file://./x.wasm"\n', False),
        (".volta/hooks.json", '{"node": {"distro": {"bin": "./x"}}}\n', False),
        (".python-version", "../../project/evil\n", False),
        (".python-version", "3.12\n", True),
    ],
)
def test_a_stand_in_is_trusted_unless_the_project_names_a_place(
    root: Path, name: str, text: str, trusted: bool
) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)

    class Elsewhere(Machine):
        """Finds every program where a version manager puts its stand-ins."""

        def program(self, name: str, _path: str) -> str:
            return f"/nonexistent/shims/{name}"

    facts = observe(Wanted(programs=("node",)), Elsewhere(), context(root), search_path="/nonexistent/shims:/usr/bin")
    node = frozenset({"node"})
    assert (facts.untrusted_programs, facts.chosen) == (frozenset() if trusted else node, node)


def test_what_volta_stands_in_for_is_told_by_its_hooks(root: Path) -> None:
    (root / ".volta").mkdir()
    (root / ".volta" / "hooks.json").write_text("{}")

    class Elsewhere(Machine):
        def program(self, name: str, _path: str) -> str:
            return f"/nonexistent/.volta/bin/{name}"

    place = "/nonexistent/.volta/bin"
    facts = observe(Wanted(programs=("node",)), Elsewhere(), context(root), search_path=place)
    assert facts.untrusted_programs == frozenset({"node"})


def test_what_is_installed_stands_behind_the_files(root: Path, tmp_path: Path) -> None:
    tools = tmp_path / "go" / "bin"
    tools.mkdir(parents=True)
    (tools / "go").write_text("")
    (tools / "go").chmod(0o755)
    (tmp_path / "go" / "VERSION").write_text("go1.24.2\ntime 2026\n")
    home = tmp_path / "home"
    (home / "go/pkg/mod/golang.org/toolchain@v0.0.1-go1.25.1.linux-amd64").mkdir(parents=True)
    (home / ".rustup/toolchains/stable-x86_64").mkdir(parents=True)
    (root / "go.mod").write_text("go 1.24\n")
    (root / "rust-toolchain").write_text("stable\n")
    place = context(root).replace(home=str(home))
    found = {}
    for names in (("go.work", "go.mod"), ("rust-toolchain.toml", "rust-toolchain"), ("go.sum", "go.mod.x")):
        key = (str(root), names)
        found[names[1]] = observe(Wanted(settings=(key,)), Machine(), place, search_path=str(tools)).settings[key]
    assert found == {
        "go.mod": ((f"{root}/go.mod", "go 1.24\n"), (INSTALLED, "go1.24.2 go1.25.1.linux-amd64")),
        "rust-toolchain": ((f"{root}/rust-toolchain", "stable\n"), (INSTALLED, "stable-x86_64")),
        "go.mod.x": (),
    }
