"""What the input of a tool that nobody described looks like."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.context import Context
from gateway.model.effect import HOLE
from gateway.tools.inferred_effects import guessed

HERE = Context(cwd="/home/dev/project", root="/home/dev/project", home="/home/dev")
ALL = ("read", "write", "delete")


def found(tool: str, **fields: Any) -> list[str]:
    said = []
    for item in guessed(tool, fields, HERE):
        effect: Any = item.effect
        if effect.kind == "connect":
            said.append(f"{effect.direction} {effect.host}:{effect.port}".replace(HOLE, "?"))
        else:
            said.append(f"{effect.kind} {effect.path}".replace(HOLE, "?"))
    return said


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"path": "a.txt"}, "/home/dev/project/a.txt"),
        ({"file_path": "../x/./a"}, "/home/dev/x/a"),
        ({"outputDir": "out"}, "/home/dev/project/out"),
        ({"x": "/etc/shadow"}, "/etc/shadow"),
        ({"x": "~/.ssh/id_rsa"}, "/home/dev/.ssh/id_rsa"),
        ({"x": "file:///etc/shadow"}, "/etc/shadow"),
        ({"x": "FILE://localhost/etc/a%20b"}, "/etc/a b"),
        ({"x": {"y": [{"z": "./b"}]}}, "/home/dev/project/b"),
        ({"/etc/passwd": 1}, "/etc/passwd"),
        ({"paths": ["a*"]}, "/home/dev/project/a?"),
        ({"path": "a\0b"}, "?"),
        ({"path": ""}, "/home/dev/project"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_looks_like_a_path_is_one(fields: dict[str, Any], path: str) -> None:
    assert found("mcp__x__do_it", **fields) == [f"{kind} {path}" for kind in ALL]


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("https://example.com/a", ["send example.com:443"]),
        ("HTTP://Example.com:81", ["send example.com:81"]),
        ("postgres://db.example.com/x", ["send ?:0"]),
        ("http://[", ["send ?:0"]),
        ("docs://a", []),
        ("see https://example.com", []),
        ("plain words", []),
    ],
)
def test_what_looks_like_an_address_is_one(text: str, there: list[str]) -> None:
    assert [each.split(":")[0] for each in found("mcp__x__do_it", value=text)] == [each.split(":")[0] for each in there]


def test_a_host_by_its_field() -> None:
    assert found("mcp__x__do_it", host="example.com") == ["send example.com:443"]


@pytest.mark.parametrize(
    ("tool", "kinds"),
    [
        ("mcp__x__read_file", ("read",)),
        ("mcp__x__getFile", ("read",)),
        ("mcp__x__list", ("read",)),
        ("mcp__x__write_file", ALL),
        ("mcp__x__file_read", ALL),
        ("mcp__read__do", ALL),
        ("mcp__x__-", ALL),
    ],
)
def test_a_name_is_believed_only_where_it_says_that_it_reads(tool: str, kinds: tuple[str, ...]) -> None:
    assert found(tool, path="a") == [f"{kind} /home/dev/project/a" for kind in kinds]


def test_what_is_too_much_to_look_at_is_unknown() -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    assert found("mcp__x__do", a=deep) == [f"{kind} ?" for kind in ALL]
    assert found("mcp__x__do", a=["word"] * 600)[-3:] == [f"{kind} ?" for kind in ALL]
