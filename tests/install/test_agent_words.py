"""What stands in a policy stays what it is in every agent's notation."""

from __future__ import annotations

import shlex
import tomllib

import pytest

from gateway.install.agent_words import codex_rule, for_a_shell, gemini_rule

TEXTS = ["git push", 'say "x"', "it's", "a\\b", "\x7f", "\U0001f600", "$(x) `y`", "new\nline"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_one_text_in_every_notation(text: str) -> None:
    (rule,) = tomllib.loads(gemini_rule("deny", 900, tools='"run_shell_command"', prefix=text))["rule"]
    assert rule == {"toolName": "run_shell_command", "commandPrefix": text, "decision": "deny", "priority": 900}
    assert shlex.split(for_a_shell(text)) == [text]
    (line,) = codex_rule([text], "forbidden", text).splitlines()
    assert eval(line, {"prefix_rule": dict}) == {  # what is written is Python, too
        "pattern": [text], "decision": "forbidden", "justification": text
    }  # fmt: skip
