"""Tool chains that files of a project choose."""

from __future__ import annotations

import pytest

from gateway.commands.steering.programs import objection
from gateway.model.facts import INSTALLED


@pytest.mark.parametrize(
    ("program", "name", "text", "told"),
    [
        ("cargo", "rust-toolchain.toml", '[toolchain]\npath = "x"\n', True),
        ("cargo", "rust-toolchain.toml", '[toolchain]\n"path"="x"\n', True),
        ("cargo", "rust-toolchain.toml", 'toolchain = { path = "x" }', True),
        ("cargo", "rust-toolchain.toml", '[toolchain]\nchannel = "1.80"\n', False),
        ("cargo", "rust-toolchain", "/tmp/x\n", True),
        ("cargo", "rust-toolchain", "stable\n", False),
        ("dotnet", "global.json", '{"sdk": {"paths": ["x"]}}', True),
        ("dotnet", "global.json", '{"sdk": {"version": "8.0.100"}}', False),
        ("ruff", "ruff.toml", "fix = true", True),
        ("ruff", "pyproject.toml", "[tool.ruff]\nfix-only=true", True),
        ("ruff", "pyproject.toml", '[tool.ruff]\nfixable = ["ALL"]\nfix = false', False),
        ("ruff", "ruff.toml", 'extend = "../ruff.toml"', False),
        ("ruff", "ruff.toml", 'extend = "../../pyproject.toml"', False),
        ("ruff", "ruff.toml", 'extend = "../shared/ruff.toml"', True),
        ("ruff", "ruff.toml", 'extend = "/etc/ruff.toml"', True),
        ("ruff", "ruff.toml", 'extend-select = ["E"]', False),
        ("codespell", "setup.cfg", "[codespell]\nwrite-changes =\n", True),
        ("autopep8", "pyproject.toml", "[tool.autopep8]\nin_place = true\n", True),
    ],
)  # fmt: skip
def test_only_what_changes_a_program_counts(program: str, name: str, text: str, told: bool) -> None:
    assert bool(objection(program, ((f"/p/{name}", text),))) is told


GO = "module x\n\ngo 1.24\ntoolchain go1.24.4 // as usual\n"


@pytest.mark.parametrize(
    ("files", "installed", "fetched"),
    [
        pytest.param({"go.mod": GO}, "go1.24.4", False, id="the-same"),
        pytest.param({"go.mod": GO}, "go1.25.0", False, id="a-later-one"),
        pytest.param({"go.mod": GO}, "go1.24.3", True, id="an-earlier-one"),
        pytest.param({"go.mod": GO}, "go1.22.1 go1.24.4.linux-amd64", False, id="one-that-was-fetched"),
        pytest.param({"go.mod": GO}, "", True, id="none-here"),
        pytest.param({"go.mod": GO}, None, True, id="nobody-knows"),
        pytest.param({"go.mod": "module x\ngo 1.20\n"}, "", False, id="before-go-chose"),
        pytest.param({"go.mod": "module x\n"}, "", False, id="none-named"),
        pytest.param({"go.work": "go 1.99.1\n", "go.mod": GO}, "go1.24.4", True, id="a-workspace"),
        pytest.param({"sub/go.mod": GO, "go.mod": "go 1.99.0\n"}, "go1.24.4", False, id="the-nearest"),
        pytest.param({"go.mod": "require go.example/x v1.99.0\n"}, "go1.24.4", False, id="what-is-required"),
    ],
)
def test_go_fetches_what_a_project_asks_for(files: dict[str, str], installed: str | None, fetched: bool) -> None:
    texts = tuple((f"/p/{name}", text) for name, text in files.items())
    texts += () if installed is None else ((INSTALLED, installed),)
    assert bool(objection("go", texts)) is fetched


@pytest.mark.parametrize(
    ("text", "installed", "fetched"),
    [
        pytest.param('[toolchain]\nchannel = "1.50"\n', "stable-x86_64 1.50-x86_64", False, id="installed"),
        pytest.param('[toolchain]\nchannel = "1.5"\n', "stable-x86_64 1.50-x86_64", True, id="a-part-of-its-name"),
        pytest.param('[toolchain]\nchannel = "nightly"\nprofile = "x"\n', "nightly-x86_64", False, id="more-keys"),
        pytest.param('[toolchain]\ncomponents = ["clippy"]\n', "stable-x86_64", False, id="none-named"),
        pytest.param("beta\n", "stable-x86_64", True, id="the-old-form"),
        pytest.param("stable\n", "stable-x86_64", False, id="the-old-form-installed"),
    ],
)
def test_rustup_fetches_what_a_project_asks_for(text: str, installed: str, fetched: bool) -> None:
    name = "rust-toolchain.toml" if "=" in text else "rust-toolchain"
    assert bool(objection("cargo", ((f"/p/{name}", text), (INSTALLED, installed)))) is fetched
