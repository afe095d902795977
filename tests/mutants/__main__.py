"""Changes one place of the sources at a time, in a copy, and tells which changes no test notices.

Each is a missing test, or an entry in tests/mutants/survivors.txt with the reason why it changes nothing that matters.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mutants.areas import AREAS, TOP, area_of
from mutants.changes import Mutant, is_sound, mutants
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
HANGS = 45  # seconds; no test of these areas takes a third of it
LONGEST = 1200  # seconds for all tests of one mutant


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", nargs="*", help=f"{', '.join(AREAS)}; FILE; FILE:LINE; all areas if not given")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of each area or file (20); of a line all")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(1 << 32), help="which: the same again for the same"
    )
    parser.add_argument("--listed", action="store_true", help="only those in survivors.txt: one that dies may go there")
    options = parser.parse_args()
    listed = known()
    chosen = [
        mutant
        for where in options.where or AREAS
        for mutant in _of(where, options.sample, random.Random(f"{options.seed} {where}"), listed, options.listed)
    ]
    random.Random(options.seed).shuffle(chosen)  # what is stopped early has seen something of everything
    print(f"{len(chosen)} mutants, --seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gateway-mutants-") as folder:
        copy = Copy(Path(folder))
        alive = [mutant for number, mutant in enumerate(chosen, 1) if _lives(mutant, copy, f"{number}/{len(chosen)}")]
        passed = {area_of(mutant.path) for mutant in alive}  # under a change even
        for area in sorted({area_of(mutant.path) for mutant in chosen} - passed):
            if failed := copy.failure(area, AREAS[area].files()[0]):
                print(f"{failed} fails without any change: little is known of the mutants of {area}", file=sys.stderr)
                return 2
    missing = [mutant for mutant in alive if mutant.name not in listed]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} killed, {len(missing)} alive and not listed")
    for mutant in missing:
        path, function, before, after = mutant.name
        print(f"\n# line {mutant.line}\n{path}: {function}\n- {before}\n+ {after}")
    return 1 if missing else 0


def _of(
    where: str, size: int | None, order: random.Random, listed: dict[tuple[str, str, str, str], str], only_listed: bool
) -> list[Mutant]:
    path, _, line = where.partition(":")
    if path not in AREAS and not area_of(path):
        raise SystemExit(f"{where} is neither an area ({', '.join(AREAS)}) nor a file of one")
    sources = {file: (TOP / file).read_bytes() for file in (AREAS[path].files() if path in AREAS else [path])}
    found = [mutant for file, source in sources.items() for mutant in mutants(file, source)]
    found = [mutant for mutant in found if (mutant.name in listed) == only_listed and line in ("", str(mutant.line))]
    if not (line or only_listed) or size is not None:
        order.shuffle(found)
    wanted = size if size is not None else len(found) if line or only_listed else 20
    chosen: list[Mutant] = []
    for mutant in found:
        if len(chosen) < wanted and is_sound(mutant, sources[mutant.path]):
            chosen.append(mutant)
    return chosen


def _lives(mutant: Mutant, copy: Copy, number: str) -> bool:
    begin = time.monotonic()
    with copy.changed(mutant):
        failed = copy.failure(area_of(mutant.path), mutant.path)
    told = f"killed by {failed}" if failed else f"LIVES\n    - {mutant.before}\n    + {mutant.after}"
    print(f"{number} {time.monotonic() - begin:3.0f} s  {mutant.path}:{mutant.line} {told}", flush=True)
    return not failed


class Copy:
    """The repository's files in a folder of their own, where they may be changed."""

    def __init__(self, folder: Path) -> None:
        self._top = folder / "repository"
        self._scratch = folder / "scratch"
        self._told = folder / "told"
        shutil.copytree(TOP, self._top, symlinks=True, ignore=NOT_COPIED)
        self._environment = {
            **os.environ,
            "HOME": str(folder / "home"),
            "PYTHONPATH": f"{self._top}{os.pathsep}{self._top / 'tests'}",
        }
        (folder / "home").mkdir()

    @contextlib.contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """The copy with one change, for as long as this lasts."""
        path = self._top / mutant.path
        original = path.with_name(path.name + ".original")
        try:
            shutil.copy2(path, original)
            _forget_compiled(path)
            path.write_bytes(mutant.applied(path.read_bytes()))
            yield
        finally:
            _forget_compiled(path)
            original.replace(path)

    def failure(self, area: str, path: str) -> str:
        """What fails first of an area's tests that are to notice a change to this file, "" if all pass."""
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=no", "--disable-warnings"),
            *("-p", "no:cacheprovider", "-p", "mutants.unshrunk", f"--basetemp={self._scratch}"),
            *("-o", f"faulthandler_timeout={HANGS}", "-o", "faulthandler_exit_on_timeout=true"),
            *AREAS[area].tests_for(path, self._top),
        ]
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
        failed = [line.partition(" ")[2] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].partition(" - ")[0] if failed else "what does not load, or does not end"


def _forget_compiled(path: Path) -> None:
    """What was compiled is known by the time, in seconds, and the size of its source: both may outlast a change."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


if __name__ == "__main__":
    sys.exit(main())
