"""How pages are read whose commands are run."""

from __future__ import annotations

import pytest
from replaying import Command, check, commands_of, prints

PAGE = """
```console
$ ls -a
.env
...
$ true
```

```yaml
# ~/.config/gateway/policy.yaml
version: 1
```

```yaml
# not a file
version: 1
```

```console sandbox mcp
$ gateway exec -- ls
README.md
```
"""


def test_a_page_gives_its_commands_and_files_in_their_order() -> None:
    written = (
        "mkdir -p ~/.config/gateway && cat > ~/.config/gateway/policy.yaml <<'@@'\n# ~/.config/gateway/policy.yaml"
    )
    assert commands_of(PAGE) == [
        Command("ls -a", frozenset(), (".env", "...")),
        Command("true", frozenset(), ()),
        Command(f"{written}\nversion: 1\n@@", frozenset(), ()),
        Command("gateway exec -- ls", frozenset({"sandbox", "mcp"}), ("README.md",)),
    ]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a\nwrote x\nz\n", True),
        ("a\nb\nc\nwrote x\nz\n", True),
        ("a\nz\n", False),
        ("b\nwrote x\nz\n", False),
    ],
)
def test_three_dots_stand_for_lines(text: str, fits: bool) -> None:
    assert bool(prints(("a", "...", "wrote ...", "z")).fullmatch(text)) is fits


@pytest.mark.parametrize(
    ("text", "fits"), [("#1  12:30  allow\n", True), ("#1  12:30  deny\n", False), ("#1\n  allow\n", False)]
)
def test_three_dots_stand_for_a_part_of_a_line(text: str, fits: bool) -> None:
    assert bool(prints(("#1  ...  allow",)).fullmatch(text)) is fits


def test_a_wrong_output_is_noticed_also_of_a_command_that_stands_twice() -> None:
    commands = [Command("ls", frozenset(), ("a",)), Command("ls", frozenset(), ("b",))]
    check(commands, ["a\n", "b\n"])
    with pytest.raises(AssertionError, match=r"\$ ls\nx"):
        check(commands, ["x\n", "b\n"])
