"""Real language servers, installed from PyPI and npm: `pytest tests/lsp --real-clients DIR` puts them below DIR if they
are not there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

PYLSP, PYRIGHT, TYPESCRIPT = "pylsp", "pyright", "typescript"
NPM = {PYRIGHT: ["pyright"], TYPESCRIPT: ["typescript-language-server", "typescript@5"]}
PROGRAMS = {
    PYLSP: ["bin/pylsp"],
    PYRIGHT: ["node_modules/.bin/pyright-langserver", "--stdio"],
    TYPESCRIPT: ["node_modules/.bin/typescript-language-server", "--stdio"],
}
PYTHON = {
    "shapes.py": 'def area(side: int) -> int:\n    """Squares it."""\n    return side * side\n',
    "main.py": "from shapes import area\n\n\ndef run() -> int:\n    return area(2)\n\n\nprint(run())\n",
}
SCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "commonjs", "target": "es2020"}}\n',
    "shapes.ts": "/** Squares it. */\nexport function area(side: number): number {\n  return side * side;\n}\n",
    "main.ts": 'import { area } from "./shapes";\n\nexport function run(): number {\n  return area(2);\n}\n\nrun();\n',
}


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Path:
    folder = request.config.getoption("--real-clients")
    if not folder:
        pytest.skip("real language servers run with --real-clients DIR alone")
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    return Path(folder).absolute()


def program(folder: Path, name: str) -> list[str]:
    """The command of a server, installed if it is not there."""
    place = folder / f"lsp-{name}"
    found = place / PROGRAMS[name][0]
    if not found.exists():
        if name in NPM:
            if shutil.which("npm") is None:
                pytest.skip("servers from npm need node and npm")
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *NPM[name]], cwd=place, check=True)
        else:
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
            packages = ["python-lsp-server", "pyflakes"]
            subprocess.run([str(place / "bin" / "pip"), "install", "--quiet", *packages], check=True)
    return [str(found), *PROGRAMS[name][1:]]


class World:
    """A project with a real server for its files."""

    def __init__(self, ground: Any, folder: Path, name: str) -> None:
        command = program(folder, name)
        script = name == TYPESCRIPT
        for file, text in (SCRIPT if script else PYTHON).items():
            (ground.project / file).write_text(text, encoding="utf-8")
        tsserver = {"path": str(folder / f"lsp-{name}" / "node_modules" / "typescript" / "lib" / "tsserver.js")}
        server: dict[str, Any] = {
            "command": command, "languages": ["typescript"] if script else ["python"], "seconds": 120,
            "start_seconds": 120, "after_edit": 60, **({"initialization": {"tsserver": tsserver}} if script else {}),
        }  # fmt: skip
        ground.says(
            {
                "settings": {"language_servers": {name: server}, "sandbox": {"read": [f"/{folder}/lsp-{name}"]}},
                "rules": [{"id": "server", "allow": f"Bash({shlex.join(command)})"}],
            }
        )
        self.gateway = ground.open(environment={"PATH": os.environ["PATH"]}, mode="accept_edits")
        self.session = self.gateway.session()
        self.main = "main.ts" if script else "main.py"
        self.shapes = "shapes.ts" if script else "shapes.py"
        # Where `area` is called, in the lines and characters of people.
        self.at = {"line": 4, "character": 10} if script else {"line": 5, "character": 12}

    def call(self, tool: str, **given: Any) -> str:
        done = self.gateway.call(RawCall(tool, given), session=self.session)
        assert not done.output.is_error, done.text
        return str(done.text)

    def ask(self, operation: str, *, is_at: bool = False, **given: Any) -> str:
        return self.call("LSP", operation=operation, **{"file_path": self.main, **(self.at if is_at else {}), **given})


@pytest.fixture(params=[PYLSP, PYRIGHT, TYPESCRIPT])
def world(request: pytest.FixtureRequest, servers: Path, ground: Any) -> Any:
    made = World(ground, servers, request.param)
    made.name = request.param  # type: ignore[attr-defined]
    yield made
    made.session.close()


def test_a_real_server_answers_every_question_that_it_knows(world: Any) -> None:
    declared = "2:17" if world.name == TYPESCRIPT else "1:5"
    assert world.ask("definition", is_at=True).startswith(f"{world.shapes}:{declared}  ")
    files = {line.partition(":")[0] for line in world.ask("references", is_at=True).splitlines()}
    assert files == {world.main, world.shapes}
    assert "area" in world.ask("hover", is_at=True)
    assert "function run" in world.ask("symbols")
    assert "area" in world.ask("completion", **{**world.at, "character": world.at["character"] + 2})
    assert world.ask("diagnostics") == f"{world.main} has no problems."
    if world.name != PYLSP:
        assert f"{world.shapes}:" in world.ask("workspace_symbols", query="area")
        calls = world.ask("call_hierarchy", is_at=True)
        assert "is called by:\n" in calls
        assert "function run" in calls
    if world.name == TYPESCRIPT:
        assert world.ask("implementations", is_at=True).startswith(f"{world.shapes}:2:17")


def test_a_real_server_keeps_in_step_and_says_what_is_newly_wrong(world: Any) -> None:
    world.ask("symbols")
    world.call("Read", file_path=world.main)
    told = world.call("Edit", file_path=world.main, old_string="area(2)", new_string="arae(2)")
    heading = f"New problems in {world.main}, says language server `{world.name}`:"
    assert heading in told
    assert "arae" in told.partition(heading)[2]
    mended = world.call("Edit", file_path=world.main, old_string="arae(2)", new_string="area(2)")
    assert heading not in mended
    assert world.ask("diagnostics") == f"{world.main} has no problems."
    assert "area" in world.ask("hover", is_at=True)


def test_a_real_server_that_was_killed_is_started_again(world: Any) -> None:
    before = world.ask("symbols")
    (server,) = world.gateway.calls.services.languages.at_work(world.session)
    server._child.close()
    assert world.ask("symbols") == before
    (other,) = world.gateway.calls.services.languages.at_work(world.session)
    assert other is not server
