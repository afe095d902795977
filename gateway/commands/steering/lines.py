"""Settings that are lines: options as on a command line, `key=value`, or names with values."""

from __future__ import annotations

import re

from gateway.commands.steering.entries import NotRead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.entries import Entry

_OF_CONTAINERS = ("COMPOSE_", "DOCKER_", "BUILDX_", "PODMAN_", "LD_", "GIT_", "SSH_", "PATH", "HOME", "XDG_")
_KEY = re.compile(r"[A-Za-z0-9_. -]+")
_ASSIGNED = re.compile(r"""\s*(?:export\s+)?([\w.\[\]-]+)\s*[=:]\s*(.*)""")


def options(text: str) -> list[Entry]:
    """One or more options a line, each a word that is divided at its dots; `=` divides it from its value. Remarks begin
    with `#`. Raises
    NotRead for signs that a shell acts on."""
    found: list[Entry] = []
    for line in text.splitlines():
        if line.lstrip()[:1] == "#":
            continue
        if any(sign in line for sign in "$`\\\"';|&<>()"):
            raise NotRead("options with signs that a shell acts on")
        for word in line.split():
            key, _, value = word.partition("=")
            found.append((tuple(key.split(".")), value))
    return found


def container_variables(text: str) -> list[Entry]:
    """Variables by which programs for containers, and what they start, do something else, in any form of the files
    named `.env`; those for what runs in containers may have any other name. A line of a longer value may be taken for
    a variable; none is overlooked, as names have no escapes."""
    found: list[Entry] = []
    for line in re.split(r"[\r\n]+", text):
        assigned = _ASSIGNED.match(line)
        if assigned and assigned[1].upper().startswith(_OF_CONTAINERS):
            found.append(((assigned[1],), assigned[2].strip().strip("\"'")))
    return found


def anything(text: str) -> list[Entry]:
    """Every line that is no remark, whatever it says."""
    return [((line.strip(),), "") for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "#!"]


def sections(text: str) -> list[Entry]:
    """`[section]` and `key = value`, the key divided at its dots. Raises NotRead for any other line."""
    found: list[Entry] = []
    section: tuple[str, ...] = ()
    for line in text.removeprefix("\ufeff").splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        if bare[0] == "[" and bare.endswith("]"):
            section = (bare[1:-1],)
            continue
        key, equals, value = bare.partition("=")
        if not equals or bare.endswith("\\") or not _KEY.fullmatch(key.strip()) or any(each in value for each in '`"'):
            raise NotRead("a line in another form")
        found.append(((*section, *key.strip().split(".")), value.strip()))
    return found
