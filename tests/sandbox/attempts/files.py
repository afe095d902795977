"""Attempts on files, folders, links and devices that are not in the plan."""

from __future__ import annotations

from gateway.sandbox.contract import Check

from .words import python

_PY = ("python3",)

WRITES = (
    Check("a file outside is emptied", "write", ': > "$OUTSIDE/file"'),
    Check(
        "a file outside is written in place",
        "write",
        'printf "owned    " | dd of="$OUTSIDE/file" conv=notrunc status=none',
        "outside/file",
    ),
    Check("a file outside is cut short", "write", python('os.truncate(os.environ["OUTSIDE"] + "/file", 1)'), needs=_PY),
    Check("a file outside is edited by sed", "write", 'sed -i s/.*/owned/ "$OUTSIDE/file"', "outside/file"),
    Check("a file is copied outside", "write", 'echo owned > f && cp f "$OUTSIDE/new"', "outside/new"),
    Check("a file is installed outside", "write", 'echo owned > f && install f "$OUTSIDE/new"', "outside/new"),
    Check(
        "an archive unpacks outside",
        "write",
        'echo owned > new && tar cf - new | tar xf - -C "$OUTSIDE"',
        "outside/new",
    ),
    Check(
        "an archive unpacks through a link of its own",
        "write",
        'mkdir d && ln -s "$OUTSIDE" d/l && tar cf a d/l && rm -r d && tar xf a && echo owned > d/l/new',
        "outside/new",
    ),
    Check("a folder is made outside", "write", 'mkdir "$OUTSIDE/folder"'),
    Check("a link is made outside", "write", 'ln -s x "$OUTSIDE/link"'),
    Check("a pipe is made outside", "write", 'mkfifo "$OUTSIDE/pipe"'),
    Check("a file outside is renamed", "write", 'mv "$OUTSIDE/file" "$OUTSIDE/moved"'),
    Check("the folder outside is renamed", "write", 'mv "$OUTSIDE" "$OUTSIDE-moved"'),
    Check("a file outside gets another group", "write", 'chgrp "$(id -g)" "$OUTSIDE/file"'),
    Check("the workspace is renamed", "write", 'mv "$PWD" "$PWD-moved"'),
    Check("a file is made beside the workspace", "write", "echo owned > ../beside", "beside"),
    Check(
        "a file outside is written through two links",
        "write",
        'ln -s "$OUTSIDE" a && ln -s a/file b && echo owned > b',
        "outside/file",
    ),
    Check(
        "a file outside is written through the kernel's name for the folder",
        "write",
        "echo owned > /proc/self/cwd/../outside/new",
        "outside/new",
    ),
    Check(
        "a file outside is written through the kernel's name for the root",
        "write",
        'echo owned > "/proc/self/root$OUTSIDE/new"',
        "outside/new",
    ),
    Check(
        "a file without a name is given one outside",
        "write",
        python(
            "n = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)\n"
            "os.write(n, b'owned')\n"
            "to = os.fsencode(os.environ['OUTSIDE'] + '/new')\n"
            "sys.exit(call(265, 37, -100, b'/proc/self/fd/%d' % n, -100, to, 0x400) != 0)"
        ),
        "outside/new",
        needs=_PY,
    ),
    Check(
        "two names are exchanged across the border",
        "write",
        "echo owned > f\n"
        + python(
            "r = call(316, 276, -100, b'f', -100, os.fsencode(os.environ['OUTSIDE'] + '/file'), 2)\nsys.exit(r != 0)"
        ),
        "outside/file",
        needs=_PY,
    ),
    Check(
        "a file outside is written by a program that was started there",
        "write",
        'cp /bin/sh "$OUTSIDE/sh" && "$OUTSIDE/sh" -c \'echo owned > "$OUTSIDE/new"\'',
        "outside/new",
    ),
    Check(
        "a file is left in the machine's /tmp",
        "write",
        "echo owned > /tmp/gateway-attempt-$OUTSIDER",
        "/tmp/gateway-attempt-$OUTSIDER",
    ),
    Check(
        "a file is left in the machine's shared memory",
        "write",
        "echo owned > /dev/shm/gateway-attempt-$OUTSIDER",
        "/dev/shm/gateway-attempt-$OUTSIDER",
        needs=("shared memory",),
    ),
    Check(
        "the system's settings are written",
        "write",
        "echo x > /etc/gateway-attempt && rm /etc/gateway-attempt",
        needs=("root",),
    ),
    Check(
        "a program is planted",
        "write",
        "echo x > /usr/bin/gateway-attempt && rm /usr/bin/gateway-attempt",
        needs=("root",),
    ),
    Check(
        "a file is left in the top folder", "write", "echo x > /gateway-attempt && rm /gateway-attempt", needs=("root",)
    ),
    Check(
        "the machine's log is written",
        "write",
        "echo x > /var/log/gateway-attempt && rm /var/log/gateway-attempt",
        needs=("root",),
    ),
)

