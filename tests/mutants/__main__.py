"""Changes one place of the sources at a time, in a copy, and tells which changes no test notices.

Each is a missing test, or an entry in tests/mutants/survivors.txt with the reason why it changes nothing that matters.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from mutants.areas import AREAS, TOP, area_of, files_of
from mutants.changes import Mutant, is_sound, mutants
from mutants.drawing import ordered
from mutants.survivors import known

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_COPIED = shutil.ignore_patterns(
    ".git",
    ".venv*",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    "build",
    "dist",
    "*.so",
    "*.egg-info",
)
SAMPLE = 100
HANGS = 90  # seconds; no test of these areas takes a tenth of it
LONGEST = 1200  # seconds for all tests of one mutant
TOGETHER = 24  # so many changes that seem to live are tried at once: most do


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", nargs="*", help=f"{', '.join(AREAS)}; FILE; FILE:LINE; all areas if not given")
    parser.add_argument(
        "--sample", type=int, metavar="N", help=f"so many of each area or file ({SAMPLE}); of a line all"
    )
    parser.add_argument(
        "--seed", type=_seed, default=1, help="which: always the same for a number (1); `random` finds others"
    )
    parser.add_argument("--listed", action="store_true", help="only those in survivors.txt: one that dies may go there")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends, and the copy goes
    listed = known()
    found = [_of(where, options.sample, options.seed, listed, options.listed) for where in options.where or AREAS]
    chosen = [*dict.fromkeys(itertools.chain(*found))]  # a file may be named beside its area
    print(f"{len(chosen)} mutants, --seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gateway-mutants-") as folder:
        copy = Copy(Path(folder))
        alive = []
        for area in AREAS:
            if some := [mutant for mutant in chosen if area_of(mutant.path) == area]:
                alive += _living(some, copy, area)
    missing = [mutant for mutant in alive if mutant.name not in listed]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} killed, {len(missing)} alive and not listed")
    for mutant in missing:
        path, function, before, after = mutant.name
        print(f"\n# line {mutant.line}\n{path}: {function}\n- {before}\n+ {after}")
    return 1 if missing else 0


def _seed(text: str) -> int:
    return random.randrange(1 << 32) if text == "random" else int(text)


def _of(
    where: str, size: int | None, seed: int, listed: dict[tuple[str, str, str, str], str], only_listed: bool
) -> list[Mutant]:
    path, _, line = where.partition(":")
    if path not in AREAS and not area_of(path):
        raise SystemExit(f"{where} is neither an area ({', '.join(AREAS)}) nor a file of one")
    sources = {file: (TOP / file).read_bytes() for file in (files_of(path) if path in AREAS else [path])}
    found = [mutant for file, source in sources.items() for mutant in mutants(file, source)]
    found = [mutant for mutant in found if (mutant.name in listed) == only_listed and line in ("", str(mutant.line))]
    wanted = size if size is not None else len(found) if line or only_listed else SAMPLE
    sound = (mutant for mutant in ordered(found, seed) if is_sound(mutant, sources[mutant.path]))
    return [*itertools.islice(sound, wanted)]


def _living(chosen: list[Mutant], copy: Copy, area: str) -> list[Mutant]:
    """Those that no test of the area notices. Most are killed in forks of one session; what lives there, or runs when
    it is imported, is asked again in the slow way, which counts: what lived several at once."""
    lived, slow = [], []
    for number, (mutant, failed, seconds) in enumerate(copy.tried(area, chosen), 1):
        if failed is None:
            slow.append(mutant)
        else:
            _tell(f"{number}/{len(chosen)}", mutant, failed, seconds)
            lived += [] if failed else [mutant]
    print(f"{area}: again {len(slow)} one by one, {len(lived)} together", flush=True)
    alive = [mutant for mutant in slow if _all_live([mutant], copy, area)]
    while lived:
        alive += _alive([lived.pop(at) for at in reversed(_apart(lived))], copy, area)
    return alive


def _apart(found: list[Mutant]) -> list[int]:
    """Which of them stand each in a function of its own: they do not meet."""
    first = {(mutant.path, mutant.function): at for at, mutant in reversed([*enumerate(found)])}
    return sorted(first.values())[:TOGETHER]


def _alive(found: list[Mutant], copy: Copy, area: str) -> list[Mutant]:
    """Of some changes those that live: all, if no test notices them all at once; else by halves."""
    if _all_live(found, copy, area):
        return found
    half = len(found) // 2
    return [each for part in (found[:half], found[half:]) if part and half for each in _alive(part, copy, area)]


def _all_live(found: list[Mutant], copy: Copy, area: str) -> bool:
    begin = time.monotonic()
    with copy.changed(found):
        failed = copy.failure(area, found[0].path)
    for mutant in found if len(found) == 1 or not failed else ():
        _tell("again", mutant, failed, time.monotonic() - begin)
    return not failed


def _tell(number: str, mutant: Mutant, failed: str, seconds: float) -> None:
    told = f"killed by {failed}" if failed else f"lives\n    - {mutant.before}\n    + {mutant.after}"
    print(f"{number} {seconds:3.0f} s  {mutant.path}:{mutant.line} {told}", flush=True)


class Copy:
    """The repository's files in a folder of their own, where they may be changed."""

    def __init__(self, folder: Path) -> None:
        self._top = folder / "repository"
        self._scratch = folder / "scratch"
        self._told = folder / "told"
        self._have_failed: dict[str, set[str]] = defaultdict(set)  # files of tests, by the file that was changed
        shutil.copytree(TOP, self._top, symlinks=True, ignore=NOT_COPIED)
        self._environment = {
            **os.environ,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "temporary"),  # what is killed leaves much
            "PYTHONPATH": f"{self._top}{os.pathsep}{self._top / 'tests'}",
        }
        (folder / "home").mkdir()
        (folder / "temporary").mkdir()

    @contextlib.contextmanager
    def changed(self, found: list[Mutant]) -> Iterator[None]:
        """The copy with some changes that do not overlap, for as long as this lasts."""
        originals = {path: (self._top / path).read_bytes() for path in {mutant.path for mutant in found}}
        changed = dict(originals)
        for mutant in sorted(found, key=lambda mutant: mutant.begin, reverse=True):
            changed[mutant.path] = mutant.applied(changed[mutant.path])
        try:
            self._write(changed)
            yield
        finally:
            self._write(originals)

    def _write(self, contents: dict[str, bytes]) -> None:
        for path, content in contents.items():
            _forget_compiled(self._top / path)
            (self._top / path).write_bytes(content)

    def tried(self, area: str, found: list[Mutant]) -> Iterator[tuple[Mutant, str | None, float]]:
        """What fails first of the tests that call a changed function, "" if enough pass, None if the change is in no
        function; and the seconds that it took. SystemExit if a test fails without any change."""
        given = self._top.parent / "changes"
        changes = [[each.path, each.begin, each.end, each.new.decode()] for each in found]
        given.write_text(json.dumps([files_of(area), changes]), encoding="utf-8")
        told, telling = os.pipe()
        command = [*self._pytest(), "-p", "mutants.forks", f"--changes={given}", f"--told-to={telling}"]
        process = subprocess.Popen(
            [*command, *AREAS[area].tests_for("", self._top)],
            cwd=self._top,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[telling],
        )
        os.close(telling)
        try:
            with open(told, encoding="utf-8") as lines:
                for failing in json.loads(next(lines, '["what is collected"]')):
                    raise SystemExit(f"{failing} fails without any change: nothing is known of the mutants of {area}")
                for mutant, line in zip(found, lines, strict=True):
                    failed, seconds = json.loads(line)
                    self._have_failed[mutant.path].add((failed or "").partition("::")[0])
                    yield mutant, failed, seconds
        finally:
            process.terminate()
            process.wait()

    def _pytest(self) -> list[str]:
        return [
            *(sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=no", "--disable-warnings"),
            *("-p", "no:cacheprovider", "-p", "mutants.unshrunk", f"--basetemp={self._scratch}"),
            *("-o", f"faulthandler_timeout={HANGS}", "-o", "faulthandler_exit_on_timeout=true"),
        ]

    def failure(self, area: str, path: str) -> str:
        """What fails first of an area's tests that are to notice a change to this file, "" if all pass."""
        tests = sorted(AREAS[area].tests_for(path, self._top), key=lambda test: test not in self._have_failed[path])
        command = [*self._pytest(), *tests]
        with self._told.open("wb") as told:
            process = subprocess.Popen(
                command,
                cwd=self._top,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                if process.wait(LONGEST) == 0:
                    return ""
            except subprocess.TimeoutExpired:
                pass
            finally:
                with contextlib.suppress(ProcessLookupError):  # with what it has started and left
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        lines = self._told.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines:
            if line.startswith(("FAILED ", "ERROR ")):
                failed = line.partition(" ")[2].partition(" - ")[0]
                self._have_failed[path].add(failed.partition("::")[0])
                return failed
        return "what does not load, or does not end"


def _forget_compiled(path: Path) -> None:
    """What was compiled is known by the time, in seconds, and the size of its source: both may outlast a change."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


if __name__ == "__main__":
    sys.exit(main())
