"""Where a rule comes from, in the words that people know."""

from __future__ import annotations

import pytest

from gateway.core.places import packaged
from gateway.render.origins import layer_name

SHIPPED = packaged("policies")


@pytest.mark.parametrize(
    ("layer", "file", "name"),
    [
        ("user", f"{SHIPPED}/daily.yaml", "preset daily"),
        ("project", f"{SHIPPED}/guard.yaml", "preset guard"),
        ("builtin", f"{SHIPPED}/builtin.yaml", "builtin"),
        ("user", "/home/dev/.config/gateway/policy.yaml", "user"),
        ("user", "/home/dev/policies/daily.yaml", "user"),
        ("user", f"{SHIPPED}/more/daily.yaml", "user"),
        ("user", "", "user"),
    ],
)
def test_a_preset_is_named_and_every_other_file_by_its_layer(layer: str, file: str, name: str) -> None:
    assert layer_name(layer, file) == name
