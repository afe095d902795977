"""The backend `seatbelt`: macOS, by a profile for `sandbox-exec` made from the same plan as everywhere.

The profile and the words of its start are tested as text. They have not been run on macOS by this project yet.

What macOS cannot do: there are no namespaces of processes, so what leaves its session outlives the call, and no private
folders, so fresh ones stand in for them and HOME and TMPDIR lead there. Hosts can only be held by a proxy: of the
network its port on the loopback is all that a profile can open.
"""

from __future__ import annotations

import os
import platform

from gateway.core.programs import PROGRAMS
from gateway.model.plan import FIXED, HIDDEN, WRITE
from gateway.sandbox.base import Probe, SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.base import Running, Streams

(PROGRAM,) = PROGRAMS["sandbox-exec"].places
DEGRADED = (
    "a process that leaves its session outlives the call",
    "/tmp and the home folder are refused; TMPDIR and HOME lead to fresh private folders",
)
_REMEDY = "see that /usr/bin/sandbox-exec is there and that this process is not sandboxed itself"
_SYSTEM = (
    "/System", "/Library/Apple", "/bin", "/sbin", "/usr/bin", "/usr/lib", "/usr/libexec", "/usr/sbin", "/usr/share",
    "/private/var/db/dyld", "/private/var/db/timezone",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper")
_HEAD = """(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.logger"))
(allow file-read-metadata)
(allow file-read* (literal "/"))"""


def profile(plan: SandboxPlan, private: str = "", port: int = 0) -> str:
    """The profile that keeps a plan. Later rules win, so the deepest mount decides. `private`: the folder of the
    stand-ins for private ones; `port`: of the proxy on the loopback, 0 for none. Pure."""
    lines = [_HEAD]
    lines += [f"(allow file-read* (subpath {_text(path)}))" for path in _SYSTEM]
    lines += [f"(allow file-read* file-write-data file-ioctl (literal {_text(path)}))" for path in _DEVICES]
    if private:
        lines.append(f"(allow file-read* file-write* (subpath {_text(private)}))")
    for mount in sorted(plan.mounts, key=lambda each: (each.path.count("/") if each.path != "/" else 0, each.path)):
        where = f"({'subpath' if mount.folder else 'literal'} {_text(mount.path)})"
        if mount.access == HIDDEN:
            lines.append(f"(deny file-read* file-write* {where})")
        elif mount.access == WRITE:
            lines.append(f"(allow file-read* file-write* {where})")
            lines.append(f"(deny file-write-unlink (literal {_text(mount.path)}))")
        else:
            lines.append(f"(allow file-read* {where})")
            lines.append(f"(deny file-write* {where})")
    for path in _pinned(plan):
        lines.append(f"(deny file-write-unlink (literal {_text(path)}))")
    lines.append("(deny file-write-setugid)")
    if plan.network.mode == "off":
        lines.append("(deny network*)")
    else:
        lines.append("(deny network*)")
        lines.append(f'(allow network-outbound (remote ip "localhost:{port}"))')
    if "ptrace" in plan.permits:
        lines.append("(allow mach-priv-task-port (target same-sandbox))")
    return "\n".join(lines) + "\n"


def arguments(plan: SandboxPlan, argv: Sequence[bytes], private: str = "", port: int = 0) -> list[bytes]:
    """The words that start a command under the profile. Pure."""
    return [PROGRAM.encode(), b"-p", os.fsencode(profile(plan, private, port)), b"--", *argv]


def _pinned(plan: SandboxPlan) -> list[str]:
    """The folders on the way to what is fixed or hidden inside something writable: renaming one would move it."""
    writable = [each.path for each in plan.mounts if each.access == WRITE and each.folder]
    found = set()
    for mount in plan.mounts:
        if mount.access in (FIXED, HIDDEN):
            folder = mount.path.rpartition("/")[0]
            while any(folder.startswith(f"{root}/") for root in writable):
                found.add(folder)
                folder = folder.rpartition("/")[0]
    return sorted(found)


def _text(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Seatbelt:
    """Confines by `sandbox-exec`."""

    name = "seatbelt"
    whole = False

    def __init__(self) -> None:
        self._probe: Probe | None = None

    def probe(self) -> Probe:
        """Tries to break out of a real call, and remembers for this process what came of it."""
        if self._probe is None:
            self._probe = self._try()
        return self._probe

    def _try(self) -> Probe:
        if platform.system() != "Darwin":
            return Probe(False, "this is not macOS")
        if not os.access(PROGRAM, os.X_OK):
            return Probe(False, f"{PROGRAM} is not there", _REMEDY)
        from gateway.sandbox.attempts import attempt

        broken = attempt(self)
        return Probe(False, broken, _REMEDY) if broken else Probe(True, PROGRAM, "", DEGRADED)

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """What of the plan cannot be expressed, each as a sentence."""
        found = []
        if plan.network.mode != "off":
            found.append("the network for single hosts needs a proxy inside the call, which macOS does not have yet")
        if "namespaces" in plan.permits:
            found.append("macOS has no namespaces to permit")
        if any(each < " " for mount in plan.mounts for each in mount.path):
            found.append("a path with control characters cannot be written in a profile")
        return tuple(found)

    def start(
        self, plan: SandboxPlan, argv: Sequence[str | bytes], streams: Streams, keep: Sequence[int] = ()
    ) -> Running:
        """Starts the command, waiting. Raises SandboxError."""
        gaps = self.missing(plan)
        if gaps:
            raise SandboxError(f"Seatbelt cannot enforce this plan: {'; '.join(gaps)}")
        from gateway.sandbox.backends.landlock_rules import environment_of
        from gateway.sandbox.limits import bounds
        from gateway.sandbox.placeholders import make_private, start_folder
        from gateway.sandbox.session import Session

        private = make_private(plan)
        words = arguments(plan, [os.fsencode(word) for word in argv], private)
        folder = os.fsencode(start_folder(plan, private))
        return Session(
            words, environment_of(plan, private), folder, streams, keep, bounds(plan.limits, processes=False)
        )
