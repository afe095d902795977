"""Names that a call may neither change nor create, dealt with around it.

Backends with mounts hold what exists; what such a name did not exist for, no mount can hold without leaving something
behind. So whatever protected name has appeared when the call has ended is taken into quarantine. For backends without
mounts what existed is verified as well, and put back.

A wholly new repository (`git clone`, `git init`) stays, work tree and all, but for what git would run by itself: active
hooks are taken away, and its configuration keeps only what is harmless. New repositories are told from old ones by what
was protected before; new work trees by when their folder came to be, and where that cannot be told they count as old.

While the call runs, a new name is there: whoever uses the workspace meanwhile may meet it.
"""

from __future__ import annotations

import os
import stat
from time import time_ns

from gateway.host.gitconfig import BadConfig, entries, name_of
from gateway.model.plan import FIXED
from gateway.model.result import Violation
from gateway.sandbox import gitconfig
from gateway.sandbox.after.originals import Originals
from gateway.sandbox.after.quarantine import Quarantine
from gateway.sandbox.after.reopen import Reopened
from gateway.sandbox.base import Names, SandboxError
from gateway.sandbox.birth_time import born_ns
from gateway.sandbox.real_paths import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gateway.model.plan import SandboxPlan

    Look = Callable[[str], Names]

MOST_CONFIG = 1 << 20
_SLACK_NS = 20_000_000  # the kernel's clock for files is a little behind
_ROUNDS = 3
_ASK = "ask the person to make this change"


class Protected:
    """Guards the protected names around one call: `before` it starts, `after` it has ended with all its processes."""

    def __init__(
        self, plan: SandboxPlan, classify: Callable[[str], str], *, look: Look | None = None, held: bool = True
    ) -> None:
        """`classify`: the id of the rule that protects a path, "" for none. `look`: finds all protected names below a
        folder, where somebody keeps an index of them; else the folder is walked. `held`: the backend holds existing
        names by itself."""
        self._plan = plan
        self._classify = classify
        self._look = look or walked(classify)
        self._held = held
        self._known: dict[str, Names] = {}
        self._redirected: set[str] = set()
        self._originals: Originals | None = None
        self._began = 0

    def before(self) -> None:
        """Remembers what there is. Raises SandboxError when that is too much; then nothing may run."""
        self._known = {folder: self._look(folder) for folder in self._plan.watched}
        everything = {path: rule for found in self._known.values() for path, rule in found.protected.items()}
        self._redirected = {path for path in _redirections(everything) if os.path.lexists(path)}
        if self._held:
            # No mount holds a link in its place.
            links = {path: rule for path, rule in everything.items() if os.path.islink(path)}
            links |= {path: everything.get(path) or self._classify(path) for path in self._plan.held}
            self._originals = Originals(links, ()) if links else None
        else:
            fixed = {mount.path: mount.rule for mount in self._plan.mounts if mount.access == FIXED}
            held = {path: self._classify(path) for path in self._plan.held}
            self._originals = Originals({**held, **everything, **fixed}, fixed)
        self._began = time_ns() - _SLACK_NS

    def after(self, folder: str) -> tuple[Violation, ...]:
        """Undoes what the call did to protected names and says so. What is taken away goes below `folder`, which is
        made on demand. Raises SandboxError when nobody can tell what there is."""
        quarantine = Quarantine(folder)
        found = []
        with Reopened() as reopened:
            if self._originals is not None:
                for watched, known in self._known.items():
                    self._now(watched, known, reopened)
                reopened.leave_open(self._originals)
                for path, rule, told in self._originals.restore(quarantine):
                    found.append(_violation(path, rule, f"it {told}; {_ASK}"))
            for watched, known in self._known.items():
                before = known.protected
                now = dict(self._now(watched, known, reopened))
                for path in _redirections(before):
                    if path not in self._redirected and os.path.lexists(path):
                        now[path] = before.get(f"{path.rpartition('/')[0]}/config") or next(iter(before.values()))
                fresh = {path: rule for path, rule in sorted(now.items()) if path not in before}
                found += self._sweep(fresh, before, quarantine)
        return tuple(found)

    def _now(self, watched: str, known: Names, reopened: Reopened) -> Mapping[str, str]:
        """The protected names that are there now, also in folders that the call has closed."""
        for _ in range(_ROUNDS):
            now = self._look(watched)
            closed = set(now.closed) - set(known.closed)
            if not closed:
                return now.protected
            for folder in sorted(closed):
                reopened.open(folder, watched)
        raise SandboxError(f"{min(closed)} cannot be looked into", "look at it by hand")

    def _sweep(
        self, fresh: Mapping[str, str], before: Mapping[str, str], quarantine: Quarantine
    ) -> Iterator[Violation]:
        taken = ""
        repositories: dict[str, str] = {}
        new_trees: dict[str, bool] = {}
        for path, rule in fresh.items():
            if taken and path.startswith(taken):
                continue
            repository = _repository_of(path)
            if repository and not _any_below(before, repository):
                repositories.setdefault(repository, rule)
                if path.rpartition("/")[2] in ("config", "hooks") or f"{repository}/hooks/" in path:
                    continue
            elif not repository and self._in_new_tree(path, new_trees, before):
                continue
            if not os.path.lexists(path):
                continue  # it lay in something that has been taken already
            told = quarantine.take(path, rule, "new")
            taken = path + "/"
            yield _violation(path, rule, f"it {told}; {_ASK}")
        for repository, rule in repositories.items():
            yield from self._tame(repository, rule, quarantine)

    def _in_new_tree(self, path: str, known: dict[str, bool], before: Mapping[str, str]) -> bool:
        """Whether it lies in the work tree of a wholly new repository."""
        folder = path.rpartition("/")[0]
        while folder not in known and folder not in self._plan.watched and folder != "/" and folder:
            git = f"{folder}/.git"
            if _is_repository(git):
                born = born_ns(folder)
                known[folder] = not _any_below(before, folder) and 0 < self._began <= born
                break
            folder = folder.rpartition("/")[0]
        return known.get(folder, False)

    def _tame(self, repository: str, rule: str, quarantine: Quarantine) -> Iterator[Violation]:
        """Leaves a new repository without anything that git would run by itself."""
        hooks = f"{repository}/hooks"
        suspects = _active(hooks)
        suspects += [path for name in ("commondir", "config") if os.path.islink(path := f"{repository}/{name}")]
        for path in suspects:
            yield _violation(path, rule, f"it {quarantine.take(path, rule, 'active in a new repository')}; {_ASK}")
        config = f"{repository}/config"
        if os.path.lexists(config):
            yield from self._tame_config(config, repository, rule, quarantine)

    def _tame_config(self, config: str, repository: str, rule: str, quarantine: Quarantine) -> Iterator[Violation]:
        try:
            content = _read(config)
            found = entries(content.decode("utf-8", "surrogateescape"))
        except (OSError, BadConfig):
            told = quarantine.take(config, rule, "not understood")
            yield _violation(config, rule, f"nobody can tell what git would run for it, so it {told}; {_ASK}")
            return
        bad = [each for each in found if not gitconfig.is_harmless(each, repository, self._plan.watched)]
        if not bad:
            return
        names = ", ".join(sorted({name_of(each) for each in bad})[:5])
        where = quarantine.keep_copy(config, content, rule, "says what git runs")
        text = gitconfig.written([each for each in found if each not in bad])
        try:
            with at(config) as (folder, name):
                spare = f".gateway-{time_ns():x}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with open(os.open(spare, flags, 0o644, dir_fd=folder), "wb") as file:
                    file.write(text.encode("utf-8", "surrogateescape"))
                os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            told = quarantine.take(config, rule, "says what git runs")
            yield _violation(config, rule, f"{names} could not be taken out of it, so it {told}; {_ASK}")
            return
        kept = f"; the original is {where}" if where else ""
        yield _violation(config, rule, f"{names} was taken out of it, since git runs or obeys that{kept}; {_ASK}")


