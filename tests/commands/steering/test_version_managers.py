"""What the files of version managers name: versions, or places."""

from __future__ import annotations

import pytest

from gateway.commands.steering.version_managers import names_a_place


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        (".tool-versions", "nodejs 20.1.0 system\npython 3.12 # path:x\n\n", False),
        (".tool-versions", "nodejs path:./x\n", True),
        (".tool-versions", "nodejs ref:main\n", True),
        (".tool-versions", "nodejs {{exec(command='x')}}\n", True),
        (".tool-versions", "npm:prettier 3.0.0\n", False),
        (".tool-versions", "ubi:x/y 1\n", True),
        (".nvmrc", "lts/*\n", False),
        (".nvmrc", "../x\n", True),
        (".node-version", "lts/*\n", False),
        (".ruby-version", "3.2\n", False),
        (".python-version", "3.12.1\n3.11\n", False),
        (".python-version", "..\n", True),
        ("mise.toml", '[tools]\nnode = ["20", "22"]\npython = {version = "3.12", os = ["linux"]}\n', False),
        ("mise.toml", '[tools]\nnode = {version = "20", postinstall = "x"}\n', True),
        ("mise.toml", '["t\\u006fols"]\nnode = "p\\u0061th:x"\n', True),
        ("mise.toml", 'tools.node = "path:x"\n', True),
        ("mise.toml", '[env]\nDEBUG = "1"\n[tasks.x]\nrun = "curl http://x"\n', False),
        ("mise.toml", '[env]\n_.source = "x.sh"\n', True),
        ("mise.toml", '[env]\nNODE_OPTIONS = "--require ./x"\n', True),
        ("mise.toml", '[env]\nX = "{{exec(command=\'x\')}}"\n', True),
        ("mise.toml", '[plugins]\nnode = "x"\n', True),
        ("mise.toml", "[tools\n", True),
        (".prototools", 'node = "20"\n[settings]\nauto-install = true\n', False),
        (".prototools", 'node = "20"\n[env]\nX = "1"\n', True),
        (".prototools", '[plugins.tools]\nnode = "file://x"\n', True),
        (".volta/hooks.json", "{}", True),
        ("mise/config.unknown", "", True),
    ],
)  # fmt: skip
def test_versions_are_told_from_places(name: str, text: str, place: bool) -> None:
    assert names_a_place(f"/p/{name}", text) is place
