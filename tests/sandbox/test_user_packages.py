"""Packages of Python that a project's calls install are code that every later Python loads: who may see them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gateway.model.limits import limits_of
from gateway.model.plan import HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.policy.confine import Grants, Reach
from gateway.sandbox.agreed import Agreed
from gateway.sandbox.marks import Mark
from gateway.sandbox.user_packages import shims_of, with_packages, without_packages

WORK, FOLDER, CACHE = "/home/dev/project", "/home/dev/state/layers/1/own/python", "/home/dev/.cache"
PLAN = SandboxPlan(
    (Mount(CACHE, WRITE), Mount(WORK, WRITE), Mount("/usr", READ)), (), ("/home/dev", "/tmp"), WORK,
    (("PATH", "/usr/bin"),), Network(), limits_of({}), layers=((CACHE, "/home/dev/state/layers/1/c"),),
)  # fmt: skip
CONTAINED = PLAN.replace(contained=True)
NOTHING = Agreed(frozenset(), frozenset(), frozenset())
HOOK = Mark(f"{WORK}/.git/hooks", "dir", fixed="protected")


def given(plan: SandboxPlan, grants=Grants("code"), agreed=NOTHING, mode="accept_edits", packages=FOLDER, shims=""):  # noqa: B008
    context = SimpleNamespace(mode=mode, workspace=(WORK,))
    survey = SimpleNamespace(packages=packages, marks=(HOOK,), shims=shims)
    return with_packages(plan, grants, agreed, survey, context)


@pytest.mark.parametrize(("plan", "access"), [(CONTAINED, WRITE), (PLAN, READ)])
def test_a_call_that_can_do_no_more_than_a_contained_one_finds_them_and_a_contained_one_installs_them(plan, access):
    found = given(plan)
    assert found == plan.replace(
        mounts=(Mount(CACHE, WRITE), Mount(WORK, WRITE), Mount(FOLDER, access), Mount("/usr", READ)),
        environment=(("PATH", f"/usr/bin:{FOLDER}/bin"), ("PYTHONUSERBASE", FOLDER)),
        packages=FOLDER,
    )
    assert without_packages(found) == plan


SHIMS = "/home/dev/.pyenv/shims"
HOST = SimpleNamespace(path=lambda path: SimpleNamespace(real=path, kind="dir") if path == SHIMS else None)


def test_pyenvs_pip_makes_its_shims_where_nobody_keeps_them() -> None:
    found = given(CONTAINED, shims=SHIMS)
    assert (found.transient, Mount(SHIMS, READ) in found.mounts) == ((SHIMS,), True)
    assert given(PLAN, shims=SHIMS) == given(PLAN)
    path = ("/usr/bin", "/other/.pyenv/shims", SHIMS)
    assert [shims_of(path[at:], "pip", HOST) for at in (0, 2)] == ["", SHIMS]
    assert shims_of(path[2:], "uv", HOST) == shims_of(path[2:], "", HOST) == shims_of(path[:1], "pip", HOST) == ""


LISTED = Network("listed")
LOGIN = Reach("/home/dev/.aws", "/home/dev/.aws", real="/home/dev/.aws", alone=False, tree=True, kind="read", rule="")
OWN_VARIABLE = (("PATH", "/usr/bin"), ("PYTHONUSERBASE", "/srv/python"))


@pytest.mark.parametrize(
    ("plan", "how"),
    [
        (CONTAINED.replace(network=LISTED), {}),
        (PLAN.replace(network=LISTED), {}),
        (PLAN.replace(network=Network("open")), {}),
        (CONTAINED, {"grants": Grants("code", credentials=(LOGIN,))}),
        (PLAN, {"grants": Grants("code", credentials=(LOGIN,))}),
        (PLAN, {"grants": Grants("code", reads=(LOGIN,))}),
        (PLAN, {"grants": Grants("code", unknown=("write ?",))}),
        (PLAN.replace(given=("/tmp/x",)), {}),
        (PLAN.replace(permits=("ptrace",)), {}),
        (PLAN.replace(mounts=(*PLAN.mounts, Mount("/srv", WRITE))), {}),
        (PLAN.replace(mounts=(*PLAN.mounts, Mount("/home/dev/project-2/x", WRITE, False))), {}),
        (PLAN.replace(layers=()), {}),
        (PLAN, {"agreed": NOTHING.replace(writes=frozenset((HOOK.path,)))}),
        (PLAN, {"agreed": NOTHING.replace(deletes=frozenset((HOOK.path,)))}),
        (CONTAINED, {"mode": "plan"}),
        (CONTAINED.replace(environment=OWN_VARIABLE), {}),
        (CONTAINED.replace(mounts=(*CONTAINED.mounts, Mount("/home/dev/state", HIDDEN))), {}),
        (CONTAINED, {"packages": ""}),
    ],
)
def test_every_other_call_does_not(plan, how) -> None:
    assert given(plan, **how) == plan
