"""What is said of a call at each stage."""

from __future__ import annotations

from gateway.render.texts import call_text


def test_a_call_of_which_nothing_is_known_is_shown_by_its_name(ground) -> None:
    registry = ground.open().registry
    for name in registry:
        tool = registry[name]
        for full in (False, True):
            shown = call_text(tool.entry, {}, tool.match, full=full)
            assert any(each.isalnum() for each in shown), name
    assert call_text(registry["Bash"].entry, {}, "command", full=False) == "Bash"
