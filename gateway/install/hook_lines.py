"""The command lines that are put into settings.

Most agents take a hook that fails for consent. So what they start is a shell of a few lines, which starts the hook,
waits for it, and hands its answer on. Whatever else becomes of that process (it cannot be started, is killed, ends
without an answer) is the refusal that the agent's dialect has for the event. A hook that has answered says so by its
exit status, so that none that merely ended well is taken for it.
"""

from __future__ import annotations

import shlex
import sys

from gateway.agents import dialect_of
from gateway.core.command_lines import client_line, hook_line
from gateway.install.base import SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_SHELL, _NAME = "/bin/sh", "gateway"
_IN_SHELL = "--in-shell"
_WHY = (
    "gateway refused this call: its hook did not run to its end, or could not be started. "
    "`gateway doctor` looks for the reason."
)
# What it says when it ends is the refusal, until there is an answer: so whatever ends it says no, also that no process
# can be started any more. Signals do not end it, nor do options that a variable gives it (`SHELLOPTS`), whose trace may
# go to standard output. Nothing is written before the whole answer is there; what cannot be written is refused.
_SCRIPT = """\
{ set +efuvx; } >/dev/null 2>&1
trap '' HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS
out=@OUT@ end=@STATUS@ why=@ERROR@
trap 'case $why in ?*) printf "%s\\n" "$why" >&2 ;; esac
case $out in ?*)
printf "%s\\n" "$out" || { end=2; printf "%s\\n" "gateway refused this call: its answer cannot be written." >&2; } ;;
esac
exit $end' EXIT
got=$("$@") && code=0 || code=$?
case $code in
80) out=$got end=0 why= ;;
82) out=$got end=2 why= ;;
esac
exit"""


def hook_lines(agent: str, options: Sequence[str] = ()) -> Callable[[str], list[str]]:
    """The command line of an agent's hook by its event, which it is told so that failures are answered in its form.
    That for no event in particular has no shell around it: it is for a caller that takes nothing but a clear yes."""

    waits = ("--waits", str(SECONDS))

    def line(event: str) -> list[str]:
        if not event:
            return hook_line(agent, (*waits, *options))
        return held(agent, event, hook_line(agent, ("--event", event, *waits, _IN_SHELL, *options)))

    return line


def held(agent: str, event: str, words: Sequence[str]) -> list[str]:
    """The words of a hook that add 80 to the status of their answer, in a shell that refuses where they do not."""
    return [_SHELL, "-c", script(agent, event), _NAME, *words]


def script(agent: str, event: str) -> str:
    """The text of that shell."""
    dialect = dialect_of(agent)
    assert dialect is not None
    refusal = dialect.refuse(event, _WHY)
    found = _SCRIPT.replace("@STATUS@", str(refusal.status))
    for name, said in (("@OUT@", refusal.stdout), ("@ERROR@", refusal.stderr or _WHY.encode())):
        found = found.replace(name, shlex.quote(said.decode("ascii").strip()))
    return found


def unheld(words: Sequence[str]) -> tuple[str, ...]:
    """A hook's command line without the shell around it, if there is one."""
    is_in_shell = tuple(words[:2]) == (_SHELL, "-c") and tuple(words[3:4]) == (_NAME,)
    return tuple(words[4:] if is_in_shell else words)


def waits(words: Sequence[str]) -> float:
    """How many seconds a hook believes that its agent waits; 0 for one of earlier releases, which asks nobody."""
    inner = unheld(words)
    for at, word in enumerate(inner):
        name, equals, text = word.partition("=")
        if name == "--waits":
            try:
                return float(text if equals else inner[at + 1])
            except (ValueError, IndexError):
                return 0.0
    return 0.0


def is_held(agent: str, event: str, words: Sequence[str]) -> bool:
    """Whether the shell around a hook is, to the letter, the one that refuses where the hook does not answer."""
    inner = unheld(words)
    return _IN_SHELL in inner and list(words) == held(agent, event, inner)


def is_of_here(agent: str, event: str, words: Sequence[str]) -> bool:
    """Whether a command line starts the hook of this very installation, in no other shell than ours."""
    start, inner = client_line("hook"), unheld(words)
    return list(inner[: len(start)]) == start and (len(inner) == len(words) or is_held(agent, event, words))


def server_line() -> list[str]:
    """The command line of the MCP server: this Python, which looks at no variable and no folder it is started in."""
    return [sys.executable, "-I", "-m", "gateway", "mcp", "serve"]
