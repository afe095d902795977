"""The file that `gateway new rule` writes: a rule that holds as it is and does no harm, for somebody to fill in."""

from __future__ import annotations

from gateway.frontends.new_command import as_yaml

_SKELETON = """\
# One rule. Reference: docs/policies.md; editors know the keys through `gateway policy schema`.
# Run its examples: gateway policy test {file}
# Find what is wrong with it: gateway policy lint {file}
version: 1
{extends}rules:
  - id: {id}
    # What is decided: `deny` refuses, `ask` asks a person, `allow` lets run what nothing else denies or asks about. The
    # strictest rule wins, wherever it stands. As long as you have not filled this in, it asks about a program that
    # nobody has. Other forms: Read(private/**), Edit(docs/**), WebFetch(domain:*.example.com), or a mapping such as
    # {{effect: push, force: true}}.
    ask: Bash(some-program some-subcommand *)

    # What the agent and you are told: why, and what to do instead.
    because: say here why it is asked about
    instead: say here what to do instead

    # What it must match, and what it must not. They are tried whenever this file is loaded; while one of them does not
    # hold, nothing is decided. Write the ways around it that you can think of.
    matches:
      - some-program some-subcommand
      - cd src && some-program some-subcommand --some-option
    not_matches:
      - some-program other-subcommand
      - echo some-program some-subcommand
"""
_EXTENDS = """\

# While you have no policy of your own, `daily` holds. This file is one, so it has to say that `daily` still does.
extends: [daily]

"""


def skeleton(name: str, *, with_daily: bool) -> str:
    """The text of the file. `with_daily`: it is the first one of the user layer."""
    return _SKELETON.format(id=as_yaml(name), file=f"{name}.yaml", extends=_EXTENDS if with_daily else "")
