"""Which sources belong to an area, and which tests are to notice a change to them, the likeliest first."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]
CORPUS = "tests/test_corpus.py"


@dataclass(frozen=True)
class Area:
    """Paths from the top of the repository; a folder stands for all below it."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def files(self) -> list[str]:
        return [file for path in self.sources for file in _below(path, "*.py")]

    def tests_for(self, path: str, top: Path = TOP) -> list[str]:
        """All of its tests in the repository at `top`, those first that are named after the file or its folder."""
        names = {f"test_{Path(path).stem}.py", f"test_{Path(path).parent.name}.py"}
        tests = [file for test in self.tests for file in _below(test, "test_*.py", top)]
        return sorted(tests, key=lambda test: Path(test).name not in names)  # stable: the corpus stays before the rest


_PLAN_TESTS = ("test_plan", "test_mounts", "test_toolchains", "backends/test_bubblewrap_arguments")
_POLICY_TESTS = (
    "tests/approval/test_always_rule.py",
    "tests/approval/test_proposing.py",
    "tests/frontends/test_change.py",
    "tests/frontends/test_cli_policy.py",
    "tests/frontends/test_cli_policy_suggest.py",
    "tests/replay/test_suggesting.py",
    "tests/sandbox/test_plan.py",
)
AREAS = {
    "policy": Area(("gateway/policy",), (CORPUS, "tests/policy", "tests/judge", *_POLICY_TESTS)),
    "commands": Area(("gateway/commands",), (CORPUS, "tests/commands")),
    "shell": Area(("gateway/shell",), (CORPUS, "tests/shell", "tests/commands")),
    # What is enforced is for the oracles of `tests/sandbox`: here nothing is run under a plan that is wrong on purpose.
    "plan": Area(
        tuple(f"gateway/sandbox/{name}.py" for name in ("plan", "mounts", "profile", "survey", "agreed")),
        tuple(f"tests/sandbox/{name}.py" for name in _PLAN_TESTS),
    ),
    "steering": Area(("gateway/commands/steering", "gateway/host"), ("tests/host", "tests/commands/steering", CORPUS)),
}


@functools.cache
def area_of(path: str) -> str:
    """The area that a file belongs to, of two the narrower; "" for one that is in none."""
    found = {name: area.files() for name, area in AREAS.items()}
    return min((name for name, files in found.items() if path in files), key=lambda name: len(found[name]), default="")


def files_of(area: str) -> list[str]:
    return [file for file in AREAS[area].files() if area_of(file) == area]


def _below(path: str, pattern: str, top: Path = TOP) -> list[str]:
    if path.endswith(".py"):
        return [path]
    return sorted(str(file.relative_to(top)) for file in (top / path).rglob(pattern))
