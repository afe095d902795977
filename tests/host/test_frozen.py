"""A machine on paper answers as one with the same files on its disk; and what it says where that cannot be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gateway.host.frozen import FrozenHost
from gateway.host.machine import Machine
from gateway.model.facts import PathFact

if TYPE_CHECKING:
    from pathlib import Path

FILES = ["a.py", "b.txt", ".hidden/x.py", "src/a.py", "src/.b.py", "src/deep/c.py", "../beside/a.py", "../project-2/x"]
CONTENTS = {"full": "text", "src/full": "more"}
FOLDERS = ["empty", "src/void", "../home"]
LINKS = {"out": "../beside", "file": "src/a.py", "loop": "loop", "gone": "nothing/x", "src/up": "..", "chain": "out"}
PATHS = [
    "", "a.py", "b.txt", "full", "src", "src/", "src/a.py", "src/./a.py", "src/../a.py", "src/full", "empty", "nothing",
    "nothing/x", "a.py/x", "out", "out/a.py", "out/nothing", "out/../a.py", "file", "file/x", "loop", "loop/x", "gone",
    "src/up/a.py", "src/up/full", "chain", "chain/a.py", "../beside", "../project-2/x",
]  # fmt: skip
PATTERNS = [
    "*",
    "*.py",
    "*/*.py",
    "src/*",
    "src/.*",
    "*/.*",
    "s?c/[ab].py",
    "out/*",
    "*/a.py",
    "chain/*",
    "src/../*.py",
    "[a]?*y",
    "file",
    "gone",
    "loop/x",
    "nothing",
    "nothing/*",
    "x*",
]


def answers(host: FrozenHost | Machine, root: Path) -> dict[str, Any]:
    def told(look: Any) -> Any:
        try:
            found = look()
        except OSError:
            return OSError
        return found if isinstance(found, str | bool | None) else sorted(found)

    found: dict[str, Any] = {}
    for path in PATHS:
        place = f"{root}/{path}"
        fact = host.path(place)
        found[path] = (
            fact and (fact.real, fact.kind), host.read(place), host.is_empty(place), host.is_folder(place),
            host.is_missing(place), host.is_link(place), host.link(place),
            told(lambda place=place: host.entries(place)),
        )  # fmt: skip
    for pattern in PATTERNS:
        found[f"glob {pattern}"] = told(lambda pattern=pattern: host.glob(f"{root}/{pattern}"))
    for hidden in (False, True):
        for folder in ("", "src", "../beside"):
            found[f"below {folder} {hidden}"] = told(
                lambda folder=folder, hidden=hidden: host.below(f"{root}/{folder}", hidden=hidden)
            )
    found["elsewhere"] = [host.path("a.py"), host.path(f"{root}/a\0b")]
    return found


def test_what_is_told_of_files_is_what_a_disk_tells(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    for file in (*FILES, *CONTENTS):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(CONTENTS.get(file, ""), encoding="utf-8")
    for link, to in LINKS.items():
        (root / link).symlink_to(to)
    frozen = FrozenHost(
        {
            "home": f"{tmp_path}/home",
            "root": str(root),
            "files": FILES,
            "contents": CONTENTS,
            "folders": FOLDERS,
            "links": LINKS,
        }
    )
    told, here = answers(frozen, root), answers(Machine(), root)
    assert {each: (told[each], here[each]) for each in told if told[each] != here[each]} == {}


def frozen(**world: Any) -> FrozenHost:
    return FrozenHost({"home": "/home/dev", "root": "/p", **world})


def test_what_git_keeps_is_what_is_not_untracked() -> None:
    files = [".git/HEAD", "a", "src/b", ".env", "/etc/passwd"]
    hosts = [frozen(files=files), frozen(files=files, untracked=[".env"]), frozen(files=files, untracked=[])]
    assert [host.data("/p/.git/index") for host in hosts] == [
        b"", b"DIRC\0\0\0\2a\0src/b\0", b"DIRC\0\0\0\2.env\0a\0src/b\0",
    ]  # fmt: skip
    assert hosts[1].data("/p/a") == b""


def test_what_a_world_puts_behind_a_link_is_not_there() -> None:
    assert frozen(files=["out/a"], links={"out": "q"}).path("/p/out/a") == PathFact("/p/q/a", "missing")


def test_a_repository_says_what_the_world_does() -> None:
    world = frozen(
        files=[".git/HEAD", ".git/config", "sub/.git/HEAD", "sub/.git/config", ".git/x", "/q/.git/HEAD"],
        branch="trunk", remotes={"o": "u"}, environment={"A": "b"}, untrusted_programs=["x"], stand_ins=["node"],
    )  # fmt: skip
    names = (".git/HEAD", ".git/config", "sub/.git/HEAD", "sub/.git/config", ".git/x", "../q/.git/HEAD")
    assert [world.read(f"/p/{name}") for name in names] == [
        "ref: refs/heads/trunk\n", '[remote "o"]\n\turl = u\n', "ref: refs/heads/main\n", "", "",
        "ref: refs/heads/main\n",
    ]  # fmt: skip
    assert frozen(files=[".git/HEAD"]).read("/p/.git/HEAD") == ""
    assert [world.variable(name) for name in "AB"] == ["b", ""]
    assert [world.program(name, "") for name in ("x", "node", "ls")] == ["/p/bin/x", "/home/shims/node", "/usr/bin/ls"]
    assert (world.is_superuser(), world.is_private("/p/a"), world.stamp("/p")) == (False, False, (0, 0, 0, 0))
    with pytest.raises(FileNotFoundError):
        world.stamp("/p/nothing")
