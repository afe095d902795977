"""Confinement by namespaces: bubblewrap builds what a plan says, from nothing.

How a start goes, and why a half-built sandbox never runs the command:

    bwrap ── process 1 of the sandbox: mounts … last file ── reads the filter of system calls ── command
      │                                       │                       ▲
      └─ reports its pid ─► root              └─ closed ─► built      └─ release writes it, whole

The gate is the filter itself: bubblewrap reads it when everything else is done, and without it does not go on. If the
gateway dies before `release`, the end of the file is all that comes, which is no filter, and bubblewrap gives up.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from contextlib import suppress

from gateway.sandbox.backends.bubblewrap_arguments import Given, arguments, encoded, shows_host
from gateway.sandbox.backends.bubblewrap_running import Confined
from gateway.sandbox.base import Probe, SandboxError
from gateway.sandbox.filter_here import filter_here
from gateway.sandbox.mounts import MASK, PRIVATE, READ_ONLY, inexpressible, is_device, steps
from gateway.sandbox.spawn import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.backends.bubblewrap_program import Program
    from gateway.sandbox.base import Streams
    from gateway.sandbox.mounts import Step
    from gateway.sandbox.spawn import Child

__all__ = ["Bubblewrap", "arguments"]

_AGAIN = "run it again; if that does not help, see `gateway doctor`"
_DIAGNOSIS = 64 << 10


class Bubblewrap:
    """The backend. `program`: which bubblewrap to run, instead of the one that is found."""

    name = "bubblewrap"
    whole = True

    def __init__(self, program: Program | None = None) -> None:
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._program = program
        self._probe: Probe | None = None
        self._masks: Masks | None = None
        self._machine: tuple[str, ...] | None = None

    def probe(self) -> Probe:
        """Runs the real thing with attempts to get out, once in this process."""
        with self._probing:
            if self._probe is None:
                from gateway.sandbox.backends.bubblewrap_probe import probe

                self._probe = probe(self, self.program)
            return self._probe

    def program(self) -> Program:
        """The bubblewrap that is used. Raises SandboxError when there is none that may be."""
        if self._program is None:
            from gateway.sandbox.backends.bubblewrap_probe import known
            from gateway.sandbox.backends.bubblewrap_program import find

            self._program = find(known=known)
        return self._program

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """What of the plan cannot be expressed, each as a sentence."""
        return inexpressible(plan)

    def start(
        self, plan: SandboxPlan, argv: Sequence[str | bytes], streams: Streams, keep: Sequence[int] = ()
    ) -> Confined:
        """Builds the sandbox, with the command waiting inside. Raises SandboxError; then nothing runs."""
        gaps = self.missing(plan)
        if gaps:
            raise SandboxError(f"bubblewrap cannot enforce this plan: {'; '.join(gaps)}")
        program = self.program()
        made = steps(plan.mounts, plan.private)
        _outside_writable(program.path, made)
        started = self._started(program, plan, made, argv, streams, keep)

        def reason() -> str:
            from gateway.sandbox.backends.bubblewrap_probe import forget

            forget()
            self._probe = None
            return self._said(program, plan, made)

        return Confined(
            *started,
            filter_=filter_here(plan.permits),
            made=made,
            plan=plan,
            argv=argv,
            reason=reason,
            leads=not streams.terminal,
        )

    def _started(
        self,
        program: Program,
        plan: SandboxPlan,
        made: tuple[Step, ...],
        argv: Sequence[str | bytes],
        streams: Streams,
        keep: Sequence[int],
    ) -> tuple[Child, int, socket.socket, socket.socket]:
        """Our child, and our ends of its reports, of the gate and of the last file."""
        opened: list[int] = []
        gate, their_gate = socket.socketpair()
        try:
            built, their_built = socket.socketpair()
        except OSError as error:
            gate.close()
            their_gate.close()
            raise SandboxError(f"the sandbox cannot be prepared: {error}", _AGAIN) from error
        reports = -1
        try:
            built.shutdown(socket.SHUT_WR)  # the file is empty
            reports, their_reports = os.pipe2(os.O_CLOEXEC)
            opened.append(their_reports)
            sources = self._sources(program, plan, made, opened)
            contents = tuple(_holding(content, opened) for _path, content in plan.files)
            given = Given(
                their_gate.fileno(),
                their_reports,
                built=their_built.fileno(),
                sources=sources,
                machine=self._of_the_machine() if plan.permits else (),
                terminal=streams.terminal,
                nested=program.nested,
                contents=contents,
            )
            words = _holding(encoded(plan, given, made), opened)
            command = [os.fsencode(word) for word in argv]
            child = spawn(
                os.fsencode(program.path),
                [b"bwrap", b"--args", b"%d" % words, b"--", *command],
                {},
                (streams.stdin, streams.stdout, streams.stderr),
                [*opened, their_gate.fileno(), their_built.fileno(), *keep],
                session=not streams.terminal,
            )
            return child, reports, gate, built
        except BaseException as error:
            gate.close()
            built.close()
            if reports >= 0:
                os.close(reports)
            if isinstance(error, OSError):
                raise SandboxError(f"the sandbox cannot be prepared: {error}", _AGAIN) from error
            raise
        finally:
            their_gate.close()
            their_built.close()
            for descriptor in opened:
                os.close(descriptor)

    def _sources(
        self, program: Program, plan: SandboxPlan, made: tuple[Step, ...], opened: list[int]
    ) -> tuple[int | str, ...]:
        """For each step that shows something, the very object that was planned, held by a descriptor."""
        found: list[int | str] = []
        masks: dict[bool, tuple[int, str]] = {}
        for step in made:
            if not shows_host(step):
                if step.kind == PRIVATE and step.inner:
                    os.close(_same(step.path, True))
                continue
            if step.kind == MASK:
                if step.inner:
                    os.close(_same(step.path, step.folder))
                if step.folder in masks:
                    opened.append(os.dup(masks[step.folder][0]))
                else:
                    masks[step.folder] = self._mask(step.folder)
                    opened.append(masks[step.folder][0])
                found.append(opened[-1] if program.by_descriptor else masks[step.folder][1])
                continue
            descriptor = _same(step.path, step.folder)
            opened.append(descriptor)
            plain = is_device(step) or not program.by_descriptor
            found.append(step.path if plain else descriptor)
        if plan.cwd and not plan.cwd.startswith("/"):
            raise SandboxError(f"the command cannot start in {plan.cwd}: it is no absolute path")
        return tuple(found)

    def _mask(self, folder: bool) -> tuple[int, str]:
        """What stands for everything hidden of a kind: a descriptor of it, and its path."""
        with self._lock:
            if self._masks is None or not self._masks.good():
                self._masks = Masks()
            path = self._masks.folder if folder else self._masks.file
        return _same(path, folder), path

    def _of_the_machine(self) -> tuple[str, ...]:
        """What of /proc is not about processes and may be written by somebody, root included."""
        if self._machine is None:
            with os.scandir("/proc") as entries:
                self._machine = tuple(
                    sorted(
                        entry.path
                        for entry in entries
                        if not entry.name.isdigit() and not entry.is_symlink() and _shuttable(entry)
                    )
                )
        return self._machine

    def _said(self, program: Program, plan: SandboxPlan, made: tuple[Step, ...]) -> str:
        """What bubblewrap says when the same is built once more, to where nobody else writes. Nothing is run."""
        from gateway.sandbox.base import Streams

        said = os.memfd_create("gateway-said", os.MFD_CLOEXEC)
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            streams = Streams(nowhere, nowhere, said)
            child, reports, gate, built = self._started(program, plan, made, ["true"], streams, ())
            gate.close()
            child.wait()
            child.close()
            os.close(reports)
            built.close()
            text = os.pread(said, _DIAGNOSIS, 0).decode("utf-8", "replace").strip()
        except SandboxError as error:
            return error.reason
        finally:
            os.close(said)
            os.close(nowhere)
        lines = [line for line in text.splitlines() if "system call filtering" not in line]
        return " ".join(line.removeprefix("bwrap: ") for line in lines)


class Masks:
    """A file and a folder that nobody without capabilities may open: the same for all calls of this user, or made for
    this process where nothing can be kept."""

    def __init__(self) -> None:
        from gateway.core.places import places

        try:
            self._make(os.path.join(places().state, "run", "masks"))
        except OSError:  # a read-only or full home
            self._make_for_this_process()
        else:
            if not self.good():
                self._make_for_this_process()

    def _make(self, top: str) -> None:
        os.makedirs(top, mode=0o700, exist_ok=True)
        top = os.path.realpath(top)
        self.file = os.path.join(top, "file")
        self.folder = os.path.join(top, "folder")
        if not os.path.lexists(self.file):  # whether what is there is fit is seen by `good`
            os.close(os.open(self.file, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0))
        if not os.path.lexists(self.folder):
            with suppress(FileExistsError):  # another process was quicker
                os.mkdir(self.folder, 0)

    def _make_for_this_process(self) -> None:
        import atexit
        import tempfile

        self._top, self._owner = tempfile.mkdtemp(prefix="gateway-masks-"), os.getpid()
        self._make(self._top)
        atexit.register(self._remove)

    def good(self) -> bool:
        """Whether they are there, ours, and as they were made."""
        try:
            file, folder = os.lstat(self.file), os.lstat(self.folder)
        except OSError:
            return False
        ours = file.st_uid == folder.st_uid == os.geteuid()
        return ours and file.st_mode == stat.S_IFREG and folder.st_mode == stat.S_IFDIR and file.st_size == 0

    def _remove(self) -> None:
        if self._owner == os.getpid():
            import shutil

            shutil.rmtree(self._top, ignore_errors=True)


def _shuttable(entry: os.DirEntry[str]) -> bool:
    mode = entry.stat(follow_symlinks=False).st_mode
    return stat.S_ISDIR(mode) or bool(mode & 0o222)


def _same(path: str, folder: bool) -> int:
    """A descriptor of the object at a resolved path. Raises SandboxError when a link has come to be on the way, or it
    is not what it was."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(f"{path}: {error.strerror} (it was there when the call was planned)", _AGAIN) from error
    try:
        where = os.readlink(f"/proc/self/fd/{descriptor}")
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        os.close(descriptor)
        raise SandboxError(f"{path}: {error.strerror}", _AGAIN) from error
    if where != path or stat.S_ISLNK(mode) or stat.S_ISDIR(mode) != folder:
        os.close(descriptor)
        raise SandboxError(f"{path} is no longer what it was when the call was planned (now {where})", _AGAIN)
    return descriptor


def _outside_writable(program: str, made: tuple[Step, ...]) -> None:
    for step in made:
        if step.kind not in (MASK, READ_ONLY, PRIVATE) and program.startswith(f"{step.path.rstrip('/')}/"):
            raise SandboxError(
                f"{program} lies in {step.path}, which the command may write", "install bubblewrap system-wide"
            )


def _holding(data: bytes, opened: list[int]) -> int:
    """A descriptor that gives these bytes to who reads it; the caller closes what is in `opened`."""
    descriptor = os.memfd_create("gateway-given", os.MFD_CLOEXEC)
    opened.append(descriptor)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
