"""Where a rule or setting comes from, in the words that people know: a preset is one, whichever layer has taken it."""

from __future__ import annotations

import os

from gateway.core.places import packaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.rule import Rule

_PRESET = "preset "


def layer_name(layer: str, file: str) -> str:
    """`preset daily` for a file that ships with the package and stands in for, or is extended by, one of a person's or
    an organisation's; else the layer."""
    folder, name = os.path.split(file)
    stem, ending = os.path.splitext(name)
    if layer == "builtin" or ending != ".yaml" or folder != packaged("policies"):
        return layer
    return f"{_PRESET}{stem}"


def is_of_preset(rule: Rule) -> bool:
    """Whether a rule is one of a preset, which whoever extends it can leave out."""
    return layer_name(rule.source.layer, rule.source.file).startswith(_PRESET)
