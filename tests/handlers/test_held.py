"""Opening what was judged: links put on the way at any moment, folders that know other spellings, things that block."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from descriptors import open_descriptors

from gateway.calls.output import Failure
from gateway.core.errors import GatewayError
from gateway.files import opening as held
from gateway.files.opening import Changed, Place, made_way_to, unmake, way_to
from gateway.model.facts import PathFact

ROUNDS = 400


@pytest.fixture(params=["openat2", "folder by folder"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the kernel's help, where it offers it, and without."""
    if request.param != "openat2":
        monkeypatch.setattr(held, "_has_openat2", False)
    return request.param


def place(path: str, kind: str = "file") -> Place:
    return Place(path, path, kind)


def opened(path: str) -> bytes:
    """What stands at a judged path."""
    with way_to(place(path)) as way:
        descriptor, _ = way.open()
        try:
            return os.read(descriptor, 100)
        finally:
            os.close(descriptor)


def once(action: Any) -> Any:
    """A function that does something the first time it is called."""
    left = [action]

    def run() -> None:
        if left:
            left.pop()()

    return run


def before_call(monkeypatch: pytest.MonkeyPatch, name: str, action: Any, when: Any = lambda *_: True) -> None:
    """Something that happens right before the first call of a function of `os` for which `when` holds."""
    real, act = getattr(os, name), once(action)

    def hooked(*given: Any, **named: Any) -> Any:
        if when(*given):
            act()
        return real(*given, **named)

    monkeypatch.setattr(os, name, hooked)


@pytest.mark.usefixtures("how")
def test_a_plain_path_is_opened(bench: Any) -> None:
    assert opened(bench.write("d/e/a", "hello")) == b"hello"


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.usefixtures("how")
def test_no_link_on_the_way_is_followed_however_high_it_stands(bench: Any, depth: int) -> None:
    path = bench.write("x/y/z/key", "hello")
    parts = [bench.path("x"), bench.path("x/y"), bench.path("x/y/z")]
    os.rename(parts[depth], bench.path("moved"))
    os.symlink(bench.path("moved"), parts[depth])
    with pytest.raises(Changed, match="a link is on the way"):
        opened(path)
    os.unlink(parts[depth])
    os.rename(bench.path("moved"), parts[depth])
    assert opened(path) == b"hello"


@pytest.mark.usefixtures("how")
def test_a_magic_link_of_the_system_is_a_link(bench: Any) -> None:
    if not os.path.exists("/proc/self/root"):
        pytest.skip("there is no /proc here")
    path = bench.write("a", "hello")
    with pytest.raises(Changed):
        opened(f"/proc/{os.getpid()}/root{path}")
    assert opened(path) == b"hello"


