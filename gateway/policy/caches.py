"""Caches of build tools, which confined calls change in a layer of their project's own. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.model.effect import Touch

# Where build tools keep what several projects, and the person, use: in HOME. Any other folder that a policy lets calls
# write is meant to be written.
CACHES = (
    ".cache", ".npm", ".pnpm-store", ".local/share/pnpm", ".yarn/cache", ".bun/install/cache", ".cargo/registry",
    ".cargo/git", "go/pkg", ".gradle/caches", ".gradle/daemon", ".m2/repository", ".ivy2", ".sbt", ".nuget/packages",
    ".dotnet", ".gem", ".composer/cache", ".hex", ".mix", ".stack", ".cabal/packages", ".pub-cache", "Library/Caches",
    "Library/Developer/Xcode/DerivedData",
)  # fmt: skip


def is_cache(path: str, home: str) -> bool:
    """Whether a folder is one of these, lies in one, or holds one."""
    return any(f"{path}/".startswith(f"{home}/{each}/") or f"{home}/{each}/".startswith(f"{path}/") for each in CACHES)


_SIGNS = frozenset("*?[\\")
_layered: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}
_MOST_KEPT = 16


def in_caches(patterns: Iterable[str], home: str) -> Callable[[Touch], bool]:
    """Tells whether what is changed lies in a cache among the folders that a sandbox lets be written (`sandbox.write`),
    whichever links lead there."""
    key = (tuple(patterns), home)  # a policy's, so the same for call after call
    layered = _layered.get(key)
    if layered is None:
        if len(_layered) >= _MOST_KEPT:
            _layered.clear()
        layered = _layered[key] = _folders(*key)

    def is_layered(effect: Touch) -> bool:
        return f"{effect.path}/".startswith(layered) and (not effect.real or f"{effect.real}/".startswith(layered))

    return is_layered


def written(patterns: Iterable[str], home: str) -> list[str]:
    """The folders of HOME, each with a slash, that patterns of `sandbox.write` speak of."""
    return [f"{home}/{each[2:-3]}/" for each in patterns if each[:2] == "~/" and each[-3:] == "/**"]


def _folders(patterns: tuple[str, ...], home: str) -> tuple[str, ...]:
    caches = tuple([f"{home}/{each}/" for each in CACHES])
    named = written(patterns, home)
    return tuple([each for each in named if each.startswith(caches) and not _SIGNS.intersection(each)])
