"""nc, socat and the like: connections that carry anything, and programs that are joined to them."""

from __future__ import annotations

import re

from gateway.commands.remote_shells import READERS, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_SOCAT_RUNS: Any = re.compile(r"(?:^|!!)\s*(?:exec|system|shell)\s*:", re.IGNORECASE).search
_SOCAT_REACHES: Any = re.compile(
    r"(?:^|!!)\s*(?:tcp|udp|udplite|sctp|dccp|openssl|ssl|socks|proxy|vsock|ip)[\w-]*\s*:", re.IGNORECASE
).search
_RUNS_FOR_ALL = frozenset(("-e", "--exec", "--sh-exec", "--lua-exec"))


def _raw(findings: Findings, run: Invocation) -> None:
    """nc and the like, which join a program to what they connect to, if they are told to."""
    words = [word.text for word in run.words[1:]]
    start, end = run.words[0].start, run.words[-1].end
    if run.words[0].text.rpartition("/")[2] == "socat":
        if any(map(_SOCAT_RUNS, words)) and any(map(_SOCAT_REACHES, words)):
            note(findings, run.part, "another machine", start, end)
        return
    for at, text in enumerate(words):
        value = words[at + 1] if at + 1 < len(words) else ""
        cluster = text[:1] == "-" and text[1:2] != "-" and text[1:].isalnum()
        if text.partition("=")[0] in _RUNS_FOR_ALL or (cluster and text[-1:] == "e" and value):
            break
        if text[:2] == "-e" and not text[2:].isalnum() and text[2:]:
            break
        # Elsewhere `-c` stands for TLS or for ends of lines, and a host follows.
        if cluster and text[-1:] == "c" and (" " in value or "/" in value or value in READERS):
            break
    else:
        return
    note(findings, run.part, "another machine", start, end)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"raw": _raw}
