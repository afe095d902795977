"""Attempts to take more than a call's bounds allow. Each leaves a file when it got what it wanted."""

from __future__ import annotations

from gateway.model.plan import Limits
from gateway.sandbox.contract import Check

from .words import python

_PY = ("python3",)
_DONE = "\nopen('got', 'w').write('owned')"
_MIB = 1 << 20


def _forks(number: int) -> str:
    """So many processes at a time, ended before this one goes on; each is one more than the bound counts."""
    return (
        "import signal\nr, w = os.pipe()\nfound = []\n"
        f"for n in range({number}):\n    pid = os.fork()\n"
        "    if not pid:\n        os.close(w)\n        os.read(r, 1)\n        os._exit(0)\n    found.append(pid)\n"
        "os.close(w)\n[os.waitpid(each, 0) for each in found]"
    )


CHECKS = (
    Check(
        "600 processes run at a time",
        "limits",
        python(_forks(600) + _DONE),
        "ws/got",
        limits=Limits(processes=100),
        needs=_PY,
    ),
    Check(
        "processes leave for sessions of their own",
        "limits",
        python(_forks(200).replace("os.read", "os.setsid(); os.read") + _DONE),
        "ws/got",
        limits=Limits(processes=50),
        needs=_PY,
    ),
    Check(
        "1.5 GiB are used by one process",
        "limits",
        python(f"b = bytearray({1536 * _MIB})\nb[::4096] = bytes(len(b) // 4096){_DONE}"),
        "ws/got",
        limits=Limits(memory=256 * _MIB),
        needs=("python3", "2 GiB of memory"),
    ),
    Check(
        "memory is used by several processes",
        "limits",
        python(
            "r, w = os.pipe()\na, b = os.pipe()\n"
            "for n in range(4):\n"
            "    if not os.fork():\n"
            "        os.close(w)\n"
            f"        m = bytearray({200 * _MIB})\n"
            "        m[::4096] = bytes(len(m) // 4096)\n"
            "        os.write(b, b'x')\n        os.read(r, 1)\n        os._exit(0)\n"
            "for n in range(4): assert os.read(a, 1)" + _DONE
        ),
        "ws/got",
        limits=Limits(memory=300 * _MIB),
        needs=("python3", "2 GiB of memory"),
    ),
    Check(
        "memory is used by files in /tmp",
        "limits",
        "head -c 41943040 /dev/zero > /tmp/gateway-attempt && rm /tmp/gateway-attempt && echo owned > got",
        "ws/got",
        limits=Limits(memory=16 * _MIB),
    ),
    Check(
        "memory is used by shared files",
        "limits",
        "head -c 314572800 /dev/zero > /dev/shm/gateway-attempt && rm /dev/shm/gateway-attempt && echo owned > got",
        "ws/got",
        limits=Limits(memory=64 * _MIB),
        needs=("shared memory",),
    ),
    Check(
        "two seconds of the processor are used",
        "limits",
        python("import time\nwhile time.process_time() < 2: pass" + _DONE),
        "ws/got",
        limits=Limits(cpu_seconds=1),
        needs=_PY,
    ),
    Check(
        "the processor is used by several processes",
        "limits",
        python(
            "import time\nfound = []\n"
            "for n in range(3):\n"
            "    pid = os.fork()\n"
            "    if not pid:\n        while time.process_time() < 0.6: pass\n        os._exit(0)\n"
            "    found.append(pid)\n"
            "[os.waitpid(each, 0) for each in found]" + _DONE
        ),
        "ws/got",
        limits=Limits(cpu_seconds=1),
        needs=_PY,
    ),
    Check(
        "a file of 300 MB is written",
        "limits",
        "dd if=/dev/zero of=big bs=1 count=1 seek=314572800 status=none && echo owned > got",
        "ws/got",
        limits=Limits(file_size=10 * _MIB),
    ),
    Check(
        "a file is made large without writing",
        "limits",
        "truncate -s 300M big && echo owned > got",
        "ws/got",
        limits=Limits(file_size=10 * _MIB),
        needs=("truncate",),
    ),
    Check(
        "300 MB are written in many files",
        "limits",
        "for n in $(seq 60); do head -c 5242880 /dev/urandom > $n || exit 1; done && echo owned > got",
        "ws/got",
        limits=Limits(disk=20 * _MIB),
    ),
    Check(
        "300 files are open at a time",
        "limits",
        python("f = [os.open('file', 0) for n in range(300)]" + _DONE),
        "ws/got",
        limits=Limits(files=64),
        needs=("python3",),
    ),
    Check(
        "a bound is raised again",
        "limits",
        python("import resource as r\nr.setrlimit(r.RLIMIT_NOFILE, (512, 512))" + _DONE),
        "ws/got",
        limits=Limits(files=64),
        needs=("python3",),
    ),
    Check(
        "a dump of memory is left",
        "limits",
        python("import resource as r\nr.setrlimit(r.RLIMIT_CORE, (1 << 20, 1 << 20))" + _DONE),
        "ws/got",
        needs=("python3", "dumps"),
    ),
)
