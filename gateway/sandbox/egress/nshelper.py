"""Opens sockets inside the network namespace of a sandbox, and hands their descriptors back.

A program of its own, run as `python -I -S nshelper.py DESCRIPTOR`: only a process with one thread may enter another
user namespace, and it can never return from it. So this one keeps a few forks of itself waiting. The kernel gives each
request to one of them; it enters, opens, answers and ends, and another takes its place. When the gateway is gone,
however it ended, reading the descriptor ends and everything here does.

A request carries two descriptors, the network namespace and the socket for the answer, and lines of text:
`+ ADDRESS` adds an address to the loopback device, `t ADDRESS PORT` listens, `u ADDRESS PORT` binds for datagrams.
The answer carries one descriptor for each `t` and `u` that worked, and one line: `ok` and a `1` or `0` for each
of the request's lines, or `error` and why.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WAITING = 2
GONE, BROKEN = 3, 4
BACKLOG = 128
NS_GET_USERNS = 0xB701
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
IP_FREEBIND, IPV6_FREEBIND = 15, 78
SCM_RIGHTS = 1
MAX_REQUEST = 16384


def _setns() -> Callable[[int, int], None]:
    direct = getattr(os, "setns", None)
    if direct is not None:
        return direct  # type: ignore[no-any-return]
    import ctypes

    function = ctypes.CDLL(None, use_errno=True).setns

    def setns(fd: int, kind: int) -> None:
        if function(fd, kind):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return setns


def enter(setns: Callable[[int, int], None], namespace: int) -> None:
    """Enters a network namespace by way of the user namespace that owns it, which may lie above that of the processes
    in it."""
    owner = fcntl.ioctl(namespace, NS_GET_USERNS)
    here = os.stat("/proc/self/ns/user")
    there = os.fstat(owner)
    if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
        setns(owner, CLONE_NEWUSER)
    setns(namespace, CLONE_NEWNET)


def add_address(text: str) -> None:
    """`ip address add ADDRESS dev lo`."""
    family = _socket.AF_INET6 if ":" in text else _socket.AF_INET
    packed = _socket.inet_pton(family, text)
    attributes = b""
    for kind in (1, 2):  # IFA_ADDRESS, IFA_LOCAL
        attributes += (4 + len(packed)).to_bytes(2, sys.byteorder) + kind.to_bytes(2, sys.byteorder) + packed
    body = bytes((family, len(packed) * 8, 0, 254)) + (1).to_bytes(4, sys.byteorder) + attributes
    # RTM_NEWADDR with NLM_F_REQUEST, NLM_F_ACK and NLM_F_CREATE; 254: host scope; 1: the loopback device
    head = (16 + len(body)).to_bytes(4, sys.byteorder) + (20).to_bytes(2, sys.byteorder)
    head += (0x1 | 0x4 | 0x400).to_bytes(2, sys.byteorder) + (1).to_bytes(4, sys.byteorder) + bytes(4)
    link = _socket.socket(16, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, 0)  # AF_NETLINK, NETLINK_ROUTE
    try:
        link.send(head + body)
        answer = link.recv(4096)
    finally:
        link.close()
    number = -int.from_bytes(answer[16:20], sys.byteorder, signed=True)
    if number not in (0, 17):  # EEXIST
        raise OSError(number, os.strerror(number))


def open_socket(kind: str, address: str, port: int) -> _socket.socket:
    """A socket that listens (`t`, TCP) or is bound (else UDP) at an address of the namespace that this process is in,
    even while nobody has that address yet. Raises OSError."""
    family = _socket.AF_INET6 if ":" in address else _socket.AF_INET
    found = _socket.socket(family, (_socket.SOCK_STREAM if kind == "t" else _socket.SOCK_DGRAM) | _socket.SOCK_CLOEXEC)
    # The sandbox may be setting up its loopback device at this very moment.
    if family == _socket.AF_INET:
        found.setsockopt(_socket.IPPROTO_IP, IP_FREEBIND, 1)
    else:
        found.setsockopt(_socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        found.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 1)
    if kind == "t":  # connections of an earlier call in the same network may linger
        found.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    found.setblocking(False)
    found.bind((address, port))
    if kind == "t":
        found.listen(BACKLOG)
    return found


def perform(setns: Callable[[int, int], None], namespace: int, lines: list[str]) -> tuple[str, list[_socket.socket]]:
    """Does what the lines of a request say in a network namespace: the answer, `ok` and a digit for each line, 1 where
    it was done, and the sockets in the order of the lines that opened one. Raises OSError where the namespace cannot be
    entered, ValueError and IndexError for a line that is none."""
    enter(setns, namespace)
    said, opened = ["ok"], []
    for line in lines:
        kind, address, *port = line.split(" ")
        try:
            if kind == "+":
                add_address(address)
            else:
                opened.append(open_socket(kind, address, int(port[0])))
            said.append("1")
        except OSError:
            said.append("0")
    return " ".join(said), opened


def answer(setns: Callable[[int, int], None], requests: _socket.socket) -> int:
    """Waits for one request and answers it: the status to end with."""
    data, rights, _flags, _from = requests.recvmsg(MAX_REQUEST, _socket.CMSG_SPACE(2 * 4), _socket.MSG_CMSG_CLOEXEC)
    if not data:
        return GONE
    received = rights[0][2] if rights else b""
    if len(received) != 8:
        return BROKEN
    namespace, reply = (int.from_bytes(received[at : at + 4], sys.byteorder) for at in (0, 4))
    back = _socket.socket(fileno=reply)
    opened: list[_socket.socket] = []
    try:
        text, opened = perform(setns, namespace, data.decode("ascii").split("\n"))
    except (OSError, ValueError, IndexError) as error:
        text = f"error {error}"
    handed = b"".join(each.fileno().to_bytes(4, sys.byteorder) for each in opened)
    back.sendmsg([text.encode()], [(_socket.SOL_SOCKET, SCM_RIGHTS, handed)] if handed else [])
    for each in opened:
        each.close()
    back.close()  # says that the gateway's descriptors are the only ones now
    return 0


def main(descriptor: int) -> int:
    """Answers requests that come over a socket, each in a fork that goes into its namespace: the status to end with, 0
    once nobody can send any more."""
    requests = _socket.socket(fileno=descriptor)
    setns = _setns()
    waiting = failed = 0
    while failed < 100:
        while waiting < WAITING:
            if os.fork() == 0:
                status = BROKEN
                try:
                    status = answer(setns, requests)
                finally:
                    os._exit(status)
            waiting += 1
        _pid, status = os.wait()
        waiting -= 1
        ended = os.waitstatus_to_exitcode(status)
        if ended == GONE:
            return 0
        failed = failed + 1 if ended else 0
    return 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
