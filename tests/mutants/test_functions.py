"""Which changes are in the bodies of functions alone, and in which; and that forks of a session try these."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mutants.forks import _in_fork
from mutants.functions import changed, noting, place

SOURCE = """\
X = [a for a in (1, 2) if a]
def f(x, y=1):
    z = (
      x
    )
    return [u for u in z if u > y]
class A:
    K = 1
    def g(self):
        def h():
            return 1
        return h
def after(): return lambda: 3, lambda: 4
"""
F_PART, H = "f.<locals>.<listcomp>", "A.g.<locals>.h"
CHANGED = {
    "a statement": ("z = (\n      x\n    )", "z = None", ["f"], ["f"]),
    "a part that is a function of its own": ("u > y", "u >= y", ["f"], ["f", F_PART]),
    "a method in a method": ("return 1", "return 0", [H], ["A.g", H]),
    "what is to be given for an argument": ("y=1", "y=0", None, None),
    "a constant of a class": ("K = 1", "K = 0", None, None),
    "a table that is made at import": ("if a]", "if not a]", None, None),
    "one of two that are told apart by nothing": ("lambda: 4", "lambda: 5", None, None),
    "what a function takes from around it": ("return 1", "return self", ["A.g", H], ["A.g", H]),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "places", "codes"), CHANGED.values(), ids=CHANGED)
def test_what_is_only_in_the_bodies_of_functions_is_told(old, new, places, codes) -> None:
    found = changed(SOURCE.encode(), SOURCE.replace(old, new, 1).encode(), "a.py")
    told = found and ([name for name, _ in sorted(found.places)], [name for name, _ in sorted(found.codes)])
    assert told == (places and (places, codes))


def test_a_function_notes_that_it_is_called_and_does_what_it_did() -> None:
    source = "def f(x):\n  'text'\n  def g(): return x\n  return [(lambda: g() + each)() for each in (1, 2)]\n"
    called, given = [], {"note": lambda: called.append(sys._getframe(1).f_code.co_name)}
    exec(compile(source, "a.py", "exec"), given)
    codes = noting(source.encode(), "a.py", "note")
    function = given["f"]
    before = function(1)
    function.__code__ = codes[place(function.__code__)]
    assert (before, function(1), called) == ([2, 3], [2, 3], ["f", "<lambda>", "g", "<lambda>", "g"])


def test_a_fork_ends_with_who_waits_for_it() -> None:
    reading, writing = os.pipe()

    def wait() -> None:
        os.close(reading)
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(60)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with pytest.raises(SystemExit):
            _in_fork(wait, 60)
    finally:
        signal.signal(signal.SIGTERM, before)
    os.close(writing)
    with open(reading, "rb") as left:
        assert left.read() == b""


def test_a_fork_runs_the_tests_that_call_what_is_changed_whatever_was_kept_before(tmp_path: Path) -> None:
    source = (
        "import functools\n@functools.cache\ndef f(x): return x > 1\ndef g(): return 1\ndef h(): return 1\n"
        "def loop(x):\n  while x: x = 0\nY = f(2)\n"
    )
    (tmp_path / "a.py").write_text(source, encoding="utf-8")
    (tmp_path / "test_a.py").write_text(
        "from a import *\nassert f(1) is False\ndef test_f(): assert f(2) and not f(1)\ndef test_g(): assert g()\n"
        "def test_loop(): loop(1)\n",
        encoding="utf-8",
    )

    def edit(old: str, new: str) -> list[object]:
        begin = source.index(old)
        return ["a.py", begin, begin + len(old), new]

    edits = [edit("x > 1", "x >= 1"), edit("return 1", "return 0"), edit("return x", "return 1 if x else x")]
    edits += [edit("1\ndef loop", "0\ndef loop"), edit("f(2)", "f(1)"), edit("x = 0", "raise x")]
    (tmp_path / "changes").write_text(json.dumps([["a.py"], edits]), encoding="utf-8")
    told, telling = os.pipe()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "mutants.forks", f"--changes={tmp_path}/changes",
         f"--told-to={telling}", "-q", "-p", "no:cacheprovider", "test_a.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(__file__).parents[1]}"},
        pass_fds=[telling], capture_output=True, check=True,
    )  # fmt: skip
    os.close(telling)
    with open(told, encoding="utf-8") as lines:
        first, *answers = [json.loads(line) for line in lines]
    names = [answer[0] and answer[0].rpartition(":")[2] for answer in answers]
    assert (first, names) == ([], ["test_f", "test_g", "test_f", "", None, "test_loop"])
