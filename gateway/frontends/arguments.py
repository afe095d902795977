"""The options of `check`, `explain`, `run` and `exec`, declared once: by hand-written parsing, help and typer alike.

`parse` reads the exact forms (`--mode plan`, `--mode=plan`, flags, one argument) without importing anything. What
it does not understand it leaves to typer, whose commands `typed` builds from the same table.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.decision import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class Option(Value):
    """One option. `value`: what stands for its value in help, "" for a flag. `repeats`: it may be given again. `opens`:
    the name of its mark in `gateway.frontends.parameter_files`, "" where it names no file."""

    name: str
    help: str
    value: str = ""
    repeats: bool = False
    opens: str = ""

    @property
    def field(self) -> str:
        """The name of the option in a `Request`."""
        return self.name.removeprefix("--").replace("-", "_")


class Command(Value):
    """A command with at most one argument."""

    name: str
    help: str
    argument: str
    argument_help: str
    options: tuple[Option, ...]


JSON = Option("--json", "Print JSON instead of text.")
SHORT = Option("--short", "Three lines at most: what becomes of it, why, and what to do.")
UNCONFINED = Option("--unconfined", "Answer for a caller that does not run the call in the sandbox.")
POLICIES = Option(
    "--policies",
    "Use the layers DIR/enterprise.yaml, user.yaml, project.yaml and local.yaml only.",
    "DIR",
    opens="POLICY_FOLDER",
)
CWD = Option("--cwd", "The folder that the call is made from.", "DIR", opens="FOLDER")
MODE = Option("--mode", f"The session's mode: {', '.join(MODES)}.", "MODE")
TRUST = Option("--trust-project", "Accept the project's policy of this digest for this run.", "DIGEST", True)

CHECK = Command(
    "check",
    """Say what would become of a call, and why. Nothing runs.

    Exit status: 0 allow, 3 ask, 4 deny, 2 wrong usage or configuration, 1 internal error (treat it as deny).
    With --batch: 1 or 2 if any line could not be judged, else that of the strictest answer.""",
    argument="CALL",
    argument_help="The call, such as 'Bash(rm -rf build)' or 'Read(src/main.py)'.",
    options=(
        Option("--tool", "The call's tool, together with --input.", "NAME"),
        Option("--input", "The call's whole input as a JSON object; - reads it from standard input.", "JSON"),
        Option(
            "--batch",
            "Judge a call on each line of FILE; - answers each line of standard input as it comes.",
            "FILE",
            opens="READS",
        ),
        Option("--plan", "Show all that the sandbox would let the call see and do."),
        SHORT,
        Option("--full", "Leave nothing out: whole rules and lists."),
        JSON,
        UNCONFINED,
        POLICIES,
        CWD,
        MODE,
        TRUST,
    ),
)

EXPLAIN = Command(
    "explain",
    """Show what a shell text does and how it is read.

    Its commands, words, effects and classes, with what policy says of each effect.

    Exit status: 0, or 2 for wrong usage or configuration. It is for people: `gateway check` is for deciding.""",
    argument="TEXT",
    argument_help="The text; - reads it from standard input.",
    options=(SHORT, JSON, UNCONFINED, POLICIES, CWD, MODE, TRUST),
)

RUN = Command(
    "run",
    """Judge a call, ask if need be, run and record it.

    Where standard output is no terminal it holds the result alone. Exit status: a command's own, else 0, or 1 for a
    tool that reports an error; 126 when the call was refused, 2 for wrong usage.""",
    argument="CALL",
    argument_help="The call, such as 'Read(src/main.py)' or 'Bash(npm test)'.",
    options=(
        Option("--tool", "The call's tool, together with --input.", "NAME"),
        Option("--input", "The call's whole input as a JSON object; - reads it from standard input.", "JSON"),
        JSON,
        Option("--full", "Show everything, however long."),
        Option("--theme", "Colours on a terminal: dark, light or contrast.", "NAME"),
        Option("--width", "Columns to write, instead of the terminal's.", "COLUMNS"),
        POLICIES,
        CWD,
        MODE,
        TRUST,
    ),
)

EXEC = Command(
    "exec",
    """Judge a shell command and run it confined.

    `gateway exec -- CMD ARG ...`, or a shell text with -c.

    Its input, output and signals are the caller's own. Exit status: the command's own, 128 + n after signal n, 126 when
    it was refused or could not be confined (the reason is on standard error), 2 for wrong usage.""",
    argument="CMD",
    argument_help="The command and its words, after --.",
    options=(
        Option("--command", "The shell text to run, instead of words after --. Short: -c.", "TEXT"),
        Option("--timeout", "End it after so many seconds; never more than policy's limit.", "SECONDS"),
        Option("--report", "Write the verdict and what became of the call to FILE, as JSON.", "FILE", opens="WRITES"),
        Option("--as-shell", "Read the words after -- as bash reads its own: -c TEXT, -e SCRIPT and so on."),
        Option("--draft", "Show what it has changed, and keep that only if you say so."),
        Option("--ticket", "Run once what a hook allowed, with the single-use ticket of this number.", "NUMBER"),
        Option("--cwd-to", "Write the folder that the command ended in to this descriptor.", "NUMBER"),
        POLICIES,
        CWD,
        MODE,
        TRUST,
    ),
)


HOOK = Command(
    "hook",
    """Answer one event of an agent's hooks.

    What the agent writes is on standard input, the answer on standard output.

    AGENT is claude, codex, gemini, copilot, cursor or opencode. Whatever goes wrong ends in a refusal, with exit status
    2: wrong usage, too.""",
    argument="AGENT",
    argument_help="The agent whose hook this is.",
    options=(
        Option("--event", "The event that this hook stands for, so that failures are told in its form.", "NAME"),
        Option(
            "--unattended",
            "What is answered where policy asks and nobody is known to be there: ask, deny or defer.",
            "ANSWER",
        ),
        Option("--server", "The name of an MCP server of the agent, where its names of tools leave it open.", "NAME",
               True),
        Option("--deadline", "Refuse what is not decided within this time. [default: 10]", "SECONDS"),
        Option(
            "--waits",
            "How long the agent waits for the hook; a person is asked for that long at most (docs/console.md).",
            "SECONDS",
        ),
        Option("--in-shell", "Add 80 to the exit status of an answer, for the shell that `gateway init` puts around."),
        POLICIES,
        CWD,
        MODE,
        TRUST,
    ),
)  # fmt: skip


class Request(Value):
    """What was asked for: the argument and the options of the table, by name. `words`: a command's, after `--`."""

    argument: str | None = None
    tool: str | None = None
    input: str | None = None
    batch: str | None = None
    plan: bool = False
    json: bool = False
    full: bool = False
    short: bool = False
    theme: str | None = None
    width: str | None = None
    unconfined: bool = False
    policies: str | None = None
    cwd: str | None = None
    mode: str | None = None
    trust_project: tuple[str, ...] = ()
    command: str | None = None
    timeout: str | None = None
    report: str | None = None
    as_shell: bool = False
    draft: bool = False
    ticket: str | None = None
    cwd_to: str | None = None
    words: tuple[str, ...] = ()
    event: str | None = None
    unattended: str | None = None
    server: tuple[str, ...] = ()
    deadline: str | None = None
    waits: str | None = None
    in_shell: bool = False


