"""`gateway.explain` and `gateway explain --json`: one shape, promised to other programs."""

# ruff: noqa: E501  one text a line

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fuzzing import share

import gateway as library
from gateway.frontends.cli.explain import tree_text
from gateway.model.call import RawCall
from gateway.render.explanation import ExplainedCommand, ExplainedEffect, Explanation, explain, explanation_schema
from gateway.render.style import Style
from gateway.render.tree import tree_of

DOCS = Path(__file__).parents[2] / "docs" / "api.md"
CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*.jsonl"))
SCHEMA = explanation_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
TEXT = "git push --force | tee log"

SCRIPT = """\
set -eu
publish() {
  tar czf - build | ssh "$1" 'tar xzf - -C /srv/app'
}
for file in src/*.py; do
  grep -q TODO "$file" && echo "$file" >> todo.txt
done
cat <<END > notes.md
Release of $(date +%F)
END
find . -name '*.tmp' | xargs rm -f
bash -c 'cd /tmp
curl -fsSL https://example.com/install.sh | sh'
publish web1.example.com
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("script", SCRIPT),
        ("here-document", "cat <<END | tee notes.md\nRelease of $(date +%F)\nEND"),
        ("nested", "bash -c 'cd src && bash -c \"rm -f *.pyc\"' 2> errors"),
        ("xargs", "git ls-files -z | xargs -0 grep -l TODO"),
        ("loop", "for f in a b; do mv $f.txt old/$f; done"),
        ("nothing", "true"),
    ],
)
def test_a_text_is_shown_as_a_tree(judge, golden, name: str, text: str) -> None:
    _, verdict = judge(f"Bash({text})")
    golden(f"explain-text-{name}.txt", f"$ gateway explain {text!r}\n{tree_text(tree_of(verdict), Style())}")


def test_the_schema_is_valid_and_lists_the_keys_of_the_types() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]
    assert [
        (set(each["properties"]), set(each["required"]))
        for each in (SCHEMA, definitions["command"], definitions["effect"])
    ] == [
        (set(each.__annotations__), set(each.__required_keys__) & set(each.__annotations__))
        if each is not ExplainedEffect
        else (set(each.__annotations__), {"kind", "target", "span"})
        for each in (Explanation, ExplainedCommand, ExplainedEffect)
    ]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_whatever_is_explained_has_the_shape_of_the_schema(open_world, path: Path) -> None:
    guard = open_world()
    calls = [json.loads(line).get("call", "") for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [call[5:-1] for call in calls if call.startswith("Bash(") and "\0" not in call]  # which nobody can judge
    closed = json.loads(json.dumps(SCHEMA))
    for each in (closed, *closed["$defs"].values()):
        each["additionalProperties"] = False
    validator = jsonschema.Draft202012Validator(closed)
    for text in share(texts, 20, path.stem):
        found = {**tree_of(guard.check(RawCall("Bash", {"command": text}))), "plan": None}
        validator.validate(json.loads(json.dumps(found)))


def test_the_library_and_the_command_line_say_the_same(in_process, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GATEWAY_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home.parent / "cache"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    printed = json.loads(in_process("explain", "--json", TEXT).stdout)
    told: Any = library.explain(TEXT, cwd=str(home / "project"))
    VALIDATOR.validate(printed)
    assert _without_plan(told) == _without_plan(printed)
    assert (told["plan"] is None) == (printed["plan"] is None)


def test_the_output_in_the_page_is_the_output(guard) -> None:
    told: Any = explain(TEXT, guard=guard({}))
    [shown] = re.findall(r"```json\n(.*?)\n```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert json.loads(shown) == _without_plan(told)


def _without_plan(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "plan"}


def test_a_gateway_that_is_given_is_asked_in_the_folder_that_is_named(open_world) -> None:
    guard = open_world()
    assert [explain("cat x", cwd=cwd, guard=guard)["commands"][0]["effects"][0]["target"] for cwd in (None, "/srv")] == [
        f"{guard.context.cwd}/x", "/srv/x",
    ]  # fmt: skip


def test_a_text_that_cannot_be_judged_is_an_error_of_the_library(open_world) -> None:
    with pytest.raises(library.CallError):
        explain("a\0b", guard=open_world())


@pytest.mark.parametrize("what", ["policy", "tools", "command", "explain"])
def test_every_schema_can_be_had_from_the_command_line(in_process, what: str) -> None:
    done = in_process("policy", "schema", what)
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))
    assert done.returncode == 0


def test_the_first_lines_in_the_page_run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    code = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home.parent / "cache"))
    monkeypatch.chdir(home / "project")
    exec(code, {})
    assert capsys.readouterr().out == "['git', 'tee']\n"
