"""What strace's lines say was done."""

from __future__ import annotations

import pytest

from oracle.tracer import events

HERE = "/home/dev/project"
START = '6 execve("/usr/bin/bash", ["bash", "-c", "x"], 0x7ffd /* 3 vars */) = 0\n'

LINES = {
    "a file is read": (
        f'6 openat(AT_FDCWD<{HERE}>, "a b", O_RDONLY|O_CLOEXEC) = 3<{HERE}/a b>',
        [("read", f"{HERE}/a b", f"{HERE}/a b")],
    ),
    "a link is followed by the kernel": (
        f'6 openat(AT_FDCWD<{HERE}>, "link", O_RDONLY) = 3</etc/motd>',
        [("read", f"{HERE}/link", "/etc/motd")],
    ),
    "a file that is not there is not read": (f'6 openat(AT_FDCWD<{HERE}>, "a", O_RDONLY) = -1 ENOENT (No such file)',
    []),
    "what the cage refuses was tried": (
        '6 openat(AT_FDCWD</>, "/etc/shadow", O_RDONLY) = -1 EACCES (Permission denied)',
        [("read", "/etc/shadow", "")],
    ),
    "a name in octal": (
        rf'6 openat(AT_FDCWD<{HERE}>, "\303\251\n\"", O_WRONLY|O_CREAT, 0666) = 3<{HERE}/\303\251\n">',
        [("write", f'{HERE}/é\n"', f'{HERE}/é\n"')],
    ),
    "both ways": (
        f'6 openat(AT_FDCWD<{HERE}>, "f", O_RDWR) = 3<{HERE}/f>',
        [("write", f"{HERE}/f", f"{HERE}/f"), ("read", f"{HERE}/f", f"{HERE}/f")],
    ),
    "below an open folder": (
        f'6 unlinkat(5<{HERE}/build>, "app.js", 0) = 0',
        [("delete", f"{HERE}/build/app.js", "")],
    ),
    "a folder is opened and not listed": (f'6 openat(AT_FDCWD<{HERE}>, ".", O_RDONLY|O_DIRECTORY) = 3<{HERE}>', []),
    "a folder is listed": (f"6 getdents64(3<{HERE}/src>, 0x55 /* 5 entries */, 32768) = 144", [("list", f"{HERE}/src",
    f"{HERE}/src")]),
    "renamed": ('6 rename("a", "b") = 0', [("delete", f"{HERE}/a", ""), ("write", f"{HERE}/b", "")]),
    "moved away first": ('6 chdir("src") = 0\n6 mkdir("q", 0777) = 0', [("mkdir", f"{HERE}/src/q", "")]),
    "a child goes where its parent was": (
        '7 mkdir("q", 0777) = 0\n6 clone(child_stack=NULL, flags=SIGCHLD) = 7',
        [("mkdir", f"{HERE}/q", "")],
    ),
    "a call that was interrupted": (
        '6 unlink("a" <unfinished ...>\n7 rmdir("x") = 0\n6 <... unlink resumed>) = 0',
        [("delete", f"{HERE}/x", ""), ("delete", f"{HERE}/a", "")],
    ),
    "a connection": (
        ('6 connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16)'
        ' = -1 ENETUNREACH (Network is unreachable)'),
        [("connect", "192.0.2.1 443", "")],
    ),
    "a socket of this machine": (
        '6 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/var/run/docker.sock"}, 23) = -1 ENOENT (No such file)',
        [("connect", "/var/run/docker.sock", "")],
    ),
    "an address to send from is no listening": (
        '6 bind(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("0.0.0.0")}, 16) = 0',
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), LINES.values(), ids=LINES.keys())
def test_a_call_is_read_as_what_it_does(lines: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(each.kind, each.path, each.led) for each in events(START + lines, HERE)] == expected


def test_a_program_knows_who_started_it() -> None:
    trace = START + '6 vfork() = 7\n7 execve("/usr/bin/ls", ["ls", "-l"], 0x55 /* 3 vars */) = 0\n'
    (started,) = events(trace, HERE)
    assert (started.frame.argv, started.frame.parent and started.frame.parent.argv) == (
        ("ls", "-l"),
        ("bash", "-c", "x"),
    )


def test_words_that_strace_cut_off_are_not_taken_for_all() -> None:
    trace = (
        START
        + '6 execve("/usr/bin/ls", ["ls", "a"...], 0x5) = 0\n'
        + '6 execve("/usr/bin/ls", ["ls", "a..."], 0x5) = 0\n'
    )
    assert [each.frame.whole for each in events(trace, HERE)] == [False, True]
