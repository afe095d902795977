"""Each grammar says what the program's own parser says, and refuses what that would refuse."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from gateway.commands.steering import ini_files, json_files, lines, npmrc, toml_files, yaml_files
from gateway.commands.steering.entries import NotRead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.commands.steering.entries import Entry


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (toml_files.entries, '"f\\u0069x" = true\na.b = [1, 2]\n[[c]]\nd = {e = "x"}', [
            (("fix",), True), (("a", "b"), 1), (("a", "b"), 2), (("c", "d", "e"), "x"),
        ]),
        (ini_files.entries, "[DEFAULT]\nX = 1\n[a]\nKey: %(x)s\n  more\n", [
            (("a", "x"), "1"), (("a", "key"), "%(x)s\nmore"),
        ]),
        (json_files.entries, '{"a": "//,}", /* x */ "p\\u0061th": [1, {"b": null},], // y\n}', [
            (("a",), "//,}"), (("path",), 1), (("path", "b"), None),
        ]),
        (yaml_files.entries, "a: &x {b: 1}\nc:\n  <<: *x\n  d: [*x, '2']\n\"e\\x78\": !tag f\n", [
            (("a", "b"), "1"), (("c", "b"), "1"), (("c", "d", "b"), "1"), (("c", "d"), "2"), (("ex",), "f"),
        ]),
        (yaml_files.entries, "# nothing\n", []),
        (npmrc.entries, "a=1 ; x\nb\n# c=2\n \"d\\u0061\" = \"e\"\n[s]\nf\\;g[]=h\\#", [
            (("a",), "1"), (("b",), "true"), (("da",), "e"), (("s", "f;g"), "h#"),
        ]),
        (lines.options, "# x\n-Da.b=c -Xmx1g\n", [(("-Da", "b"), "c"), (("-Xmx1g",), "")]),
        (lines.container_variables, ("A=1\nexport COMPOSE_FILE = 'x'\nDOCKER_HOST: y\nbuildx_a=1\nPODMAN_A=\nLD_A=2\n"
         "GIT_A=3\nSSH_A=4\nPATH=5\nHOME=6\nXDG_A=7"), [
            (("COMPOSE_FILE",), "x"), (("DOCKER_HOST",), "y"), (("buildx_a",), "1"), (("PODMAN_A",), ""),
            (("LD_A",), "2"), (("GIT_A",), "3"), (("SSH_A",), "4"), (("PATH",), "5"), (("HOME",), "6"),
            (("XDG_A",), "7"),
        ]),
        (lines.sections, "A = b\n[*.md]\nVale.Spelling = NO\n", [(("A",), "b"), (("*.md", "Vale", "Spelling"), "NO")]),
        (lines.anything, "# x\n a=b\n\n", [(("a=b",), "")]),
    ],
)  # fmt: skip
def test_a_text_comes_down_to_its_entries(read: Callable[[str], list[Entry]], text: str, found: list[Entry]) -> None:
    assert read(text) == found


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (toml_files.entries, "a = tru"),
        (toml_files.entries, "a = 1\na = 2"),
        (toml_files.entries, "a = " + "[" * 3000),
        (toml_files.entries, "a." * 100 + "b = 1"),
        (ini_files.entries, "a = 1"),
        (ini_files.entries, "[a]\nb = 1\nb = 2"),
        (json_files.entries, "{a: 1}"),
        (json_files.entries, '{"a": 1, "a": 2}'),
        (json_files.entries, '{"a": "b'),
        (json_files.entries, "[" * 100_000),
        (yaml_files.entries, "a: b: c"),
        (yaml_files.entries, "a: 1\na: 2"),
        (yaml_files.entries, "a: 1\n---\nb: 1"),
        (yaml_files.entries, "a: *b"),
        (yaml_files.entries, "{[a]: b}"),
        (yaml_files.entries, "[" * 1000),
        (yaml_files.entries, "a" * 300_000),
        (npmrc.entries, "a\u00a0= b"),
        (lines.options, "-Da=$(x)"),
        (lines.sections, "A = b \\\n c"),
        (lines.sections, "A = `b`"),
        (lines.sections, "a"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(read: Callable[[str], list[Entry]], text: str) -> None:
    with pytest.raises(NotRead):
        read(text)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        pytest.param(json_files.entries, '{"a": 1' + ",/**/" * 60_000, id="commas-and-remarks"),
        pytest.param(json_files.entries, '"\\' * 100_000, id="texts-without-an-end"),
        pytest.param(json_files.entries, "/*" * 100_000, id="remarks-without-an-end"),
        pytest.param(yaml_files.entries, "- a\n" * 60_000, id="a-long-list"),
        pytest.param(yaml_files.entries, "".join(
            f"{name}: &{name} [{', '.join([f'*{before}' if before else 'x'] * 9)}]\n"
            for before, name in zip(["", "abcdefgh"][:1] + list("abcdefgh"), "abcdefghi", strict=True)
        ), id="names-that-multiply"),
        pytest.param(npmrc.entries, "a=\\" * 100_000, id="escapes"),
        pytest.param(npmrc.entries, '"' * 200_000, id="quotes"),
        pytest.param(lines.container_variables, " " * 200_000 + "x", id="blanks"),
    ],
)  # fmt: skip
def test_hostile_texts_take_less_than_a_second(read: Callable[[str], list[Entry]], text: str) -> None:
    start = time.process_time()
    with contextlib.suppress(NotRead):
        read(text)
    assert time.process_time() - start < 1


NPM = shutil.which("npm")


# Each of a setting whose value is any text.
SETTINGS = (
    'tag-version-prefix="q\\u0061"\n',
    "  searchopts  =  a\\;b\\#c ; d\n",
    "message='\"x\"'\n",
    '"searchexclud\\u0065"=y\n',
    "heading\\;=x\nheading=z # w\n",
    "init-author-name=a=b\n",
)
NAMES = {"heading", "init-author-name", "message", "searchexclude", "searchopts", "tag-version-prefix"}


@pytest.mark.skipif(NPM is None, reason="npm is not installed")
def test_npm_reads_its_settings_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / ".npmrc").write_text("".join(SETTINGS))
    found = {path[0]: value for path, value in npmrc.entries("".join(SETTINGS)) if path[0] in NAMES}
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [str(NPM), "config", "ls", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True, env=environment
    )
    said = json.loads(done.stdout)
    assert ({key: said[key] for key in found}, set(found)) == (found, NAMES)
