"""Attempts to take more than a call's bounds allow. Each leaves a file when it got what it wanted."""

from __future__ import annotations

from gateway.model.limits import Limits
from gateway.sandbox.contract import Check

from .words import python

_PY = ("python3",)
_DONE = "\nopen('got', 'w').write('owned')"
_MIB = 1 << 20


_SEGMENTS = (
    "found = []\n"
    "libc.shmat.restype = ctypes.c_void_p\n"
    "for n in range(12):\n"
    f"    size = {64 * _MIB}\n"
    "    number = call(29, 194, 0, size, 0o1600)\n"
    "    assert number >= 0\n    found.append(number)\n"
    "    at = libc.shmat(number, None, 0)\n    ctypes.memset(at, 1, size)\n    libc.shmdt(ctypes.c_void_p(at))\n"
    "{rest}"
    "open('got', 'w').write('owned')"
)
_REMOVED = "[call(31, 195, each, 0, 0) for each in found]\n"
# Longer than the looks are apart.
_WAIT = "import time\ntime.sleep(1)\n"
_SENT = (
    "import array\none, other = socket.socketpair()\n"
    "for n in range(20):\n"
    f"    file = os.memfd_create('x')\n    [os.write(file, bytes({_MIB})) for each in range(32)]\n"
    "    one.sendmsg([b'x'], [(1, 1, array.array('i', [file]))])\n    os.close(file)\n"
)
_FULL_SOCKETS = (
    "kept = []\n"
    "for n in range(400):\n"
    "    one, other = socket.socketpair()\n    kept += [one, other]\n"
    "    one.setsockopt(1, 7, 1 << 20)\n    one.setblocking(False)\n"
    "    try:\n        while True: one.send(bytes(1 << 16))\n    except BlockingIOError: pass\n"
)
# More pipes than the kernel bounds by pages; each holds two all the same.
_FULL_PIPES = (
    "import time\nr, w = os.pipe()\n"
    "for n in range(8):\n"
    "    if not os.fork():\n"
    "        os.close(w)\n"
    "        for each in range(1900):\n"
    "            one, other = os.pipe()\n            os.set_blocking(other, False)\n"
    "            try:\n                while True: os.write(other, bytes(4096))\n"
    "            except BlockingIOError: pass\n"
    "        os.read(r, 1)\n        os._exit(0)\n"
)
_UNWAITED = (
    "import signal, time\nsignal.signal(signal.SIGCHLD, signal.{how})\n"
    "for n in range(60):\n"
    "    if not os.fork():\n        while time.process_time() < 0.06: pass\n        os._exit(0)\n"
    "    time.sleep(0.065)\n"
)
_TABLES = (
    "import mmap\nkept = []\n"
    "for n in range(24):\n"
    "    area = mmap.mmap(-1, 1 << 33, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n    area.madvise(15)\n"
    "    kept.append(area)\n"
    "    for at in range(0, 1 << 33, 1 << 21): area[at]\n"
)


# Each page by itself is an area of its own, of which the kernel keeps something in each process; none is ever touched.
_AREAS = (
    "import mmap, time\nlibc.mmap.restype = ctypes.c_void_p\n"
    "at = libc.mmap(None, ctypes.c_size_t(30000 * 4096), 0, 0x4022, -1, ctypes.c_long(0))\n"
    "for n in range(0, 30000, 2): assert not libc.mprotect(ctypes.c_void_p(at + n * 4096), 4096, 1)\n"
    "r, w = os.pipe()\n"
    "for n in range(24):\n    if not os.fork():\n        os.close(w)\n        os.read(r, 1)\n        os._exit(0)\n"
)
# Of a file in memory, which takes as many as one likes.
_ATTRIBUTES = (
    "file = os.memfd_create('x')\n"
    "for n in range(9000): os.setxattr(f'/proc/self/fd/{file}', f'user.{n}', bytes(60000))\n"
)


def _forks(number: int) -> str:
    """So many processes at a time, there for longer than looks at them are apart, and ended before this one goes on;
    each is one more than the bound counts."""
    return (
        "import signal, time\nr, w = os.pipe()\nfound = []\n"
        f"for n in range({number}):\n    pid = os.fork()\n"
        "    if not pid:\n        os.close(w)\n        os.read(r, 1)\n        os._exit(0)\n    found.append(pid)\n"
        "time.sleep(5)\nos.close(w)\n[os.waitpid(each, 0) for each in found]"
    )


