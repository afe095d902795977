"""Stand-ins for a plan's private folders where no mount can put an empty one in their place."""

from __future__ import annotations

import os
from contextlib import contextmanager

from gateway.sandbox.backends.landlock_rules import private_folders
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.plan import SandboxPlan


def make_private(plan: SandboxPlan) -> str:
    """A fresh folder that only this user may enter, with one in it for each of the plan's private ones; "" if there
    are none. Raises SandboxError."""
    if not plan.private:
        return ""
    import tempfile

    remedy = "set TMPDIR to a folder that can be written"
    try:
        top = os.path.realpath(tempfile.mkdtemp(prefix="gateway-"))
        for name in private_folders(plan):
            os.mkdir(f"{top}/{name}", 0o700)
    except OSError as error:
        raise SandboxError(f"no private folder can be made for the call: {error}", remedy) from error
    return top


@contextmanager
def private_for(plan: SandboxPlan) -> Iterator[str]:
    """As `make_private`, while a call is started: it is gone again where that fails."""
    private = make_private(plan)
    try:
        yield private
    except BaseException:
        if private:
            from gateway.sandbox.launched.leftovers import remove

            remove(os.fsencode(private))
        raise


def start_folder(plan: SandboxPlan, private: str) -> str:
    """Where the command starts: the placeholder directory where the plan says a private folder."""
    if plan.cwd in plan.private and all(mount.path != plan.cwd for mount in plan.mounts):
        return f"{private}/{private_folders(plan)[plan.private.index(plan.cwd)]}"
    return plan.cwd
