"""The limits that a policy sets (`settings: limits:`): one record each, from which reader, schema, plan and docs come.

A limit that the kernel keeps for each process (`resource`) needs its record and its field in `Limits`, both here; one
that is watched for needs its look in `gateway.sandbox.watch` besides.
"""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MEGABYTE = 1 << 20
MOST = 10**9


class Limits(Value):
    """Bounds on the call's whole tree of processes, 0: none. Times in seconds, sizes in bytes; `files`: open files of
    one process; `file_size`: of one file; `disk`: growth of what it may write, soft; `output`: kept of each stream."""

    seconds: float = 120.0
    cpu_seconds: float = 0.0
    memory: int = 0
    processes: int = 0
    files: int = 0
    file_size: int = 0
    disk: int = 0
    output: int = 0


class Limit(Value):
    """`about`: what is bounded. `unit`: what one of it is. `kept`: where it holds, and by what. `usual`: what holds
    where no policy says otherwise, in that unit; 0: nothing. `field`: of `Limits`, "" for what no
    sandbox keeps; `factor`: how many of the field's units one of this limit's is. `resource`: the bound of `setrlimit`
    that keeps it, "" for none; `letter`: of `ulimit`, by which a shell sets it, and how many bytes its unit is there.
    `word`: what a plan says behind the number. `status`: how a command ends that met it, 0 where that does not show;
    `phrases`: what programs print then, in lower case, () for nothing of their own. `least` and `most`: what a policy
    may write."""

    about: str
    unit: str
    kept: str
    usual: int = 0
    field: str = ""
    factor: int = 1
    resource: str = ""
    letter: tuple[str, int] = ("", 1)
    word: str = ""
    status: int = 0
    phrases: tuple[str, ...] = ()
    least: int = 1
    most: int = MOST

    def shown(self) -> str:
        """What holds where nobody says otherwise, for people."""
        return f"{self.usual:,} {self.unit}" if self.usual else "none"


_TREE = "of the whole tree of processes, by a control group where there is one, else looked at while it runs"
_ONE = "of each process"
_TASK = "of all agents of the task together, before each reply"
LIMITS: dict[str, Limit] = {
    "seconds": Limit(
        "wall time of one call", "s", kept="of the whole tree of processes", usual=120, field="seconds", word="s"
    ),
    "cpu_seconds": Limit(
        "processor time of one call",
        "s",
        kept=_TREE,
        field="cpu_seconds",
        resource="RLIMIT_CPU",
        letter=("t", 1),
        word="s of processor",
        status=152,
    ),
    "memory_mb": Limit(
        "memory of one call's processes together",
        "MB",
        kept=_TREE,
        usual=4096,
        field="memory",
        factor=MEGABYTE,
        word="MB memory",
        phrases=("cannot allocate memory",),
    ),
    "processes": Limit(
        "processes of one call at a time",
        "processes",
        kept=_TREE,
        usual=512,
        field="processes",
        word="processes",
        # bash, dash and zsh
        phrases=(
            "fork: retry: resource temporarily unavailable",
            "cannot fork",
            "fork failed: resource temporarily unavailable",
        ),
    ),
    "files": Limit(
        "open files of one process",
        "files",
        kept=_ONE,
        usual=4096,
        field="files",
        resource="RLIMIT_NOFILE",
        letter=("n", 1),
        word="open files",
        phrases=("too many open files",),
    ),
    "file_mb": Limit(
        "size of one file that is written",
        "MB",
        kept=_ONE,
        usual=2048,
        field="file_size",
        factor=MEGABYTE,
        resource="RLIMIT_FSIZE",
        letter=("f", 512),
        word="MB a file",
        status=153,
    ),
    "disk_mb": Limit(
        "growth of what one call may write",
        "MB",
        kept="looked at while it runs",
        usual=4096,
        field="disk",
        factor=MEGABYTE,
        word="MB disk",
    ),
    "output_mb": Limit(
        "what is kept of each of a call's two outputs",
        "MB",
        kept="of each output: its beginning and end stay",
        usual=8,
        field="output",
        factor=MEGABYTE,
        word="MB output",
    ),
    "output_characters": Limit(
        "what a model is shown of one result", "characters", kept="read, and kept by nothing yet"
    ),
    "task_turns": Limit("replies of a model that one task of `gateway agent` may take", "replies", kept=_TASK),
    "task_tokens": Limit("tokens of one task of `gateway agent`", "tokens", kept=_TASK),
    "task_cents": Limit(
        "cost of one task of `gateway agent`, by the prices of the setting `models`", "cents", kept=_TASK
    ),
    "said_kb": Limit(
        "what one call's requests to hosts that may only be read from can choose: paths, fields and bodies",
        "KB",
        kept="by the proxy, over all connections of the call",
        usual=256,
        most=1 << 20,
    ),
    "concurrent_calls": Limit("calls that run at the same time", "calls", kept="of one process of the gateway"),
}


def limits_of(given: Mapping[str, Any]) -> Limits:
    """The bounds on a call, from the setting `limits`."""
    found: dict[str, Any] = {}
    for name, limit in LIMITS.items():
        if limit.field:
            value = given.get(name, limit.usual) * limit.factor
            found[limit.field] = float(value) if limit.unit == "s" else int(value)
    return Limits(**found)
