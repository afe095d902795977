"""From a verdict, the sandbox profile and one look at the host to the plan that a sandbox keeps. Pure.

A call gets what everything needs to run (the system view, toolchains, an empty HOME and /tmp of its own), the workspace
to read, and then what was predicted of it; a rule's approval adds the profile. From all that is taken what policy
denies. What cannot be said in mounts, or is not fully known, is not granted.
"""

from __future__ import annotations

from gateway.model.decision import Decision
from gateway.model.limits import limits_of
from gateway.model.plan import FIXED, HIDDEN, READ, WORKSPACE_SECRETS, WRITE, Mount, SandboxPlan
from gateway.policy.caches import is_cache
from gateway.policy.confine import BY_PROFILE, folder_of, grants_of
from gateway.policy.path_protection import HIDE_SETTING
from gateway.policy.variables import environment_of, written_beside
from gateway.sandbox.agreed import agreed_of
from gateway.sandbox.base import SandboxError
from gateway.sandbox.marks import COMPARED, is_work_of
from gateway.sandbox.nested_paths import above_of, is_below, is_inside, is_or_holds
from gateway.sandbox.network import fetching_of, network_of
from gateway.sandbox.persistent_folders import ONCE, drafted_of, keeps_nothing, layer_of, room_of, shared_by
from gateway.sandbox.profile import OF_THE_KERNEL
from gateway.sandbox.user_packages import with_packages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.verdict import Verdict
    from gateway.policy.confine import Reach
    from gateway.sandbox.marks import Mark
    from gateway.sandbox.profile import Profile
    from gateway.sandbox.survey_results import Place, Survey

MAX_MOUNTS = 1_000
OWN = "gateway"
_STRENGTH = {READ: 0, WRITE: 1}


def plan_of(verdict: Verdict, profile: Profile, survey: Survey) -> SandboxPlan:
    """The plan for a call that is to run confined. Raises SandboxError where nothing that keeps to the policy would let
    the call do what it was approved for, or nothing may run."""
    if verdict.decision is Decision.DENY or not verdict.context.confined:
        raise SandboxError("the call is not to run confined", "there is no plan for it")
    return _Planning(verdict, profile, survey).plan()


