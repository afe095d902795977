"""What a call has written over a cache in layers of its own, once that is kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import tree

from gateway.model.limits import Limits
from gateway.model.plan import WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.joining import join, note
from gateway.sandbox.layers import JOINING, Layers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Cache:
    """One of a person's, what was written over it before, and a draft's layer over both."""

    def __init__(self, top: Path) -> None:
        self.top = top
        for name in ("cache", "draft/0/upper"):
            (top / name).mkdir(parents=True)
        self.draft, self.mine = str(top / "draft"), top / "draft/0/upper"
        self.upper = top / "layers/project/0/cache/upper"
        self.used(drafted=True)
        for name, text in {"a": "a", "d/f": "f", "d/g": "g"}.items():
            (self.upper / name).parent.mkdir(exist_ok=True)
            (self.upper / name).write_text(text)

    def used(self, *, drafted: bool) -> None:
        """A call works on it, in layers of its own or not."""
        plan = SandboxPlan(
            (Mount("/w", WRITE),), (), (), "/w", (), Network(), Limits(), drafted=("/w",) if drafted else (),
            layers=((str(self.top / "cache"), str(self.top / "layers/project/cache")),),
        )  # fmt: skip
        Layers(plan, overlays=True).close()

    def seen(self) -> None:
        note(self.draft, [(0, str(self.upper))])

    def wrote(self) -> None:
        (self.mine / "a").write_text("new")
        (self.mine / "d").mkdir(mode=0o750)
        (self.mine / "d/new").write_text("new")
        os.mknod(self.mine / "d/f", 0o020000)  # as the kernel says that nothing is there any more
        (self.mine / "e/e").mkdir(parents=True)

    def names(self) -> set[str]:
        return set(tree(self.upper))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


def test_it_joins_what_was_written_there_before(cache: Cache) -> None:
    cache.seen()
    cache.wrote()
    cache.used(drafted=True)  # which changes nothing there
    join(cache.draft)
    assert (cache.upper / "a").read_text() == (cache.upper / "d/new").read_text() == "new"
    assert (cache.upper / "d/g").read_text() == "g"
    assert os.stat(cache.upper / "d/f").st_rdev == 0
    assert os.stat(cache.upper / "d").st_mode & 0o777 == 0o750
    assert {"a", "d", "d/f", "d/g", "d/new", "e", "e/e"} == {
        os.path.relpath(each, cache.upper) for each in found(cache)
    }


def found(cache: Cache) -> list[str]:
    return [os.path.join(above, name) for above, *names in os.walk(cache.upper) for each in names for name in each]


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda cache: cache.used(drafted=False),
        lambda cache: (os.rename(cache.upper, f"{cache.upper}.old"), cache.upper.mkdir()),
        lambda cache: note(cache.draft, [(0, str(cache.top / "elsewhere"))]),
        lambda cache: os.unlink(cache.top / "layers/project/lock0"),
    ],
    ids=["somebody wrote there", "it was begun anew", "a later call lay over something else", "nobody can tell"],
)
def test_it_is_forgotten_where_that_is_not_what_the_call_saw(
    cache: Cache, meanwhile: Callable[[Cache], object]
) -> None:
    cache.seen()
    cache.wrote()
    meanwhile(cache)
    before = found(cache)
    join(cache.draft)
    assert found(cache) == before


def test_it_is_forgotten_while_another_call_works_there(cache: Cache) -> None:
    cache.seen()
    cache.wrote()
    before = found(cache)
    plan = SandboxPlan(
        (Mount("/w", WRITE),), (), (), "/w", (), Network(), Limits(), drafted=("/w",),
        layers=((str(cache.top / "cache"), str(cache.top / "layers/project/cache")),),
    )  # fmt: skip
    other = Layers(plan, overlays=True)
    join(cache.draft)
    other.close()
    assert found(cache) == before


def test_half_of_it_is_none(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.seen()
    cache.wrote()
    real = os.rename

    def full(one: str, other: str, **at: int) -> None:
        if one.endswith("/new"):
            raise OSError(28, "No space left on device")
        real(one, other, **at)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", full)
        join(cache.draft)
    assert not cache.upper.exists()
    cache.used(drafted=False)
    assert found(cache) == []


def test_what_was_killed_on_the_way_is_begun_anew(cache: Cache) -> None:
    (cache.upper.parent / JOINING).touch()
    cache.used(drafted=True)
    assert (found(cache), sorted(os.listdir(cache.upper.parent))) == ([], ["upper", "work"])