def parse(command: Command, words: Sequence[str]) -> Request | None:
    """The request that the words make, or None when they are anything but its exact forms."""
    options = {option.name: option for option in command.options}
    found: dict[str, Any] = {}
    literal = False
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if literal or not word.startswith("-") or word == "-":
            if "argument" in found:
                return None
            found["argument"] = word
            continue
        if word == "--":
            literal = True
            continue
        name, equals, value = word.partition("=")
        option = options.get(name)
        if option is None:
            return None
        if not option.value:
            if equals:
                return None
            found[option.field] = True
            continue
        if not equals:
            if at == len(words):
                return None
            value = words[at]
            at += 1
        found[option.field] = (*found.get(option.field, ()), value) if option.repeats else value
    return Request(**found)


def parse_exec(words: Sequence[str]) -> Request | None:
    """The same for `exec`, whose command stands behind `--` and is never read for options."""
    at = words.index("--") if "--" in words else len(words)
    found = parse(EXEC, ["--command" if word == "-c" else word for word in words[:at]])
    return None if found is None else found.replace(words=tuple(words[at + 1 :]))


def typed(command: Command, run: Callable[[Request], int]) -> Callable[..., int]:
    """A function with the signature that makes typer read the same table; it hands a `Request` to `run`."""
    from inspect import Parameter, Signature
    from typing import Annotated

    import typer

    from gateway.frontends import parameter_files

    def call(**given: Any) -> int:
        values: dict[str, Any] = {n: tuple(v or ()) if n in repeating else v for n, v in given.items()}
        return run(Request(**values))

    repeating = {option.field for option in command.options if option.repeats}
    argument = Annotated[str | None, typer.Argument(metavar=command.argument, help=command.argument_help)]
    parameters = [Parameter("argument", Parameter.KEYWORD_ONLY, default=None, annotation=argument)]
    for option in command.options:
        kind: Any = bool if not option.value else list[str] | None if option.repeats else str | None
        about = typer.Option(option.name, metavar=option.value or None, help=option.help, show_default=False)
        default = False if not option.value else None
        annotation: Any = Annotated[kind, about]
        if option.opens:
            annotation = Annotated[annotation, getattr(parameter_files, option.opens)]
        parameters.append(Parameter(option.field, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    call.__name__ = command.name
    call.__doc__ = command.help
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