@pytest.mark.usefixtures("how")
def test_a_link_put_in_place_between_the_look_and_the_opening_is_not_followed(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.write("a", "hello")
    verdict = bench.check("Read", file_path="a")

    def swap() -> None:
        os.unlink(path)
        os.symlink("../deny/key", path)

    before_call(monkeypatch, "open", swap, lambda name, *_: name == "a")
    with pytest.raises(Failure, match="became a link meanwhile"):
        bench.run(verdict)
    os.unlink(path)
    bench.write("a", "hello")
    assert bench.run(verdict).blocks[0].text == "     1\thello"


@pytest.mark.parametrize("what", ["fifo", "folder"])
@pytest.mark.usefixtures("how")
def test_what_is_no_file_any_more_when_it_is_opened_is_neither_read_nor_waited_for(
    bench: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = bench.write("a", "hello")

    def swap() -> None:
        os.unlink(path)
        if what == "fifo":
            os.mkfifo(path)
        else:
            os.mkdir(path)

    before_call(monkeypatch, "open", swap, lambda name, *_: name == "a")
    with pytest.raises(Changed, match=f"it is a {'FIFO' if what == 'fifo' else 'folder'} now"):
        opened(path)


@pytest.mark.usefixtures("how")
def test_a_folder_held_open_is_the_one_that_was_judged_wherever_a_link_leads_since(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.write("d/key", "hello")

    def swap() -> None:
        os.rename(bench.path("d"), bench.path("e"))
        os.symlink("../deny", bench.path("d"))

    before_call(monkeypatch, "open", swap, lambda name, *_: name == "key")
    assert opened(path) == b"hello"


@pytest.mark.usefixtures("how")
def test_a_folder_that_turns_into_a_link_as_soon_as_it_is_made_leads_nowhere(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.mkdir

    def made(name: Any, *given: Any, **named: Any) -> None:
        real(name, *given, **named)
        if name == "d":
            os.rmdir(bench.path("d"))
            os.symlink("../deny", bench.path("d"))

    monkeypatch.setattr(os, "mkdir", made)
    start = bench.everything()
    with pytest.raises(Changed):
        bench("Write", file_path="d/none", content="new")
    os.unlink(bench.path("d"))
    assert bench.everything() == start
    monkeypatch.undo()
    bench("Write", file_path="d/none", content="new")
    assert Path(bench.path("d/none")).read_bytes() == b"new"


@pytest.mark.parametrize("moment", ["flock", "write", "fsync", "rename"])
def test_a_link_put_in_place_of_a_file_while_it_is_replaced_leads_nothing_out(
    bench: Any, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    path = bench.write("a", "old")
    bench("Read", file_path="a")
    verdict = bench.check("Write", file_path="a", content="new")

    def swap() -> None:
        os.unlink(path)
        os.symlink("../deny/key", path)

    if moment == "flock":
        import fcntl

        real, act = fcntl.flock, once(swap)
        monkeypatch.setattr(fcntl, "flock", lambda *given: (act(), real(*given))[1])
    else:
        before_call(monkeypatch, moment, swap)
    if moment == "rename":  # the last moment of all: the link itself is replaced
        bench.run(verdict)
        assert Path(path).read_bytes() == b"new"
    else:
        with pytest.raises(Changed):
            bench.run(verdict)
        assert os.readlink(path) == "../deny/key"
    assert Path(bench.home, "deny/key").read_bytes() == b"SECRET\n"
    assert sorted(os.listdir(bench.project)) == [".git", "a"]


@pytest.mark.usefixtures("how")
def test_a_link_that_comes_and_goes_all_the_time_never_leads_out(bench: Any) -> None:
    bench.write("d/key", "hello\n")
    bench.write("d/both", "ping\n")
    Path(bench.home, "deny/both").write_bytes(b"ping\n")
    bench("Read", file_path="d/both")
    folder, aside = bench.path("d"), bench.path("aside")
    link = bench.path("link")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.symlink("../deny", link)
            os.rename(folder, aside)
            os.rename(link, folder)
            os.unlink(folder)
            os.rename(aside, folder)

    swapping = threading.Thread(target=swap)
    verdicts = [bench.check("Read", file_path="d/key", limit=number) for number in (1, 2)] + [
        bench.check("Edit", file_path="d/both", old_string=old, new_string=new)
        for old, new in (("ping", "pong"), ("pong", "ping"))
    ]
    swapping.start()
    seen = set()
    try:
        for _ in range(ROUNDS):  # judged once, while it was a folder, and used at any moment since
            for verdict in verdicts:
                try:
                    seen.add(bench.run(verdict).blocks[0].text.split()[-1])
                except GatewayError:
                    seen.add("refused")
    finally:
        stop.set()
        swapping.join()
    assert "SECRET" not in seen
    assert "refused" in seen
    closed = {path.name: path.read_bytes() for path in Path(bench.home, "deny").iterdir()}
    assert closed == {"key": b"SECRET\n", "both": b"ping\n"}


@pytest.mark.parametrize(
    ("name", "other"), [("Secret", "sECRET"), ("a1", "A1"), ("e\u0301x", "e\u0301X")], ids=["case", "digit", "accent"]
)
@pytest.mark.usefixtures("how")
def test_a_file_that_its_folder_lists_under_another_spelling_is_not_what_was_judged(
    bench: Any, monkeypatch: pytest.MonkeyPatch, name: str, other: str
) -> None:
    path = bench.write(name, "hello")
    if not os.path.exists(bench.path(other)):
        os.link(path, bench.path(other))  # as on a disk that takes both for one
    assert opened(path) == b"hello"
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [each for each in listed(folder) if each != name])
    with pytest.raises(Failure, match="under another spelling"):
        opened(path)


@pytest.mark.usefixtures("how")
def test_a_folder_on_the_way_that_is_listed_under_another_spelling_is_not_what_was_judged(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.write("Deny/1", "hello")
    real = os.stat

    def takes_both(name: Any, *given: Any, **named: Any) -> os.stat_result:
        return real(name[:-4] + "Deny" if isinstance(name, str) and name.endswith("dENY") else name, *given, **named)

    monkeypatch.setattr(os, "stat", takes_both)
    assert opened(path) == b"hello"
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [each.lower() for each in listed(folder)])
    with pytest.raises(Failure, match="under another spelling"):
        opened(path)
    with pytest.raises(Failure, match="under another spelling"):
        made_way_to(place(bench.path("Deny/new/file"), "missing"))
    assert os.path.exists(bench.path("Deny/new")) is False


def test_a_folder_that_cannot_be_listed_is_in_doubt_only_where_both_cases_answer(ordinary: Any) -> None:
    path = ordinary.write("d/Name", "hello")
    os.chmod(ordinary.path("d"), 0o300)
    assert opened(path) == b"hello"
    os.link(path, ordinary.path("d/nAME"))
    with pytest.raises(Failure, match="under another spelling"):
        opened(path)


@pytest.mark.parametrize(
    "fact",
    [
        None,
        PathFact("/x", "unknown"),
        PathFact("relative", "file"),
        PathFact("/a/../b", "file"),
        PathFact("//a", "file"),
    ],
    ids=["none", "unknown", "relative", "dots", "doubled slash"],
)
def test_a_path_of_which_nobody_can_tell_where_it_leads_is_refused(bench: Any, fact: PathFact | None) -> None:
    bench.write("a", "hello")
    verdict = bench.check("Read", file_path="a")
    assert bench.run(verdict).blocks[0].text == "     1\thello"
    paths = {bench.path("a"): fact} if fact else {}
    with pytest.raises(Failure, match="leads to where nobody can tell"):
        bench.run(verdict.replace(facts=verdict.facts.replace(paths=paths)))


def test_a_kernel_that_does_not_know_the_call_is_asked_once(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def unknown(_start: int, path: str) -> int:
        asked.append(path)
        raise OSError(errno.ENOSYS, "not there")

    monkeypatch.setattr(held, "_has_openat2", True)
    monkeypatch.setattr(held, "_open_unlinked", unknown)
    path = bench.write("a", "hello")
    assert (opened(path), opened(path), asked) == (b"hello", b"hello", [bench.project])


def test_folders_that_were_made_go_again_when_nothing_comes_of_them(bench: Any) -> None:
    start = bench.everything()
    way, made = made_way_to(place(bench.path("a/b/c"), "missing"))
    assert os.path.isdir(bench.path("a/b"))
    unmake(made)
    way.close()
    assert (bench.everything(), made) == (start, [])


def test_folders_that_somebody_else_uses_meanwhile_stay(bench: Any) -> None:
    way, made = made_way_to(place(bench.path("a/b/c"), "missing"))
    bench.write("a/mine", "x")
    unmake(made)
    way.close()
    assert sorted(os.listdir(bench.path("a"))) == ["mine"]


def test_no_descriptor_is_left_open(bench: Any) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no /proc here")
    bench.write("d/a", "hello")
    os.symlink("d", bench.path("l"))

    def calls() -> None:
        for tool, given in (
            ("Read", {"file_path": "d/a"}),
            ("Read", {"file_path": "d"}),
            ("Read", {"file_path": "/dev/null"}),
            ("Write", {"file_path": "d/a", "content": "new"}),
            ("Write", {"file_path": "d/a/b/c", "content": "new"}),
            ("Write", {"file_path": f"new{len(os.listdir(bench.project))}/x/y", "content": "new"}),
            ("Edit", {"file_path": "l/a", "old_string": "new", "new_string": "hello"}),
            ("Edit", {"file_path": "d/a", "old_string": "none", "new_string": "x"}),
        ):
            try:
                bench(tool, **given)
            except Failure:
                continue

    calls()
    start = len(open_descriptors())
    calls()
    assert len(open_descriptors()) == start
