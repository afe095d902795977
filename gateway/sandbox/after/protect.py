"""Names that a call may neither change nor create, dealt with around it.

Backends with mounts hold what exists; what such a name did not exist for, no mount can hold without leaving something
behind. So whatever protected name appears is taken into quarantine: while the call runs by `gateway.sandbox.guard`,
where the kernel tells of it, and whatever is left when it has ended. For backends without mounts what existed is
verified as well, and put back.

No bound is a way around: each name is taken as it is found, folders too deep to be looked into are taken as a whole,
and so are new folders where there are more than can be looked at. Only what was not there before is taken.

A wholly new repository (`git clone`, `git init`) stays, work tree and all, but for what git would run by itself. New
repositories are told from old ones by what was protected before; new work trees by when their folder came to be, and
where that cannot be told they count as old.
"""

from __future__ import annotations

import os
from time import time_ns

from gateway.host.machine import Machine
from gateway.model.plan import FIXED, HIDDEN, WRITE
from gateway.model.result import Violation
from gateway.sandbox.after.identities import Identities
from gateway.sandbox.after.new_repositories import is_repository, repository_of, tame
from gateway.sandbox.after.originals import Originals
from gateway.sandbox.after.reopen import Reopened
from gateway.sandbox.base import Names, SandboxError, TooMuch
from gateway.sandbox.birth_time import born_ns
from gateway.sandbox.marks import PROGRAMS, is_compiled, led_to
from gateway.sandbox.real_paths import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.after.quarantine import Quarantine
    from gateway.sandbox.base import Look

_SLACK_NS = 20_000_000  # the kernel's clock for files is a little behind
_DEEPEST = 10_000  # pieces of one path; the disk is full before
MOST_TOLD = 200
ASK = "ask the person to make this change"