CHECKS = (
    Check(
        "600 processes run at a time",
        "limits",
        # They are counted now and then, so they must be there a while.
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
        "memory is used by the areas of address spaces",
        "limits",
        python(_AREAS + "time.sleep(100)\n" + _DONE.lstrip()),  # to count them takes long on a busy machine
        "ws/got",
        limits=Limits(memory=100 * _MIB),
        needs=("python3", "2 GiB of memory"),
        twin=python(_AREAS + _DONE.lstrip()),
    ),
    Check(
        "memory is used by attributes of files",
        "limits",
        python(_ATTRIBUTES + _WAIT + _DONE.lstrip()),
        "ws/got",
        limits=Limits(memory=300 * _MIB),
        needs=("python3", "attributes of files in memory", "2 GiB of memory"),
    ),
    Check(
        "memory is used by files in /tmp",
        "limits",
        "f=/tmp/gateway-attempt-$OUTSIDER; head -c 41943040 /dev/zero > $f && rm $f && echo owned > got",
        "ws/got",
        limits=Limits(memory=16 * _MIB),
    ),
    Check(
        "memory is used by shared files",
        "limits",
        "f=/dev/shm/gateway-attempt-$OUTSIDER; head -c 314572800 /dev/zero > $f && rm $f && echo owned > got",
        "ws/got",
        limits=Limits(memory=64 * _MIB),
        needs=("shared memory",),
    ),
    Check(
        "two seconds of the processor are used",
        "limits",
        python("import time\nwhile time.process_time() < 2: pass" + _DONE),
        "ws/got",
        limits=Limits(cpu_seconds=0.3),
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
        limits=Limits(cpu_seconds=0.3),
        needs=_PY,
    ),
    Check(
        "memory is left in segments that nobody has",
        "limits",
        python(_SEGMENTS.replace("{rest}", _WAIT + _REMOVED)),
        "ws/got",
        limits=Limits(memory=300 * _MIB),
        needs=("python3", "System V", "2 GiB of memory"),
    ),
    Check(
        "memory is on its way through a socket",
        "limits",
        python(_SENT + _WAIT + "open('got', 'w').write('owned')"),
        "ws/got",
        limits=Limits(memory=200 * _MIB),
        needs=("python3", "2 GiB of memory"),
    ),
    Check(
        "memory is held in sockets",
        "limits",
        python(_FULL_SOCKETS + _WAIT + "open('got', 'w').write('owned')"),
        "ws/got",
        limits=Limits(memory=100 * _MIB),
        needs=("python3", "2 GiB of memory"),
    ),
    Check(
        "memory is held in pipes",
        "limits",
        python(_FULL_PIPES + "time.sleep(100)\nopen('got', 'w').write('owned')"),  # to fill them takes long, too
        "ws/got",
        limits=Limits(memory=75 * _MIB),
        needs=("python3", "2 GiB of memory"),
        twin=python(_FULL_PIPES + "time.sleep(3)\nopen('got', 'w').write('owned')"),
    ),
    Check(
        "memory is held by the kernel for places where there is none",
        "limits",
        python(_TABLES + _WAIT + "open('got', 'w').write('owned')"),
        "ws/got",
        limits=Limits(memory=200 * _MIB),
        needs=("python3", "2 GiB of memory"),
    ),
    Check(
        "the processor is used by children whose end is ignored",
        "limits",
        python(_UNWAITED.replace("{how}", "SIG_IGN") + _DONE),
        "ws/got",
        limits=Limits(cpu_seconds=0.3),
        needs=_PY,
    ),
    Check(
        "a disk is filled without writing",
        "limits",
        python(
            "for n in range(3):\n"
            f"    file = os.open(f'big{{n}}', os.O_RDWR | os.O_CREAT)\n    os.posix_fallocate(file, 0, {20 * _MIB})\n"
            "    os.close(file)\n" + _WAIT + "open('got', 'w').write('owned')"
        ),
        "ws/got",
        limits=Limits(disk=20 * _MIB),
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
