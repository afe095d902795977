"""What a prompt pulls in before any tool is called: files that it names with `@`, and commands in the text of the slash
commands and skills that it starts. Pure.

Of Codex there is nothing: to it, `@path` is a word like others, and its own commands are texts.

Each reading takes more than the agent's own: what is named too much is judged and left alone, what is missed is not.
"""

from __future__ import annotations

import re

# The tools of each agent that do the same as a prompt which pulls in a file, or starts a command: name and field.
READ_BY = {
    "claude": ("Read", "file_path"),
    "gemini": ("read_file", "file_path"),
    "copilot": ("view", "path"),
    "cursor": ("Read", "file_path"),
    "opencode": ("read", "filePath"),
}
RUN_BY = {"claude": ("Bash", "command"), "opencode": ("bash", "command")}

# `@path`, `@"a path"`, with lines behind it (`#L1-9`) or a sentence around it.
_QUOTED = re.compile(r'@"([^"\n]+)"')
_MENTION = re.compile(r"@((?:\\.|[^\s\"'`<>|,;\\])+)")
_ESCAPE = re.compile(r"\\(.)")
# What Gemini CLI puts behind a prompt for each file that it has read for it.
_READ = "\n--- Content from referenced files ---"
_READ_FILE = re.compile(r"^Content from @(.+):$", re.MULTILINE)
_LINES = re.compile(r"#L?\d.*$")
_AROUND = ".,:;!?)]}'\""
_NAMED = re.compile(r"(?:^|(?<=\s))/([\w][\w:.-]*)(?=\s|$)([^\n]*)", re.MULTILINE)
_INLINE = re.compile(r"!`([^`]+)`")
_BLOCK = re.compile(r"```!\s*\n?(.*?)\n?[ \t]*```", re.DOTALL)
_ALL = re.compile(r"\$ARGUMENTS(?!\[)")
_WORD = re.compile(r"\$(?:ARGUMENTS\[(\d+)\]|(\d+))")


def mentions(text: str) -> tuple[str, ...]:
    """The paths that a text may name, as they stand there."""
    found = _QUOTED.findall(text)
    for each in _MENTION.findall(text):
        plain = _LINES.sub("", each)
        found += [each, plain, plain.rstrip(_AROUND), *([_ESCAPE.sub(r"\1", each)] if "\\" in each else [])]
    return tuple(dict.fromkeys(each for each in found if each))


def pulled_in(text: str) -> tuple[str, ...]:
    """The paths that a prompt of Gemini CLI's names, and those that it says it has read, as they stand there. What
    stands in these files names none."""
    said, _, read = text.partition(_READ)
    return tuple(dict.fromkeys((*mentions(said), *_READ_FILE.findall(read))))


def started(prompt: str) -> tuple[tuple[str, str], ...]:
    """The slash commands that a prompt may start, each with what stands behind it."""
    return tuple(dict.fromkeys((name, rest.strip()) for name, rest in _NAMED.findall(prompt)))


def shell_texts(text: str, arguments: str) -> tuple[str, ...]:
    """The shell texts that the agent runs when it loads this one: as written, and with the arguments put in."""
    words = arguments.split()

    def word(found: re.Match[str]) -> str:
        at = int(found[1] or found[2])
        return words[at] if at < len(words) else ""

    as_written = (*_INLINE.findall(text), *_BLOCK.findall(text))
    given = [_WORD.sub(word, _ALL.sub(lambda _found: arguments, each)) for each in as_written]
    return tuple(dict.fromkeys((*as_written, *given)))
