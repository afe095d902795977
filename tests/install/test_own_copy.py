"""`gateway init AGENT --install-apart`: a gateway that lies in a project guards from a copy of itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest
import starting
from fuzzing import THOROUGH
from warmed import warm

from gateway.core.errors import ConfigError
from gateway.install import own_copy
from gateway.install.own_copy import NOTE, Copied, described, place_for, problem


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    (made / "project/.git").mkdir(parents=True)
    (made / "project/.git/HEAD").write_text("ref: refs/heads/main\n")
    warm(made / ".cache/gateway")
    return made


def run(home: Path, *words: str, program: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    argv = [program, *words] if program else [sys.executable, "-m", "gateway", *words]
    found = {"HOME": str(home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", **env}
    return starting.run(
        argv, cwd=home / "project", env=found, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_a_dry_run_says_where_it_would_lie_and_makes_nothing(home: Path) -> None:
    place = place_for("user", str(home))
    done = run(home, "init", "claude", "--install-apart", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"would lie in {place}: agent-gateway " in done.stdout
    told = json.loads(run(home, "init", "claude", "--install-apart", "--dry-run", "--json").stdout)
    assert (told["made"], told["apart"]["place"], told["apart"]["made"]) == (False, place, True)
    assert "agent-gateway" in told["apart"]["packages"]
    assert not (home / ".local/share").exists()
    assert not (home / ".claude").exists()


def test_without_a_person_nothing_is_made(home: Path) -> None:
    done = run(home, "init", "claude", "--install-apart")
    assert done.returncode == 2
    assert "must be agreed to by a person at a terminal" in done.stderr
    assert run(home, "init", "claude", "--undo", "--install-apart").returncode == 2
    assert not (home / ".local/share/gateway").exists()


@pytest.mark.skipif(not THOROUGH, reason="copies some thousand files; scripts/thorough does")
def test_a_gateway_in_a_project_guards_from_its_copy(home: Path) -> None:
    """The very one that `init` refuses without the option; then the project's own environment goes away."""
    import venv

    root = home / "project"
    venv.create(root / ".venv", symlinks=True)
    (site,) = (root / ".venv/lib").glob("python*/site-packages")
    others = next(each for each in sys.path if each.endswith("site-packages"))
    checkout = Path(__file__).parents[2]
    (site / "gateway.pth").write_text(f"{checkout}\n{others}\n")
    python = str(root / ".venv/bin/python")
    refused = run(home, "-m", "gateway", "init", "claude", "--yes", program=python)
    assert refused.returncode == 2
    assert "init AGENT --install-apart" in refused.stderr
    done = run(home, "-m", "gateway", "init", "claude", "--install-apart", "--yes", program=python)
    assert (done.returncode, done.stderr) == (0, ""), done
    place = place_for("user", str(home))
    shutil.rmtree(root / ".venv")
    settings = (home / ".claude/settings.json").read_text()
    assert f"{place}/bin/python" in settings
    assert str(root) not in settings
    assert str(checkout) not in settings
    (root / "typer.py").write_text("raise SystemExit('planted')\n")
    planted = {"PYTHONPATH": str(root)}
    gateway = f"{place}/bin/gateway"
    again = run(home, "init", "claude", "--install-apart", "--yes", program=gateway)
    assert again.stdout.startswith("nothing to change"), again
    assert run(home, "init", "cursor", "--install-apart", "--yes", program=gateway, **planted).returncode in (0, 1)
    found = json.loads(run(home, "doctor", "--json", program=gateway).stdout)["findings"]
    assert [each["state"] for each in found if each["name"] == "installation"] == ["ok"], found
    for call in (
        f"rm -r {place}",
        f"echo x > {place}/bin/python",
        f"mv {os.path.dirname(place)} x",
        f"touch {place}/x.pth",
    ):
        judged = json.loads(run(home, "check", f"Bash({call})", "--json", "--mode", "bypass", program=gateway).stdout)
        assert judged["decision"] == "deny", (call, judged)
    assert [path.name for path in Path(place).rglob("*.pth")] == []
    assert not [each for each in Path(place).rglob("*") if each.is_symlink() and str(root) in os.readlink(each)]


def test_only_what_the_gateway_needs_is_copied() -> None:
    names = {each.metadata["Name"].lower() for each in own_copy._distributions()}
    assert {"agent-gateway", "typer", "tree-sitter-bash", "cryptography", "cffi"} <= names
    assert not {"pytest", "mypy", "ruff", "hypothesis", "pip", "setuptools"} & names


class Changed(Distribution):
    """A package of which one file is not what was installed."""

    def __init__(self, top: Path) -> None:
        self.top = top
        (top / "a.py").write_text("changed\n")

    def read_text(self, filename: str) -> str | None:
        texts = {"METADATA": "Metadata-Version: 2.1\nName: changed\nVersion: 1\n", "RECORD": "a.py,sha256=AAAA,8\n"}
        return texts.get(filename)

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return self.top / path


def test_a_file_that_is_not_the_installed_one_stops_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_copy, "_distributions", lambda: iter([Changed(tmp_path)]))
    with pytest.raises(ConfigError, match="not the one that was installed"):
        described(str(tmp_path / "place"))


@pytest.mark.parametrize("how", ["in the project", "a file", "a folder", "a link", "everybody's", "in a working tree"])
def test_a_place_that_is_not_its_own_is_refused(how: str, home: Path) -> None:
    place, project = place_for("user", str(home)), home / "project"
    above = Path(place).parent
    if how == "in the project":
        place = str(project / "x")
    elif how == "in a working tree":
        (above.parent / ".git").mkdir(parents=True)
    elif how == "everybody's":
        above.mkdir(parents=True)
        above.chmod(0o777)
    else:
        above.mkdir(parents=True)
        {"a file": Path(place).touch, "a folder": Path(place).mkdir, "a link": lambda: Path(place).symlink_to(project)}[
            how
        ]()
    assert problem(place, str(project), str(home)) is not None


def test_a_place_that_is_free_or_holds_an_older_copy_is_taken(home: Path) -> None:
    place = place_for("user", str(home))
    assert problem(place, str(home / "project"), str(home)) is None
    os.makedirs(place)
    (Path(place) / NOTE).write_text('{"digest": "x"}')
    assert problem(place, str(home / "project"), str(home)) is None


def test_a_copy_that_cannot_be_made_leaves_the_older_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Path(place_for("user", str(home)))
    place.mkdir(parents=True)
    (place / NOTE).write_text('{"digest": "x"}')
    monkeypatch.setattr(own_copy, "_fill", lambda top, _wanted: os.rmdir(top))
    with pytest.raises(ConfigError, match="cannot be made"):
        own_copy.copy(Copied(str(place), (), "y", made=True))
    assert os.listdir(place) == [NOTE]
    assert os.listdir(place.parent) == ["installed"]
