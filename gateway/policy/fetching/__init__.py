"""Calls that install packages which can be fetched before anything of the call runs, which then runs without a network.

What is fetched is named by words that are held to a grammar here, and is fetched by a program of this machine, in a
step of its own that sees nothing of the project. So nothing needs to be known of the program that installs, nor of
what stands beside it: whatever runs has the files, and no way out. Pure.

Start at `fetch_of`. One module for each fetcher; which files a step works from is said there, and read by who may look
at the host (`gateway.judge.lists`).
"""

from __future__ import annotations

from gateway.policy.fetching.base import Fetch, Fetcher, OtherwiseError, Project
from gateway.policy.fetching.cargo import CARGO
from gateway.policy.fetching.pip import PIP
from gateway.policy.fetching.uv import UV

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gateway.model.analysis import Analysis
    from gateway.model.command import Part
    from gateway.model.effect import Item

__all__ = ["FETCHERS", "Fetch", "Fetcher", "OtherwiseError", "Project", "fetch_of", "installing", "is_held"]

MOST_NAMED = 500
FETCHERS = {each.name: each for each in (PIP, UV, CARGO)}
"""By the name that policy uses."""
_GETS = {"pip": "pip install", "uv": "uv sync", "cargo": "cargo fetch", "npm": "npm install"}


def fetch_of(analysis: Analysis, names: Collection[str]) -> Fetch | None:
    """What the installs of a call need, where all of its installs are of one fetcher that policy names and can be
    fetched before; None for a call without one, or with one that cannot."""
    if analysis.tokens:
        return None
    at = {each.name: installing(analysis, each) for each in FETCHERS.values()}
    chosen = [name for name, parts in at.items() if parts]
    if len(chosen) != 1 or chosen[0] not in names:
        return None  # nobody knows what two of them would do to each other's files
    fetcher = FETCHERS[chosen[0]]
    found = [_read(fetcher, analysis.parts[number]) for number in at[fetcher.name]]
    read = [each for each in found if each is not None]
    if len(read) < len(found) or len({each.flags for each in read}) > 1:
        return None  # one fetch would get too much for one of them, and too little for another
    joined = Fetch(
        fetcher.name,
        named=tuple(dict.fromkeys(name for each in read for name in each.named)),
        files=tuple(dict.fromkeys(path for each in read for path in each.files)),
        projects=tuple(dict.fromkeys(one for each in read for one in each.projects)),
        flags=read[0].flags,
        targets=tuple(one for each in read for one in each.targets),
        constraints=tuple(dict.fromkeys(path for each in read for path in each.constraints)),
    )
    size = len(joined.named) + len(joined.files) + len(joined.projects) + len(joined.constraints)
    return joined if 0 < size <= MOST_NAMED else None


def installing(analysis: Analysis, fetcher: Fetcher) -> list[int]:
    """The commands that read from the fetcher's registries."""
    found = dict.fromkeys(item.part for item in analysis.items if _is_of(fetcher, item, analysis))
    return [number for number in found if number >= 0]


def _is_of(fetcher: Fetcher, item: Item, analysis: Analysis) -> bool:
    effect = item.effect
    return (
        effect.kind == "connect"
        and item.part >= 0
        and fetcher.holds(effect)
        and fetcher.claims(analysis.parts[item.part])
    )


def is_held(fetcher: Fetcher, item: Item, parts: Collection[int]) -> bool:
    """Whether what a call's install does beside the project is held by the plan. `parts`: its installs."""
    return item.part in parts and fetcher.holds(item.effect)


def _read(fetcher: Fetcher, part: Part) -> Fetch | None:
    """What one command installs, None where it is not known."""
    folder = part.cwds[0] if part.cwds is not None and len(part.cwds) == 1 else ""
    if not part.literal or part.expanded or not folder:
        return None
    return fetcher.reads(part, folder)


def gets_from(host: str) -> str:
    """The commands, as people write them, that get packages from a registry before anything else runs; what runs later
    finds them. "" for any other host."""
    from gateway.policy.installs import INSTALLERS

    kinds = {each.name: each.registries for each in FETCHERS.values()}
    kinds |= {each.name: each.registries for each in INSTALLERS.values()}
    return " or ".join(
        f"`{_GETS[name]}`" for name, registries in kinds.items() if host in [each.host for each in registries]
    )
