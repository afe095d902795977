"""Ordinary work that must go on working inside."""

from __future__ import annotations

from gateway.sandbox.contract import Check

from .words import python

_PY = ("python3",)
_GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main -c commit.gpgsign=false"


def _use(name: str, text: str, *needs: str, permits: tuple[str, ...] = (), twin: str = "") -> Check:
    return Check(name, "use", text, use=True, needs=needs, permits=permits, twin=twin)


CHECKS = (
    _use(
        "a program in C++ is compiled and run", "printf 'int main(){return 0;}' > m.cc && g++ -o m m.cc && ./m", "g++"
    ),
    _use(
        "make runs four jobs",
        "printf 'all: a b c d\\n%%: ; gcc -x c -c -o $@ /dev/null\\n' > Makefile && make -s -j4 && test -s d",
        "make",
        "gcc",
    ),
    _use(
        "git clones, branches, commits and merges",
        f"mkdir r && cd r && {_GIT} init -q . && echo a > a && git add a && {_GIT} commit -qm one && "
        f"{_GIT} clone -q . ../c && cd ../c && git switch -qc topic && echo b > b && "
        f"git add b && {_GIT} commit -qm two && "
        f"cd ../r && git pull -q ../c topic && test -e b && git status --short && git stash list && git gc -q",
        "git",
    ),
    _use(
        "git keeps several work trees",
        f"mkdir r && cd r && {_GIT} init -q . && {_GIT} commit -q --allow-empty -m x && {_GIT} worktree add -q ../t && "
        f"cd ../t && {_GIT} commit -q --allow-empty -m y && git log --oneline | grep -q y",
        "git",
    ),
    _use(
        "a pool of processes works",
        python(
            "sys.path.append('.')\nimport multiprocessing as m\n"
            "with m.get_context('fork').Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]"
        ).replace("-I -S", "-I"),
        *_PY,
    ),
    _use(
        "a manager of processes works",
        python(
            "import multiprocessing as m\nwith m.get_context('fork').Manager() as g: assert g.dict(a=1)['a'] == 1"
        ).replace("-I -S", "-I"),
        *_PY,
    ),
    _use(
        "threads and queues work",
        python("from concurrent.futures import ThreadPoolExecutor as T\nassert list(T(4).map(abs, [-1])) == [1]"),
        *_PY,
    ),
    _use(
        "child processes of a loop work",
        python(
            "import asyncio\n"
            "async def f():\n    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\n"
            "    return (await p.communicate(b'x'))[0]\n"
            "assert asyncio.run(f()) == b'x'"
        ),
        *_PY,
    ),
    _use(
        "shared memory of Python works",
        python(
            "from multiprocessing import shared_memory as s, resource_tracker\n"
            "m = s.SharedMemory(create=True, size=64)\nm.buf[0] = 1\nm.close()\nm.unlink()"
        ).replace("-I -S", "-I"),
        "python3",
        "shared memory",
    ),
    _use(
        "a database writes its log ahead",
        python(
            "import sqlite3\nc = sqlite3.connect('d')\n"
            "assert c.execute('pragma journal_mode=wal').fetchone() == ('wal',)\n"
            "c.execute('create table t(a)')\nc.execute('insert into t values(1)')\nc.commit()\n"
            "e = sqlite3.connect('d')\nassert e.execute('select a from t').fetchone() == (1,)"
        ),
        *_PY,
    ),
    _use(
        "a terminal is made", python("import pty\nassert pty.spawn(['sh', '-c', 'test -t 0 && test -t 1']) == 0"), *_PY
    ),
    _use(
        "a web server answers",
        python(
            "import http.server, threading, urllib.request\n"
            "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
            "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
            "assert urllib.request.urlopen(f'http://127.0.0.1:{s.server_port}/file').read() == b'as it was'"
        ),
        *_PY,
    ),
    _use(
        "a server answers at the second family's loopback",
        python(
            "s = socket.create_server(('::1', 0), family=socket.AF_INET6)\n"
            "socket.create_connection(s.getsockname()[:2])"
        ),
        "python3",
        "IPv6",
    ),
    _use(
        "a socket in /tmp works",
        python(
            "import tempfile\nn = tempfile.mkdtemp() + '/s'\ns = socket.socket(1)\ns.bind(n)\n"
            "s.listen()\nsocket.socket(1).connect(n)"
        ),
        *_PY,
    ),
    _use(
        "a socket without a file works among its own",
        python("s = socket.socket(1)\ns.bind(chr(0) + 'own')\ns.listen()\nsocket.socket(1).connect(chr(0) + 'own')"),
        *_PY,
    ),
    _use(
        "threads of node work",
        'node -e \'new (require("worker_threads").Worker)("process.exit(0)", {eval: true})\'',
        "node",
    ),
    _use("WebAssembly of node works", "node -e 'new WebAssembly.Memory({initial: 100})'", "node"),
    _use(
        "java compiles and runs",
        "printf 'class A{public static void main(String[] a){}}' > A.java && javac A.java && java A",
        "javac",
    ),
    _use(
        "archives are packed and unpacked",
        "tar czf a.tgz deep/.. 2>/dev/null; echo x > x && tar czf b.tgz x && rm x && tar xzf b.tgz && cat x",
        "gzip",
    ),
    _use("a large input is sorted", "seq 200000 | sort -rn -S 1M | head -1 | grep -q 200000"),
    _use(
        "texts are searched, edited and compared",
        "printf 'a\\nb\\n' > t && sed -i s/a/c/ t && awk '{print $1}' t | diff - t && grep -c . t",
    ),
    _use(
        "many files are found and handed on",
        "mkdir m && touch m/1 m/2 'm/a b' && find m -type f -print0 | xargs -0 -n1 rm && test -z \"$(ls m)\"",
    ),
    _use("bash substitutes processes", "bash -c 'diff <(echo a) <(echo a)'", "bash"),
    _use("a text stands in the script", "cat <<X | grep -q hello\nhello\nX"),
    _use("a pipe with a name works", "mkfifo p && (echo x > p &) && read y < p && test $y = x"),
    _use("a lock is taken", "flock l true", "flock"),
    _use("time is limited by timeout", "timeout 5 true", "timeout"),
    _use("a background job outlives its shell", "(sleep 0 & echo $! > pid) && test -s pid"),
    _use("its processes are listed", "ps -e > l && grep -q ps l", "ps"),
    _use("users and groups are looked up", "id && getent passwd root", "getent"),
    _use("the clock and zones work", "TZ=Europe/Berlin date +%Z"),
    _use("a language is set", "LC_ALL=C.UTF-8 locale charmap | grep -q UTF-8", "locale"),
    _use("names that are not text work", "touch \"$(printf 'a\\377b')\" && ls | wc -l"),
    _use("a script is made and run", "printf '#!/bin/sh\\necho ok' > s && chmod +x s && ./s"),
    _use("temporary folders are made everywhere", 'd=$(mktemp -d) && test -d "$d" && mktemp -d -p .'),
    _use(
        "changes are watched",
        python(
            "n = libc.inotify_init1(0)\nassert libc.inotify_add_watch(n, b'.', 0x100) > 0\n"
            "open('w', 'w')\nassert os.read(n, 99)"
        ),
        *_PY,
    ),
    _use(
        "memory without a file is made and run from",
        python("n = os.memfd_create('x')\nos.write(n, open('/bin/true', 'rb').read())\nos.execve(n, ['true'], {})"),
        *_PY,
    ),
    _use(
        "a debugger runs where it is permitted", "gdb -nx -batch -ex run -ex quit /bin/true", "gdb", permits=("ptrace",)
    ),
    _use("perl runs", 'perl -e \'open(F, ">", "p"); print F 1; close F\' && test -s p', "perl"),
    _use(
        "a virtual environment is made",
        "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 1",
        "/usr/bin/python3",
        "python3",
    ),
    _use(
        "tests of Python run",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test_a(self): pass\\n' > test_a.py && "
        "python3 -m unittest -q",
        *_PY,
    ),
)
