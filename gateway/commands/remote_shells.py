"""Reverse and bind shells: shells that obey another machine, in the forms in which they are known.

A shell, or another program that runs what it reads, whose input is a raw connection: by a pipe, by descriptors that are
joined to `/dev/tcp`, through a named pipe, by an option of `nc` or an address of `socat`, or by a program of one line
that opens a connection and joins a shell to it. What is fetched and then run (`curl … | sh`) is none: it is as long as
it is, and rules for code speak of it.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, Code, Connect, Opaque, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.findings import Findings
    from gateway.commands.pipes import Pipes
    from gateway.model.command import Part

ACTION = "remote-shell"  # `System.action`
_SHELLS = frozenset(
    ("bash", "sh", "dash", "ash", "hush", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "pwsh", "xonsh")
)
# These, too, run what they read where they are given no program.
READERS = _SHELLS | {"python", "perl", "ruby", "php", "node", "lua", "tclsh", "cmd"}
_RAW = frozenset(
    ("nc", "nc.traditional", "nc.openbsd", "ncat", "netcat", "socat", "telnet", "cryptcat", "openssl", "websocat")
)
_LINES = frozenset(("read", "mapfile", "readarray"))
_OWN_STREAMS = frozenset(("0", "1", "2", "-"))


def note(findings: Findings, run_part: int, whom: str, start: int, end: int) -> None:
    """Says once of a part that it gives a shell to another machine."""
    effect = System(ACTION, whom)
    if not any(item.part == run_part and item.effect == effect for item in findings.items):
        findings.add(effect, start, end, run_part)


def given_away(findings: Findings, pipes: Pipes, places: list[int], first: int) -> None:
    """Looks for shells whose input is a connection of the same text; `places`, `first`: as in `crossing.cross`."""
    script = pipes.script
    commands = script.commands
    net = [redirect for redirect in script.redirects if redirect.kind == "net"]
    raw = {
        at
        for at in range(len(commands))
        for part in range(places[at], places[at + 1])
        if findings.parts[part].program in _RAW
        and any(item.part == part and isinstance(item.effect, Connect) for item in findings.items[first:])
    }
    raw.update(redirect.part for redirect in net if redirect.part >= 0)
    if not raw and not net:
        return
    names = {findings.parts[part].program for at in range(len(commands)) for part in range(places[at], places[at + 1])}
    opened = [redirect for redirect in net if redirect.part < 0 or commands[redirect.part].words[0].text == "exec"]
    looping = bool(net) and not names.isdisjoint(_LINES)
    fifo = "mkfifo" in names or "mknod" in names
    for at, command in enumerate(commands):
        joined = any(
            each.part == at and each.kind == "dup" and each.word.text.rstrip("-") not in _OWN_STREAMS
            for each in script.redirects
        )
        for part in range(places[at], places[at + 1]):
            found = findings.parts[part]
            kind = _obeys(findings, found, part, first)
            if not kind:
                continue
            own = at in raw and any(redirect.part == at for redirect in net)
            fed = (own or joined or bool(opened) or (fifo and raw)) if kind == "input" else looping
            if not fed:
                feeding = pipes.upstream(at) | pipes.in_words(at)
                fed = not raw.isdisjoint(feeding)
            if not fed and kind == "input" and "-i" in found.options:
                fed = any(at in pipes.upstream(each) for each in raw)
            if fed:
                note(findings, part, "another machine", command.start, command.end)
                break


def _obeys(findings: Findings, part: Part, index: int, first: int) -> str:
    """Whether a part runs what it is given: what it reads ("input"), or a text or name that is not known ("text")."""
    unknown = any(item.part == index and isinstance(item.effect, (Opaque, Code)) for item in findings.items[first:])
    if not unknown:
        return ""
    if part.program in READERS:
        if part.options.isdisjoint(("-c", "-e", "-E", "-m", "-r")) and (
            not part.operands
            or "-s" in part.options
            or part.operands[0] in ("/dev/stdin", "-")
            or part.program == "busybox"
        ):
            return "input"
        return "text" if part.program in _SHELLS and any(HOLE in text for text in part.operands) else ""
    if part.program in ("eval", "source", ".") or not part.program:
        return "text"
    return ""
