"""What confined commands and tools change is saved on the way that calls go; and what policy hides is not."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from consoles import until
from fuzzing import share
from sandbox.changes.worlds import tree
from warmed import warm

from gateway.api.changes import Changes
from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from pathlib import Path

needs_namespaces = pytest.mark.skipif(not Spaces().probe().works, reason="no namespaces of our own here")
SECRET = "canary-of-a-secret"


def places(top: Path) -> Places:
    return Places(
        str(top / "etc"),
        str(top / "config"),
        state=str(top / "state"),
        cache=warm(top / "cache"),
        home=str(top / "home"),
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "src").mkdir(parents=True)
    (top / "src/a").write_text("one\n")
    (top / ".env").write_text(f"KEY={SECRET}\n")
    (tmp_path / "home").mkdir()
    return top


@pytest.fixture
def gateway(workspace: Path, tmp_path: Path) -> Gateway:
    return Gateway(Options(cwd=str(workspace), mode="bypass", binding=True), where=places(tmp_path))


def kept(gateway: Gateway) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(each.of.tool, [(one.what, one.path) for one in each.changes]) for each in Changes(gateway).list()]


@needs_namespaces
def test_a_confined_command_is_listed_and_taken_back(gateway: Gateway, tmp_path: Path) -> None:
    before = tree(tmp_path / "workspace")
    with Executor(gateway) as executor:
        done = executor.run("echo two >> src/a; mkdir new; echo x > new/x; ln src/a new/twin; cat < /dev/null")
    assert (done.result.status, done.result.stderr) == (0, b"")
    assert kept(gateway) == [
        ("Bash", [("new", "new"), ("new", "new/twin"), ("new", "new/x"), ("changed", "src/a")]),
    ]
    assert Changes(gateway).undo(1).stays == {}
    assert tree(tmp_path / "workspace") == before


@needs_namespaces
def test_without_saving_nothing_is_kept(gateway: Gateway) -> None:
    with Executor(gateway, saves_changes=False) as executor:
        assert executor.run("echo two >> src/a").result.status == 0
    assert kept(gateway) == []


@needs_namespaces
def test_an_old_file_that_somebody_links_to_meanwhile_is_saved_before_it_is_written(
    gateway: Gateway, tmp_path: Path
) -> None:
    top = tmp_path / "workspace"
    (top / "old").write_text("old\n")

    def link() -> None:
        until((top / "ready").exists)
        (top / "src/a").unlink()
        (top / "src/a").symlink_to("../old")
        (top / "go").touch()

    somebody = Thread(target=link, daemon=True)
    somebody.start()
    with Executor(gateway) as executor:
        done = executor.run(
            "echo two > src/a; echo > ready; until [ -e go ]; do sleep 0.01; done; echo three > src/a; cat old"
        )
    somebody.join()
    assert (done.result.status, done.result.stdout) == (0, b"three\n")
    Changes(gateway).undo(1)
    assert (top / "old").read_text() == "old\n"


@needs_namespaces
def test_what_a_command_leaves_running_is_ended_and_saved(gateway: Gateway, tmp_path: Path) -> None:
    before = tree(tmp_path / "workspace")
    with Executor(gateway) as executor:
        done = executor.run("(while :; do echo more >> src/a; done) & sleep 0.1; exit 3")
    assert done.result.status == 3
    Changes(gateway).undo(1)
    assert tree(tmp_path / "workspace") == before


@needs_namespaces
def test_no_content_of_what_policy_hides_is_kept(gateway: Gateway, tmp_path: Path) -> None:
    with Executor(gateway) as executor:
        executor.run("echo x >> .env; rm -f .env; echo y > src/a")
    if (tmp_path / "workspace/.env").read_text() != f"KEY={SECRET}\n":
        pytest.skip("policy does not hide it in this mode")
    found = []
    for folder, _folders, files in os.walk(tmp_path / "state"):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found += [name] if SECRET.encode() in file.read() else []
    assert found == []


def test_what_tools_write_by_themselves_is_taken_back(gateway: Gateway, tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    before = tree(top)
    gateway.call(RawCall("Write", {"file_path": str(top / "deep/new.txt"), "content": "x"}))
    session = gateway.calls.session()
    gateway.call(RawCall("Read", {"file_path": str(top / "src/a")}), session=session)
    gateway.call(RawCall("Edit", {"file_path": str(top / "src/a"), "old_string": "one", "new_string": "two"}),
                 session=session)  # fmt: skip
    session.close()
    assert (top / "src/a").read_text() == "two\n"
    assert kept(gateway) == [
        ("Write", [("new", "deep"), ("new", "deep/new.txt")]),
        ("Edit", [("changed", "src/a")]),
    ]
    for number in (2, 1):
        assert Changes(gateway).undo(number).stays == {}
    assert tree(top) == before
    gateway.close()


TOLD = ("in words", "by code")
# What writes to `lib`, which has another name in a cache: as words that say so, and as code that does not.
WRITERS = {
    "at its end": "echo evil >> lib",
    "from its beginning": "echo evil > lib",
    "by a link": "ln -s lib l; echo evil >> l",
    "by a second name": "ln lib twin; echo evil >> twin",
    "by its new name": "mv lib moved; echo evil >> moved",
    "in a folder that moves": "mkdir d; mv lib d; mv d e; echo evil >> e/lib",
    "by cutting it": "truncate -s 1 lib",
    "by its mode": "chmod 777 lib",
    "by a descriptor to read": "exec 3< lib; (echo evil >> /proc/self/fd/3) || true",
    "by a descriptor of what it was": "exec 3< lib; echo x >> lib; (echo evil >> /proc/self/fd/3) || true",
    "by the mode of a descriptor": "python3 -c 'import os; os.fchmod(os.open(\"lib\", os.O_RDONLY), 0o777)' || true",
    "by one whose name there is again": (
        "exec 3< lib; echo x >> lib; echo > 'lib (deleted)'; (echo evil >> /proc/self/fd/3) || true"
    ),
    "by one to which a link leads": "exec 3< lib; echo x >> lib; ln -s /dev/fd/3 l; (echo evil >> l) || true",
}


@needs_namespaces
@pytest.mark.parametrize(("how", "told"), [(how, told) for how in WRITERS for told in share(TOLD, 2, how)])
def test_a_file_that_has_another_name_elsewhere_is_that_file_no_more_once_a_call_writes_it(
    how: str, told: str, workspace: Path, tmp_path: Path
) -> None:
    cache, lib = tmp_path / "home/lib.py", workspace / "lib"
    cache.write_text("good\n")
    cache.chmod(0o644)
    os.link(cache, lib)
    (workspace / "work").write_text(WRITERS[how])
    before = tree(workspace)
    judged = Gateway(Options(cwd=str(lib.parent), mode="accept_edits", binding=True), where=places(tmp_path))
    text = WRITERS[how] if told == "in words" else "sh ./work"
    with Executor(judged) as executor:
        executor.run(text)
    assert (cache.read_text(), cache.stat().st_mode & 0o777) == ("good\n", 0o644)
    changed = tree(workspace) != before
    assert changed or told == "in words" or how in ("by a descriptor to read", "by the mode of a descriptor")
    if changed:
        assert Changes(judged).undo(1).stays == {}
    assert tree(workspace) == before
    assert lib.stat().st_ino == cache.stat().st_ino


@needs_namespaces
def test_files_that_have_all_their_names_in_the_workspace_stay_one_file(gateway: Gateway, tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    os.link(top / "src/a", top / "b")
    with Executor(gateway) as executor:
        assert executor.run("echo two >> b; cat /dev/stdin > c < src/a; mv c d; echo x >> d").result.status == 0
        assert executor.run("mv b e; echo three >> e").result.status == 0
    assert (top / "src/a").read_text() == "one\ntwo\nthree\n"
    assert (top / "src/a").stat().st_ino == (top / "e").stat().st_ino
    assert (top / "d").read_text() == "one\ntwo\nx\n"
