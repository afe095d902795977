"""The arguments that make bubblewrap keep a plan. Pure: the same plan and circumstances give the same words."""

from __future__ import annotations

import os
from functools import lru_cache

from gateway.core.value import Value
from gateway.sandbox.mounts import (
    BIND,
    COVER,
    COVER_SIZE,
    MARKER,
    MASK,
    NEED_PROC,
    PRIVATE,
    READ_ONLY,
    is_device,
    private_size,
    steps,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.mounts import Step

_NOTHING_SIZE = 1 << 12


class Given(Value):
    """Circumstances that a plan does not hold.

    `gate`, `status`, `built`: descriptors of the filter of system calls, of bubblewrap's reports, and of the file that
    is made last. `sources`: for each step that needs one, in order, a descriptor of what to mount, or its path where
    bubblewrap takes no descriptors. `machine`: files and folders of /proc that are the machine's own and may be
    written by somebody. `nested`: whether user namespaces can be switched off inside. `contents`: descriptors of
    what the plan's `files` hold, in order.
    """

    gate: int
    status: int
    built: int
    sources: tuple[int | str, ...]
    machine: tuple[str, ...] = ()
    terminal: bool = False
    nested: bool = True
    contents: tuple[int, ...] = ()


def arguments(plan: SandboxPlan, given: Given, made: tuple[Step, ...] | None = None) -> list[bytes]:
    """Every option, in order. `made`: the plan's steps, if they are known already."""
    return encoded(plan, given, made).split(b"\0")[:-1]


@lru_cache(maxsize=16)
def encoded(plan: SandboxPlan, given: Given, made: tuple[Step, ...] | None = None) -> bytes:
    """The same as bubblewrap reads them from a file: each ends with a zero byte. Remembered: calls of one session ask
    for the same."""
    made = steps(plan.mounts, plan.private) if made is None else made
    words: list[str | int] = [
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--cap-drop", "ALL", "--die-with-parent", "--hostname", "sandbox"),
    ]
    if given.nested and "namespaces" not in plan.permits:
        words.append("--disable-userns")
    if not given.terminal:
        words.append("--new-session")
    for name, value in plan.environment:
        words += ("--setenv", name, value)
    private = tuple(f"{folder}/" for folder in plan.private)
    inside = [link for link in plan.links if link[0].startswith(private)]
    for path, target in plan.links:
        if not path.startswith(private):
            words += ("--symlink", target, path)
    # bubblewrap reads the whole list of mounts for each that it binds or makes read-only: what can be said while the
    # list is short is said first, and what is mounted without a look at it last.
    words += ("--proc", "/proc")
    # Process 1 is a program of the host's, started where that may be written: its file must not be reached.
    words += ("--perms", "0555", "--size", _NOTHING_SIZE, "--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
    if NEED_PROC.isdisjoint(plan.permits):
        words += ("--remount-ro", "/proc")
    size = private_size(plan.limits)
    shown = (*[step.path for step in made], *[path for path, _content in plan.files])
    in_devices = any(f"{path}/".startswith("/dev/") for path in shown)
    empty = [step for step in made if step.kind == PRIVATE and not _holds(step.path, shown)]
    shared = ("--perms", "1777", "--size", size, "--tmpfs", "/dev/shm")
    words += ("--dev", "/dev", *(shared if in_devices else ("--remount-ro", "/dev")))
    elsewhere = dict(plan.shared)
    words += _mounted([step for step in made if step not in empty], given.sources, size, elsewhere)
    for (path, content), descriptor in zip(plan.files, given.contents, strict=True):
        words += ("--perms", "0555" if content.startswith(b"#!") else "0444", "--ro-bind-data", descriptor, path)
    if not in_devices:
        words += shared
    words += _mounted(empty, (), size, elsewhere)
    for path, target in inside:  # a private folder is empty when it is mounted
        words += ("--symlink", target, path)
    if not NEED_PROC.isdisjoint(plan.permits):
        for path in given.machine:
            words += ("--ro-bind", path, path)
    words += ("--file", given.built, MARKER)
    for step in made:
        if step.kind == COVER:
            words += ("--remount-ro", step.path)
    if in_devices:
        words += ("--remount-ro", "/dev")
    words += ("--remount-ro", "/", "--chdir", plan.cwd)
    words += ("--seccomp", given.gate, "--json-status-fd", given.status)
    words.append("")
    return os.fsencode("\0".join(map(str, words)))


def shows_host(step: Step) -> bool:
    """Whether a step needs a source: an object of the host, or one that stands in for it."""
    return step.kind in (BIND, READ_ONLY, MASK)


def _holds(folder: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder.rstrip('/')}/") and path != folder for path in paths)


def _mounted(
    made: Iterable[Step], sources: tuple[int | str, ...], size: int, elsewhere: dict[str, str]
) -> list[str | int]:
    words: list[str | int] = []
    places = iter(sources)
    for step in made:
        if step.kind == PRIVATE and step.path in elsewhere:
            words += ("--bind", elsewhere[step.path], step.path)
        elif step.kind == PRIVATE:
            words += ("--perms", "1777" if step.path == "/tmp" else "0700", "--size", size, "--tmpfs", step.path)
        elif step.kind == COVER:
            words += ("--perms", "0111", "--size", COVER_SIZE, "--tmpfs", step.path)
        else:
            words += _bound(_option(step), next(places), step.path)
    return words


def _option(step: Step) -> str:
    if is_device(step):
        return "dev-bind"
    return "bind" if step.kind == BIND else "ro-bind"


def _bound(option: str, source: int | str, path: str) -> tuple[str | int, ...]:
    if isinstance(source, int):
        return (f"--{option}-fd", source, path)
    return (f"--{option}", source, path)
