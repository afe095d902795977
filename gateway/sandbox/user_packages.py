"""Packages of Python that calls install where the machine's own Python has them: in a folder of their project. Pure.

Every Python of a later call loads code from there (`usercustomize`, `*.pth`), which a contained call may have put
there. So only calls see it that could do no more with it than that one could: those that reach no host, hold no login,
change nothing but the workspace and layers, and show nothing of the machine that their words alone let them see.

    STATE/layers/PROJECT/own/python   what Python takes for the folder of its user
"""

from __future__ import annotations

from gateway.model.plan import HIDDEN, READ, WRITE, Mount
from gateway.policy.modes import CEILINGS
from gateway.sandbox.nested_paths import is_below, is_inside
from gateway.sandbox.persistent_folders import LAYERS, own_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.base import Host
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.policy.confine import Grants
    from gateway.sandbox.agreed import Agreed
    from gateway.sandbox.survey_results import Survey

VARIABLE = "PYTHONUSERBASE"


def packages_of(state: str, verdict: Verdict, host: Host) -> str:
    """The folder of the project's packages, where there are any, or the call may be the first to install some."""
    context = verdict.context
    folder = own_of(f"{state}/{LAYERS}", context.root or context.cwd, "python")
    return folder if verdict.contained or host.is_folder(folder) else ""


def shims_of(search_path: tuple[str, ...], fetched: str, host: Host) -> str:
    """The folder of pyenv's shims on a search path, "" for none: its pip makes them anew when it has installed."""
    found = [path for path in search_path if path.endswith("/.pyenv/shims")] if fetched == "pip" else []
    fact = host.path(found[0]) if found else None
    return fact.real if fact is not None and fact.kind == "dir" else ""


def with_packages(plan: SandboxPlan, grants: Grants, agreed: Agreed, survey: Survey, context: Context) -> SandboxPlan:
    """A plan whose call finds them, and their programs behind all others. The same plan where the call may not see
    them, or policy has chosen another folder, or hides what lies around it."""
    if context.mode in CEILINGS or not survey.packages or not _is_held_alike(plan, grants, agreed, survey, context):
        return plan
    folder = survey.packages
    variables = dict(plan.environment)
    if VARIABLE in variables or is_inside(folder, [each.path for each in plan.mounts if each.access == HIDDEN]):
        return plan
    variables[VARIABLE] = folder
    variables["PATH"] = f"{variables['PATH']}:{folder}/bin"
    added = [Mount(folder, WRITE if plan.contained else READ)]
    # What the shims name lies behind them on PATH, so they need not be kept.
    shims = (survey.shims,) if plan.contained and survey.shims else ()
    added += [Mount(each, READ) for each in shims]
    mounts = sorted((*[each for each in plan.mounts if each.path not in shims], *added), key=lambda each: each.path)
    return plan.replace(
        mounts=tuple(mounts), environment=tuple(sorted(variables.items())), packages=folder,
        transient=(*plan.transient, *shims),
    )  # fmt: skip


def without_packages(plan: SandboxPlan) -> SandboxPlan:
    """The same for a backend that does not hold all of a plan: such a call is none of those that may see them."""
    variables = {name: text for name, text in plan.environment if name != VARIABLE}
    variables["PATH"] = variables["PATH"].removesuffix(f":{plan.packages}/bin")
    mounts = tuple([each for each in plan.mounts if each.path != plan.packages])
    return plan.replace(mounts=mounts, environment=tuple(sorted(variables.items())), packages="")


def _is_held_alike(plan: SandboxPlan, grants: Grants, agreed: Agreed, survey: Survey, context: Context) -> bool:
    """Whether a call can do no more than a contained one without a network, held by a backend that holds all of it."""
    if plan.network.mode != "off" or grants.credentials or plan.given:
        return False
    if plan.contained:
        return True
    if plan.permits or grants.reads or grants.unknown:
        return False
    changed = agreed.writes | agreed.deletes
    if any(mark.path in changed for mark in survey.marks if mark.fixed or mark.kept):
        return False
    own = (*context.workspace, *[path for path, _layer in plan.layers])
    return all(is_below(each.path, own) for each in plan.mounts if each.access == WRITE)
