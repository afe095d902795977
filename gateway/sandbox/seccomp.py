"""The seccomp filter: which system calls no confined command may make, whatever its files and namespaces allow.

A list of refusals, since programs use hundreds of harmless calls and new ones appear with every kernel: what is on it
lets a process change its surroundings (mounts, namespaces, other processes, the terminal), leave something behind that
outlives the sandbox (set-id files, keys), or reach parts of the kernel that ordinary work does not need. Errors are
those after which programs fall back: "no such call" for new interfaces, "not permitted" for old ones.

Arguments that the kernel takes as 32 bits are compared as 32 bits, so that junk in the upper half changes nothing.
Pure: the same machine and options give the same bytes. What a 32-bit program or the x32 table asks for does not exist.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.sandbox.bpf import ARCHITECTURE, NEXT, NUMBER, Assembly
from gateway.sandbox.syscalls import ABSENT, MACHINES, NUMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ALLOW, REFUSE, TELL = 0x7FFF0000, 0x00050000, 0x7FC00000
EPERM, EINVAL, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP, EAFNOSUPPORT = 1, 22, 38, 93, 95, 97
X32 = 0x40000000
WHOLE = 0xFFFFFFFF
_FEW = 4  # numbers that are compared one by one
_ALLOWED = "allowed"

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
PERMITS = ("ptrace", "perf", "namespaces")
TOLD = -1  # as an error: none, somebody outside is told before the call goes on


class Test(Value):
    """Holds when the argument, its low half masked (or its high one), is one of the values (or none of them)."""

    argument: int
    values: tuple[int, ...]
    mask: int = WHOLE
    none_of: bool = False
    high: bool = False


class Refusal(Value):
    """A call that is refused when all tests hold. `permit`: the name that leaves it out."""

    call: str
    error: int
    tests: tuple[Test, ...] = ()
    permit: str = ""


def _any_bit(argument: int, mask: int) -> Test:
    return Test(argument, (0,), mask, none_of=True)


# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. The flag for time namespaces is part of clone's exit
# signal, so only unshare knows it.
_SPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_TIME_SPACE = 0x80
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE: only with these is there a mode
_KIND, _CHARACTER, _BLOCK = 0o170000, 0o020000, 0o060000
# Typing into a terminal, its console and line discipline, hanging it up; keyboard maps, function keys and accents of a
# virtual console, which type on behalf of the person at it.
_TERMINAL = (0x5412, 0x541C, 0x541D, 0x5423, 0x5437, 0x4B47, 0x4B49, 0x4B4B, 0x4B4D, 0x4BFB)
# Segments of System V's shared memory stay when nobody has them any more, and no process then shows them. There are at
# most 4,096, so that all of them together stay small where each does.
_SMALL_SEGMENT = 0xFFFF
_INTERNET = (0, 1, 6, 17, 58)  # default, ICMP, TCP, UDP, ICMPv6; what is left of it falls back to plain TCP

_NOT_PERMITTED = (
    "open_by_handle_at", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "swapon",
    "swapoff", "reboot", "clock_settime", "clock_adjtime", "settimeofday", "adjtimex", "syslog", "quotactl",
    "quotactl_fd", "acct", "sethostname", "setdomainname", "iopl", "ioperm", "vhangup", "lookup_dcookie", "pidfd_getfd",
    "bpf", "userfaultfd",
)  # fmt: skip
_NO_SUCH_CALL = (
    "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key", "request_key", "_sysctl", "uselib",
    "nfsservctl", "openat2",  # its mode is behind a pointer, where no filter sees it
)  # fmt: skip
# As on a file system without them, which programs that copy put up with. Of a file in memory nothing bounds them.
_NO_ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "setxattrat")
_BY_PERMIT = (
    *(Refusal(call, EPERM, (), "ptrace") for call in ("ptrace", "process_vm_readv", "process_vm_writev", "kcmp")),
    Refusal("perf_event_open", EPERM, (), "perf"),
    *(Refusal(call, EPERM, (), "namespaces") for call in ("mount", "umount2", "pivot_root", "chroot", "setns")),
    *(
        Refusal(call, ENOSYS, (), "namespaces")
        for call in (
            "clone3", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr", "move_mount",
            "mount_setattr",
        )
    ),
    Refusal("clone", EPERM, (_any_bit(0, _SPACES),), "namespaces"),
    Refusal("unshare", EPERM, (_any_bit(0, _SPACES | _TIME_SPACE),), "namespaces"),
)  # fmt: skip
_BY_ARGUMENT = (
    Refusal("ioctl", EPERM, (Test(1, _TERMINAL),)),
    Refusal("open", EPERM, (_any_bit(1, _CREATES), _any_bit(2, _SET_ID))),
    Refusal("openat", EPERM, (_any_bit(2, _CREATES), _any_bit(3, _SET_ID))),
    Refusal("creat", EPERM, (_any_bit(1, _SET_ID),)),
    Refusal("chmod", EPERM, (_any_bit(1, _SET_ID),)),
    Refusal("fchmod", EPERM, (_any_bit(1, _SET_ID),)),
    Refusal("fchmodat", EPERM, (_any_bit(2, _SET_ID),)),
    Refusal("fchmodat2", EPERM, (_any_bit(2, _SET_ID),)),
    Refusal("mknod", EPERM, (_any_bit(1, _SET_ID),)),
    Refusal("mknod", EPERM, (Test(1, (_CHARACTER, _BLOCK), _KIND),)),
    Refusal("mknodat", EPERM, (_any_bit(2, _SET_ID),)),
    Refusal("mknodat", EPERM, (Test(2, (_CHARACTER, _BLOCK), _KIND),)),
    Refusal("shmget", EINVAL, (_any_bit(1, WHOLE ^ _SMALL_SEGMENT),)),
    Refusal("shmget", EINVAL, (Test(1, (0,), none_of=True, high=True),)),
)


def refusals(permits: Iterable[str] = (), *, internet: bool = True) -> tuple[Refusal, ...]:
    """All of them. `permits`: names from `PERMITS` that leave some out. `internet` False: also no socket but those
    between processes of this machine, for a sandbox without a network of its own."""
    left_out = frozenset(permits)
    unknown = left_out.difference(PERMITS)
    if unknown:
        raise ValueError(f"no such permit: {', '.join(sorted(unknown))} (there are {', '.join(PERMITS)})")
    families = (UNIX, INET, INET6, NETLINK) if internet else (UNIX,)
    sockets: tuple[Refusal, ...] = tuple(
        Refusal(call, EAFNOSUPPORT, (Test(0, families, none_of=True),)) for call in ("socket", "socketpair")
    )
    if internet:
        sockets += (
            Refusal("socket", EPROTONOSUPPORT, (Test(0, (NETLINK,)), Test(2, (0,), none_of=True))),
            Refusal("socket", EPROTONOSUPPORT, (Test(0, (INET, INET6)), Test(2, _INTERNET, none_of=True))),
        )
    return (
        *_BY_ARGUMENT,
        *sockets,
        *(each for each in _BY_PERMIT if each.permit not in left_out),
        *(Refusal(call, EPERM) for call in _NOT_PERMITTED),
        *(Refusal(call, EOPNOTSUPP) for call in _NO_ATTRIBUTES),
        *(Refusal(call, ENOSYS) for call in _NO_SUCH_CALL),
    )


def filter_of(machine: str, permits: Iterable[str] = (), *, internet: bool = True) -> bytes:
    """The filter for a machine as `os.uname` names it, ready for the kernel. Raises KeyError for one that is not known,
    ValueError for an unknown permit."""
    return compiled(machine, refusals(permits, internet=internet))


# What can change a file, its name or its mode: what opens for writing may change what it opens, by a map of it;
# the rest acts on names. Times, owners and extended attributes are not told of: nobody takes those back.
_WRITES = 0o3 | 0o100 | 0o1000  # to write, or to read and write; O_CREAT; O_TRUNC
CHANGES = (
    Refusal("open", TOLD, (_any_bit(1, _WRITES),)),
    Refusal("openat", TOLD, (_any_bit(2, _WRITES),)),
    *(
        Refusal(call, TOLD)
        for call in (
            "creat", "truncate", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat",
            "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "fchmodat2",
            "bind",
        )
    ),
)  # fmt: skip


def changes_of(machine: str) -> bytes:
    """A second filter, beside the one of refusals, by which somebody outside is told of every call that can change
    files, before it is made. Raises KeyError for a machine that is not known."""
    return compiled(machine, CHANGES)


def names_of(machine: str) -> bytes:
    """The same of names alone that become others or come to be of what has one, as a layer does that otherwise than a
    folder. Raises KeyError for a machine that is not known."""
    return compiled(machine, [each for each in CHANGES if each.call.startswith(("rename", "link"))])


def compiled(machine: str, listed: Iterable[Refusal]) -> bytes:
    """Refusals as a program: of those of one call the first whose tests all hold answers, else the call is allowed.

    Short, and few steps to every answer: the kernel translates it, and runs it for each call there is, whenever a
    command starts."""
    code, column = MACHINES[machine]
    by_number: dict[int, list[Refusal]] = {}
    for each in listed:
        number = NUMBERS[each.call][column]
        if number != ABSENT:
            by_number.setdefault(number, []).append(each)
    program = Assembly()
    program.load(ARCHITECTURE)
    program.equal(code, no=_error(ENOSYS))
    program.load(NUMBER)
    if machine == "x86_64":
        program.at_least(X32, yes=_error(ENOSYS))
    _sought(program, sorted(by_number), by_number)
    for number, each_of in by_number.items():
        if each_of[0].tests:
            program.label(f"tests of {number}")
            _tested(program, number, each_of)
    for error in sorted({ENOSYS, *[each.error for each_of in by_number.values() for each in each_of]}):
        program.label(_error(error))
        program.answer(TELL if error == TOLD else REFUSE | error)
    program.label(_ALLOWED)
    program.answer(ALLOW)
    return program.encoded()


def _error(number: int) -> str:
    return f"error {number}"


def _sought(program: Assembly, numbers: list[int], by_number: dict[int, list[Refusal]]) -> None:
    """Goes to what is said of the number that was loaded."""
    if len(numbers) > _FEW:
        middle = len(numbers) // 2
        upper = f"from {numbers[middle]}"
        program.at_least(numbers[middle], yes=upper)
        _sought(program, numbers[:middle], by_number)
        program.label(upper)
        _sought(program, numbers[middle:], by_number)
        return
    for number in numbers:
        first = by_number[number][0]
        said = f"tests of {number}" if first.tests else _error(first.error)
        program.equal(number, yes=said, no=_ALLOWED if number == numbers[-1] else NEXT)
    if not numbers:
        program.jump(_ALLOWED)


def _tested(program: Assembly, number: int, listed: list[Refusal]) -> None:
    """What becomes of one call, by its arguments."""
    for place, each in enumerate(listed):
        silent = f"{number} silent {place}" if place + 1 < len(listed) else _ALLOWED
        for step, test in enumerate(each.tests):
            last = step + 1 == len(each.tests)
            held = _error(each.error) if last else f"{number} held {place}.{step}"
            among, other = (silent, held) if test.none_of else (held, silent)
            program.load(16 + 8 * test.argument + (4 if test.high else 0))
            if test.mask != WHOLE:
                program.keep(test.mask)
            for value in test.values[:-1]:
                program.equal(value, yes=among)
            program.equal(test.values[-1], yes=among, no=other)
            if not last:
                program.label(held)
        if not each.tests:
            program.jump(_error(each.error))
        if silent != _ALLOWED:
            program.label(silent)
