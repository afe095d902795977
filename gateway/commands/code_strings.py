"""What stands out in a program of one line that nobody reads here: the commands that it gives a shell, the folders that
it deletes, the shell that it joins to a connection.

The program is code, and stays so; this adds only what rules deny in any language, so that a system call in Perl or Ruby
is no way around them. Whoever hides what he writes is asked about, as about any code.
"""

from __future__ import annotations

import re

from gateway.commands.destruction import critical
from gateway.commands.places import absolute
from gateway.commands.remote_shells import ACTION, note
from gateway.model.command import Word
from gateway.model.effect import HOLE, Code, Exec, System, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.effect import Item

MAX_TEXT = 16_000
MAX_CALLS = 8  # of a shell, in one program
_CALLS: Any = re.compile(
    r"\b(?:system|exec[a-z]*|popen\d?|spawn\w*|shell_exec|passthru|proc_open|execute|shell-command|call|run|script)"
    r"(?:Sync|_sync)?[\s({\[]+"
    r"(?:(?P<list>(?P<q>['\"])[^'\"\n]{1,500}(?P=q)(?:\s*,\s*\[?\s*(?P=q)[^'\"\n]{0,500}(?P=q))+)"
    r"|(?P<sign>['\"])(?P<quoted>.{1,2000}?)(?<!\\)(?P=sign)"
    r"|qw\W(?P<qw>[^)\]}>\n]{1,500})|(?P<bare>[a-z/][^'\"(){}\[\];\n]{1,500}))"
    r"|`(?P<ticks>[^`]{1,2000})`|%x\W(?P<x>[^)\]}\n]{1,500})"
    r"|(?:^|:)\s*(?:sil\w*!?\s+)?(?:!|shell\s)\s*(?P<line>[^!=\n][^\n]{0,2000})$",
    re.DOTALL | re.MULTILINE,
).finditer
_BETWEEN: Any = re.compile(r"['\"]\s*,\s*\[?\s*['\"]").sub
_DELETES: Any = re.compile(
    r"\b(?:rm_rf?|rmtree|remove_tree|remove_dir|remove_entry(?:_secure)?|rmSync|rmdirSync|rimraf|removeSync|rm|rmdir"
    r"|delete-directory|RemoveAll|rm_r)\s*[(\s]\s*(['\"])(?P<path>[^'\"]{1,500})\1"
).finditer
_OPENS: Any = re.compile(
    r"socket\b.{0,400}?(?:connect|bind|listen)|create_connection|[p]?fsockopen|stream_socket_client|TCPSocket|TCPServer"
    r"|/inet6?/(?:tcp|udp)|/inet/|\bnet\b.{0,200}?(?:[Ss]ocket|connect|createServer)|Socket::INET|\bztcp\b|TCPClient"
    r"|Deno\.connect|connect\(\s*S\b|gen_tcp|\bsocket\s+(?:-\w+\s+)*[\w.$]+\s+\d|/dev/tcp/|Socket\(",
    re.DOTALL,
).search
_SHELL: Any = re.compile(
    r"(?:^|['\"/\s(`])(?:ba|da|z|k|a|c|tc|fi)?sh(?:['\"\s)`]|$)|cmd\.exe|powershell|pty\.spawn|ENV\W+SHELL"
    r"|(?:system|exec|qx|popen|spawn|sh|getline)\W{0,4}(?:\$_|\$|\w{1,12}\b\)?)",
    re.MULTILINE,
).search
_JOINS: Any = re.compile(
    r"dup2?\b|fileno|pty\b|fdopen|stdin|STDIN|[<>]&|\bpipe|popen|\.to_i\b|recv|makefile|\|&|\bgets\b|getline|proc_open"
    r"|zsh/net|while\s*\(?<|redirect"
).search


def note_gravest(findings: Findings, run: Invocation) -> None:
    """Adds what is found in the words and the input of a program whose language is not read."""
    texts = [word for word in run.words[1:] if len(word.text) > 3 and not word.text.isalnum()]
    if run.stdin == "text" and run.stdin_text:
        texts.append(Word(run.stdin_text, run.words[0].start, run.words[-1].end))
    whole = "\n".join([word.text for word in texts])[:MAX_TEXT]
    if _OPENS(whole) and _JOINS(whole) and _SHELL(whole):
        note(findings, run.part, "another machine", run.words[0].start, run.words[-1].end)
    tried = 0
    for word in texts:
        text = word.text[:MAX_TEXT]
        for found in _DELETES(text):
            for cwd in run.cwds or ("",):
                path = absolute(found["path"], cwd)
                if HOLE not in path and critical(path, findings.home, cwd):
                    findings.touch("delete", Word(path, word.start, word.end), (cwd,), run.part, True)
        for found in _CALLS(text):
            inner = found["list"]
            inner = _BETWEEN(" ", inner[1:-1]) if inner else found[found.lastgroup]
            if tried < MAX_CALLS and inner and not inner.isidentifier():
                tried += 1
                _try(findings, word, inner, run.cwds, (*run.via, run.name), run.part)


def note_command(
    findings: Findings, text: str, word: Word, cwds: tuple[str, ...], via: tuple[str, ...], part: int
) -> None:
    """The same for a value that a program may start as a command: an option's, a setting's, a variable's. It may also
    be something else, so that only a text which begins with a known program counts."""
    head, equals, rest = text.partition("=")
    if equals and head.replace("-", "").replace("_", "").replace(".", "").isalnum():
        text = rest
    text = text.lstrip("!|: ")
    first = text.split(None, 1)
    if len(first) > 1 and findings.lookup(first[0].rpartition("/")[2]) is not None:
        _try(findings, word, text, cwds, via, part)


def _try(findings: Findings, word: Word, text: str, cwds: tuple[str, ...], via: tuple[str, ...], part: int) -> None:
    """What a shell would do with a text, as far as it is grave: it only stands beside the code."""
    if not findings.tries("", text):
        return
    first, asked = len(findings.items), len(findings.pending)
    findings.script(findings, text.replace(HOLE, "${unknown}"), cwds, via, (word.start, word.end), part)
    cwd = cwds[0] if cwds else ""
    kept = [_grave(item, findings.home, cwd) for item in findings.items[first:]]
    findings.items[first:] = [item for item in kept if item is not None]
    del findings.pending[asked:]


def _grave(item: Item, home: str, cwd: str) -> Item | None:
    effect = item.effect
    if isinstance(effect, Code):
        return item.replace(effect=Exec(effect.program, effect.argv))
    if isinstance(effect, Exec) or (isinstance(effect, System) and effect.action == ACTION):
        return item
    grave = isinstance(effect, Touch) and effect.kind in ("write", "delete")
    place = effect.path.partition("*")[0].rstrip("/") or "/" if isinstance(effect, Touch) else HOLE
    return item if grave and HOLE not in place and critical(place, home, cwd) else None
