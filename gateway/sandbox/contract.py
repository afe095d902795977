"""What every backend must hold, as data: attempts to get out, and ordinary uses that must go on working.

A check is a shell text that ends with status 0 if, and only if, what it tries worked. The same text runs twice: under a
backend, with the plan that `plan_of` makes for it, and without any (its twin). An attempt must fail under the backend
and work without, so that a check that cannot work at all is found; a use must work under both.

The world of a check is a fresh folder with `ws` (where it starts, writable), `outside` (not in the plan) and `home`
(HOME, private). What a text needs to know of it stands in its environment: OUTSIDE, OUTSIDER (a process outside that
belongs to the same user), PORT (a listener on the host's loopback), ABSTRACT (a socket without a file), FD (an
inheritable descriptor of `outside` that the gateway's process holds). The twin's environment and the gateway's also
hold SECRET, which no plan passes on.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan

SECRET = "for-nobody-inside"
FILES = (
    ("outside/secret", SECRET),
    ("outside/file", "as it was"),
    ("home/letter", SECRET),
    ("ws/file", "as it was"),
    ("ws/.env", SECRET),
    ("ws/deep/down/.env", SECRET),
    ("ws/vault/key", SECRET),
    ("ws/.git/config", "as it was"),
    ("ws/.git/hooks/sample", "as it was"),
)
_MOUNTS = (
    ("ws", WRITE, True),
    ("ws/.env", HIDDEN, False),
    ("ws/deep/down/.env", HIDDEN, False),
    ("ws/vault", HIDDEN, True),
    ("ws/.git/config", FIXED, False),
    ("ws/.git/hooks", FIXED, True),
)
_ABOUT = {HIDDEN: "hidden", FIXED: "protected"}


class Check(Value):
    """`proof`: a file of the world that must hold "owned" for the attempt to have worked, besides its status. `use`: an
    ordinary use. `hidden`: further paths of the host that the plan hides. `needs`: programs, and `root` or `user`.
    `twin`: another text for the run without a backend, where the same would not be fair or harm the machine."""

    name: str
    theme: str
    text: str
    proof: str = ""
    use: bool = False
    hidden: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    limits: Limits = Limits()
    needs: tuple[str, ...] = ()
    twin: str = ""


def plan_of(
    check: Check,
    top: str,
    system: tuple[Mount, ...],
    links: tuple[tuple[str, str], ...],
    environment: dict[str, str],
    *,
    least: bool = False,
) -> SandboxPlan:
    """The plan under which a check runs in the world at `top`. `least`: it hides and protects only what the check is
    about, for a backend that cannot do so with everything else."""
    mounts = {mount.path: mount for mount in system}
    mounts |= {
        f"{top}/{path}": Mount(f"{top}/{path}", access, folder)
        for path, access, folder in _MOUNTS
        if not least or access == WRITE or check.theme == _ABOUT[access]
    }
    mounts |= {path: Mount(path, HIDDEN, folder=False) for path in check.hidden}
    return SandboxPlan(
        tuple(mounts[path] for path in sorted(mounts)),
        links,
        private=("/tmp", f"{top}/home"),
        cwd=f"{top}/ws",
        environment=tuple(sorted(environment.items())),
        network=Network(),
        limits=check.limits,
        permits=check.permits,
    )


def worked(check: Check, status: int, found: str) -> bool:
    """Whether what the check tries worked. `found`: what its proof holds now, "" if there is no such file."""
    return status == 0 and (not check.proof or found.strip() == "owned")


def _python(text: str) -> str:
    return f"exec /usr/bin/python3 -I -S -c '{text}'"


def _call(number: str, *arguments: str) -> str:
    """A system call by number, the first for x86-64 and the second for aarch64."""
    return _python(
        "import ctypes, os, sys; c = ctypes.CDLL(None, use_errno=True); "
        f"n = dict(zip(('x86_64', 'aarch64'), ({number})))[os.uname().machine]; ".replace("'", '"')
        + f"sys.exit(c.syscall(n, {', '.join(arguments)}) < 0)"
    )


def _connect(family: str, address: str) -> str:
    return _python(f"import os, socket; socket.socket(socket.{family}).connect({address})")


_PY = ("python3",)
_SHADOW = "/etc/shadow"

FILE_ATTEMPTS = (
    Check("a file is made outside", "write", 'echo owned > "$OUTSIDE/new"', "outside/new"),
    Check(
        "a file outside is written through a link", "write", 'ln -s "$OUTSIDE/file" l && echo owned > l', "outside/file"
    ),
    Check("a file outside is written by climbing", "write", "echo owned > ../outside/new", "outside/new"),
    Check("a file outside is written by hard link", "write", 'ln "$OUTSIDE/file" l && echo owned > l', "outside/file"),
    Check(
        "a file outside is moved in and back",
        "write",
        'mv "$OUTSIDE/file" f && echo owned > f && mv f "$OUTSIDE/file"',
        "outside/file",
    ),
    Check("a file outside gets another mode", "write", 'chmod 777 "$OUTSIDE/file"'),
    Check("a file outside gets another time", "write", 'touch -c "$OUTSIDE/file" && test -e "$OUTSIDE/file"'),
    Check("a file outside is removed", "write", 'rm "$OUTSIDE/file"'),
    Check("something is left in HOME", "write", 'echo owned > "$HOME/new"', "home/new"),
    Check("a file outside is read", "read", 'cat "$OUTSIDE/secret"'),
    Check("a file outside is read through a link", "read", 'ln -s "$OUTSIDE/secret" l && cat l'),
    Check("a file in HOME is read", "read", 'cat "$HOME/letter"'),
    Check("a folder outside is listed", "read", 'ls "$OUTSIDE/"'),
    Check("a file is read through another process's root", "read", 'cat "/proc/$OUTSIDER/root$OUTSIDE/secret"'),
    Check("a file is read through another process's folder", "read", 'cat "/proc/$OUTSIDER/cwd/secret"'),
    Check("a file is read through an inherited descriptor", "descriptors", 'cat "/proc/self/fd/$FD/secret"'),
    Check("root's own file is read", "read", f"cat {_SHADOW}", hidden=(_SHADOW,), needs=("root",)),
    Check("a hidden file is read", "hidden", "cat .env"),
    Check("a hidden file is made readable", "hidden", "chmod 600 .env && cat .env"),
    Check("a hidden file is moved away", "hidden", "mv .env e && cat e"),
    Check("a hidden file is moved with its folder", "hidden", "mv deep d && cat d/down/.env"),
    Check("a hidden file gets a second name", "hidden", "ln .env e && cat e"),
    Check("a hidden folder is listed", "hidden", "ls vault"),
    Check("a file in a hidden folder is read", "hidden", "cat vault/key"),
    Check("a hidden folder is made readable", "hidden", "chmod 755 vault && cat vault/key"),
    Check("a hook is planted", "protected", "echo owned > .git/hooks/pre-commit", "ws/.git/hooks/pre-commit"),
    Check("a protected file is written", "protected", "echo owned > .git/config", "ws/.git/config"),
    Check("a protected file is replaced", "protected", "echo owned > n && mv n .git/config", "ws/.git/config"),
    Check(
        "a protected file is written by hard link", "protected", "ln .git/config l && echo owned > l", "ws/.git/config"
    ),
    Check("a protected file is removed", "protected", "rm -f .git/config && test ! -e .git/config"),
    Check(
        "a protected folder is exchanged with its parent",
        "protected",
        "mv .git away && mkdir -p .git/hooks && echo owned > .git/hooks/pre-commit",
        "ws/.git/hooks/pre-commit",
    ),
    Check("a protected folder is moved", "protected", "mv .git/hooks .git/away"),
    Check("a file gets the right of its owner", "set-id", "chmod u+s file"),
    Check("a file gets the right of its group", "set-id", "chmod g+s file"),
    Check(
        "a file is made with the right of its owner",
        "set-id",
        _python('import os; os.umask(0); os.close(os.open("s", 66, 0o4755))'),
        needs=_PY,
    ),
    Check("a device is made", "devices", "mknod d c 1 3", needs=("root", "mknod")),
)
KERNEL_ATTEMPTS = (
    Check("core_pattern is opened for writing", "kernel", "true >> /proc/sys/kernel/core_pattern", needs=("root",)),
    Check(
        "the keys of the kernel's emergencies are reached",
        "kernel",
        "true >> /proc/sysrq-trigger",
        needs=("root", "sysrq"),
    ),
    Check("the kernel's log is read", "kernel", "dmesg > log", needs=("root", "dmesg")),
    Check("the host is renamed", "kernel", 'hostname "$(hostname)"', needs=("root", "hostname")),
    Check("a file system is mounted", "mounts", "mkdir m && mount -t tmpfs t m && umount m", needs=("root", "mount")),
    Check("a file system is mounted in a namespace", "mounts", "unshare -Um true", needs=("unshare",)),
    Check("the root is changed", "mounts", "chroot / true", needs=("root", "chroot")),
    Check(
        "a mount is made writable",
        "mounts",
        "mount -o remount,bind,rw / && touch /x",
        needs=("root", "mount"),
        twin="true",
    ),
    Check("a mask is taken off", "mounts", "umount .env && cat .env", needs=("root", "umount"), twin="cat .env"),
    Check("a namespace for users is made", "namespaces", "unshare -U true", needs=("unshare",)),
    Check("a namespace is entered", "namespaces", "nsenter --uts=/proc/self/ns/uts true", needs=("root", "nsenter")),
    Check("another process is seen", "processes", 'test -e "/proc/$OUTSIDER"'),
    Check("another process is signalled", "processes", 'kill -0 "$OUTSIDER"'),
    Check("another process's environment is read", "processes", 'cat "/proc/$OUTSIDER/environ"'),
    Check("a process is traced", "processes", _call("101, 117", "0, 0, 0, 0"), needs=_PY),
    Check("a key is left with the kernel", "kernel", _call("248, 217", 'b"user", b"gateway", b"x", 1, -2'), needs=_PY),
    Check("memory is watched by the program itself", "kernel", _call("323, 282", "1"), needs=("root", "python3")),
    Check(
        "a secret is found in an environment", "environment", 'cat /proc/[0-9]*/environ 2>/dev/null | grep -q "SECRET="'
    ),
    Check(
        "the host's loopback is reached", "network", "exec bash -c 'echo > /dev/tcp/127.0.0.1/$PORT'", needs=("bash",)
    ),
    Check(
        "a socket without a file is reached",
        "sockets",
        _connect("AF_UNIX", 'chr(0) + os.environ["ABSTRACT"]'),
        needs=_PY,
    ),
    Check(
        "a socket outside is reached", "sockets", _connect("AF_UNIX", 'os.environ["OUTSIDE"] + "/socket"'), needs=_PY
    ),
    Check(
        "the kernel's ciphers are reached",
        "sockets",
        _python("import socket; socket.socket(38, 5, 0)"),
        needs=("python3", "af_alg"),
    ),
    Check(
        "every packet is read",
        "sockets",
        _python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)"),
        needs=("root", "python3"),
    ),
)
USES = (
    Check(
        "files are written, moved, linked and removed",
        "use",
        "echo a > a && mv a b && ln b c && ln -s c d && cat d && rm a b c d || test ! -e b",
        use=True,
    ),
    Check("a protected file is read", "use", "cat .git/config .git/hooks/sample", use=True),
    Check("temporary files work", "use", 'f=$(mktemp) && echo x > "$f" && cat "$f" && rm "$f"', use=True),
    Check("HOME is writable", "use", 'echo x > "$HOME/new" && cat "$HOME/new"', use=True),
    Check("pipes and jobs work", "use", "sleep 0 & echo a | cat | grep -q a && wait", use=True),
    Check(
        "devices for nothing and chance work",
        "use",
        "head -c 8 /dev/urandom > /dev/null && echo x > /dev/null",
        use=True,
    ),
    Check("errors can be written by name", "use", "echo x > /dev/stderr", use=True),
    Check("its own processes are seen and ended", "use", "sleep 100 & kill $! && ! wait $!", use=True),
    Check(
        "git commits",
        "use",
        "cd deep && git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log",
        use=True,
        needs=("git",),
    ),
    Check(
        "a program is compiled and run",
        "use",
        "printf 'int main(void){return 0;}' > m.c && gcc -o m m.c && ./m",
        use=True,
        needs=("gcc",),
    ),
    Check(
        "a server answers on its own loopback",
        "use",
        _python(
            'import socket, threading; s = socket.create_server(("127.0.0.1", 0)); '
            'threading.Thread(target=lambda: s.accept()[0].sendall(b"x")).start(); '
            'assert socket.create_connection(s.getsockname()).recv(1) == b"x"'
        ),
        use=True,
        needs=_PY,
    ),
    Check(
        "a socket in the workspace works",
        "use",
        _python('import socket; s = socket.socket(1); s.bind("s"); s.listen(); socket.socket(1).connect("s")'),
        use=True,
        needs=_PY,
    ),
    Check(
        "semaphores shared by processes work",
        "use",
        "exec /usr/bin/python3 -c 'import multiprocessing as m; m.get_context(\"fork\").Lock().acquire()'",
        use=True,
        needs=_PY,
    ),
    Check(
        "processes are traced where that is permitted",
        "use",
        "strace -o trace true && test -s trace",
        use=True,
        permits=("ptrace",),
        needs=("strace",),
    ),
    Check(
        "namespaces are made where that is permitted",
        "use",
        "unshare -U true",
        use=True,
        permits=("namespaces",),
        needs=("unshare",),
    ),
)
CHECKS = FILE_ATTEMPTS + KERNEL_ATTEMPTS + USES

__all__ = ["CHECKS", "FILES", "READ", "SECRET", "Check", "plan_of", "worked"]
