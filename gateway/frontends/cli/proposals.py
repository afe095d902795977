"""`gateway proposals`: rules that refused calls would have needed, for a person to look at, accept or reject."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.approval.proposals import MOST_REASON, Proposals
from gateway.approval.saved_rules import SavedRules, entry_of, rule_id
from gateway.config.load import project_root, tool_names
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.places import places
from gateway.frontends.cli import replay as options
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.proposal_trial import anew
from gateway.frontends.session import folder
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from gateway.approval.proposals import Kept
    from gateway.frontends.proposal_trial import Anew
    from gateway.replay.opening import Opening

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
    """List what refused calls of this project would have needed, those first that somebody gave a reason for."""
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
    root = _root(cwd)
    kept = _one(root, name)
    found, opens = _looked(kept, root, since, record)
    write(pretty(_data(kept, found, opens)) + "\n" if json else _text(kept, found, opens))
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
    kept = _one(root, name)
    found, opens = _looked(kept, root, since, record)
    write(_text(kept, found, opens))
    if found.proposal is None:
        return 1
    if opens is None or opens.objections:
        write("it is not accepted: write the rule by hand where you want it all the same\n")
        return 1
    if not agreed(f"Allow this from now on in {visible(root)}?", "agreement to a rule", "run it at a terminal"):
        write("nothing was saved\n")
        return 1
    again = _one(root, name)
    now = anew(again, root)
    if again.rule != kept.rule or now.revision != found.revision or now.proposal != found.proposal:
        remedy = "look at it again"
        raise ConfigError(Problem("policy and proposal must not change while they are looked at", remedy=remedy))
    here = places()
    saved = SavedRules(here, root, tool_names(load_tools(here)))
    rule = found.proposal.rule
    saved.save(rule_id(rule), entry_of(rule, shown=found.shown, by=user(), now=time.time()))
    _kept(root).drop(name)
    write(f"saved as {rule_id(rule)} in {visible(saved.path)}; `gateway grants revoke {rule_id(rule)}` takes it back\n")
    return 0


@app.command()
def reject(
    names: Annotated[list[str], typer.Argument(metavar="ID", help="What `gateway proposals list` calls it.")],
    cwd: options.Cwd = None,
) -> int:
    """Take proposals away. A call that is refused again proposes its rule again.

    Exit status: 0, or 2 if one of them is not there; the others are gone all the same.
    """
    kept = _kept(_root(cwd))
    gone = {name: kept.drop(name) for name in dict.fromkeys(names)}
    write("".join(f"rejected {visible(name)}\n" for name, each in gone.items() if each is not None))
    missing = [name for name, each in gone.items() if each is None]
    if missing:
        raise ConfigError([_unknown(name) for name in missing])
    return 0


@app.command()
def file(
    name: _Id,
    because: Annotated[str, typer.Option("--because", metavar="TEXT", help="Why it is needed, for the person.")],
    cwd: options.Cwd = None,
) -> int:
    """Say why a proposal is needed, so that whoever looks at them sees it first. Nothing is adopted.

    Exit status: 0, 2 if there is none of that id.
    """
    if not because.strip() or len(because) > MOST_REASON:
        raise ConfigError(Problem(f"--because must be a text of at most {MOST_REASON} characters"))
    if _kept(_root(cwd)).file(name, because.strip()) is None:
        raise ConfigError(_unknown(name))
    write(f"filed {visible(name)}: a person may look at it with `gateway proposals show {visible(name)}`\n")
    return 0


def _root(cwd: str | None) -> str:
    return project_root(os.path.realpath(folder(cwd, "--cwd")))


def _kept(root: str) -> Proposals:
    return Proposals(places().state, root)


def _one(root: str, name: str) -> Kept:
    found = _kept(root).get(name)
    if found is None:
        raise ConfigError(_unknown(name))
    return found


def _unknown(name: str) -> Problem:
    return Problem(f"id must be one of a proposal (got `{visible(name)}`)", remedy="see `gateway proposals list`")


def _looked(kept: Kept, root: str, since: str | None, record: str | None) -> tuple[Anew, Opening | None]:
    """The proposal made anew, and what it opens; nothing of that where it is none any more."""
    from gateway.replay.opening import opening

    found = anew(kept, root)
    if found.proposal is None:
        return found, None
    place, moment = options.place_of(record), options.moment_of(since, "--since")
    progress = options.Progress()
    try:
        return found, opening(place, root, found.proposal.rule, found.who, moment, judging=progress.judging)
    except OSError as error:
        raise GatewayError(f"the record in {place} cannot be read: {error.strerror or error}") from error
    finally:
        progress.end()


def _data(kept: Kept, found: Anew, opens: Opening | None) -> dict[str, object]:
    data = kept.as_dict() | {"input": dict(kept.input), "call": found.shown, "problem": found.problem}
    propose = None if found.proposal is None else found.proposal.as_json
    if opens is None:
        return data | {"propose": propose, "opening": None}
    return data | {
        "propose": propose,
        "opening": opens.as_dict() | {"otherwise": [each.as_dict() for each in opens.otherwise]},
    }


def _text(kept: Kept, found: Anew, opens: Opening | None) -> str:
    from gateway.frontends.proposal_text import one_text

    return one_text(kept, found, opens, style_for(sys.stdout))
