"""Commands that are handed to containers and other machines: rules see the words, paths here are not meant."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.commands.analyse import Start, analyse
from gateway.commands.examples import effects

CARRIERS = [
    ("ssh -p 22 user@host rm -rf x", "ssh"),
    ("docker exec -it web rm -rf x", "docker"),
    ("docker run --rm -e A=b alpine rm -rf x", "docker"),
    ("docker compose exec -T web rm -rf x", "docker"),
    ("kubectl exec -it pod -c app -- rm -rf x", "kubectl"),
    ("oc rsh pod rm -rf x", "oc"),
    ("crictl exec -it box rm -rf x", "crictl"),
]


@pytest.mark.parametrize(("text", "via"), CARRIERS, ids=[text for text, _ in CARRIERS])
def test_the_inner_command_is_a_part_and_deletes_nothing_here(
    text: str, via: str, descriptions: dict[str, Any]
) -> None:
    analysis = analyse(text, Start("/home/dev/project", "/home/dev"), descriptions.get)
    inner = analysis.parts[-1]
    assert (inner.program, inner.operands, inner.via[-1]) == ("rm", ("x",), via)
    assert {"-r", "-f"} <= inner.options
    kinds = {item.effect.kind for item in analysis.items}
    assert "delete" not in kinds
    assert kinds & {"code", "opaque"}


def test_the_same_command_here_deletes(descriptions: dict[str, Any]) -> None:
    assert effects("rm -rf x", descriptions.get) == ["delete x tree"]


def test_questions_to_this_host_are_not_asked_for_what_runs_elsewhere(descriptions: dict[str, Any]) -> None:
    analysis = analyse("ssh host git push -f origin main", Start("/home/dev/project", "/home/dev"), descriptions.get)
    asked = {question.kind for question in analysis.pending} & {"git", "remote", "branch", "into", "glob"}
    assert (analysis.wanted.git, asked, "git" in analysis.wanted.programs) == ((), set(), False)
    assert "push origin main force" in effects("ssh host git push -f origin main", descriptions.get)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("docker run -v data:/d img", []),
        ("docker run -v /d img", []),
        ("docker run -v ./src:/s:ro img", ["read src tree"]),
        ("docker run -v ~/.ssh:/k:ro img", ["read ~/.ssh tree"]),
        ("docker run -v src/a:/s img", ["read src/a tree", "write src/a tree", "delete src/a tree"]),
        ("docker run --mount type=bind,src=/etc,dst=/x,readonly img", ["read /etc tree"]),
        ("docker run --mount type=volume,src=data,dst=/x img", []),
        ('docker run -v "$D":/x img', ["read ?", "write ?", "delete ?"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_container_is_given_the_folders_that_its_options_name(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    found = [one for one in effects(text, descriptions.get) if one.split()[0] in ("read", "write", "delete")]
    assert [one.removesuffix(" tree") for one in found] == [one.removesuffix(" tree") for one in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TZ=UTC date", []),
        ("TZ=Europe/Rome date", []),
        ("TZ=/home/dev/x date", ["read ~/x"]),
        ("TZ=:/home/dev/x date", ["read ~/x"]),
        ("env TZ=../../../home/dev/x date", ["read ~/x"]),
    ],
)
def test_a_time_zone_that_is_a_path_is_read(text: str, expected: list[str], descriptions: dict[str, Any]) -> None:
    assert effects(text, descriptions.get) == expected