def walked(classify: Callable[[str], str]) -> Look:
    """A look at whole folders for who has no index. Links are not followed. Raises SandboxError where a folder cannot
    be listed for another reason than its mode."""

    def look(folder: str) -> Names:
        found: dict[str, str] = {}
        closed = []
        pending = [folder]
        while pending:
            here = pending.pop()
            try:
                with os.scandir(here) as entries:
                    for entry in entries:
                        rule = classify(entry.path)
                        if rule:
                            found[entry.path] = rule
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
            except PermissionError:
                closed.append(here)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise SandboxError(f"{here} cannot be looked into: {error.strerror}") from error
        return Names(found, tuple(closed))

    return look


def _violation(path: str, rule: str, hint: str) -> Violation:
    return Violation("protected", path, rule, "sweep", hint)


def _redirections(names: Mapping[str, str]) -> set[str]:
    """The file beside a repository's configuration that would have git read another one instead."""
    return {
        f"{path.rpartition('/')[0]}/commondir"
        for path in names
        if path.endswith(("/.git/config", "/.git/hooks")) or ("/.git/modules/" in path and path.endswith("/config"))
    }


def _repository_of(path: str) -> str:
    """The repository that a path is a part of, "" if none: the nearest folder above that looks like one."""
    folder = path.rpartition("/")[0]
    while folder:
        if _is_repository(folder):
            return folder
        folder = folder.rpartition("/")[0]
    return ""


def _is_repository(folder: str) -> bool:
    return os.path.isfile(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects") and not os.path.islink(folder)


def _any_below(names: Mapping[str, str], folder: str) -> bool:
    prefix = folder + "/"
    return any(path.startswith(prefix) for path in names)


def _active(hooks: str) -> list[str]:
    """Of a folder of hooks those that git would run; the folder itself where nobody can tell."""
    if os.path.islink(hooks):
        return [hooks]
    try:
        return [f"{hooks}/{name}" for name in sorted(os.listdir(hooks)) if _runs(f"{hooks}/{name}")]
    except FileNotFoundError:
        return []
    except OSError:
        return [hooks]


def _runs(hook: str) -> bool:
    mode = 0 if hook.endswith(".sample") else os.lstat(hook).st_mode
    return mode != 0 and (not stat.S_ISREG(mode) or bool(mode & 0o111))


def _read(path: str) -> bytes:
    """A plain file of modest size. Raises OSError for anything else."""
    with at(path) as (folder, name):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_CONFIG:
                raise OSError(27, "it is no plain file, or too large")
            return file.read()
