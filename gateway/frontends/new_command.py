"""The file that `gateway new command` writes: a description that holds as it is, for somebody to fill in."""

from __future__ import annotations

import json
import re
from shlex import quote
from textwrap import wrap

from gateway.shell.guards import RESERVED
from gateway.spec.yamltext import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.spec.helptext import HelpOptions
    from gateway.spec.node import Node

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_WIDTH = 96

_SKELETON = """\
# What {plain} does, so that calls of it are judged by what they do. Reference: docs/commands.md
# Run the examples: gateway commands test {plain}.yaml
names: [{name}]
# classes: [read]

# As long as this line stands, every call of it is `code`: nobody can tell what it does. Take it away when all that
# follows is right; from then on, what is not listed below is `code`, and everything else is what you wrote.
code: nobody has described it yet

# What prints something and does nothing else, as the only argument.
# alone: --version --help

# Options that do no harm: without a value, with one, with one only if it is glued (--color=always).
# flags: -v|--verbose
# values: -n|--number
# optionals: --color
{found}
# Options that do something: read, write or delete a path, contact a host, run a command.
# options:
#   -o|--output: {{value: path, does: write}}

# The other words, in their order. `[]` says that there are none.
# operands:
#   - {{kind: path, does: read, rest: true}}

# What it does in any case.
# effects: [connect api.example.com:443 fetch]

# Each call with all that it does; they run as tests. Add one for each thing that you describe, and one for each that
# must stay `code`.
examples:
  {call}: [code]
  {with_words}: [code]
"""

_GROUPS = (
    ("flags", "without a value"),
    ("values", "with a value"),
    ("optionals", "with a value only if it is glued"),
    ("unclear", "of which the help does not tell"),
)


def skeleton(name: str, found: HelpOptions | None) -> str:
    """The text of the file. `found`: options to list for the author."""
    word = as_word(name)
    text = _SKELETON.format(
        plain=name,
        name=as_yaml(name),
        found=_listed(found) if found is not None else "",
        call=json.dumps(word),
        with_words=json.dumps(f"{word} --some-option some-file"),
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def as_word(name: str) -> str:
    """A program's name as bash takes it for that program: quoted where it would mean something else."""
    return f"'{name}'" if name in RESERVED or ("=" in name and quote(name) == name) else quote(name)


def as_yaml(name: str) -> str:
    """A name as YAML takes it for this text and nothing else."""
    if not _PLAIN.fullmatch(name):
        return json.dumps(name, ensure_ascii=False)
    node: Node = load(name, "name")
    return json.dumps(name) if node.value != name or node.trap else name


def _listed(found: HelpOptions) -> str:
    """The options of a help text as comments; the author moves those up that do no harm."""
    lines = [
        "",
        "# Its help lists these. Move into the keys above those that do no harm, and into `options:` the others.",
    ]
    for field, about in _GROUPS:
        options = getattr(found, field)
        if options:
            lines.append(f"#   {about}:")
            lines += [
                f"#     {line}"
                for line in wrap(" ".join(options), _WIDTH, break_long_words=False, break_on_hyphens=False)
            ]
    if len(lines) == 2:
        lines = ["", "# No option could be read out of its help."]
    return "\n".join(lines) + "\n"
