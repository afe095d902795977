"""Allow rules that let secrets be read: files whose names say what stands in them, which no rule keeps back.

What lies in the project is not spoken of: there reading needs no rule. Nor are rules on a folder that somebody named.
"""

from __future__ import annotations

from gateway.policy.algebra import dimensions
from gateway.policy.algebra.clauses import at_most
from gateway.policy.algebra.dimensions import everything
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import overlap, uncovered
from gateway.policy.algebra.sets import Some, Texts
from gateway.policy.lint.witness import Shown, call_at, example_words
from gateway.policy.modes import SYSTEM_VIEW
from gateway.policy.secret_names import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.policy.algebra.regions import Point, Region
    from gateway.policy.lint.clauses import Clause, Finding
    from gateway.policy.lint.coverage import Cover

_REMEDY = "leave secrets out, as with `path_not: ['**/*.pem', '**/*.key']`, or name what is needed"
_READ = Some(frozenset(("read",)))


def reaching(clause: Clause, cover: Cover) -> Iterator[Finding]:
    """At most one finding, with a call that the engine is to be asked about: without its yes, it is only supposed."""
    if clause.lane != "allow" or "read" not in clause.kinds or clause.when.get("contained") is True:
        return
    shown = _by_command(clause) if "command" in clause.when else _by_path(clause, cover)
    if shown is not None and shown.text:
        yield clause.finding(
            "reaches-secret", "info", "allows reading files whose names say that they hold secrets", _REMEDY,
            witness=shown.text, proof="reached", circumstances=shown.circumstances,
        )  # fmt: skip


def _by_command(clause: Clause) -> Shown | None:
    """A command of a pattern that leaves its further words open, on a secret outside the project."""
    pattern = clause.when["command"][0]
    if not pattern.endswith((" *", ":*")) or "path" in clause.when:
        return None
    words = " ".join(example_words(pattern.removesuffix(":*").removesuffix(" *")))
    return Shown(f"Bash({words} {clause.anchors.home}/keys/x.key)")


def _by_path(clause: Clause, cover: Cover) -> Shown | None:
    base = clause.anchors.base
    patterns = clause.when.get("path", ())
    if "exec" in clause.when or not any(_is_wide(each, clause.anchors.home) for each in patterns):
        return None
    among = everything("path").among
    elsewhere = [f"{folder}/**" for folder in (base, *SYSTEM_VIEW)]
    named = Texts(among, (dimensions.paths([f"/**/{name}" for name in NAMES]),), (dimensions.paths(elsewhere),))

    def holding(point: Point) -> Iterator[Region]:
        return cover.stricter(point, clause)

    try:
        for region in at_most(clause.when, clause.lane, clause.bound.layer):
            point = uncovered(overlap(region, {"path": named, "kind": _READ}), holding, everything)
            if point is not None:
                return call_at(point, ("read",))
    except UndecidedError:
        pass
    return None


def _is_wide(pattern: str, home: str) -> bool:
    """Whether a pattern begins in a folder that holds the files of many purposes: HOME, what it lies in, a top folder.
    Who names a folder below knows what is in it."""
    segments = pattern.split("/")[1:]
    first = next((place for place, each in enumerate(segments) if any(c in each for c in "*?[")), len(segments))
    folder = "".join(f"/{each}" for each in segments[:first])
    return first <= 1 or f"{home}/".startswith(folder + "/")
