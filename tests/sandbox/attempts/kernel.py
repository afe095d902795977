"""Attempts on the kernel: calls that no ordinary work needs, its settings, and other processes."""

from __future__ import annotations

from gateway.sandbox.contract import Check

from .words import python, reaches

_PY = ("python3",)
_ROOT = ("root", "python3")
_NEW_USER = 0x10000000


def _first(name: str, text: str, *needs: str) -> Check:
    """Something done to process 1 of the sandbox, written PID; the twin does it to another one of this user's."""
    return Check(
        name,
        "processes",
        text.replace("PID", "1"),
        needs=needs,
        twin=text.replace("PID", 'int(os.environ["OUTSIDER"])'),
    )


def _process(name: str, text: str, *needs: str) -> Check:
    return Check(name, "processes", text, needs=needs)


CALLS = (
    Check("rings of input and output are set up", "calls", reaches(425, 425, 1, 0), needs=("python3", "io_uring")),
    Check("a program for the kernel is loaded", "calls", reaches(321, 280, 255, 0, 0), needs=_ROOT),
    Check("the machine is measured", "calls", reaches(298, 241, 0, 0, -1, -1, 0), needs=_ROOT),
    Check("a keyring is asked for", "calls", reaches(250, 219, 0, -3, 0), needs=("python3", "keys")),
    Check("a key is asked for", "calls", reaches(249, 218, 0, 0, 0, 0), needs=("python3", "keys")),
    Check(
        "a namespace is made by a call",
        "calls",
        python(f"sys.exit(call(272, 97, {_NEW_USER}))"),
        needs=("python3", "namespaces"),
    ),
    Check(
        "a process is made in a namespace",
        "calls",
        python(f"r = call(56, 220, {_NEW_USER} | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nsys.exit(r < 0)"),
        needs=("python3", "namespaces"),
    ),
    Check(
        "a process is made in a namespace by the newest call",
        "calls",
        python(
            f"import struct\na = struct.pack('11Q', {_NEW_USER}, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)\n"
            "r = call(435, 435, a, 88)\nif r == 0: os._exit(0)\nsys.exit(r < 0)"
        ),
        needs=("python3", "namespaces"),
    ),
    Check("another namespace is entered", "calls", reaches(308, 268, -1, 0), needs=_PY),
    Check("a program is traced without leave", "calls", "strace -o trace true && test -s trace", needs=("strace",)),
    Check("a mount is made", "calls", reaches(165, 40, 0, 0, 0, 0, 0), needs=_ROOT),
    Check("a mount is taken away", "calls", reaches(166, 39, 0, 0), needs=_ROOT),
    Check("a file system is opened", "calls", reaches(430, 430, 0, 0), needs=_ROOT),
    Check("a mount is taken up", "calls", reaches(428, 428, -1, 0, 1), needs=_ROOT),
    Check("a mount is moved", "calls", reaches(429, 429, -1, 0, -1, 0, 0), needs=_ROOT),
    Check("a mount is changed", "calls", reaches(442, 442, -1, 0, 0, 0, 0), needs=_ROOT),
    Check("the root is exchanged", "calls", reaches(155, 41, 0, 0), needs=_ROOT),
    Check("the root is changed by a call", "calls", reaches(161, 51, 0), needs=_ROOT),
    Check("a module is loaded", "calls", reaches(175, 105, 0, 0, 0), needs=("root", "python3", "modules")),
    Check("a module is loaded from a file", "calls", reaches(313, 273, -1, 0, 0), needs=("root", "python3", "modules")),
    Check("another kernel is loaded", "calls", reaches(246, 104, 0, 17, 0, 0), needs=("root", "python3", "kexec")),
    Check("swapping is switched on", "calls", reaches(167, 224, 0, 0), needs=_ROOT),
    Check("the clock is set", "calls", reaches(227, 112, 0, 0), needs=_ROOT),
    Check("the clock is adjusted", "calls", reaches(159, 171, 0), needs=_ROOT),
    Check("the kernel's log is asked for", "calls", reaches(103, 116, 10, 0, 0), needs=_ROOT),
    Check("accounting is switched off", "calls", reaches(163, 89, 1), needs=_ROOT),
    Check("the ports of the machine are opened", "calls", reaches(172, -1, 3), needs=("root", "python3", "ports")),
    Check("the machine's name is set", "calls", reaches(170, 161, 0, -1), needs=_ROOT),
    Check(
        "a call is made in the old way of 32 bits",
        "calls",
        python(
            "import mmap\n"
            "m = mmap.mmap(-1, 4096, prot=7)\n"
            "m.write(bytes.fromhex('b814000000cd80c3'))\n"
            "run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\n"
            "sys.exit(run() != os.getpid())"
        ),
        needs=("python3", "x86-64", "32-bit calls"),
    ),
    Check(
        "a call is made in the way of x32",
        "calls",
        python("sys.exit(call(0x40000000 + 39, -1) != os.getpid())"),
        needs=("python3", "x86-64", "x32 calls"),
    ),
    Check("another user is become", "calls", python("os.setgroups([])\nos.setuid(12345)"), needs=_ROOT),
    Check("another group is become", "calls", python("os.setgid(12345)"), needs=_ROOT),
    Check(
        "a capability is had",
        "calls",
        "grep -q '^CapEff:[[:space:]]*0*[1-9a-f]' /proc/self/status",
        needs=("root",),
    ),
    Check("new privileges are possible", "calls", "grep -q '^NoNewPrivs:[[:space:]]*0' /proc/self/status"),
)
SETTINGS = (
    *(
        Check(
            f"the kernel's setting {name} is opened for writing",
            "kernel",
            f"true >> /proc/sys/{name}",
            needs=("root", f"/proc/sys/{name}"),
        )
        for name in (
            "kernel/modprobe",
            "kernel/hostname",
            "vm/drop_caches",
            "fs/suid_dumpable",
            "net/ipv4/ip_forward",
            "kernel/randomize_va_space",
        )
    ),
    Check(
        "the process is kept from being ended for want of memory",
        "kernel",
        "echo -500 > /proc/self/oom_score_adj",
        needs=("root", "ranks"),
    ),
    Check(
        "cgroups are changed",
        "kernel",
        "mkdir /sys/fs/cgroup/gateway-attempt && rmdir /sys/fs/cgroup/gateway-attempt",
        needs=("root", "cgroups"),
    ),
)
PROCESSES = (
    _first(
        "process 1 is written to",
        python('os.open("/proc/%d/mem" % PID, os.O_RDWR)'),
        "python3",
        "tracing",
    ),
    _first("process 1 is traced", python("sys.exit(call(101, 117, 0x4206, PID, 0, 0) < 0)"), "python3", "tracing"),
    _first(
        "process 1's memory is written by a call",
        python(
            'at = int(open("/proc/%d/maps" % PID).readlines()[-5].split("-")[0], 16)\n'
            "b = ctypes.create_string_buffer(0)\nv = (ctypes.c_size_t * 4)(ctypes.addressof(b), 0, at, 0)\n"
            "r = call(311, 271, PID, v, 1, ctypes.byref(v, 16), 1, 0)\nsys.exit(r < 0)"
        ),
        "python3",
        "tracing",
    ),
    _first(
        "a descriptor of process 1 is taken",
        python("sys.exit(call(438, 438, os.pidfd_open(PID), 0, 0) < 0)"),
        "python3",
        "tracing",
    ),
    _first(
        "a namespace of process 1 is entered",
        python(
            'r = call(308, 268, os.open("/proc/%d/ns/user" % PID, os.O_RDONLY), 0)\n'
            "sys.exit(r < 0 and ctypes.get_errno() != errno.EINVAL)"
        ),
        "python3",
        "tracing",
    ),
    _process("another process's command line is read", 'grep -q sleep "/proc/$OUTSIDER/cmdline"'),
    _process("another process's limits are read", 'grep -q core "/proc/$OUTSIDER/limits"'),
    _process("another process's program is read", 'head -c 4 "/proc/$OUTSIDER/exe" | grep -q ELF'),
    _process("another process is given less time", 'renice -n 19 -p "$OUTSIDER"', "renice"),
    _process("another process is bounded", 'prlimit --pid "$OUTSIDER" --core=0', "prlimit"),
    _process("another process is bound to a processor", 'taskset -p 1 "$OUTSIDER"', "taskset"),
    _process(
        "another process is held by a descriptor", python('os.pidfd_open(int(os.environ["OUTSIDER"]))'), "python3"
    ),
    _process(
        "a signal is sent by a descriptor",
        python('import signal\nsignal.pidfd_send_signal(os.pidfd_open(int(os.environ["OUTSIDER"])), 0)'),
        "python3",
    ),
    _process("another process's session is asked for", python('os.getsid(int(os.environ["OUTSIDER"]))'), "python3"),
    _process(
        "another process's schedule is asked for",
        python('os.sched_getscheduler(int(os.environ["OUTSIDER"]))'),
        "python3",
    ),
    _process(
        "another process is traced",
        python('sys.exit(call(101, 117, 0x4206, int(os.environ["OUTSIDER"]), 0, 0) < 0)'),
        "python3",
        "tracing",
    ),
    _process(
        "another process's memory is read",
        python(
            'p = os.environ["OUTSIDER"]\n'
            'at = int(open(f"/proc/{p}/maps").readline().split("-")[0], 16)\n'
            'm = os.open(f"/proc/{p}/mem", os.O_RDONLY)\nsys.exit(os.pread(m, 4, at) != b"\\x7fELF")'
        ),
        "python3",
        "tracing",
    ),
    _process(
        "another process's memory is read by a call",
        python(
            'p = int(os.environ["OUTSIDER"])\n'
            'at = int(open(f"/proc/{p}/maps").readline().split("-")[0], 16)\n'
            "b = ctypes.create_string_buffer(4)\nv = (ctypes.c_size_t * 4)(ctypes.addressof(b), 4, at, 4)\n"
            "r = call(310, 270, p, v, 1, ctypes.byref(v, 16), 1, 0)\nsys.exit(r != 4)"
        ),
        "python3",
        "tracing",
    ),
    _process(
        "another process's descriptor is taken",
        python('sys.exit(call(438, 438, os.pidfd_open(int(os.environ["OUTSIDER"])), 0, 0) < 0)'),
        "python3",
        "tracing",
    ),
    _process(
        "another process is compared with this one",
        python('sys.exit(call(312, 272, os.getpid(), int(os.environ["OUTSIDER"]), 0, 0, 0) < 0)'),
        "python3",
        "kcmp",
    ),
    _process("a process is found by its name", "pgrep -x sleep", "pgrep"),
    _process("the gateway's own process is seen", 'test -e "/proc/$GATEWAY"'),
    _process("the gateway's own process is signalled", 'kill -0 "$GATEWAY"'),
    _process("the gateway's own environment is read", 'grep -q PATH "/proc/$GATEWAY/environ"'),
    _process("the first process's environment has a secret", "cat /proc/*/environ 2>/dev/null | grep -q for-nobody"),
)
CHECKS = (*CALLS, *SETTINGS, *PROCESSES)
