"""What files of a project may say to a program without anybody being asked; `tests/corpus/evasion-steering.jsonl` has
the rest, judged whole."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.commands.steering.keys import CHECKS, folded, unlisted
from gateway.commands.steering.programs import GRAMMARS, PROGRAMS, files_of, objection
from gateway.commands.steering_files import STEERED
from gateway.model.facts import INSTALLED

RUFF = str(Path(sys.executable).parent / "ruff")


def test_the_programs_that_are_asked_about_are_those_of_the_table() -> None:
    assert STEERED | {"cargo itself", "compose", "compose variables", "gateway policy"} == set(PROGRAMS)


def test_every_list_of_keys_is_one() -> None:
    for name, program in PROGRAMS.items():
        for files in program.files:
            assert files.grammar in GRAMMARS or (not files.grammar and program.also), name
            for word in files.keys.split():
                key, _, check = word.partition("=")
                assert key == folded(key), (name, word)
                assert (
                    not check
                    or check in CHECKS
                    or check.replace("|", "").replace("-", "").isalnum()
                    or check in ("//", "0")
                ), word


def test_the_files_of_a_question_are_those_of_the_table_or_the_one_it_names() -> None:
    assert files_of("cargo") == (
        "cargo",
        ("rust-toolchain.toml", "rust-toolchain", ".cargo/config.toml", ".cargo/config"),
    )
    assert files_of("cargo itself") == ("cargo itself", files_of("cargo")[1])
    assert files_of("compose\0x.yml") == ("compose", ("x.yml",))
    forms = [f"{dot}jupytext.{form}" for dot in ("", ".") for form in ("toml", "yml", "yaml", "json")]
    assert {*files_of("jupytext")[1]} == {".jupytext.py", ".jupytext", "jupytext", *forms, "pyproject.toml"}


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_what_is_not_known_counts(program: str) -> None:
    assert objection(program, None) == f"what the project's files tell {program} to do is not known"
    assert objection(program, ()) == ""


def test_the_reason_names_the_file_and_the_key() -> None:
    found = [
        objection("ruff", (("/p/ruff.toml", "fix = true"),)),
        objection("ruff", (("/p/ruff.toml", "fix = "),)),
        objection("yamllint", (("/p/.yamllint", "- a"),)),
        objection("compose", (("/p/x.yml", "include: [y]"),)),
    ]
    assert found == [
        "ruff.toml tells ruff to do more (fix)",
        "ruff.toml is not read as ruff may read it (no TOML)",
        ".yamllint tells yamllint to do more (what it holds)",
        "x.yml tells compose to do more (include)",
    ]


@pytest.mark.parametrize(
    ("keys", "path", "value", "listed"),
    [
        ("a", ("a",), "x", True),
        ("a", ("A",), "x", True),
        ("a-b", ("a_b",), "x", True),
        ("a", ("a", "b"), "x", False),
        ("a.b", ("a.b",), "x", False),
        ("a.**", ("a", "b.c", "d"), "x", True),
        ("a.*.b=no a.**", ("a", "x", "b"), "yes", False),
        ("a.x-*", ("a", "x-y"), "x", True),
        ("a=x|y", ("a",), "y", True),
        ("a=x|y", ("a",), "z", False),
        ("a=inside", ("a",), "b/c", True),
        ("a=inside", ("a",), "b/../../c", False),
        ("a=inside", ("a",), "/c", False),
        ("a=inside", ("a",), "~/c", False),
        ("a=inside", ("a",), "${X}/c", False),
        ("a=cache", ("a",), "src", False),
        ("a=cache", ("a",), ".cache/x", True),
        ("a=above", ("a",), "../../ruff.toml", True),
        ("a=above", ("a",), "../x/ruff.toml", False),
        ("a=never", ("a",), False, True),
        ("a=never", ("a",), "false", False),
        ("a=switch", ("a",), "-w", False),
        ("a=word", ("a",), "-w", False),
        ("a=npm", ("a",), "https://registry.npmjs.org/", True),
        ("a=npm", ("a",), "https://registry.npmjs.org.x/", False),
    ],
)  # fmt: skip
def test_a_key_is_on_a_list_or_it_is_not(keys: str, path: tuple[str, ...], value: object, listed: bool) -> None:
    assert unlisted([(path, value)], (), keys) == ("" if listed else ".".join(path))


def test_ruff_has_no_setting_at_its_top_that_nobody_looked_at() -> None:
    """What is on the list, and what was left out because it writes, or reads what somebody names."""
    known = subprocess.run([RUFF, "config"], capture_output=True, text=True, check=True).stdout.split()
    listed = {word.partition("=")[0].removesuffix(".**") for word in PROGRAMS["ruff"].files[0].keys.split()}
    assert set(known) <= listed


TEXT_OF_ANOTHER = "SECRET=abc\n"


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        pytest.param({"ruff.toml": '"f\\u0069x" = true\n'}, False, id="escaped"),
        pytest.param({"pyproject.toml": "tool.ruff.fix = true\n"}, False, id="dotted"),
        pytest.param({"pyproject.toml": "[tool]\nruff = {fix = true}\n"}, False, id="inline"),
        pytest.param({"ruff.toml": '"ext\\u0065nd" = "../other"\n'}, True, id="extends"),
    ],
)
def test_ruff_obeys_what_counts(tmp_path: Path, files: dict[str, str], shown: bool) -> None:
    (tmp_path / "other").write_text(TEXT_OF_ANOTHER)
    project = tmp_path / "p"
    project.mkdir()
    (project / "a.py").write_text("import os\n")
    for name, text in files.items():
        (project / name).write_text(text)
    done = subprocess.run(
        [RUFF, "check", "--no-cache", "a.py"], cwd=project, capture_output=True, text=True, check=False
    )
    assert ((project / "a.py").read_text() == "") is not shown
    assert ("SECRET=abc" in done.stderr) is shown
    assert objection("ruff", [(str(project / name), text) for name, text in files.items()])


ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
CHECKED = "x=1\nabandonned=2\n"


@pytest.mark.parametrize(
    ("program", "arguments", "name", "text", "told"),
    [
        ("codespell", ["a.py"], ".codespellrc", "[codespell]\nWRITE-changes =\n", "abandoned"),
        ("codespell", ["a.py"], ".codespellrc", "[codespell]\nwrite =\n", "abandoned"),
        ("codespell", ["a.py"], ".codespellrc", "[codespell]\ncount = -w\n", "abandoned"),
        ("codespell", ["a.py"], "pyproject.toml", 'tool.codespell."write\\u002dchanges" = true\n', "abandoned"),
        ("interrogate", ["a.py"], "pyproject.toml", '[tool.interrogate]\n"out--put" = "a.py"\n', "RESULT"),
        (
            "jupytext",
            ["--to", "py", "--test", "a.py"],
            ".jupytext.py",
            "# coding: utf-7\n# +AAo-open('a.py', 'w').write('written')",
            "written",
        ),
        (
            "jupytext",
            ["--to", "py", "--test", "a.py"],
            ".jupytext.py",
            "open('a.py', 'w').write('written')\n",
            "written",
        ),
        ("radon", ["cc", "-j", "a.py"], "radon.cfg", "[radon]\nOutput_File = a.py\n", "{"),
        ("radon", ["cc", "-j", "a.py"], "setup.cfg", "[DEFAULT]\noutput_file = a.py\n[radon]\n", "{"),
        ("radon", ["cc", "-j", "a.py"], "pyproject.toml", 'tool.radon.output_file = "a.py"\n', "{"),
        ("autopep8", ["a.py"], ".pep8", "[pep8]\nIN-place = 1\n", "x = 1"),
        ("autopep8", ["a.py"], "pyproject.toml", 'tool = {autopep8 = {"in\\u005fplace" = true}}\n', "x = 1"),
    ],
)
def test_linters_obey_what_counts(
    tmp_path: Path, program: str, arguments: list[str], name: str, text: str, told: str
) -> None:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    (tmp_path / "a.py").write_text(CHECKED)
    (tmp_path / name).write_text(text)
    subprocess.run([found, *arguments], cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT)
    assert told in (tmp_path / "a.py").read_text()
    assert objection(program, [(str(tmp_path / name), text)])


def test_yamllint_shows_lines_of_what_it_extends(tmp_path: Path) -> None:
    found = shutil.which("yamllint")
    if found is None:
        pytest.skip("yamllint is not installed")
    (tmp_path / "other").write_text("SECRET: abc: def\n")
    text = f'"e\\x78tends": {tmp_path}/other\n'
    (tmp_path / ".yamllint").write_text(text)
    done = subprocess.run([found, "."], cwd=tmp_path, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert "SECRET: abc" in done.stderr + done.stdout
    assert objection("yamllint", [(str(tmp_path / ".yamllint"), text)])


def test_djlint_loads_the_modules_that_its_rules_name(tmp_path: Path) -> None:
    found = shutil.which("djlint")
    if found is None:
        pytest.skip("djlint is not installed")
    text = '- rule: {name: Z01, message: x, "python\\x5fmodule": planted}\n'
    (tmp_path / ".djlint_rules.yaml").write_text(text)
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'fired')!r}, 'w')\ndef run(**_): return []\n")
    (tmp_path / "a.html").write_text("<p>\n</p>\n")
    subprocess.run([found, "--lint", "a.html"], cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT)
    assert (tmp_path / "fired").exists()
    assert objection("djlint", [(str(tmp_path / ".djlint_rules.yaml"), text)])


def test_uv_clears_the_folder_that_a_project_names(tmp_path: Path) -> None:
    found = shutil.which("uv")
    if found is None:
        pytest.skip("uv is not installed")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept").write_text("")
    text = f'"c\\u0061che-dir" = {json.dumps(str(tmp_path / "other"))}\n'
    (tmp_path / "uv.toml").write_text(text)
    subprocess.run([found, "cache", "clean"], cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT)
    assert not (tmp_path / "other" / "kept").exists()
    assert objection("uv", [(str(tmp_path / "uv.toml"), text)])


def test_taplo_writes_what_its_settings_include(tmp_path: Path) -> None:
    found = shutil.which("taplo")
    if found is None:
        pytest.skip("taplo is not installed")
    (tmp_path / "p").mkdir()
    (tmp_path / "x.toml").write_text("a=1\n")
    text = 'include = ["../*.toml"]\n'
    (tmp_path / "p" / "taplo.toml").write_text(text)
    subprocess.run([found, "fmt"], cwd=tmp_path / "p", capture_output=True, check=False, env=ENVIRONMENT)
    assert (tmp_path / "x.toml").read_text() == "a = 1\n"
    assert objection("taplo", [(str(tmp_path / "p" / "taplo.toml"), text)])


def test_cargo_starts_the_providers_that_its_settings_name(tmp_path: Path) -> None:
    found = shutil.which("cargo")
    if found is None:
        pytest.skip("cargo is not installed")
    provider = tmp_path / "provider"
    provider.write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\n")
    provider.chmod(0o755)
    text = f'[registry]\n"global-credential-provid\\u0065rs" = [{json.dumps(str(provider))}]\n'
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo" / "config.toml").write_text(text)
    rustup = {name: os.environ[name] for name in ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
    rustup.setdefault("RUSTUP_HOME", str(Path("~/.rustup").expanduser()))
    environment = {**ENVIRONMENT, "CARGO_HOME": str(tmp_path / "home"), **rustup}
    version = subprocess.run([found, "--version"], cwd=tmp_path, capture_output=True, check=False, env=environment)
    if version.returncode:
        pytest.skip("cargo has no tool chain")
    subprocess.run(
        [found, "logout"], cwd=tmp_path, capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )
    assert (tmp_path / "fired").exists()
    assert objection("cargo", [(str(tmp_path / ".cargo/config.toml"), text)])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".isort.cfg", "[settings]\nSkip_GitIgnore = true\n"),
        ("pyproject.toml", 'tool.isort = {"skip\\u005fgitignore" = true}\n'),
        (".editorconfig", "root = true\n[*.py]\nskip_gitignore = true\n"),
    ],
)
def test_isort_starts_git_where_its_settings_say(tmp_path: Path, name: str, text: str) -> None:
    found = shutil.which("isort")
    if found is None:
        pytest.skip("isort is not installed")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env=ENVIRONMENT)
    (tmp_path / "monitor").write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\n")
    (tmp_path / "monitor").chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", "./monitor"], cwd=tmp_path, check=True, env=ENVIRONMENT)
    (tmp_path / "a.py").write_text("import os\n")
    (tmp_path / name).write_text(text)
    subprocess.run([found, "-c", "."], cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT)
    assert (tmp_path / "fired").exists()
    assert objection("isort", [(str(tmp_path / name), text)])


def test_settings_in_yaml_need_the_parser_that_the_gateway_brings() -> None:
    assert importlib.util.find_spec("yaml")


def test_what_is_installed_is_no_file() -> None:
    assert objection("dotnet", (("/p/global.json", "{}"), (INSTALLED, "x"))) == ""
