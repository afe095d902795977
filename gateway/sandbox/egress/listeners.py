"""Sockets inside a sandbox's network namespace, opened by a helper process and used from here."""

from __future__ import annotations

import array
import errno
import os
import socket
import subprocess
import sys
import threading

from gateway.core.programs import Untrusted, start
from gateway.sandbox.base import SandboxError
from gateway.sandbox.egress import nshelper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Wanted = tuple[str, str, int]  # `t` or `u`, address, port; `+`, address, 0

PATIENCE = 5.0


class Namespaces:
    """The helper process: started when it is first needed, once, and again should it die. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def start(self) -> None:
        """Starts the helper without waiting for it. Raises SandboxError."""
        with self._lock:
            self._running()

    def open(self, namespace: int, wanted: Sequence[Wanted]) -> list[socket.socket | None]:
        """Opens what is wanted in the network namespace behind a descriptor. Answers a socket, or None where it could
        not be opened, for each `t` and `u`, in order. Raises SandboxError."""
        text = "\n".join(f"{kind} {address} {port}" for kind, address, port in wanted).encode("ascii")
        answer, descriptors = self._asked(namespace, text, len(wanted))
        if not answer:  # it was ending when it was asked; another one is there for the second time
            answer, descriptors = self._asked(namespace, text, len(wanted))
        opened = [socket.socket(fileno=each) for each in descriptors]
        said = answer.decode("utf-8", "replace").split(" ")
        marks = said[1:]
        sockets = [mark for mark, (kind, _address, _port) in zip(marks, wanted, strict=False) if kind != "+"]
        if said[0] != "ok" or len(marks) != len(wanted) or sockets.count("1") != len(opened):
            for each in opened:
                each.close()
            reason = " ".join(marks) or "it ended"
            raise SandboxError(f"listeners could not be opened in the sandbox's network: {reason}")
        rest = iter(opened)
        return [next(rest) if mark == "1" else None for mark in sockets]

    def _asked(self, namespace: int, text: bytes, most: int) -> tuple[bytes, list[int]]:
        """What the helper answers, and the descriptors it hands over; nothing, and no helper, where it ended."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                used = self._send(text, [namespace, theirs.fileno()])
            ours.settimeout(PATIENCE)
            try:
                answer, descriptors, _flags, _from = socket.recv_fds(ours, nshelper.MAX_REQUEST, most)
                while ours.recv(1):
                    pass  # until the helper has let go, so that closing ours frees the ports
            except OSError as error:
                raise SandboxError(f"the helper that opens listeners in sandboxes did not answer: {error}") from None
        if not answer:
            with self._lock:
                if self._requests is used:
                    self._drop()
        return answer, descriptors

    def close(self) -> None:
        """Ends the helper. It starts again when it is needed again."""
        with self._lock:
            process, self._process = self._process, None
            requests, self._requests = self._requests, None
        if requests is not None:
            requests.close()
        if process is not None:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def forget(self) -> None:
        """In a fork of this process: the helper is the parent's."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        requests, self._requests = self._requests, None
        if process is not None:
            process.returncode = 0  # not our child: nothing to wait for
        if requests is not None:
            requests.close()

    def _send(self, text: bytes, descriptors: list[int]) -> socket.socket:
        """Sends a request; gives the socket of the helper that has it."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        for last in (False, True):
            with self._lock:
                requests = self._running()
                try:
                    requests.sendmsg([text], rights)
                    return requests
                except OSError as error:
                    if last or error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
                        raise SandboxError(f"the helper that opens listeners in sandboxes failed: {error}") from error
                    self._drop()
        raise AssertionError("the second try returns or raises")

    def _drop(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._requests = self._process = None

    def _running(self) -> socket.socket:
        if self._requests is not None:
            return self._requests
        if not sys.platform.startswith("linux") or not sys.executable:
            raise SandboxError(
                "listeners in a sandbox's network need Linux and a Python interpreter that knows its path"
            )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = start(
                    "python",
                    ["-I", "-S", "-B", os.path.abspath(nshelper.__file__), str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # a Ctrl-C at the terminal is not for it
                )
        except (OSError, Untrusted) as error:
            ours.close()
            raise SandboxError(f"the helper that opens listeners in sandboxes did not start: {error}") from error
        ours.settimeout(PATIENCE)
        self._requests = ours
        return ours


def network_of(pid: int) -> int:
    """A descriptor of the network namespace of a process, which must not be our own. Raises SandboxError."""
    try:
        found = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(f"the sandbox's network cannot be entered: {error.strerror}") from error
    try:
        there, here = os.fstat(found), os.stat("/proc/self/ns/net")
        if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            raise SandboxError("the process shares the gateway's own network, so nothing would hold it")
    except BaseException:
        os.close(found)
        raise
    return found
