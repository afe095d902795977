"""Python itself as the judge: what a program does under `sys.addaudithook` was predicted, if it is called understood.

Programs run in a folder of their own, with other programs and the network refused by the hook before they start.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fuzzing import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

import gateway.commands
from gateway.commands.analyse import Start, analyse
from gateway.model.effect import HOLE, Code, Connect, Opaque, Touch
from gateway.spec.commands import compile_description

# Runs each program of a list, given with the path of a folder to run it in, and prints what each one did.
RUNNER = r'''
import io, json, os, sys
events, watching = [], False
QUIET = ("import", "exec", "compile", "object.", "marshal.", "code.", "sys._getframe", "sys.excepthook",
         "builtins.id", "cpython.", "os.fspath", "os.listxattr", "ctypes.", "gc.", "os.putenv", "os.unsetenv")
REFUSED = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.", "urllib.", "os.kill",
           "os.spawn")
class Refused(Exception): pass
def plain(a):
    if isinstance(a, bytes): return a.decode("utf-8", "replace")
    if isinstance(a, (str, int)): return a
    if isinstance(a, (list, tuple)): return [str(x) for x in a]
    return getattr(a, "path", None) or str(a)
def hook(event, args):
    global watching
    if not watching or event.startswith(QUIET): return
    watching = False
    try:
        events.append([event, [plain(a) for a in args]])
    finally:
        watching = True
    if event.startswith(REFUSED): raise Refused(event)
sys.addaudithook(hook)
PRELOADED = """
json re math datetime collections itertools statistics csv glob pathlib shutil hashlib base64
textwrap subprocess tomllib urllib.request zipfile fnmatch random string decimal fractions functools
operator platform tempfile heapq bisect pprint html ast configparser xml.etree.ElementTree io uuid
difflib calendar unicodedata encodings.idna gzip linecache socket
""".split()
for name in PRELOADED: __import__(name)
out = []
for text in json.load(sys.stdin):
    events.clear()
    kept = sys.stdout, sys.stdin, sys.argv
    sys.stdout, sys.stdin, sys.argv = io.StringIO(), io.StringIO('{"a": 1}\n'), ["-c"]
    code, ended = None, ""
    try:
        code = compile(text, "<program>", "exec", dont_inherit=True)
        watching = True
        exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
    except BaseException as error:
        ended = type(error).__name__
    finally:
        watching = False
        sys.stdout, sys.stdin, sys.argv = kept
    out.append({"events": list(events), "ended": ended})
json.dump(out, sys.stdout)
'''

FILES = {
    "a.txt": "x,y\n1,2\n",
    "d/b.txt": "b\n",
    "d/c.json": '{"k": [1]}',
    "conf.toml": 'v = "1"\n',
    "e/deep/f.txt": "f",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("python") / "project"
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.fixture(scope="module")
def descriptions() -> dict[str, Any]:
    """Python, and the one other program that the programs below start."""
    place = Path(gateway.commands.__file__).parent
    compiled = [compile_description((place / f"{name}.yaml").read_bytes(), name) for name in ("python", "ls", "uname")]
    return _Shown({name: description for description in compiled for name in description["names"]})


class _Shown(dict[str, Any]):
    """Descriptions, short where a failing example is shown."""

    def __repr__(self) -> str:
        return f"<{len(self)} descriptions>"


def ran(texts: list[str], folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUNNER],
        input=json.dumps(texts),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def predicted(text: str, folder: Path, descriptions: dict[str, Any]) -> tuple[bool, list[Any]]:
    """Whether the program is understood, and its effects."""
    quoted = text.replace("'", "'\"'\"'")
    items = analyse(f"python3 -c '{quoted}'", Start(str(folder), "/nowhere"), descriptions.get).items
    effects = [item.effect for item in items]
    return not any(isinstance(effect, Code | Opaque) for effect in effects), effects


READS, WRITES, LISTS, GOES = ("read", "write"), ("write",), ("list", "read", "write"), ("delete",)
EVENTS = {
    "os.listdir": (LISTS, (0,)), "os.scandir": (LISTS, (0,)), "os.walk": (LISTS, (0,)), "os.remove": (GOES, (0,)),
    "os.rmdir": (GOES, (0,)), "os.mkdir": (WRITES, (0,)), "os.chmod": (WRITES, (0,)), "os.utime": (WRITES, (0,)),
    "os.truncate": (WRITES, (0,)), "os.link": (WRITES, (1,)),
    "shutil.rmtree": (GOES, (0,)), "shutil.copyfile": (READS, (0,)), "shutil.copytree": (READS, (0,)),
    "shutil.move": (GOES, (0,)), "glob.glob": (LISTS, ()), "glob.glob/2": (LISTS, ()), "pathlib.Path.glob": (LISTS, ()),
    "pathlib.Path.rglob": (LISTS, ()), "shutil.copymode": (READS, (0,)), "shutil.copystat": (READS, (0,)),
}  # fmt: skip
STANDARD = tuple({sys.prefix, sys.base_prefix, "/usr/lib", "/usr/share/zoneinfo", "/dev/null", "/usr/bin", "/etc"})


def unpredicted(event: str, args: list[Any], effects: list[Any], folder: Path) -> bool:
    """Whether nothing among the effects stands for what happened."""
    if event == "open":
        path, mode, flags = args
        if isinstance(path, int) or str(path).startswith(STANDARD) or path == "<program>":
            return False
        writing = bool(isinstance(flags, int) and flags & 3) or any(letter in str(mode) for letter in "wax+")
        return not touched(str(path), WRITES if writing else READS, effects, folder)
    if event == "os.rename":
        return not (touched(args[0], GOES, effects, folder) and touched(args[1], WRITES, effects, folder))
    if event == "os.mkdir" and any(effect.kind == "write" for effect in effects):
        # Folders above the one that is made are made with it, as by `mkdir -p`.
        above = str(Path(folder, args[0]).resolve()) + "/"
        return not touched(args[0], WRITES, effects, folder) and not any(
            isinstance(effect, Touch) and effect.path.startswith(above) for effect in effects
        )
    if event in ("os.remove", "os.rmdir", "os.scandir") and any(isinstance(arg, int) and arg > 0 for arg in args):
        # Below a folder that is open already, whose name is not told any more.
        return not any(isinstance(effect, Touch) and effect.tree and effect.kind == "delete" for effect in effects)
    if event in EVENTS:
        kinds, positions = EVENTS[event]
        return not all(
            touched(str(args[at] if args[at] != "None" else "."), kinds, effects, folder) for at in positions
        )
    if event.startswith(("urllib.", "socket.")):
        return not any(isinstance(effect, Connect) for effect in effects)
    if event.startswith(("subprocess.", "os.system", "os.posix_spawn", "os.exec")):
        return not any(effect.kind == "exec" and effect.argv[0] != "python3" for effect in effects)
    return True


def touched(path: str, kinds: tuple[str, ...], effects: list[Any], folder: Path) -> bool:
    """Whether a path is one that was predicted, or lies below one that was; an unknown one stands for any."""
    full = str(Path(folder, path).resolve()) if path != "." else str(folder)
    for effect in effects:
        if isinstance(effect, Touch) and effect.kind in kinds:
            inside = full == effect.path or (effect.tree and full.startswith(effect.path.rstrip("/") + "/"))
            if HOLE in effect.path or inside:
                return True
    return False


UNDERSTOOD = [
    "print(1 + 1)",
    "import json, sys; print(json.load(sys.stdin)['a'])",
    "print(open('a.txt').read())",
    "open('out', 'w').write('x')",
    "with open('out2', mode='a') as f: print('x', file=f)",
    "import csv; print(list(csv.DictReader(open('a.txt'))))",
    "from pathlib import Path; print([p.read_text() for p in Path('d').glob('*.txt')])",
    "from pathlib import Path; Path('n1').mkdir(exist_ok=True); (Path('n1') / 'x').write_text('y')",
    "import os; print(sorted(os.listdir('d')))",
    "import os\nfor root, dirs, files in os.walk('e'):\n for f in files: print(open(os.path.join(root, f)).read())",
    "import os; open('gone', 'w').close(); os.remove('gone')",
    "import os; open('old', 'w').close(); os.rename('old', 'new')",
    "import os; os.makedirs('m/n', exist_ok=True); os.rmdir('m/n')",
    "import shutil; shutil.copy('a.txt', 'copy.txt')",
    "import shutil; shutil.copytree('d', 'tree', dirs_exist_ok=True); shutil.rmtree('tree')",
    "import glob; print([open(f).read() for f in glob.glob('d/*.txt')])",
    "import tomllib; print(tomllib.load(open('conf.toml', 'rb')))",
    "import hashlib; print(hashlib.md5(open('a.txt', 'rb').read()).hexdigest())",
    "import re, statistics as s; print(re.sub(r'\\d', 'n', 'a1'), s.mean([1, 2]))",
    "from datetime import datetime; print(datetime.now().strftime('%Y'))",
    "import collections; print(collections.Counter('abca').most_common(1))",
    "import platform; print(platform.system(), platform.python_version(), platform.platform())",
    "import subprocess; print(subprocess.run(['ls', 'd'], capture_output=True).stdout)",
    "import os; os.system('ls d')",
    "import urllib.request; urllib.request.urlopen('http://localhost:1/x')",
    "import socket; socket.create_connection(('localhost', 1))",
    "import os; print(os.path.exists('a.txt'), os.path.getsize('a.txt'))",
    "import base64; print(base64.b64encode(b'x').decode())",
    "class A:\n def __init__(self): self.n = 1\n def up(self): self.n += 1\na = A(); a.up(); print(a.n)",
    "import configparser; c = configparser.ConfigParser(); c.read('a.ini'); print(c.sections())",
    "import xml.etree.ElementTree as E; t = E.fromstring('<a><b/></a>'); print([n.tag for n in t.iter()])",
    "import gzip; f = gzip.open('z.gz', 'wb'); f.write(b'x'); f.close(); print(gzip.open('z.gz').read())",
    "import fnmatch, string, decimal, fractions, heapq; print(decimal.Decimal('1') / 3, heapq.nlargest(1, [1, 2]))",
    "import calendar, uuid, html; print(calendar.isleap(2024), html.escape('<'))",
    "import ast, pprint; pprint.pprint(ast.dump(ast.parse('1')))",
    "import time; print(time.strftime('%Y'), time.time() > 1)",
    "f = open('a.txt'); f.close(); print(f.name, f.closed)",
    "print('{} {:.2f}'.format('a', 1.5), '%s' % 'x', f'{1:>3}')",
    "print(sum(len(line.split(',')) for line in open('a.txt')))",
]


def test_what_an_understood_program_does_was_predicted(folder: Path, descriptions: dict[str, Any]) -> None:
    results = ran(UNDERSTOOD, folder)
    problems = []
    for text, result in zip(UNDERSTOOD, results, strict=True):
        understood, effects = predicted(text, folder, descriptions)
        if not understood:
            problems.append((text, "not understood", [e.why for e in effects if isinstance(e, Code | Opaque)]))
        problems += [(text, *event) for event in result["events"] if unpredicted(*event, effects, folder)]
    assert problems == []


def test_the_oracle_sees_what_nobody_predicted(folder: Path) -> None:
    [result] = ran(["open('a.txt').read(); __import__('os').listdir('d')"], folder)
    assert [event[0] for event in result["events"] if unpredicted(*event, [], folder)] == ["open", "os.listdir"]


HARMFUL = [
    "g = iter([])\nclass A: pass\nA.gi_frame = A.f_builtins = 1\nlist(map(g.gi_frame.f_builtins['exec'], ['1']))",
    "import sqlite3\nclass A:\n def load_extension(self, x): pass\nsqlite3.connect(':memory:').load_extension('x')",
    "class A:\n def __globals__(self): pass\nprint(A.__globals__)",
    "__import__('os').system('x')",
    "exec('1')",
    "eval('1')",
    "getattr(open, '__call__')('w', 'w')",
    "import pickle",
    "import ctypes",
    "import importlib; importlib.import_module('x')",
    "import evil",
    "from . import x",
    "().__class__.__base__.__subclasses__()",
    "f = open; f('w', 'w')",
    "list(map(open, ['a']))",
    "import os; s = os.system; s('x')",
    "import os; print(list(map(os.system, ['x'])))",
    "import os as o; p = o; p.system('x')",
    "type(open('a.txt', 'rb', 0))('w', 'w')",
    "open('a.txt', 'rb', 0).__init__('w', 'w')",
    "globals()['x']",
    "vars()",
    "import sys; sys.modules['os'].system('x')",
    "import sys; sys.path.insert(0, 'x'); import json",
    "import sys; p = sys.path; p.append('x')",
    "import sys; sys.stdout = open('w', 'w')",
    "import os; os.chdir('/')",
    "import os; os.execvp('x', ['x'])",
    "import os; os.open('w', 65)",
    "import builtins; builtins.open('w', 'w')",
    "from os import system as print; print('frobnicate')",
    "from os import *",
    "compile('1', '', 'exec')",
    "input()",
    "breakpoint()",
    "help()",
    "'{0.__class__}'.format(1)",
    "s = '{0.gi_frame}'; s.format(1)",
    "class M(type): pass\nclass A(metaclass=M): pass",
    "@__import__('os').system\ndef f(): pass",
    "import operator; operator.methodcaller('unlink')(1)",
    "import functools; functools.partial(open, 'w')('w')",
    "import csv; csv.io.open('w', 'w')",
    "import random; random._os.system('x')",
    "import subprocess; subprocess.run(['ls'], preexec_fn=print)",
    "import subprocess; subprocess.run(['ls'], executable='/bin/x')",
    "import subprocess; subprocess.run(x)",
    "import zipfile; zipfile.ZipFile('z.zip', 'w').write('a.txt')",
    "import webbrowser; webbrowser.open('x')",
    "import threading, os; threading.Thread(target=os.remove, args=('a',)).start()",
    "import shelve; shelve.open('x')",
    "def f(x): return x('w', 'w')\nf(open)",
    "print(*[open][0]('w', 'w'))",
    "import json; json.codecs.open('w', 'w')",
    "open('w', 'w', opener=print)",
    "import yaml; yaml.load(open('a.txt'))",
    "import yaml; yaml.unsafe_load('x')",
    "class A:\n def __getattr__(self, n): return n\nA().x",
    "async def f(): pass",
    "import os; os.environ.update(PATH='x')",
    "import tempfile; tempfile.mkstemp()",
    "import logging; logging.FileHandler('x')",
    "import unittest; unittest.main()",
    "import timeit; timeit.timeit('1')",
    "import doctest; doctest.testmod()",
    "import runpy; runpy.run_path('x')",
    "import code; code.interact()",
    "import site; site.addsitedir('x')",
    "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)",
    "import linecache; linecache.os.remove('x')",
    "print(open.__self__)",
    "import inspect; inspect.stack()",
]


@pytest.mark.parametrize("text", HARMFUL)
def test_what_is_not_on_the_list_is_never_understood(text: str, folder: Path, descriptions: dict[str, Any]) -> None:
    assert not predicted(text, folder, descriptions)[0]


NAMES = st.sampled_from(["a.txt", "d", "d/b.txt", "e", "out", "d/c.json", "e/deep", "n"])
TEXTS = st.one_of(
    NAMES.map(repr),
    st.tuples(NAMES, NAMES).map(lambda two: f"os.path.join({two[0]!r}, {two[1]!r})"),
    st.tuples(NAMES, NAMES).map(lambda two: f"str(Path({two[0]!r}) / {two[1]!r})"),
    st.tuples(NAMES, NAMES).map(lambda two: f"({two[0]!r} + '/' + {two[1]!r})"),
    st.tuples(NAMES, NAMES).map(lambda two: f"({two[0]!r} if os.path.exists({two[1]!r}) else {two[1]!r})"),
    st.sampled_from(
        ["sorted(os.listdir('.'))[0]", "glob.glob('d/*')[0]", "x", "y", "f'{x}.{1}'", "x + 'z'", "'d/' + y"]
    ),
)
CALLS = st.one_of(
    TEXTS.map(lambda t: f"open({t}).read()"),
    TEXTS.map(lambda t: f"open({t}, 'a').close()"),
    TEXTS.map(lambda t: f"os.listdir({t})"),
    TEXTS.map(lambda t: f"Path({t}).exists()"),
    TEXTS.map(lambda t: f"[p.read_text() for p in Path({t}).rglob('*')]"),
    TEXTS.map(lambda t: f"[open(p).read() for p in glob.glob({t} + '/*')]"),
    TEXTS.map(lambda t: f"[open(os.path.join(r, n)).read() for r, _, f in os.walk({t}) for n in f]"),
    TEXTS.map(lambda t: f"[os.path.getsize(os.path.join({t}, n)) for n in os.listdir({t})]"),
    TEXTS.map(lambda t: f"os.makedirs({t}, exist_ok=True)"),
    st.tuples(TEXTS, TEXTS).map(lambda two: f"shutil.copyfile({two[0]}, {two[1]})"),
    st.tuples(TEXTS, TEXTS).map(lambda two: f"Path({two[0]}).rename({two[1]})"),
    TEXTS.map(lambda t: f"os.remove({t})"),
)
STATEMENTS = st.one_of(
    CALLS.map(lambda c: f"print({c})"),
    CALLS,
    TEXTS.map(lambda t: f"x = {t}"),
    TEXTS.map(lambda t: f"for y in [{t}, 'a.txt']: print(y)"),
    st.tuples(TEXTS, CALLS).map(lambda two: f"for y in [{two[0]}, 'd']: {two[1]}"),
    st.tuples(TEXTS, CALLS).map(lambda two: f"for y in sorted(os.listdir({two[0]})): {two[1]}"),
    st.sampled_from(["names = ['a.txt']", "names.append(x)", "names.sort()", "for y in names: open(y).close()"]),
)
PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=6)
HEAD = "import os, glob, shutil\nfrom pathlib import Path\nx = 'a.txt'; y = 'd'\n"


def guarded(lines: list[str]) -> str:
    """Each line by itself, so that one that fails does not end the program."""
    return HEAD + "".join(f"try:\n {line}\nexcept Exception as error: print(error)\n" for line in lines)


@settings(max_examples=EXAMPLES * 2 // 5)  # each with a process, for sixteen programs
@given(st.lists(PROGRAMS, min_size=16, max_size=16))
def test_generated_programs_do_nothing_that_was_not_predicted(
    folder: Path, descriptions: dict[str, Any], programs: list[list[str]]
) -> None:
    texts = [guarded(lines) for lines in programs]
    problems = []
    for text, result in zip(texts, ran(texts, folder), strict=True):
        understood, effects = predicted(text, folder, descriptions)
        if understood:
            problems += [(text, *event) for event in result["events"] if unpredicted(*event, effects, folder)]
    for name, text in FILES.items():
        if not (folder / name).is_file():
            continue
        (folder / name).write_text(text)
    assert problems == []


@given(PROGRAMS, st.sampled_from(HARMFUL), st.integers(0, 6))
def test_anything_unlisted_anywhere_makes_a_program_not_understood(
    folder: Path, descriptions: dict[str, Any], lines: list[str], harmful: str, at: int
) -> None:
    text = HEAD + "\n".join([*lines[:at], harmful, *lines[at:]])
    assert not predicted(text, folder, descriptions)[0]
