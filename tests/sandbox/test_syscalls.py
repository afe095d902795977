"""The numbers of system calls agree with the kernel's headers and libseccomp, where those are installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.sandbox.syscalls import ABSENT, MACHINES, NUMBERS

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),  # aarch64 uses the generic table as it is
}


@pytest.mark.parametrize("machine", MACHINES)
def test_they_agree_with_the_headers(machine: str) -> None:
    path = next((Path(each) for each in HEADERS[machine] if Path(each).exists()), None)
    if path is None:
        pytest.skip("the kernel's headers are not installed")
    there = {
        name: int(number) for name, number in re.findall(r"#define __NR3?_?(?:3264_)?(\w+) (\d+)", path.read_text())
    }
    column = MACHINES[machine][1]
    ours = {name: numbers[column] for name, numbers in NUMBERS.items() if numbers[column] != ABSENT}
    assert {name: there[name] for name in ours if name in there} == {n: k for n, k in ours.items() if n in there}
    assert len(set(ours) & set(there)) > 50


@pytest.mark.parametrize("machine", MACHINES)
def test_they_agree_with_libseccomp(machine: str) -> None:
    seccomp = pytest.importorskip("pyseccomp", reason="pyseccomp is not installed", exc_type=ImportError)
    arch = {"x86_64": seccomp.Arch.X86_64, "aarch64": seccomp.Arch.AARCH64}[machine]
    column = MACHINES[machine][1]
    for name, numbers in NUMBERS.items():
        known = seccomp.resolve_syscall(arch, name)
        if known == -1:  # newer than the library
            continue
        assert (name, numbers[column]) == (name, known if known >= 0 else ABSENT)


def test_no_number_is_used_twice() -> None:
    for _code, column in MACHINES.values():
        numbers = [each[column] for each in NUMBERS.values() if each[column] != ABSENT]
        assert len(numbers) == len(set(numbers))
