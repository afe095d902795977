"""What stands on this machine, or in given files, as rules of ours."""

from __future__ import annotations

import os

from gateway.core.errors import ConfigError
from gateway.core.value import Value
from gateway.install.files import read
from gateway.install.translation import gemini
from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.comparing import Translated, translated
from gateway.install.translation.rules import Found, Remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.core.errors import Problem
    from gateway.install.base import Site
    from gateway.install.translation.clients import Client
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.engine import Engine
    from gateway.install.translation.rules import Rule

# Whose files a layer takes: what a project's own say holds in that project alone.
LEVELS = {"user": ("managed", "user"), "project": ("project",)}


class Imported(Value):
    """One agent's rules and what became of them. `problems`: files of which no rule can be told; while there are any,
    nothing may be written of this agent, as a deny among them would be missing."""

    found: Found
    translated: Translated
    problems: tuple[Problem, ...]


def read_agent(
    client: Client, site: Site, where: Where, given: Sequence[str] = (), levels: Sequence[str] = ()
) -> tuple[Found, tuple[Problem, ...]]:
    """The rules of an agent: of the given files, or of all that it reads here; with `levels` those of these levels
    alone, and each other file is a remark. What cannot be read is a problem, as is a given file of another level."""
    texts: list[tuple[str, str, str]] = []
    problems: list[Problem] = []
    others: list[Remark] = []
    files = [(path, _level(path, site)) for path in given]
    if not given:
        files = [(file, place.level) for place in client.places(site) for file in place.files()]
        files = list(dict(reversed(files)).items())[::-1]  # a project may be the home folder
    for path, level in files:
        try:
            text = read(path)[1]
            if text is None:
                if given:
                    from gateway.core.errors import Problem as Said

                    problems.append(Said("must be a file that is there", file=path))
                continue
            if levels and level not in levels:
                if given:
                    problems.append(_elsewhere(path, level))
                else:
                    others.append(
                        Remark(
                            agent=client.NAME,
                            file=path,
                            line=1,
                            text=os.path.basename(path),
                            why=_OTHERS[level == "project"],
                        )
                    )
                continue
            client.read(text, path, level, where)
            texts.append((text, path, level))
        except ConfigError as error:
            problems += error.problems
    rules, remarks = ordered(client, texts, where)
    return Found(client.NAME, tuple(rules), (*remarks, *others), tuple(path for _text, path, _level in texts)), tuple(
        problems
    )


def ordered(client: Client, texts: Sequence[tuple[str, str, str]], where: Where) -> tuple[list[Rule], list[Remark]]:
    """The rules of several files, each with its name and whose it is, the strongest first where order has meaning.
    Raises ConfigError for a file that cannot be read."""
    remarks: list[Remark] = []
    rules: list[Rule] = []
    ranks: list[tuple[float, Rule]] = []
    for text, file, level in texts:
        found, more = client.read(text, file, level, where)
        remarks += more
        if client.NAME == gemini.NAME:
            ranks += gemini.ranked(text, file, level, where)
        elif client.NAME == "opencode":
            rules = [*found, *rules]  # a later file stands above an earlier one
        else:
            rules += found
    ranks.sort(key=lambda ranked: -ranked[0])
    return (rules or [rule for _rank, rule in ranks]), remarks


_OTHERS = (
    "it is no file of this project's: `--layer user` takes it",
    "what it says holds in this project alone: `--layer project` takes it",
)


def _elsewhere(path: str, level: str) -> Problem:
    from gateway.core.errors import Problem as Said

    layer = "project" if level == "project" else "user"
    said = "lies in the project, and holds there alone" if level == "project" else "lies outside of the project"
    return Said(said, file=path, remedy=f"add `--layer {layer}`")


def _level(path: str, site: Site) -> str:
    real = os.path.realpath(path)
    return "project" if (real + "/").startswith(site.project + "/") else "user"


def imported(
    names: Sequence[str],
    site: Site,
    engine: Engine,
    *,
    given: Sequence[str] = (),
    layer: str = "user",
    ask_instead: bool = False,
    whole: bool = False,
) -> tuple[Imported, ...]:
    """The rules of the named agents that belong into a layer, translated and tried. `given`: files in the place of
    those that stand here; `whole`: of all files, for whoever writes no layer."""
    made = []
    levels = () if whole else LEVELS[layer]
    for name in names:
        client = CLIENTS[name]
        found, problems = read_agent(client, site, engine.where.replace(here=site.project), given, levels)
        made.append(
            Imported(
                found, translated(found.rules, client, engine, layer_name=layer, ask_instead=ask_instead), problems
            )
        )
    return tuple(made)
