"""Who imports whom in the package: `python tests/importgraph.py` prints the figures of its layout, the tests hold them.

Every `import` statement counts, those inside functions too; what only type checkers see is told apart.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sources import source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import sources

PACKAGE = Path(__file__).resolve().parents[1] / "gateway"
FILES = sorted(PACKAGE.rglob("*.py"))


class Import(NamedTuple):
    """One imported module of the package, as a dotted name without `gateway.`."""

    line: int
    target: str
    annotation: bool
    """Only type checkers see it."""


def dotted(path: Path) -> str:
    """A file's module, without `gateway.`: `policy.resolve`, `policy` for its `__init__`, "" for the package's own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in FILES}


def entry(module: str) -> str:
    """What a module lies in at the top of the package."""
    return module.partition(".")[0]


@functools.cache
def imports(path: Path) -> tuple[Import, ...]:
    """What a file imports of the package."""
    return tuple(
        Import(each.line, target, each.annotation) for each in source(path).imports for target in _targets(each)
    )


def _targets(found: sources.Import) -> Iterator[str]:
    inner = [f"{found.module}.{name}" for name in found.names]
    modules = [name for name in inner if name.partition(".")[2] in MODULES]
    for name in modules + ([found.module] if len(modules) < max(1, len(inner)) else []):
        top, _, rest = name.partition(".")
        if top == "gateway":
            yield rest


def graph(*, annotations: bool) -> dict[str, set[str]]:
    """For each module those that it imports, itself left out."""
    return {
        module: {
            each.target
            for each in imports(path)
            if (annotations or not each.annotation) and each.target in MODULES and each.target != module
        }
        for module, path in MODULES.items()
        if module  # the package's own `__init__` hands on names of all
    }


def entries(of: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The same between what lies at the top of the package."""
    found: dict[str, set[str]] = {}
    for module, targets in of.items():
        found.setdefault(entry(module), set()).update({entry(each) for each in targets if each} - {entry(module)})
    return found


def circles(of: Mapping[str, set[str]]) -> list[list[str]]:
    """Those that reach each other, the largest first: strongly connected components of more than one."""
    reached = {start: _reached(of, start) for start in of}
    left, found = set(of), []
    while left:
        start = min(left)
        circle = {each for each in reached[start] if each == start or start in reached.get(each, ())} | {start}
        left -= circle
        if len(circle) > 1:
            found.append(sorted(circle))
    return sorted(found, key=lambda circle: (-len(circle), circle))


def _reached(of: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for each in of.get(waiting.pop(), ()):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def main() -> None:
    """Prints the figures."""
    full, running = graph(annotations=True), graph(annotations=False)
    tops = entries(full)
    arrows = {(one, other) for one, targets in tops.items() for other in targets}
    pairs = {frozenset(each) for each in arrows if each[::-1] in arrows}
    sizes = sorted(((lines(path), name) for name, path in MODULES.items()), reverse=True)
    say = sys.stdout.write
    say(f"modules                                   {len(MODULES)}\n")
    say(f"entries of code at the top                {len({entry(each) for each in MODULES})}\n")
    say(f"arrows between them                       {len(arrows)}\n")
    say(f"pairs of them that import each other      {len(pairs)}\n")
    for title, found in (
        ("circles of entries", circles(tops)),
        ("circles of files, annotations included", circles(full)),
        ("circles of files that exist at run time", circles(running)),
    ):
        say(f"{title:<41} {', '.join(str(len(each)) for each in found) or 'none'}\n")
    say(f"files over 400 lines                      {sum(size > 400 for size, _name in sizes)}\n")
    for circle in circles(full)[:3]:
        say(f"  a circle: {', '.join(circle)}\n")


if __name__ == "__main__":
    main()
