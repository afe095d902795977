"""Attempts to get out through sockets, shared memory, queues, keys, descriptors and terminals."""

from __future__ import annotations

from gateway.sandbox.contract import Check

from .words import opens, python

_PY = ("python3",)
_ASK = "s.settimeout(5)\nsys.exit(s.recv(9) != b'answer')"

NETWORK = (
    Check(
        "the machine's loopback is reached by the second family",
        "network",
        python(f"s = socket.create_connection(('::1', int(os.environ['PORT6'])), 5)\n{_ASK}"),
        needs=("python3", "IPv6"),
    ),
    Check(
        "the machine is reached at its own address",
        "network",
        python(f"s = socket.create_connection((os.environ['ADDRESS'], int(os.environ['PORT_ANY'])), 5)\n{_ASK}"),
        needs=("python3", "an address"),
    ),
    Check(
        "the machine is reached at no address",
        "network",
        python(f"s = socket.create_connection(('0.0.0.0', int(os.environ['PORT_ANY'])), 5)\n{_ASK}"),
        needs=_PY,
    ),
    Check(
        "the machine is reached by an address of the other family",
        "network",
        python(f"s = socket.create_connection(('::ffff:127.0.0.1', int(os.environ['PORT_ANY'])), 5)\n{_ASK}"),
        needs=("python3", "IPv6"),
    ),
    Check(
        "data goes out with the first packet",
        "network",
        python("s = socket.socket()\ns.sendto(b'x', 0x20000000, ('127.0.0.1', int(os.environ['PORT_ANY'])))\n" + _ASK),
        needs=("python3", "fast open"),
    ),
    Check(
        "the machine is reached over several paths",
        "network",
        python(f"s = socket.socket(2, 1, 262)\ns.connect(('127.0.0.1', int(os.environ['PORT_ANY'])))\n{_ASK}"),
        needs=("python3", "MPTCP"),
    ),
    Check(
        "a packet reaches the machine",
        "network",
        python(
            f"s = socket.socket(2, 2)\ns.connect(('127.0.0.1', int(os.environ['PORT_UDP'])))\ns.send(b'ask')\n{_ASK}"
        ),
        needs=_PY,
    ),
    Check(
        "a packet leaves for another machine",
        "network",
        python("s = socket.socket(2, 2)\ns.connect(('192.0.2.1', 53))\ns.send(b'x')"),
        needs=("python3", "an address"),
    ),
    Check(
        "the machine's interfaces are seen",
        "network",
        "grep -vE '^ *lo:|face|Inter' /proc/net/dev",
        needs=("interfaces",),
    ),
    Check(
        "the machine's interfaces are asked for",
        "network",
        python("sys.exit(len(socket.if_nameindex()) < 2)"),
        needs=("python3", "interfaces"),
    ),
    Check("the machine's connections are seen", "network", 'grep -qi ":$(printf %04X "$PORT") " /proc/net/tcp'),
    Check("the machine's sockets are seen", "network", 'grep -q "@$ABSTRACT" /proc/net/unix'),
)
FAMILIES = (
    Check("a socket to the machine below is made", "sockets", opens(40), needs=("python3", "family 40")),
    Check("a socket for ciphers is made", "sockets", opens(38, 5), needs=("python3", "family 38 5")),
    Check(
        "a socket past the network's own stack is made",
        "sockets",
        opens(44, 3),
        needs=("root", "python3", "family 44 3"),
    ),
    Check(
        "a socket for packets of the line is made", "sockets", opens(17, 2), needs=("root", "python3", "family 17 2")
    ),
    Check(
        "a socket for packets of any kind is made",
        "sockets",
        opens(2, 3, 255),
        needs=("root", "python3", "family 2 3 255"),
    ),
    Check("a socket for echoes is made", "sockets", opens(2, 3, 1), needs=("root", "python3", "family 2 3 1")),
    Check("a socket for several paths is made", "sockets", opens(2, 1, 262), needs=("python3", "family 2 1 262")),
    Check("a socket for streams of messages is made", "sockets", opens(41, 5), needs=("python3", "family 41 5")),
    Check("a socket for clusters is made", "sockets", opens(30, 5), needs=("python3", "family 30 5")),
    Check("a socket for radio is made", "sockets", opens(31, 3, 1), needs=("root", "python3", "family 31 3 1")),
    Check("a socket for the bus of a car is made", "sockets", opens(29, 3, 1), needs=("python3", "family 29 3 1")),
    Check("a socket for the modem is made", "sockets", opens(42, 2), needs=("python3", "family 42 2")),
    Check("a socket for audits is made", "sockets", opens(16, 3, 9), needs=("python3", "family 16 3 9")),
)
NAMED = (
    Check(
        "a message is sent to a socket without a file",
        "sockets",
        python("s = socket.socket(1, 2)\ns.connect(chr(0) + os.environ['ABSTRACT'] + '-d')\ns.send(b'x')"),
        needs=_PY,
    ),
    Check(
        "a socket without a file is found by its short name",
        "sockets",
        python("s = socket.socket(1)\ns.connect(b'\\0' + os.environ['ABSTRACT'].encode())"),
        needs=_PY,
    ),
    Check(
        "a socket outside is reached through a link",
        "sockets",
        'ln -s "$OUTSIDE" l && ' + python("s = socket.socket(1)\ns.connect('l/socket')"),
        needs=_PY,
    ),
    Check(
        "a socket outside is reached through another process",
        "sockets",
        python("s = socket.socket(1)\ns.connect('/proc/' + os.environ['OUTSIDER'] + '/cwd/socket')"),
        needs=_PY,
    ),
)
SHARED = (
    Check(
        "shared memory outside is found",
        "shared memory",
        python("sys.exit(call(29, 194, int(os.environ['KEY']), 0, 0) < 0)"),
        needs=("python3", "System V"),
    ),
    Check(
        "semaphores outside are found",
        "shared memory",
        python("sys.exit(call(64, 190, int(os.environ['KEY']), 0, 0) < 0)"),
        needs=("python3", "System V"),
    ),
    Check(
        "a queue outside is found",
        "shared memory",
        python("sys.exit(call(68, 186, int(os.environ['KEY']), 0) < 0)"),
        needs=("python3", "System V"),
    ),
    Check(
        "the machine's shared memory is listed",
        "shared memory",
        "grep -q '[0-9]' /proc/sysvipc/shm",
        needs=("System V",),
    ),
    Check(
        "a file in the machine's shared memory is read",
        "shared memory",
        'cat "/dev/shm/$SHARED"',
        needs=("shared memory",),
    ),
    Check(
        "a queue for messages outside is opened",
        "shared memory",
        python("sys.exit(call(240, 180, os.environ['SHARED'].encode(), 0, 0, 0) < 0)"),
        needs=("python3", "queues"),
    ),
    Check(
        "a key outside is found",
        "keyrings",
        python("sys.exit(call(250, 219, 10, -4, b'user', b'gateway-attempt', 0) < 0)"),
        needs=("python3", "keys", "a key outside"),
    ),
    Check(
        "the session's keys are listed",
        "keyrings",
        python("sys.exit(call(250, 219, 11, -4, ctypes.create_string_buffer(64), 64) < 0)"),
        needs=("python3", "keys"),
    ),
)
DESCRIPTORS = (
    Check(
        "a file is made through an inherited descriptor",
        "descriptors",
        'echo owned > "/proc/self/fd/$FD/new"',
        "outside/new",
    ),
    Check(
        "a folder is entered by an inherited descriptor",
        "descriptors",
        python("os.fchdir(int(os.environ['FD']))\nopen('new', 'w').write('owned')"),
        "outside/new",
        needs=_PY,
    ),
    Check("an inherited descriptor is there", "descriptors", python("os.fstat(int(os.environ['FD']))"), needs=_PY),
    Check(
        "an inherited connection is used",
        "descriptors",
        python("os.write(int(os.environ['CONNECTION']), b'x')"),
        needs=_PY,
    ),
    Check(
        "more than the three usual descriptors are there",
        "descriptors",
        python("sys.exit(not [n for n in range(3, 999) if os.path.exists(f'/proc/self/fd/{n}') and n != 3])"),
        needs=_PY,
    ),
    Check(
        "a parent's descriptors are reached",
        "descriptors",
        python("n = os.environ['FD']\nsys.exit(not os.path.exists(f'/proc/{os.environ[\"GATEWAY\"]}/fd/{n}'))"),
        needs=_PY,
    ),
    Check("the caller's terminal is opened by its name", "terminals", 'echo x > "$TERMINAL"'),
    Check("the caller's terminal is found by its number", "terminals", 'test -e "$TERMINAL"'),
)
CHECKS = (*NETWORK, *FAMILIES, *NAMED, *SHARED, *DESCRIPTORS)
