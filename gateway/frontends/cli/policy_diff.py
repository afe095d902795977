"""`gateway policy diff`: what one policy would have decided otherwise than another."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gateway.config.load import project_root
from gateway.frontends.cli import replay as options
from gateway.frontends.parameter_files import POLICY_SOURCE
from gateway.frontends.session import folder as folder_of
from gateway.replay.parts import POOL


def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A folder, a file, a revision of git, or `present`."), POLICY_SOURCE
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same, for the other policy."), POLICY_SOURCE
    ] = "present",
    since: options.Since = "30d",
    until: options.Until = None,
    format: options.Format = "text",  # noqa: A002 - as the option is called
    json: options.Json = False,
    output: options.Output = None,
    fail_on: options.FailOn = "any",
    folder: options.Record = None,
    cwd: options.Cwd = None,
    layer: options.Layer = "project",
    how: options.How = POOL,
    workers: options.Workers = 0,
) -> int:
    """Say what two policies decide differently: on the recorded decisions of the last days, and by their rules alone,
    with a call for each difference that was asked of both.

    Policies are a folder with `.gateway` or a revision such as HEAD~3 or origin/main (the project's layer; the others
    are as they are now), a file or a folder with policy.yaml (one layer, see --layer), a folder with user.yaml,
    project.yaml and the like (all layers), or `present`. The project counts as trusted on both sides.

    Exit status: 0 if nothing differs, 5 if some calls come out stricter, 6 if some come out milder, 2 for wrong usage,
    a broken policy or a record that cannot be read.
    """
    from gateway.replay.sources import side_of, trusting
    from gateway.replay.symbolic import unlogged

    root = project_root(os.path.realpath(folder_of(cwd, "--cwd")))
    before, after = (trusting(side_of(name, root, layer), root) for name in (old, new))
    return options.run(
        before, after, root, since=since, until=until, shape="json" if json else format, output=output, fail_on=fail_on,
        folder=folder, how=how, workers=workers, unlogged=lambda: unlogged(before, after, root),
    )  # fmt: skip
