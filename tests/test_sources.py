"""What stands in the files of the package is kept for later runs, and found anew where a file says something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sources

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_only_what_says_something_else_is_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(sources, "KEPT", tmp_path / "kept")
    one, other = tmp_path / "gateway/one.py", tmp_path / "gateway/other.py"
    one.parent.mkdir()
    one.write_text("import a\n", encoding="utf-8")
    other.write_text("import b\n", encoding="utf-8")
    parsed: list[str] = []
    original = sources._parsed

    def noted(path: Path, content: bytes) -> sources.Source:
        parsed.append(path.name)
        return original(path, content)

    monkeypatch.setattr(sources, "_parsed", noted)
    ask = sources.of_the_package.__wrapped__

    def asked() -> tuple[list[str], list[str]]:
        """What is imported, and what was parsed for it."""
        parsed.clear()
        found = [each.module for found in ask().values() for each in found.imports]
        return sorted(found), sorted(parsed)

    assert asked() == (["a", "b"], ["one.py", "other.py"])
    assert asked() == (["a", "b"], [])
    one.write_text("import c\n", encoding="utf-8")
    assert asked() == (["b", "c"], ["one.py"])
    other.unlink()
    assert asked() == (["c"], [])
    assert len(list((tmp_path / "kept").iterdir())) == 2  # what is kept, and its lock
