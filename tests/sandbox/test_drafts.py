"""Where a layer can be laid over a workspace, and what calls change in one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import drafts
from gateway.sandbox.backends.choose import choose
from gateway.sandbox.base import Probe, SandboxError
from gateway.sandbox.drafts import GONE, SPARE, cannot_lay, is_empty, laid, layers_in
from gateway.sandbox.persistent_folders import drafted_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def plan_of(**more: Any) -> SandboxPlan:
    return SandboxPlan((Mount("/w", WRITE),), (), (), "/w", (), Network(), Limits(), drafted=("/w",), **more)


@pytest.mark.parametrize(
    ("mounts", "said"),
    [
        ("/ ext4", ""),
        ("/ ext4\n/elsewhere tmpfs", ""),
        ("/ nfs4", "of the kind `nfs4`"),
        ("/ ext4\nHERE fuse.sshfs", "of the kind `fuse.sshfs`"),
        ("/ ext4\nHERE/sub tmpfs", "something is mounted on `HERE/sub`"),
        ("/ ext4\nHERE/a\\040b/c tmpfs", "something is mounted on `HERE/a b/c`"),
    ],
)
def test_what_would_be_hidden_or_could_not_be_written_is_not_drafted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str, said: str
) -> None:
    here = str(tmp_path / "workspace")
    os.mkdir(here)
    lines = [each.replace("HERE", here).rsplit(" ", 1) for each in mounts.split("\n")]
    told = "".join(f"1 2 0:1 / {path} rw,relatime - {kind} none rw\n" for path, kind in lines)
    (tmp_path / "mounts").write_text(told)
    monkeypatch.setattr(drafts, "_MOUNTS", str(tmp_path / "mounts"))
    found = cannot_lay((here,))
    assert (found == "") is (said == "")
    assert said.replace("HERE", here) in found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("owner", [(65534, -1), (-1, 65534)])
@pytest.mark.parametrize("name", ["", "file"])
def test_what_belongs_to_others_is_not_drafted(tmp_path: Path, owner: tuple[int, int], name: str) -> None:
    (tmp_path / "file").write_text("x")
    assert cannot_lay((str(tmp_path),)) == ""
    os.chown(tmp_path / name, *owner)
    assert "belongs to another user or group" in cannot_lay((str(tmp_path),))


def test_the_outermost_folders_are_drafted_and_a_file_by_itself_is_not() -> None:
    mounts = [Mount("/opt", READ), Mount("/opt/w", WRITE), Mount("/opt/w/.git/hooks", FIXED), Mount("/opt/w/a", WRITE)]
    assert drafted_of([*mounts, Mount("/c", WRITE)], {"/c"}) == ("/opt/w",)
    with pytest.raises(SandboxError, match="`/x` cannot be changed in a layer"):
        drafted_of([*mounts, Mount("/x", WRITE, False)], ())


def test_everything_that_stays_when_a_call_ends_has_a_layer_and_caches_are_not_kept(tmp_path: Path) -> None:
    for name in ("w", "cache", "slot/upper", "room/tmp", "draft"):
        (tmp_path / name).mkdir(parents=True)
    top = str(tmp_path)
    plan = plan_of(draft=f"{top}/draft").replace(
        drafted=(f"{top}/w",), layers=((f"{top}/cache", f"{top}/slot"),), shared=(("/tmp", f"{top}/room/tmp"),)
    )
    for _attempt in range(2):  # the second one after one that did not come to start
        found = laid(plan)
    assert (found.layers, found.shared) == ((), ())
    assert found.laid == (
        (f"{top}/w", (f"{top}/w",), f"{top}/draft/0"),
        (f"{top}/cache", (f"{top}/slot/upper", f"{top}/cache"), f"{top}/draft/1"),
        ("/tmp", (f"{top}/room/tmp",), f"{top}/draft/2"),
    )
    assert layers_in(f"{top}/draft") == [
        (f"{top}/draft/0/upper", f"{top}/w"), (f"{top}/draft/2/upper", f"{top}/room/tmp"),
    ]  # fmt: skip


def laid_anew(top: Path, number: int, drafted: str = "w") -> str:
    """The layers of a call, by their upper folder."""
    draft = top / "changes" / str(number) / "draft"
    draft.parent.mkdir(parents=True)
    plan = plan_of(draft=str(draft)).replace(drafted=(str(top / drafted),))
    return f"{laid(plan).laid[0][2]}/upper"


@pytest.mark.parametrize(
    ("does", "drafted", "serves"),
    [
        (lambda _upper: None, "w", True),
        (lambda _upper: None, "v", False),
        (lambda upper: os.mkdir(f"{upper}/d"), "w", False),
        (lambda upper: os.setxattr(upper, "user.mine", b"x"), "w", False),
        (lambda upper: os.setxattr(upper, "user.overlay.impure", b"y"), "w", True),
    ],
    ids=["nothing", "over another folder", "a name", "an attribute", "what the kernel says"],
)
def test_empty_layers_serve_the_next_call_as_they_are(
    tmp_path: Path, does: Callable[[str], object], drafted: str, serves: bool
) -> None:
    for name in ("w", "v"):
        (tmp_path / name).mkdir()
    upper = laid_anew(tmp_path, 1)
    does(upper)
    held = os.open(upper, os.O_RDONLY)  # so that no other folder gets its number
    inode = os.fstat(held).st_ino
    assert is_empty(os.path.dirname(os.path.dirname(upper))) is (serves or drafted != "w")
    os.rename(tmp_path / "changes/1/draft", tmp_path / "changes" / SPARE)
    (tmp_path / "w").chmod(0o750)
    now = laid_anew(tmp_path, 2, drafted)
    os.close(held)
    assert (os.stat(now).st_ino == inode) is serves
    assert os.stat(now).st_mode == os.stat(tmp_path / drafted).st_mode
    left = sorted(each for each in os.listdir(tmp_path / "changes") if not each.endswith(GONE))
    assert (os.listdir(now), left) == ([], ["1", "2"])


def test_nothing_that_lays_no_layers_holds_such_a_call() -> None:
    class Other:
        name, whole = "bubblewrap", True

        def probe(self) -> Probe:
            return Probe(True, "it works")

        def missing(self, _plan: SandboxPlan) -> tuple[str, ...]:
            return ()

    assert choose(plan_of().replace(drafted=()), [Other()]).backend.name == "bubblewrap"  # type: ignore[list-item]
    with pytest.raises(SandboxError, match="lays no layer over a workspace"):
        choose(plan_of(), [Other()])  # type: ignore[list-item]


def test_nothing_is_laid_where_nobody_has_made_room_for_it() -> None:
    with pytest.raises(SandboxError, match="no layer was prepared"):
        laid(plan_of())