class Protected:
    """Guards the protected names around one call: `before` it starts, `after` it has ended with all its processes."""

    def __init__(self, plan: SandboxPlan, classify: Callable[[str], str], look: Look, *, held: bool = True) -> None:
        """`classify`: the id of the rule that protects a path, "" for none. `look`: finds all protected names below a
        folder. `held`: the backend holds existing names by itself."""
        self.plan = plan
        self._classify = classify
        self._look = look
        self._held = held
        self._host = Machine()
        self.known: dict[str, Names] = {}
        self._before: set[str] = set()
        self.identities: Identities | None = None
        self._originals: Originals | None = None
        # Environments of Python that were there, and are not what the call is there to change.
        self._environments = tuple(
            each.path[: -len("pyvenv.cfg")]
            for each in plan.mounts
            if each.rule == PROGRAMS and each.access == FIXED and each.path.endswith("/pyvenv.cfg")
        )
        self.began = 0  # in nanoseconds since the epoch

    def before(self) -> None:
        """Remembers what there is. Raises SandboxError when that is too much; then nothing may run."""
        self.known = {folder: self._look(folder, True) for folder in self.plan.watched}
        everything = {path: rule for found in self.known.values() for path, rule in found.protected.items()}
        if self.plan.known is not None:
            # What has come since, by another call of its session perhaps, no mount holds: it is as new as what appears.
            known = {*self.plan.known}
            everything = {path: rule for path, rule in everything.items() if path in known}
        self._before = set(everything)
        everything = {path: rule for path, rule in everything.items() if rule != PROGRAMS}
        held = {path: everything.get(path) or self._classify(path) for path in self.plan.held}
        fixed = {
            mount.path: mount.rule
            for mount in self.plan.mounts
            if mount.access == FIXED and (self._held or mount.rule != PROGRAMS)  # too much to be kept by its content
        }
        if self._held:
            # No mount holds a link in its place, nor a file that is written by another of its names.
            loose = {path: rule for path, rule in everything.items() if os.path.islink(path)}
            loose |= {path: rule for path, rule in fixed.items() if _has_other_names(path)} | held
            self._originals = Originals(loose, ()) if loose else None
            self.identities = Identities(self._mounted(), [path for path, rule in fixed.items() if rule != PROGRAMS])
        else:
            self._originals = Originals({**held, **everything, **fixed}, fixed)
        self.began = time_ns() - _SLACK_NS

    def _mounted(self) -> dict[str, str]:
        """What the sandbox holds by mounts in folders that the call may write, with the rules."""
        tops = tuple(f"{each.path.rstrip('/')}/" for each in self.plan.mounts if each.access == WRITE and each.folder)
        return {
            mount.path: mount.rule
            for mount in self.plan.mounts
            if mount.path.startswith(tops) and (mount.access in (FIXED, HIDDEN) or mount.access == WRITE)
        }

    def appeared(self) -> dict[str, str]:
        """The protected names that were not there before the call, with their rules. Raises SandboxError."""
        found: dict[str, str] = {}
        for watched in self.known:
            found.update(self._fresh(self._look(watched, False).protected))
        return found

    def _fresh(self, now: Mapping[str, str]) -> dict[str, str]:
        """Those of some names that were not there before. What an environment runs or loads may come with it, and
        with packages of node and PHP."""
        return {
            path: rule
            for path, rule in now.items()
            if path not in self._before and (rule != PROGRAMS or path.startswith(self._environments))
        }

    def sweep_live(self, fresh: Mapping[str, str], quarantine: Quarantine) -> Iterator[Violation]:
        """Takes away names that have appeared while the call runs. What git may be making is only tamed."""
        return self._sweep(fresh, quarantine, finished=False)

    def after(self, quarantine: Quarantine) -> tuple[Violation, ...]:
        """Undoes what the call did to protected names and says so. Raises SandboxError when nobody can tell what there
        is; whatever could be dealt with has been by then."""
        found: list[Violation] = []
        problem: SandboxError | None = None
        with Reopened() as reopened:
            if self._originals is not None:
                for watched in self.known:
                    self._now(watched, quarantine, reopened, found)
                reopened.leave_open(self._originals)
                for path, rule, told in self._originals.restore(quarantine):
                    found.append(_violation(path, rule, f"it {told}; {ASK}"))
            if self.identities is not None:
                roots = self.plan.watched
                found += [_violation(*each) for each in self.identities.compare(quarantine, roots)]
            for watched in self.known:
                try:
                    found += self._swept(watched, quarantine, reopened)
                    self._make_small(watched, quarantine, found)
                except SandboxError as error:
                    problem = problem or error
        if problem is not None:
            found.append(_violation(self.plan.watched[0], "", f"it may have changed what is protected: {problem}"))
        return told_in_short(found)

    def _swept(self, watched: str, quarantine: Quarantine, reopened: Reopened) -> list[Violation]:
        """Takes away what is new, again and again: what was only renamed, because it was there before, may hold more.
        Raises SandboxError."""
        found: list[Violation] = []
        tried: set[str] = set()
        while True:
            now = self._now(watched, quarantine, reopened, found)
            fresh = {path: rule for path, rule in self._fresh(now).items() if path not in tried}
            if not fresh:
                return found
            tried.update(fresh)
            found += self._sweep(fresh, quarantine, finished=True)

    def _now(
        self, watched: str, quarantine: Quarantine, reopened: Reopened, found: list[Violation]
    ) -> Mapping[str, str]:
        """The protected names that are there now, also in folders that the call has closed. What is too deep to be
        looked into is taken as a whole, and so is what cannot be opened."""
        known = self.known[watched]
        tried: set[str] = set()
        taken: set[str] = set()  # what is there all the same cannot be taken, and is told
        for _ in range(_DEEPEST):
            now = self._look(watched, False)
            for path in [path for path in now.deep if path not in taken]:
                told = quarantine.take_out(path, watched)
                found.append(_violation(path, "", f"nobody can look into a folder as deep as this, so it {told}"))
            closed = sorted(set(now.closed).difference(known.closed, taken))
            deep = [path for path in now.deep if path not in taken]
            if not closed and not deep:
                return now.protected
            taken |= {*deep}
            for folder in closed:
                try:
                    if folder in tried:
                        raise SandboxError(f"{folder} cannot be read")
                    tried.add(folder)
                    reopened.open(folder, watched)
                except SandboxError as error:
                    taken.add(folder)
                    found.append(_violation(folder, "", f"{error}, so it {quarantine.take_out(folder)}"))
        raise SandboxError(f"{watched} cannot be read", "look at it by hand")

    def _make_small(self, watched: str, quarantine: Quarantine, found: list[Violation]) -> None:
        """Takes new folders away as long as there are more than the next call could be planned with."""
        try:
            self._look(watched, True)
            return
        except TooMuch as error:
            why = error.reason
        except SandboxError:  # somebody else is at work there
            return
        pending = [watched]
        while pending:
            here = pending.pop()
            with os.scandir(here) as entries:
                below = [each.path for each in entries if each.is_dir(follow_symlinks=False)]
            for path in below:
                if self._is_new(path):
                    found.append(_violation(path, "", f"{why}, so it {quarantine.take_out(path, watched)}"))
                else:
                    pending.append(path)

    def _is_new(self, path: str) -> bool:
        """Whether it came to be during the call: nobody can set that."""
        return 0 < self.began <= born_ns(path)

    def _sweep(self, fresh: Mapping[str, str], quarantine: Quarantine, *, finished: bool) -> Iterator[Violation]:
        taken = ""
        repositories: dict[str, str] = {}
        new_trees: dict[str, bool] = {}
        for path, rule in sorted(fresh.items()):
            if taken and path.startswith(taken):
                continue
            made = self._new_repository(path, finished)
            if made:
                repositories.setdefault(made, rule)
                name = path.rpartition("/")[2]
                if not finished or name in ("config", "hooks") or f"{made}/hooks/" in path:
                    continue
            elif self._in_new_tree(path, new_trees) or self._is_sound(path, finished):
                continue
            if not os.path.lexists(path):
                continue  # it lay in something that has been taken already
            if rule == PROGRAMS and is_compiled(path) and _is_removed(path):
                continue  # Python may have put it there by itself, and does so again
            told = quarantine.take(path, rule, "new")
            taken = path + "/"
            yield _violation(path, rule, f"it {told}; {ASK}")
        for repository, rule in repositories.items():
            for path, told in tame(repository, self.plan.watched, quarantine, rule, finished=finished):
                yield _violation(path, rule, f"{told}; {ASK}")

    def _new_repository(self, path: str, finished: bool) -> str:
        """The repository that a name is a part of, if that was not there before. While the call runs one that is being
        made counts."""
        found = repository_of(path)
        if not found and not finished and "/.git/" in path:
            found = path[: path.index("/.git/") + len("/.git")]
        return found if found and not self._any_before(found) else ""

    def _is_sound(self, path: str, finished: bool) -> bool:
        """Whether a new name sends git to a repository inside what is watched, plainly: those are held or tamed. While
        the call runs it may not be finished."""
        if path.endswith("/.git") and not os.path.islink(path) and os.path.isfile(path):
            folder = led_to(path, self._host)
            inside = any(f"{folder}/".startswith(f"{each}/") for each in self.plan.watched)
            return not finished or (bool(folder) and inside and is_repository(folder))
        return not finished and path.endswith("/commondir") and "/worktrees/" in path

    def _in_new_tree(self, path: str, known: dict[str, bool]) -> bool:
        """Whether it lies in the work tree of a wholly new repository, or of an old one that was linked to it."""
        if repository_of(path):
            return False
        folder = path.rpartition("/")[0]
        while folder not in known and folder not in self.plan.watched and folder not in ("/", ""):
            git = f"{folder}/.git"
            if is_repository(git) or (os.path.isfile(git) and self._is_sound(git, True)):
                known[folder] = not self._any_before(folder) and self._is_new(folder)
                break
            folder = folder.rpartition("/")[0]
        return known.get(folder, False) and path != f"{folder}/.git"

    def _any_before(self, folder: str) -> bool:
        prefix = folder + "/"
        return any(path.startswith(prefix) for path in self._before)


def told_in_short(found: list[Violation]) -> tuple[Violation, ...]:
    """What was dealt with, and of very much only the beginning."""
    if len(found) <= MOST_TOLD:
        return tuple(found)
    more = len(found) - MOST_TOLD
    rest = found[MOST_TOLD].replace(hint=f"so were {more:,} more: the quarantine lists them; {ASK}", count=more)
    return (*found[:MOST_TOLD], rest)


def _is_removed(path: str) -> bool:
    try:
        with at(path) as (folder, name):
            os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def _has_other_names(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return found.st_nlink > 1 and not os.path.isdir(path)


def _violation(path: str, rule: str, hint: str) -> Violation:
    return Violation("protected", path, rule=rule, source="sweep", hint=hint)
