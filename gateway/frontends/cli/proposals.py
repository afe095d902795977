"""`gateway proposals`: rules that refused calls would have needed, for a person to look at, accept or reject."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.approval.proposals import MOST_REASON, Proposals
from gateway.config.load import project_root
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.cli import replay as options
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.proposal_answers import accepted, looked, unknown
from gateway.frontends.session import folder
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from gateway.frontends.proposal_answers import Looked

app = typer.Typer(
    name="proposals",
    help="Look at, accept and reject rules that refused calls would have needed.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="What `gateway proposals list` calls it.")]
_SINCE = "90d"


@app.command("list")
def list_proposals(json: _Json = False, cwd: options.Cwd = None) -> int:
    """List what refused calls of this project would have needed, those with a reason first."""
    found = _kept(_root(cwd)).list()
    if json:
        write(pretty({"proposals": [each.as_dict() | {"input": dict(each.input)} for each in found]}) + "\n")
        return 0
    from gateway.frontends.proposal_text import list_text

    write(list_text(found, style_for(sys.stdout)))
    return 0


@app.command()
def show(
    name: _Id,
    json: _Json = False,
    since: options.Since = _SINCE,
    record: options.Record = None,
    cwd: options.Cwd = None,
) -> int:
    """Say what a proposal would open: the rule, calls that show it, what of this project's record would have come out
    otherwise, and what speaks against it. The call is judged anew; nothing runs, and nothing is adopted.

    Exit status: 0, 2 if there is none of that id.
    """
    found = _looked(_root(cwd), name, since, record)
    write(pretty(found.as_json) + "\n" if json else _text(found))
    return 0


@app.command()
def accept(name: _Id, since: options.Since = _SINCE, record: options.Record = None, cwd: options.Cwd = None) -> int:
    """Show a proposal as `show` does, and save its rule for this project once a person agrees at the terminal, where
    the answer "always" saves its rules: `gateway grants` shows them and takes them back.

    What is saved is the rule that was shown. One that would allow a call known to do harm, that the linter objects to
    or with which a test of your policy fails is not accepted: write it by hand where you want it all the same.

    Exit status: 0, 1 if it was not agreed to or cannot be accepted, 2 for wrong usage.
    """
    from gateway.approval.terminal import user
    from gateway.frontends.consent import agreed

    root = _root(cwd)
    found = _looked(root, name, since, record)
    write(_text(found))
    if found.opens is None:
        return 1
    if not found.can_be_accepted:
        write("it is not accepted: write the rule by hand where you want it all the same\n")
        return 1
    if not agreed(f"Allow this from now on in {visible(root)}?", "agreement to a rule", "run it at a terminal"):
        write("nothing was saved\n")
        return 1
    rule, path = accepted(root, name, found.bound, user())
    write(f"saved as {rule} in {visible(path)}; `gateway grants revoke {rule}` takes it back\n")
    return 0


@app.command()
def reject(
    names: Annotated[list[str], typer.Argument(metavar="ID", help="What `gateway proposals list` calls it.")],
    cwd: options.Cwd = None,
) -> int:
    """Take proposals away. Their rules are not proposed again, however often their calls are refused; `accept` is for
    those that are listed, a policy of your own for all others.

    Exit status: 0, or 2 if one of them is not there; the others are gone all the same.
    """
    kept = _kept(_root(cwd))
    gone = {name: kept.reject(name) for name in dict.fromkeys(names)}
    write("".join(f"rejected {visible(name)}\n" for name, each in gone.items() if each is not None))
    missing = [name for name, each in gone.items() if each is None]
    if missing:
        raise ConfigError([unknown(name) for name in missing])
    return 0


@app.command()
def file(
    name: _Id,
    because: Annotated[str, typer.Option("--because", metavar="TEXT", help="Why it is needed, for the person.")],
    cwd: options.Cwd = None,
) -> int:
    """Give a reason for a proposal, which then is listed first. Nothing is adopted.

    Exit status: 0, 2 if there is none of that id.
    """
    if not because.strip() or len(because) > MOST_REASON:
        raise ConfigError(Problem(f"--because must be a text of at most {MOST_REASON} characters"))
    if _kept(_root(cwd)).file(name, because.strip()) is None:
        raise ConfigError(unknown(name))
    write(f"filed {visible(name)}: a person may look at it with `gateway proposals show {visible(name)}`\n")
    return 0


def _root(cwd: str | None) -> str:
    return project_root(os.path.realpath(folder(cwd, "--cwd")))


def _kept(root: str) -> Proposals:
    return Proposals(places().state, root)


def _looked(root: str, name: str, since: str | None, record: str | None) -> Looked:
    progress = options.Progress()
    try:
        place, moment = options.place_of(record), options.moment_of(since, "--since")
        return looked(root, name, place, moment, progress.judging)
    finally:
        progress.end()


def _text(found: Looked) -> str:
    from gateway.frontends.proposal_text import one_text

    return one_text(found.kept, found.anew, found.opens, style_for(sys.stdout))
