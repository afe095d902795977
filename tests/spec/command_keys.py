"""The generated part of `docs/commands.md`: every key of a description. Run as a program it writes the page anew."""

from __future__ import annotations

from pathlib import Path

from gateway.spec.commandkeys import DIALECTS, EFFECT, EFFECTS, KINDS, OPTION, SLOT, SPEC, TOP

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BEGIN, END = "<!-- keys: begin, generated -->\n", "<!-- keys: end -->\n"


def keys(table: dict[str, tuple[str, str]]) -> list[str]:
    return [
        "| key | says | example |",
        "| --- | --- | --- |",
        *(f"| `{key}` | {cell(about)} | `` {cell(example)} `` |" for key, (about, example) in table.items()),
    ]


def words(table: dict[str, str], name: str) -> list[str]:
    return [f"| {name} | |", "| --- | --- |", *(f"| `{word}` | {cell(about)} |" for word, about in table.items())]


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def render() -> str:
    sections = [
        ("### Of the file", keys(TOP)),
        ("### Of the program, and of each subcommand", keys(SPEC)),
        ("### Of an option", keys(OPTION)),
        ("### Of an operand", keys(SLOT)),
        ("### Of an effect with conditions", keys(EFFECT)),
        ("### Effects", words(EFFECTS, "effect")),
        ("### Kinds of values and operands", words(KINDS, "kind")),
        ("### Dialects", words(DIALECTS, "dialect")),
    ]
    return "\n".join(f"{title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections)


def page(text: str) -> str:
    """The page with its generated part as it must be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + render() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
