"""`gateway policy suggest`: the few rules that would have ended most questions that people said yes to."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.config.load import project_root
from gateway.config.near_misses import POLICY
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.places import places
from gateway.frontends.cli import replay as options
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import complain, write
from gateway.frontends.session import folder as folder_of
from gateway.policy.wording import visible
from gateway.render.style import style_for
from gateway.replay.parts import POOL, WAYS

if TYPE_CHECKING:
    from gateway.replay.suggestions import Suggested
    from gateway.replay.tightening import Tightened

_Tighten = Annotated[
    bool, typer.Option("--tighten", help="Instead, say which allow rules were not used, and what others were used for.")
]
_Save = Annotated[bool, typer.Option("--save", help="Ask at the terminal whether to save them.")]
_Everywhere = Annotated[
    bool,
    typer.Option("--everywhere", help="Learn from all projects: rules for your own policy, which holds in all."),
]


def suggest(
    since: options.Since = "90d",
    until: options.Until = None,
    tighten: _Tighten = False,
    everywhere: _Everywhere = False,
    save: _Save = False,
    json: options.Json = False,
    folder: options.Record = None,
    cwd: options.Cwd = None,
    how: options.How = POOL,
    workers: options.Workers = 0,
) -> int:
    """Suggest the few allow rules, and the shipped preset, that would have ended most of this project's recorded
    questions to which people said yes.

    None of them allows a recorded call that was ever refused or denied, nor a known harmful one: each was tried by the
    engine. Nothing is adopted, unless a person agrees to it after --save; then they stand where the answer "always"
    saves its rules, with --everywhere in your own policy, and `gateway grants` takes them back.

    Exit status: 0, 1 if they were not agreed to, 2 for wrong usage, a broken policy or a record that cannot be read.
    """
    from gateway.replay.suggesting import suggested
    from gateway.replay.tightening import tightened

    if save and (json or tighten):
        raise ConfigError(Problem("--save must be given without --json and --tighten"))
    if everywhere and tighten:
        raise ConfigError(Problem("--everywhere must be given without --tighten"))
    if how not in WAYS:
        raise ConfigError(Problem(f"--workers-by must be one of {', '.join(WAYS)} (got `{how}`)"))
    root = project_root(os.path.realpath(folder_of(cwd, "--cwd")))
    place = options.place_of(folder)
    span = options.moment_of(since, "--since"), options.moment_of(until, "--until")
    progress = options.Progress()
    try:
        if tighten:
            return _tell_uses(tightened(place, root, *span, how=how, workers=workers, judging=progress.judging), json)
        found = suggested(place, root, *span, everywhere=everywhere, how=how, workers=workers, judging=progress.judging)
    except OSError as error:
        raise GatewayError(f"the record in {place} cannot be read: {error.strerror or error}") from error
    finally:
        progress.end()
    if json:
        write(pretty(found.as_json) + "\n")
        return 0
    from gateway.frontends.suggest_text import suggested_text

    own = os.path.join(places().config, POLICY) if everywhere and not save else ""
    write(suggested_text(found, style_for(sys.stdout), own))
    return _saved(found, root, everywhere) if save and found.rules else 0


def _tell_uses(found: Tightened, json: bool) -> int:
    from gateway.frontends.suggest_text import uses_text

    if json:
        write(pretty({"rules": [each.as_dict() for each in found.rules], "untold": found.untold}) + "\n")
        return 0
    complain(f"note: {found.untold}\n" if found.untold else "")
    write(uses_text(found.rules, style_for(sys.stdout)))
    return 0


def _saved(found: Suggested, root: str, everywhere: bool) -> int:
    """Saves what a person agrees to, as the answer "always" does, or in the person's own policy."""
    from gateway.approval.saved_rules import SavedRules
    from gateway.approval.terminal import user
    from gateway.config.load import tool_names
    from gateway.config.shipped import load_tools
    from gateway.frontends.consent import agreed
    from gateway.replay.suggestions import entry

    here = places()
    saved = SavedRules(here, root, tool_names(load_tools(here)), everywhere=everywhere)
    where = "all projects" if everywhere else visible(root)
    count = len(found.rules)
    many = "this rule" if count == 1 else f"these {count} rules"
    if not agreed(f"Allow what {many} say from now on in {where}?", "agreement to rules", "run it at a terminal"):
        write("nothing was saved\n")
        return 1
    for each in found.rules:
        saved.save(*entry(each, user(), time.time()))
    write(f"saved in {visible(saved.path)}; `gateway grants list{' --everywhere' if everywhere else ''}` shows them\n")
    return 0
