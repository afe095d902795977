"""`gateway-shell`: stands where a program wants a shell, and judges and confines what that program has it run.

    SHELL=/usr/local/bin/gateway-shell some-agent        make SHELL=gateway-shell        shell: gateway-shell -e {0}

Every form in which programs start bash with something to run is taken; it is no shell for a person to type into.
"""

from __future__ import annotations

import sys


def main() -> int:
    """The process. Never raises; gives the command's own exit status, 126 for what is refused, 2 for wrong usage."""
    from gateway.frontends.main import main as run

    sys.argv = ["gateway", "exec", "--as-shell", "--", *sys.argv[1:]]
    return run()
