"""How the network of an install ends: the installer starts scripts by a shell of ours, which ends it first. Pure.

The installer itself runs no code of packages or of the project, so what reads from a registry is that program alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.egress.http import Request

SHELL = "/run/gateway-offline-shell"
_HOST = "offline.gateway"
OVER_SAID = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
# Privileged, so that no variable has it read a file or take over a function first.
_TEXT = """\
#!/bin/bash -p
# Scripts of packages, and of the project, run without a network: it ends here, for the whole call.
# Ending it cuts all other connections, that of a script beside this one among them: then once more.
trap : PIPE  # which a script gets as it was
for _ in 1 2 3 4 5 6 7 8; do
  said=
  exec 3<> /dev/tcp/{address}/{port} || exit 126
  {{ printf 'OPTIONS * HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3 && read -r -u 3 said; }} 2> /dev/null
  exec 3>&-
  [[ $said == 'HTTP/1.1 204 '* ]] && break
done
[[ $said == 'HTTP/1.1 204 '* ]] || exit 126
exec /bin/sh "$@"
"""
# Of what a project can set for npm, the first two start programs; what it would send besides tells of private packages.
_VARIABLES = {
    "npm": {
        "npm_config_script_shell": SHELL, "npm_config_git": "/run/gateway-no-git", "npm_config_audit": "false",
        "npm_config_update_notifier": "false",
    }
}  # fmt: skip


def variables(installer: str) -> dict[str, str]:
    """What has an installer start scripts by that shell and nothing by any other way, and send no more than it must.
    Raises KeyError for one that nobody knows that of."""
    return _VARIABLES[installer]


def shell(address: str, port: int) -> bytes:
    """The shell, which finds the proxy at an address."""
    return _TEXT.format(address=address, port=port, host=_HOST).encode("ascii")


def ends_network(request: Request) -> bool:
    """Whether a request is the shell's."""
    asked = request.method == b"OPTIONS" and request.path == b"*" and not request.length
    return asked and request.host is not None and request.host.text == _HOST