class _Planning:
    """The work on one plan; one use."""

    def __init__(self, verdict: Verdict, profile: Profile, survey: Survey) -> None:
        self.verdict = verdict
        self.context = verdict.context
        self.profile = profile
        self.survey = survey
        self.grants = grants_of(verdict, profile.sandbox)
        self.contained = verdict.contained
        self.may_write = not keeps_nothing(verdict)
        self.room = room_of(verdict)
        self.mounts: dict[str, Mount] = {}
        self.links: dict[str, str] = {}
        self.sockets: list[str] = []
        self.secret: set[str] = set()
        self.opened: set[str] = set()
        self.withheld: dict[tuple[str, str], None] = {}
        self.agreed = agreed_of(verdict)
        self.caches: dict[str, None] = {}
        self.given: dict[str, None] = {}

    def plan(self) -> SandboxPlan:
        context, survey, sandbox = self.context, self.survey, self.profile.sandbox
        self.withheld.update({(each, "it is not fully known before the run"): None for each in self.grants.unknown})
        self._common()
        self._predicted()
        if self.grants.profiled:
            self._by_profile()
        self._prune()
        searched, held = self._protect()
        private = self._private()
        network, left = network_of(self.grants, self.profile, survey.refused, survey.only, self.room, survey.daemon,
                                   survey.clusters)  # fmt: skip
        self.withheld.update(dict.fromkeys(left))
        if len(self.mounts) > MAX_MOUNTS:
            raise SandboxError(f"the plan would need more than {MAX_MOUNTS:,} mounts", "work in a smaller folder")
        search_path = tuple(each for each in survey.search_path if self._is_visible(each))
        room = self.room or (ONCE if self.given else "")
        planned = SandboxPlan(
            tuple(self.mounts[path] for path in sorted(self.mounts)),
            tuple(sorted(self.links.items())),
            private=private,
            cwd=context.cwd,
            environment=environment_of(
                survey.variables,
                sandbox,
                home=survey.home,
                search_path=search_path,
                sockets=self.sockets,
                lent=[each.path for each in self.grants.credentials],
            ),
            network=network,
            limits=limits_of(self.profile.limits),
            watched=searched,
            weaker=() if self.contained else tuple(sandbox.get("weaker", ())),
            permits=tuple(sandbox.get("permit", ())) if self.grants.profiled and not self.contained else (),
            held=held,
            withheld=tuple(self.withheld),
            layers=self._layers(),
            contained=self.contained,
            shared=shared_by(survey.rooms, room if self.may_write else "", private),
            given=tuple(self.given),
            loopback=f"{survey.rooms}/{self.room}" if self.room and network.mode == "off" else "",
            fetching=fetching_of(self.grants, self.profile, survey.refused, survey.only),
            drafted=drafted_of(self.mounts.values(), self.caches) if self.verdict.drafts else (),
            transient=written_beside(self.secret, survey.home),
            known=tuple(sorted([mark.path for mark in survey.marks if is_below(mark.path, searched)])),
        )
        return planned if self.sockets else with_packages(planned, self.grants, self.agreed, survey, context)

    def _withhold(self, what: str, why: str) -> None:
        self.withheld[what, why] = None

    def _grant(self, path: str, access: str, *, folder: bool = True, rule: str = "") -> None:
        known = self.mounts.get(path)
        if known is None or _STRENGTH[known.access] < _STRENGTH[access]:
            self.mounts[path] = Mount(path, access, folder, rule)

    def _open(self, folder: str, rule: str) -> None:
        """A folder that the call was predicted to change something in."""
        self._grant(folder, WRITE, rule=rule)
        self.opened.add(folder)

    def _common(self) -> None:
        """What every call sees."""
        self.links.update(self.survey.links)
        for path in (*self.survey.system, *self.survey.tools):
            place = self.survey.places[path]
            rule = place.standing.hidden or place.below.hidden
            if rule:
                self._withhold(f"`{path}`", f"rule `{rule}` hides what lies in it")
            else:
                self._grant(place.real, READ, folder=place.kind == "dir")
        for folder in self.context.workspace:
            self._grant(folder, WRITE if self.contained else READ)
        for folder in [each for repository in self.survey.repositories for each in repository.folders]:
            self._grant(folder, READ)
        brought = WRITE if self.may_write and not self.verdict.drafts else READ
        for path, place in [(path, self.survey.places[path]) for path in self.survey.brought]:
            if not place.standing.hidden:
                self._grant(path, brought, folder=place.kind == "dir")

    def _predicted(self) -> None:
        """What the call was predicted to read and change, and its own login material."""
        for each in self.grants.reads:
            self._read(each, self.survey.places[each.path])
        for each in self.grants.writes:
            folders = next(
                (one.folders for one in self.survey.repositories if (each.named + "/").startswith(one.link + "/")), None
            )
            if folders is None:
                self._write(each, self.survey.places[each.path])
            for folder in folders or ():
                self._open(folder, each.rule)
        for each in self.grants.given:
            self._give(each, self.survey.places[each.path])
        for each in self.grants.credentials:
            place = self.survey.places[each.path]
            if place.kind in ("dir", "file", "other") and not is_or_holds(place.real, self.context.home):
                inside = place.kind == "file" and is_below(place.near, self.context.workspace)
                if inside and each.kind == "write" and not is_or_holds(place.near, self.context.home):
                    self._open(place.near, each.rule)  # searched for protected names, as all of it is
                self._grant(place.real, READ, folder=place.kind == "dir", rule=each.rule)
                self.secret.add(place.real)
                self.sockets += [each.path] if place.kind == "other" else []
                self._link(each.path, place.real)

    def _read(self, reach: Reach, place: Place) -> None:
        what = f"{reach.kind} {reach.named}"
        if place.kind == "missing" or is_below(place.real, OF_THE_KERNEL):
            return  # there is nothing, or the call has one of its own
        hidden = place.standing.hidden or (place.below.hidden if place.kind == "dir" else "")
        if place.kind == "unknown":
            self._withhold(what, "nobody can tell where it leads")
        elif hidden and not (place.real in self.agreed.reads and hidden != HIDE_SETTING):
            self._withhold(what, f"rule `{hidden}` hides it")
        elif is_or_holds(place.real, self.context.home) and not (reach.tree and place.real == self.context.home):
            self._withhold(what, "the home folder and what lies above it are shown as the sandbox has them")
        else:
            self._grant(place.real, READ, folder=place.kind == "dir", rule=reach.rule)
            self._link(reach.named, reach.real)

    def _give(self, reach: Reach, place: Place) -> None:
        """A target in the real temporary folder, which is never granted as a whole."""
        if place.kind == "file" or (place.kind == "dir" and reach.tree):
            self._grant(place.real, WRITE, folder=place.kind == "dir", rule=reach.rule)
        elif place.kind == "missing" and place.near in self.context.temp:
            self.given[place.real] = None
        elif place.kind == "missing" and place.near:
            self._open(place.near, reach.rule)

    def _write(self, reach: Reach, place: Place) -> None:
        what = f"{reach.kind} {reach.named}"
        if reach.alone and place.kind == "file":
            self._grant(place.real, WRITE, folder=False, rule=reach.rule)
            self._link(reach.named, reach.real)
            return
        if not place.near or is_below(place.near, OF_THE_KERNEL):
            self._withhold(what, "nobody can tell where it leads" if not place.near else "it is the sandbox's own")
        elif is_or_holds(place.near, self.context.home):
            raise SandboxError(
                f"`{reach.named}` cannot be changed without `{place.near}` as a whole, which no sandbox is given",
                "let the person make a folder for it, or change the file in its place",
            )
        else:
            self._open(place.near, reach.rule)
            self._link(reach.named, reach.real)

    def _by_profile(self) -> None:
        """What the settings add to a rule's approval."""
        sandbox = self.profile.sandbox
        for pattern in sandbox.get("read", ()):
            for path, place in self._roots(pattern):
                if place.kind in ("dir", "file"):
                    self._from_profile(pattern, path, place, READ)
        for pattern in sandbox.get("write", ()) if self.may_write else ():
            for path, place in self._roots(pattern):
                if place.kind in ("dir", "file") and (not self.contained or self._is_layered(place)):
                    self._from_profile(pattern, path, place, WRITE)
        for pattern in () if self.contained else sandbox.get("sockets", ()):
            for path, place in self._roots(pattern):
                if place.kind == "other":
                    self._from_profile(pattern, path, place, READ)
                    if place.real in self.mounts:
                        self.sockets += [path, place.real]

    def _roots(self, pattern: str) -> Iterator[tuple[str, Place]]:
        found = self.survey.roots.get(pattern)
        if found is None:
            self._withhold(f"setting `{pattern}`", "it stands for too many files, or for none that can be told")
        for path in found or ():
            yield path, self.survey.places[path]

    def _from_profile(self, pattern: str, path: str, place: Place, access: str) -> None:
        standing, below, folder = place.standing, place.below, place.kind == "dir"
        rule = standing.hidden or (below.hidden if folder else "")
        if access == WRITE and not rule:
            rule = below.fixed or below.kept if folder else standing.fixed or standing.kept
        if rule:
            self._withhold(f"setting `{pattern}`", f"rule `{rule}` forbids it")
        elif is_or_holds(place.real, self.context.home) or is_below(place.real, OF_THE_KERNEL):
            self._withhold(f"setting `{pattern}`", f"`{place.real}` is never granted as a whole")
        elif self._is_astray(path, place.real):
            self._withhold(f"setting `{pattern}`", f"a link in a folder that calls may change leads to `{place.real}`")
        else:
            if access == WRITE and self._is_layered(place):
                self.caches[place.real] = None
            self._grant(place.real, access, folder=folder, rule=BY_PROFILE)
            self._link(path, place.real)

    def _is_layered(self, place: Place) -> bool:
        """Whether what a call changes in a folder is kept apart from what the person has there."""
        inside = is_below(place.real, self.context.workspace)
        return place.kind == "dir" and not inside and is_cache(place.real, self.context.home)

    def _layers(self) -> tuple[tuple[str, str], ...]:
        """The caches that the call may change without the person, or another project, ever meeting that."""
        root = self.context.root or self.context.cwd
        writable = [each for each in self.caches if each in self.mounts and self.mounts[each].access == WRITE]
        return tuple([(path, layer_of(self.survey.layers, root, path)) for path in sorted(writable)])

    def _is_astray(self, path: str, real: str) -> bool:
        """Whether a path lies in a folder that calls may change, and leads out of it: they could have made the link."""
        bases = {folder: folder for folder in self.context.workspace}
        for pattern in self.profile.sandbox.get("write", ()):
            bases.update({each: self.survey.places[each].real for each in self.survey.roots.get(pattern) or ()})
        return any(
            path.startswith(base + "/") and not (real + "/").startswith(there + "/") for base, there in bases.items()
        )

    def _link(self, path: str, real: str) -> None:
        """The name under which the call knows something that lies elsewhere."""
        if real and real != path:
            self.links[path] = real

    def _prune(self) -> None:
        """Leaves out what another mount gives anyhow, and links that a mount shows as they are."""
        for path in sorted(self.mounts):
            above = self._above(path)
            if above is not None and _STRENGTH[above.access] >= _STRENGTH[self.mounts[path].access]:
                del self.mounts[path]
        top = dict(self.survey.links)
        for path in list(self.links):
            under_link = any(path.startswith(link + "/") for link in self.links)
            if path not in top and (under_link or path in self.mounts or self._above(path) is not None):
                del self.links[path]

    def _above(self, path: str) -> Mount | None:
        """The deepest mount that a path lies in, not counting one at the path itself."""
        while path != "/":
            path = folder_of(path)
            if (found := self.mounts.get(path)) is not None:
                return found
        return None

    def _protect(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Hides and fixes names in what is granted. Gives the folders in which new names can be told from old ones,
        and links that no mount can hold."""
        granted = dict(self.mounts)
        hidden: dict[str, Mount] = {}
        fixed: dict[str, Mount] = {}
        kept: dict[str, Mount] = {}
        held: set[str] = set()
        unnamed = [path for path in self.survey.secrets.files if path not in self.agreed.reads]
        for path in (*self.survey.own, *unnamed):
            if path in granted or self._above(path) is not None:
                own = path in self.survey.own
                hidden[path] = Mount(path, HIDDEN, own, OWN if own else WORKSPACE_SECRETS)
        if not self.survey.secrets.whole:
            self._withhold("all that git ignores", "there is too much of it to find every secret in it")
        for mark in self.survey.marks:
            path = mark.path
            mount = granted.get(path) or self._above(path)
            if mount is None or path in hidden or is_work_of(self.verdict.analysis.parts, self.grants.writes, mark):
                continue
            if mark.hidden or mark.closed:
                if mark.kind != "link" and not self._may_read(mark):
                    hidden[path] = Mount(path, HIDDEN, mark.kind == "dir", mark.hidden)
                continue
            against_change, against_loss = self._left_of(mark)
            if mount.access != WRITE or not (against_change or against_loss):
                continue
            if mark.kind in ("link", COMPARED):
                held.add(path)
            elif against_change and path not in self.opened:
                fixed[path] = Mount(path, FIXED, mark.kind == "dir", against_change)
            elif path not in granted:
                kept[path] = Mount(path, WRITE, mark.kind == "dir", against_change or against_loss)
        outer = {path: mount for path, mount in fixed.items() if not self._is_held(path, fixed)}
        for path, mount in kept.items():
            if not self._is_held(path, fixed) and not any(each.startswith(path + "/") for each in outer):
                self.mounts[path] = mount
        self.mounts.update(outer)
        self.mounts.update(hidden)
        for path in [each for each in self.mounts if is_inside(each, hidden) and each not in self.secret]:
            if path in granted:
                self._withhold(f"`{path}`", f"it lies in `{next(above_of(path, hidden))}`, which is hidden")
            del self.mounts[path]
        writable = [path for path, mount in granted.items() if mount.access == WRITE and mount.folder]
        watched = [path for path in writable if is_below(path, self.survey.searched)]
        return tuple(sorted(watched)), tuple(sorted(each for each in held if not self._is_held(each, fixed)))

    def _is_held(self, path: str, fixed: dict[str, Mount]) -> bool:
        """Whether a path lies in something fixed, with nothing in between that was opened for the call."""
        return next(above_of(path, {*fixed, *self.opened}), "") in fixed

    def _left_of(self, mark: Mark) -> tuple[str, str]:
        """The rules that keep a name from being changed and from being lost, without those that the call itself was
        judged by. A rule that speaks of both is answered for both: no mount holds one without the other."""
        written, deleted = mark.path in self.agreed.writes, mark.path in self.agreed.deletes
        same = mark.fixed == mark.kept
        return (
            "" if written or (deleted and same) else mark.fixed,
            "" if deleted or (written and same) else mark.kept,
        )

    def _may_read(self, mark: Mark) -> bool:
        """Whether the call itself names this to read, or it is login material that it was granted."""
        if mark.path in self.secret or any(mark.path.startswith(each + "/") for each in self.secret):
            return True
        return mark.path in self.agreed.reads and bool(mark.hidden) and mark.hidden not in (HIDE_SETTING, OWN)

    def _private(self) -> tuple[str, ...]:
        """The call's own folders. Where it starts must be there, be it empty."""
        context = self.context
        above = tuple(each for each in self.survey.system if (each + "/").startswith(context.home.rstrip("/") + "/"))
        found = [each for each in context.temp if each not in self.mounts]
        if context.home.startswith("/") and not above and context.home not in self.mounts:
            found.append(context.home)
        mount = self.mounts.get(context.cwd) or self._above(context.cwd)
        if mount is not None and mount.access == HIDDEN:
            raise SandboxError(
                f"the working directory `{context.cwd}` is hidden by rule `{mount.rule}`", "start elsewhere"
            )
        is_shared = bool(self.room) and self.may_write and is_below(context.cwd, found)
        if mount is None and context.cwd not in found and context.cwd != "/" and not is_shared:
            found.append(context.cwd)
        return tuple(sorted(found))

    def _is_visible(self, path: str) -> bool:
        """Whether the call finds programs in a folder, by itself or through a link: an installer only where no call can
        have put them."""
        for _ in range(8):
            link = next(above_of(path, self.links, itself=True), None)
            if link is None:
                break
            target = self.links[link]
            path = (target if target.startswith("/") else "/" + target) + path[len(link) :]
        mount = self.mounts.get(path) or self._above(path)
        return mount is not None and mount.access not in (HIDDEN, self.grants.installer and WRITE)
