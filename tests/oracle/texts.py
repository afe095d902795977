"""The shell texts of the corpora: which to run, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from oracle.place import HOME, ROOT

TESTS = Path(__file__).parents[1]
MAX_TEXT = 100_000


class Text(NamedTuple):
    """One shell text. `id` is its line's."""

    id: str
    text: str
    cwd: str = ROOT

    @property
    def family(self) -> str:
        return self.id.split(".")[0]


def corpus(folders: tuple[str, ...] = ("corpus", "agents")) -> list[Text]:
    """Every shell text of every line, once."""
    found: dict[tuple[str, str], Text] = {}
    for folder in folders:
        for path in sorted((TESTS / folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                text = _text(json.loads(line)) if line.strip() else None
                if text is not None and "\0" not in text.text and len(text.text) < MAX_TEXT:
                    found.setdefault((text.text, text.cwd), text)
    return list(found.values())


def _text(case: dict[str, object]) -> Text | None:
    given = case.get("input")
    call = case.get("call")
    if isinstance(call, str) and call.startswith("Bash(") and call.endswith(")"):
        text: object = call[len("Bash(") : -1]
    elif isinstance(call, str) and "tool" not in case and not call.endswith(")"):
        return None
    elif case.get("tool") == "Bash" and isinstance(given, dict):
        text = given.get("command")
    else:
        text = case.get("command")
    if not isinstance(text, str) or not text:
        return None
    cwd = str(case.get("cwd", ""))
    place = cwd if cwd.startswith("/") else f"{ROOT}/{cwd}".rstrip("/")
    if not (place + "/").startswith(HOME + "/"):
        place = ROOT
    return Text(str(case.get("id", "")), text, place)


def sample(texts: list[Text], every: int) -> list[Text]:
    """The first of each family and every so many of the rest."""
    families: set[str] = set()
    chosen = []
    for index, text in enumerate(texts):
        if text.family not in families or index % every == 0:
            families.add(text.family)
            chosen.append(text)
    return chosen
