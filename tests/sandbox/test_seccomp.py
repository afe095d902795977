"""The filter of system calls: a table of calls run through an interpreter of its bytes, and the kernel's own word."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sandbox import seccomp
from gateway.sandbox.bpf import AND, AT_LEAST, EQUAL, JUMP, LOAD, RETURN, Assembly
from gateway.sandbox.seccomp import ALLOW, PERMITS, REFUSE, Refusal, compiled, filter_of, refusals
from gateway.sandbox.syscalls import ABSENT, MACHINES, NUMBERS

HIGH = 0xDEADBEEF << 32  # what a caller may leave in the upper half of an argument that the kernel takes as 32 bits


def answer(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the kernel would do: a run of the program over `struct seccomp_data`."""
    return run(program, audit, number, *arguments)[0]


def steps_of(program: bytes, audit: int, number: int) -> int:
    """How many instructions are run for a call whose arguments are all zero."""
    return run(program, audit, number)[1]


def run(program: bytes, audit: int, number: int, *arguments: int) -> tuple[int, int]:
    """The action, and the number of instructions that led to it."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=iIQ6Q", number - (1 << 32 if number >= 1 << 31 else 0), audit, 0, *padded)
    steps = list(struct.iter_unpack("=HBBI", program))
    place = accumulator = taken = 0
    while True:
        taken += 1
        code, yes, no, value = steps[place]
        place += 1
        if code == LOAD:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == AND:
            accumulator &= value
        elif code == JUMP:
            place += value
        elif code == EQUAL:
            place += yes if accumulator == value else no
        elif code == AT_LEAST:
            place += yes if accumulator >= value else no
        else:
            assert code == RETURN
            return value, taken


def said(machine: str, call: str, *arguments: int, permits: tuple[str, ...] = (), internet: bool = True) -> int:
    """The error that a call gets, 0 if it is let through."""
    audit, column = MACHINES[machine]
    number = NUMBERS.get(call, (ABSENT, ABSENT))[column]
    if number == ABSENT:
        pytest.skip(f"{machine} has no {call}")
    action = answer(filter_of(machine, permits, internet=internet), audit, number, *arguments)
    if action == ALLOW:
        return 0
    assert action & 0xFFFF0000 == REFUSE
    return action & 0xFFFF


EPERM, ENOSYS = errno.EPERM, errno.ENOSYS
TABLE = [
    ("typing into a terminal is refused", "ioctl", (0, 0x5412), EPERM),
    ("typing into a terminal is refused whatever the upper half holds", "ioctl", (0, HIGH | 0x5412), EPERM),
    ("the console's own requests are refused", "ioctl", (0, 0x541C), EPERM),
    ("another line discipline is refused", "ioctl", (0, 0x5423), EPERM),
    ("a string for a key of the console is refused", "ioctl", (0, 0x4B49), EPERM),
    ("the size of a terminal may be asked for", "ioctl", (0, 0x5413), 0),
    ("the modes of a terminal may be set", "ioctl", (0, 0x5402), 0),
    ("a plain mode is allowed", "chmod", (0, 0o755), 0),
    ("set-uid is refused", "chmod", (0, 0o4755), EPERM),
    ("set-gid is refused", "fchmod", (0, 0o2755), EPERM),
    ("a sticky folder is allowed", "fchmodat", (0, 0, 0o1777), 0),
    ("set-uid by folder descriptor is refused", "fchmodat", (0, 0, 0o4000), EPERM),
    ("set-uid by the newest call is refused", "fchmodat2", (0, 0, HIGH | 0o4000), EPERM),
    ("making a set-uid file is refused", "openat", (0, 0, 0o101, 0o4755), EPERM),
    ("making a nameless set-uid file is refused", "openat", (0, 0, 0o20200001, 0o4755), EPERM),
    ("opening without making ignores what would be the mode", "openat", (0, 0, 0, 0o4755), 0),
    ("making a plain file is allowed", "openat", (0, 0, 0o101, 0o644), 0),
    ("making a set-uid file by the old call is refused", "open", (0, 0o101, 0o6755), EPERM),
    ("making a set-uid file by the oldest call is refused", "creat", (0, 0o4755), EPERM),
    ("a mode behind a pointer does not exist", "openat2", (), ENOSYS),
    ("a pipe with a name is allowed", "mknodat", (0, 0, 0o010644), 0),
    ("a character device is refused", "mknodat", (0, 0, 0o020644), EPERM),
    ("a block device is refused", "mknod", (0, 0o060644), EPERM),
    ("a set-uid node is refused", "mknod", (0, 0o104755), EPERM),
    ("a thread is allowed", "clone", (0x3D0F00,), 0),
    ("a fork is allowed", "clone", (0x1200011,), 0),
    ("a child in a user namespace is refused", "clone", (0x10000011,), EPERM),
    ("a child in a mount namespace is refused", "clone", (0x20011,), EPERM),
    ("flags behind a pointer do not exist", "clone3", (), ENOSYS),
    ("leaving a namespace for users is refused", "unshare", (0x10000000,), EPERM),
    ("leaving a namespace for time is refused", "unshare", (0x80,), EPERM),
    ("leaving a shared folder is allowed", "unshare", (0x200,), 0),
    ("a unix socket is allowed", "socket", (1, 1, 0), 0),
    ("an internet socket is allowed", "socket", (2, 1, 0), 0),
    ("an internet socket is allowed whatever the upper half holds", "socket", (HIGH | 10, 2, HIGH | 17), 0),
    ("multipath is refused, and falls back", "socket", (2, 1, 262), errno.EPROTONOSUPPORT),
    ("an odd protocol is refused", "socket", (2, 5, 132), errno.EPROTONOSUPPORT),
    ("asking for routes is allowed", "socket", (16, 3, 0), 0),
    ("the kernel's audit is refused", "socket", (16, 3, 9), errno.EPROTONOSUPPORT),
    ("packets are refused", "socket", (17, 3, 0), errno.EAFNOSUPPORT),
    ("the way to the host of a machine is refused", "socket", (40, 1, 0), errno.EAFNOSUPPORT),
    ("the kernel's ciphers are refused", "socket", (38, 5, 0), errno.EAFNOSUPPORT),
    ("a pair of unix sockets is allowed", "socketpair", (1, 1, 0), 0),
    ("a pair of odd sockets is refused", "socketpair", (30, 1, 0), errno.EAFNOSUPPORT),
    ("rings are not there", "io_uring_setup", (), ENOSYS),
    ("keys are not there", "keyctl", (), ENOSYS),
    ("tracing is refused", "ptrace", (), EPERM),
    ("taking descriptors is refused", "pidfd_getfd", (), EPERM),
    ("files by handle are refused", "open_by_handle_at", (), EPERM),
    ("the new way to mount does not exist", "fsopen", (), ENOSYS),
    ("the old way to mount is refused", "mount", (), EPERM),
    ("setting the clock is refused", "clock_settime", (), EPERM),
    ("a small segment of shared memory is allowed", "shmget", (0, 0xFFFF, 0o1600), 0),
    ("a larger one is refused", "shmget", (0, 0x10000, 0o1600), errno.EINVAL),
    ("one whose size is all in the upper half is refused", "shmget", (0, 1 << 32, 0o1600), errno.EINVAL),
    ("finding one of any size is allowed", "shmget", (7, 0, 0), 0),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "call", "arguments", "error"), TABLE, ids=[each[0] for each in TABLE])
def test_a_call_gets_its_answer(machine: str, name: str, call: str, arguments: tuple[int, ...], error: int) -> None:
    assert (name, said(machine, call, *arguments)) == (name, error)


def holds(test: seccomp.Test, arguments: tuple[int, ...]) -> bool:
    word = arguments[test.argument] >> (32 if test.high else 0)
    return (word & 0xFFFFFFFF & test.mask in test.values) is not test.none_of


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("internet", [True, False], ids=["with internet sockets", "without"])
@pytest.mark.parametrize(
    "permits", [(), *((each,) for each in PERMITS), PERMITS], ids=lambda each: "+".join(each) or "none"
)
def test_every_number_is_answered_as_listed(machine: str, internet: bool, permits: tuple[str, ...]) -> None:
    """Over all numbers and some arguments: what is listed and only that, whatever else is permitted."""
    program = filter_of(machine, permits, internet=internet)
    audit, column = MACHINES[machine]
    listed: dict[int, list] = {}
    for each in refusals(permits, internet=internet):
        listed.setdefault(NUMBERS[each.call][column], []).append(each)
    words = [(0,) * 6, (1, 0x5412, 0o4755, 0o4755, 0, 0), (2, 0o101, 9, 0o6000, 0, 0), (16, 0, 0, 0, 0, 0)]
    for number in range(600):
        for arguments in words:
            wanted = ALLOW
            for each in listed.get(number, ()):
                if all(holds(test, arguments) for test in each.tests):
                    wanted = REFUSE | each.error
                    break
            assert (number, arguments, answer(program, audit, number, *arguments)) == (number, arguments, wanted)


TESTS = st.builds(
    seccomp.Test,
    st.integers(0, 5),
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    st.sampled_from([0xFFFFFFFF, 1, 2]),
    st.booleans(),
    st.booleans(),
)
REFUSALS = st.builds(
    Refusal, st.sampled_from(sorted(NUMBERS)), st.integers(1, 40), st.lists(TESTS, max_size=2).map(tuple)
)
WORDS = st.tuples(*[st.builds(lambda high, low: high << 32 | low, st.integers(0, 4), st.integers(0, 4))] * 6)


@given(st.sampled_from(sorted(MACHINES)), st.lists(REFUSALS, max_size=12), st.lists(WORDS, min_size=1, max_size=5))
def test_of_the_refusals_of_a_call_the_first_that_holds_answers(
    machine: str, listed: list[Refusal], words: list[tuple[int, ...]]
) -> None:
    program = compiled(machine, listed)
    audit, column = MACHINES[machine]
    for number in range(500):
        of_it = [each for each in listed if NUMBERS[each.call][column] == number]
        for arguments in words if of_it else words[:1]:
            wanted = ALLOW
            for each in of_it:
                if all(holds(test, arguments) for test in each.tests):
                    wanted = REFUSE | each.error
                    break
            assert (number, arguments, answer(program, audit, number, *arguments)) == (number, arguments, wanted)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_that_nothing_is_said_of_is_told_in_few_steps(machine: str) -> None:
    """The kernel tries every number there is whenever a command starts."""
    program = filter_of(machine)
    audit, column = MACHINES[machine]
    said = {NUMBERS[each.call][column] for each in refusals()}
    assert max(steps_of(program, audit, number) for number in range(500) if number not in said) < 16


@pytest.mark.parametrize("permit", PERMITS)
def test_a_permit_only_ever_leaves_out(permit: str) -> None:
    assert set(refusals((permit,))) < set(refusals())


def test_an_unknown_permit_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such permit: everything"):
        filter_of("x86_64", ("everything",))


def test_an_unknown_machine_is_an_error() -> None:
    with pytest.raises(KeyError):
        filter_of("pdp11")


def test_foreign_tables_of_calls_do_not_exist() -> None:
    refused = REFUSE | ENOSYS
    ours = filter_of("x86_64")
    assert answer(ours, 0x40000003, 20) == refused  # 32-bit
    assert answer(ours, MACHINES["x86_64"][0], 0x40000000 | 39) == refused  # x32
    assert answer(ours, MACHINES["x86_64"][0], 0xFFFFFFFF) == refused
    assert answer(filter_of("aarch64"), 0x40000028, 20) == refused


def test_without_internet_sockets_only_local_ones_are_left() -> None:
    found = [said("x86_64", "socket", family, 1, 0, internet=False) for family in (1, 2, 10, 16)]
    assert found == [0, errno.EAFNOSUPPORT, errno.EAFNOSUPPORT, errno.EAFNOSUPPORT]


def test_a_filter_goes_through_a_pipe_in_one_piece() -> None:
    sizes = [len(filter_of(machine, (), internet=flag)) for machine in MACHINES for flag in (True, False)]
    assert max(sizes) < 4096


def test_a_jump_must_go_forward_to_a_place_that_is_there() -> None:
    program = Assembly()
    program.label("start")
    program.equal(1, yes="start")
    with pytest.raises(ValueError, match="nowhere or backwards"):
        program.encoded()


def test_a_jump_must_not_go_too_far() -> None:
    program = Assembly()
    program.equal(1, yes="end")
    for _ in range(256):
        program.load(0)
    program.label("end")
    program.answer(ALLOW)
    with pytest.raises(ValueError, match="too far"):
        program.encoded()


LOADER = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
program = bytes.fromhex(sys.argv[1])
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
if program:
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0) == 0
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return ctypes.get_errno()
print([call(*map(int, each.split(","))) for each in sys.argv[2:]])
"""


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine not in MACHINES, reason="no filter for this machine")
def test_the_kernel_takes_it_and_says_the_same() -> None:
    column = MACHINES[os.uname().machine][1]
    # Calls that are harmless whether or not they are let through: their arguments make them fail otherwise.
    attempts = [
        ("keyctl", (99,)),
        ("ptrace", (99, 0, 0, 0)),
        ("io_uring_setup", (0, 0)),
        ("ioctl", (-1, 0x5412)),
        ("ioctl", (-1, 0x5413)),
        ("openat2", (-1, 0, 0, 0)),
        ("socketpair", (99, 0, 0, 0)),
        ("fchmod", (-1, 0o4755)),
        ("fchmod", (-1, 0o755)),
        ("setns", (-1, 0)),
    ]
    words = [",".join(map(str, (NUMBERS[call][column], *arguments))) for call, arguments in attempts]

    def run(program: bytes) -> list[int]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LOADER, program.hex(), *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return eval(done.stdout)

    wanted = [ENOSYS, EPERM, ENOSYS, EPERM, errno.EBADF, ENOSYS, errno.EAFNOSUPPORT, EPERM, errno.EBADF, EPERM]
    assert run(filter_of(os.uname().machine)) == wanted
    unguarded = run(b"")
    assert [unguarded[place] != wanted[place] for place in (3, 7, 9)] == [True, True, True]
