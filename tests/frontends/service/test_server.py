"""The service by itself: whom it answers, and when it ends."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from gateway.frontends.service import server, wire
from gateway.frontends.service.server import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Home


class Code:
    same = True

    def is_same(self) -> bool:
        return self.same


@contextlib.contextmanager
def serving(home: Home, answering: Callable[..., Any] | None = None, **how: Any) -> Iterator[Service]:
    """A service of this process for a home folder."""

    def echo(words: list[str], environment: dict[str, str], folder: str, given: bytes) -> tuple[bytes, bytes, int]:
        return f"{words} {environment['HOME']} {folder}".encode(), given, 7

    place = wire.folder(home.bytes_environment)
    os.makedirs(place, 0o700, exist_ok=True)
    told = wire.identity(home.bytes_environment)
    assert told is not None
    how.setdefault("code", Code())
    made = Service(answering or echo, place, told, **how)
    thread = threading.Thread(target=made.serve)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "is_the_service", lambda _pid, _held: True)  # it is this process, which looks otherwise
        yield made
    made.end()
    thread.join(30)
    assert not thread.is_alive()
    assert not os.path.exists(made.path)


def test_what_is_asked_arrives_whole_and_so_does_the_answer(home: Home) -> None:
    with serving(home):
        given = os.urandom(3_000_000)
        found = home.ask("hook", "a b", "é\udc80", given=given)
        said = f"{['hook', 'a b', 'é']} {home.top} {os.getcwd()}"
    assert found[0] is not None
    assert found[0][1:] == (given, 7)
    assert found[0][0].startswith(said.split(",")[0].encode())
    assert found[1] is False


def test_more_than_it_takes_is_not_even_asked(home: Home) -> None:
    with serving(home):
        assert home.ask("hook", given=bytes(wire.MOST_ASKED + 1)) == (None, False)


def test_a_request_that_is_too_long_gets_no_answer(home: Home) -> None:
    with serving(home) as made, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(made.path)
        connection.sendall(wire.VERSION + (0x7FFFFFFF).to_bytes(4, "big"))
        assert connection.recv(10) == b""
        assert home.ask("hook")[0] is not None  # and others go on


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"])
def test_nobody_else_is_answered(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with serving(home) as made:
        told = wire.identity({**home.bytes_environment, name.encode(): b"/elsewhere"})
        place, base = os.path.split(made.path)
        monkeypatch.setattr(wire, "folder", lambda _environment: place)
        monkeypatch.setattr(wire, "name_of", lambda _told: base.removesuffix(b".sock"))
        monkeypatch.setattr(wire, "identity", lambda _environment: told)
        assert home.ask("hook") == (None, False)


@pytest.mark.parametrize(("uid", "gid"), [(1, 0), (0, 1)], ids=["another user", "another group"])
def test_the_service_answers_only_its_own_user(home: Home, monkeypatch: pytest.MonkeyPatch, uid: int, gid: int) -> None:
    with serving(home):
        real, main = wire.peer, threading.main_thread()

        def peer(connection: Any) -> tuple[int, int, int]:
            found = real(connection)
            if threading.current_thread() is main:
                return found
            return found[0] + uid, found[1] + gid, found[2]

        monkeypatch.setattr(wire, "peer", peer)
        assert home.ask("hook")[0] is None


@pytest.mark.parametrize(("uid", "gid"), [(1, 0), (0, 1)], ids=["another user", "another group"])
def test_a_client_asks_only_its_own_user(home: Home, monkeypatch: pytest.MonkeyPatch, uid: int, gid: int) -> None:
    asked: list[object] = []
    with serving(home, lambda *request: asked.append(request) or (b"yes", b"", 0)):
        real, main = wire.peer, threading.main_thread()

        def peer(connection: Any) -> tuple[int, int, int]:
            found = real(connection)
            return (found[0] + uid, found[1] + gid, -1) if threading.current_thread() is main else found

        monkeypatch.setattr(wire, "peer", peer)
        assert home.ask("hook") == (None, False)
    assert asked == []


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702, 0o1777], ids=oct)
def test_in_a_folder_that_others_can_enter_nobody_is_asked(home: Home, mode: int) -> None:
    with serving(home):
        home.folder.chmod(mode)
        assert home.ask("hook") == (None, True)
        home.folder.chmod(0o700)
        assert home.ask("hook")[0] is not None


def test_in_a_folder_that_is_a_link_nobody_is_asked(home: Home) -> None:
    with serving(home):
        home.folder.rename(home.top / "moved")
        home.folder.symlink_to(home.top / "moved")
        assert home.ask("hook") == (None, True)
        home.folder.unlink()
        (home.top / "moved").rename(home.folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_in_a_folder_of_somebody_else_nobody_is_asked(home: Home) -> None:
    with serving(home):
        os.chown(home.folder, 65534, 65534)
        assert home.ask("hook") == (None, True)
        os.chown(home.folder, 0, 0)


@pytest.mark.parametrize(
    "reply",
    [
        b"", b"garbage", b'{"hookSpecificOutput":{"permissionDecision":"allow"}}', wire.framed((b"A", b"\0", b"allow")),
        wire.framed((b"A", b"\0\0", b"allow", b"")), wire.framed((b"A", b"", b"allow", b"")),
        wire.framed((b"B", b"\0", b"allow", b"")), wire.framed((b"A", b"\0", b"allow", b""))[:-1],
        wire.framed((b"A", b"\0", b"allow", b"")) + b"x",
        b"gateway-service-0" + wire.framed((b"A", b"\0", b"allow", b""))[len(wire.VERSION) :],
    ],
    ids=[
        "nothing", "garbage", "an answer in the open", "too few parts", "two statuses", "no status", "another kind",
        "half", "too much", "an older version",
    ],
)  # fmt: skip
def test_what_is_no_answer_is_none(home: Home, reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "is_the_service", lambda _pid, _held: True)
    place = wire.folder(home.bytes_environment)
    os.makedirs(place, 0o700)
    told = wire.identity(home.bytes_environment)
    assert told is not None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place + b"/" + wire.name_of(told) + b".sock")
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                found = b""
                while not found or len(found) < wire.needed(found):
                    found += connection.recv(1 << 16)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        assert home.ask("hook")[0] is None
        thread.join()


@pytest.mark.parametrize("error", [MemoryError, RecursionError, KeyError, SystemExit], ids=lambda each: each.__name__)
def test_an_answering_that_fails_leaves_the_call_to_the_cold_path(home: Home, error: type[BaseException]) -> None:
    def fails(*_request: Any) -> None:
        raise error

    with serving(home, fails):
        for _ in range(3 * server.WORKERS):  # and takes no worker with it
            assert home.ask("hook")[0] is None


def test_what_it_does_not_answer_starts_no_other_service(home: Home) -> None:
    with serving(home, lambda *_request: None):
        assert home.ask("hook") == (None, False)


def ends(made: Service) -> bool:
    return made._end.wait(30)


def test_it_ends_when_it_has_nothing_to_do(home: Home) -> None:
    with serving(home, idle=0.05) as made:
        assert ends(made)


def test_it_ends_when_it_has_answered_enough(home: Home) -> None:
    with serving(home, most=3) as made:
        assert [home.ask("hook")[0] is not None for _ in range(3)] == [True] * 3
        assert ends(made)


def test_it_ends_when_its_code_has_changed_and_does_not_answer_from_the_old(home: Home) -> None:
    code = Code()
    with serving(home, code=code) as made:
        assert home.ask("hook")[0] is not None
        code.same = False
        assert home.ask("hook")[0] is None
        assert ends(made)


@pytest.mark.parametrize("replace", [True, False], ids=["replaced", "gone"])
def test_it_ends_when_its_socket_is_another_or_gone_and_leaves_that_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    monkeypatch.setattr(server, "_LOOK_SECONDS", 0.02)
    with serving(home) as made:
        os.unlink(made.path)
        if replace:
            os.symlink("nowhere", made.path)
        assert ends(made)
        if replace:
            assert os.path.lexists(made.path)
            os.unlink(made.path)


def test_a_long_name_of_its_folder_is_no_hindrance(home: Home) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("long names need /proc")
    home.top = home.top / ("x" * 120)
    home.top.mkdir()
    home.environment["HOME"] = str(home.top)
    try:
        with serving(home):
            assert home.ask("hook")[0] is not None
    finally:
        home.top = home.top.parent


def test_many_at_once_get_their_own_answers(home: Home) -> None:
    def slowly(_words: list[str], _environment: Any, _folder: str, given: bytes) -> tuple[bytes, bytes, int]:
        return given, b"", 0

    with serving(home, slowly):
        found: dict[int, Any] = {}

        def ask(number: int) -> None:
            found[number] = home.ask("hook", given=b"%d" % number)[0]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(100)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert found == {number: (b"%d" % number, b"", 0) for number in range(100)}


def test_a_client_that_says_nothing_holds_up_nobody(home: Home) -> None:
    with serving(home) as made, contextlib.ExitStack() as stack:
        for _ in range(server.WORKERS - 1):
            silent = stack.enter_context(socket.socket(socket.AF_UNIX))
            silent.connect(made.path)
        started = time.monotonic()
        assert home.ask("hook")[0] is not None
        assert time.monotonic() - started < server._SECONDS
