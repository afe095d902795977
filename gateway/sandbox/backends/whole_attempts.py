"""What a backend that holds a whole plan is tried with: attempts to get out of a workspace with a hidden and a fixed
name, and of the rights that process 1 gives up."""

from __future__ import annotations

import os

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.base import Backend

REMEDY = "allow user namespaces here (`gateway doctor` says how), or permit the weaker form `landlock` in the policy"
# Words of the shell itself only, so that the sandbox has two processes. Each attempt that works prints what it did.
SCRIPT = r"""
{ true >> "$OUTSIDE/new"; } 2>/dev/null && echo "write a file outside"
{ read -r line < "$OUTSIDE/secret"; } 2>/dev/null && echo "read a file outside"
{ read -r line < hidden; } 2>/dev/null && echo "read a hidden file"
{ true >> fixed/file; } 2>/dev/null && echo "write a protected file"
{ true >> /proc/sys/kernel/core_pattern; } 2>/dev/null && echo "open core_pattern for writing"
set -- /proc/[0-9]*; [ $# -eq 2 ] || echo "see processes outside"
[ -e /proc/1/exe ] && echo "reach the program of process 1"
while read -r key value; do
  case "$key $value" in
    "CapEff: 0000000000000000"|"CapBnd: 0000000000000000"|"CapPrm: 0000000000000000"|"CapInh: 0000000000000000") ;;
    "CapAmb: 0000000000000000"|"NoNewPrivs: 1"|"Seccomp: 2") ;;
    Cap*|NoNewPrivs:*|Seccomp:*) echo "act with $key $value" ;;
  esac
done < /proc/self/status
while read -r name _; do
  case "$name" in lo:*|Inter-*|face) ;; *) echo "reach the network ($name)" ;; esac
done < /proc/net/dev
{ true >> new; } 2>/dev/null && read -r line < fixed/file && echo "ordinary use works"
"""
_TOPS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


def tried(backend: Backend) -> str:
    """What is wrong with a backend that ought to hold, "" if nothing is."""
    from gateway.sandbox.attempts import attempt  # lazy: that it holds is remembered

    return attempt(backend, SCRIPT, world)


def world(top: str) -> SandboxPlan:
    """A workspace and something beside it, and a plan that shows only the first."""
    inside, outside = f"{top}/inside", f"{top}/outside"
    for folder in (inside, f"{inside}/fixed", outside):
        os.mkdir(folder)
    for file in (f"{inside}/hidden", f"{inside}/fixed/file", f"{outside}/secret"):
        with open(file, "w", encoding="ascii") as handle:
            handle.write("secret\n")
    mounts = {
        inside: Mount(inside, WRITE),
        f"{inside}/fixed": Mount(f"{inside}/fixed", FIXED),
        f"{inside}/hidden": Mount(f"{inside}/hidden", HIDDEN, folder=False),
    }
    links = {}
    for name in _TOPS:
        if os.path.islink(f"/{name}"):
            links[f"/{name}"] = os.readlink(f"/{name}")
        elif os.path.isdir(f"/{name}"):
            mounts[f"/{name}"] = Mount(f"/{name}", READ)
    for path in ("/usr", "/nix/store"):
        if os.path.isdir(path):
            mounts[os.path.realpath(path)] = Mount(os.path.realpath(path), READ)
    return SandboxPlan(
        tuple(mounts[path] for path in sorted(mounts)),
        tuple(sorted(links.items())),
        private=("/tmp",),
        cwd=inside,
        environment=(("OUTSIDE", outside),),
        network=Network(),
        limits=Limits(),
    )
