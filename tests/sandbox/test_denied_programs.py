"""What policy denies by name is not there for contained code, wherever the usual places have it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.calls.containing import cannot_contain
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.sandbox.denied_programs import denied_by

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Gateway]:
    for name in ("workspace", "home", "config"):
        (tmp_path / name).mkdir()

    def open_(*rules: str) -> Gateway:
        text = "".join(f"  - {rule}\n" for rule in rules)
        policy = f"version: 1\nextends: [daily]\nsettings: {{mode: accept_edits}}\nrules:\n{text or '  []'}"
        (tmp_path / "config/policy.yaml").write_text(policy)
        where = Places(
            str(tmp_path / "etc"), str(tmp_path / "config"), state=str(tmp_path / "state"),
            cache=warm(tmp_path / "cache"), home=str(tmp_path / "home"),
        )  # fmt: skip
        work = str(tmp_path / "workspace")
        return Gateway(Options(work, root=work, binding=True), where=where)

    return open_


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("{id: r, deny: {exec: rsync}}", {"rsync"}),
        ("{id: r, deny: {exec: [[rsync, nc]]}}", {"rsync", "nc"}),
        ("{id: r, deny: Bash(nc *)}", {"nc"}),
        ("{id: r, deny: Bash(git push *)}", set()),
        ("{id: r, deny: {exec: [git, push]}}", set()),
        ("{id: r, deny: {exec: rsync, option: [--delete]}}", set()),
        ("{id: r, deny: {exec: rsync}, except: [{option: [--version]}]}", {"rsync"}),
        ("{id: r, deny: {exec: rsync, mode: bypass}}", set()),
        ("{id: r, ask: {exec: rsync}}", set()),
        ("{id: r, deny: 'Bash(n* *)'}", set()),
    ],
)
def test_only_what_is_denied_by_its_name_counts(opened, rule: str, names: set[str]) -> None:
    found = denied_by(opened(rule).loaded.policy)
    assert {name for name, by in found.items() if by == "r"} == names
    assert found["sudo"] == "no-privilege"


@pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here")
@pytest.mark.skipif(shutil.which("od") is None, reason="od is not installed")
def test_contained_code_cannot_start_it_and_its_twin_can(opened, tmp_path: Path) -> None:
    code = f"import subprocess\nfor each in ('od', {shutil.which('od')!r}, 'tac'):\n"
    code += "  try: print(subprocess.run([each, '--version'], capture_output=True).returncode)\n"
    code += "  except OSError as error: print(type(error).__name__)\n"
    (tmp_path / "workspace/x.py").write_text(code)

    def said(*rules: str) -> list[str]:
        with opened(*rules) as gateway:
            done = gateway.call(RawCall("Bash", {"command": "python3 x.py"}))
        assert done.verdict.contained
        return "".join(getattr(each, "text", "") for each in done.output.blocks).split()[:3]

    assert said() == ["0", "0", "0"]
    *denied, other = said("{id: r, deny: Bash(od *)}")
    assert other == "0"
    assert not {"0"} & set(denied)
    assert not {"0"} & set(said("{id: r, deny: {exec: od}, except: [{option: [--version]}]}")[:2])
    assert subprocess.run(["od", "--version"], capture_output=True, check=False).returncode == 0