READS = (
    Check("files outside are packed", "read", 'tar cf a -C "$OUTSIDE" . && grep -q for-nobody a'),
    Check("files outside are found", "read", 'test -n "$(find "$OUTSIDE" -name secret)"'),
    Check("a file outside is copied in", "read", 'cp "$OUTSIDE/secret" s && grep -q for-nobody s'),
    Check("a file outside is linked in", "read", 'ln "$OUTSIDE/secret" s && grep -q for-nobody s'),
    Check("a file outside is run", "read", '. "$OUTSIDE/secret" 2>&1 | grep -q for-nobody'),
    Check(
        "a file outside is read through a handle on its folder",
        "read",
        python("n = os.open(os.environ['OUTSIDE'], os.O_PATH)\nprint(open(f'/proc/self/fd/{n}/secret').read())"),
        needs=_PY,
    ),
    Check(
        "a file outside is mapped",
        "read",
        python(
            "import mmap\nwith open(os.environ['OUTSIDE'] + '/secret') as f: print(mmap.mmap(f.fileno(), 0, prot=1)[:])"
        ),
        needs=_PY,
    ),
    Check("a folder outside is entered", "read", 'cd "$OUTSIDE" && test -r secret'),
    Check("what lies beside the workspace is listed", "read", "ls .. | grep -q outside"),
    Check("HOME is listed", "read", 'ls "$HOME" | grep letter'),
    Check("another process's open files are read", "read", 'ls "/proc/$OUTSIDER/fd" | grep 0'),
    Check("another process's memory map is read", "read", 'grep -q sleep "/proc/$OUTSIDER/maps"'),
    Check(
        "a file is opened by its handle",
        "read",
        python(
            "h = (ctypes.c_uint32 * 40)(128, 0)\n"
            "m = ctypes.c_int()\n"
            "assert call(303, 264, -100, b'file', h, ctypes.byref(m), 0) == 0\n"
            "sys.exit(call(304, 265, os.open('.', os.O_RDONLY), h, 0) < 0)"
        ),
        needs=("root", "python3"),
    ),
    Check("the machine's log is read", "read", "cat /var/log/dpkg.log > log", needs=("root", "/var/log/dpkg.log")),
    Check("what the machine runs is looked at", "read", "ls -d /run/*", needs=("something in /run",)),
    Check("the machine's devices are looked at", "read", "ls /sys/class/net/*", needs=("/sys/class/net",)),
    Check("root's own folder is listed", "read", "ls -A /root | grep .", needs=("root",)),
)
HIDDEN = (
    Check("a hidden file is copied", "hidden", "cp .env e && cat e"),
    Check("a hidden file is packed", "hidden", "tar cf a .env && grep -q for-nobody a"),
    Check("a hidden file is found by its content", "hidden", "grep -rq for-nobody ."),
    Check("a hidden file is opened for writing", "hidden", "echo owned > .env", "ws/.env"),
    Check("a hidden file is removed", "hidden", "rm -f .env && test ! -e .env"),
    Check("a hidden file is replaced", "hidden", "echo owned > n && mv n .env", "ws/.env"),
    Check("a hidden file is read through the kernel's name for the folder", "hidden", "cat /proc/self/cwd/.env"),
    Check("a hidden file is read through a link", "hidden", "ln -s .env e && cat e"),
    Check("a hidden file is read by climbing", "hidden", "cat deep/../.env"),
    Check("a hidden file is read by git", "hidden", "git hash-object .env", needs=("git",)),
    Check("a hidden folder is moved", "hidden", "mv vault v && cat v/key"),
    Check("a hidden folder is removed", "hidden", "rm -r vault && test ! -e vault"),
    Check("a hidden folder is entered", "hidden", "cd vault && cat key"),
    Check("something is left in a hidden folder", "hidden", "echo owned > vault/new", "ws/vault/new"),
    Check(
        "a hidden file is read after its parent was exchanged",
        "hidden",
        "mkdir n && "
        + python(
            "assert call(316, 276, -100, b'deep', -100, b'n', 2) == 0\nprint(open('n/down/.env').read())"
        ).removeprefix("exec "),
        needs=_PY,
    ),
)
DEVICES = (
    Check("a disk is made", "devices", "mknod b b 7 0", needs=("root", "mknod")),
    Check("a terminal's device is made", "devices", "mknod t c 5 0", needs=("root", "mknod")),
    Check("the kernel's log is opened", "devices", "exec 3< /dev/kmsg", needs=("root", "/dev/kmsg")),
    Check("the machine's memory is opened", "devices", "exec 3< /dev/mem", needs=("root", "/dev/mem")),
    Check("the machine's memory is opened as a file", "devices", "exec 3< /proc/kcore", needs=("root", "/proc/kcore")),
    Check("a loop device is asked for", "devices", "exec 3<> /dev/loop-control", needs=("root", "/dev/loop-control")),
    Check("a tunnel is opened", "devices", "exec 3<> /dev/net/tun", needs=("root", "/dev/net/tun")),
    Check("a file system of one's own is opened", "devices", "exec 3<> /dev/fuse", needs=("root", "/dev/fuse")),
)
SET_ID = (
    Check("a folder gets the right of its group", "set-id", "mkdir d && chmod g+s d", twin="mkdir d && chmod g+s d"),
    Check("a copy keeps the right of its owner", "set-id", "cp /bin/true t && chmod 4755 t && test -u t"),
    Check(
        "a file gets the right of its owner by its descriptor",
        "set-id",
        python("n = os.open('file', os.O_RDONLY)\nos.fchmod(n, 0o4755)"),
        needs=_PY,
    ),
    Check(
        "a file gets the right of its owner by the newest call",
        "set-id",
        python("sys.exit(call(452, 452, -100, b'file', 0o4755, 0) != 0)"),
        needs=("python3", "fchmodat2"),
    ),
    Check(
        "a file is made with the right of its owner by the second way to open",
        "set-id",
        python(
            "import struct\nh = struct.pack('QQQ', 0o101, 0o4755, 0)\n"
            "os.umask(0)\nr = call(437, 437, -100, b's', h, 24)\nsys.exit(r < 0 or not os.fstat(r).st_mode & 0o4000)"
        ),
        needs=_PY,
    ),
    Check(
        "a device file is made with the right of its owner",
        "set-id",
        python("os.umask(0)\nos.mknod('p', 0o104755)\nsys.exit(not os.stat('p').st_mode & 0o4000)"),
        needs=_PY,
    ),
    Check(
        "an archive brings the right of an owner",
        "set-id",
        "cp /bin/true t && tar --mode=4755 -cf a t && rm t && tar -xpf a && test -u t",
    ),
)
CHECKS = (*WRITES, *READS, *HIDDEN, *DEVICES, *SET_ID)
