"""Short-form command rules: what Claude Code documents of each, what we answer, and why where that differs.

`docs/short-form.md` is this table, rendered by `render`.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.command import Part

YES, NO, UNCLEAR = "yes", "no", "unclear"

# Options of the programs in the table that a description would know: aliases, and global options with a value.
_ALIASES = {
    "rm": {
        "-r": ("-R", "--recursive"), "-R": ("-r", "--recursive"), "--recursive": ("-r", "-R"),
        "-f": ("--force",), "--force": ("-f",),
    },
    "git": {"-f": ("--force",), "--force": ("-f",), "-m": ("--message",)},
}  # fmt: skip
_WITH_VALUE = {"git": ("-C", "-c", "-m", "--message")}


class Row(Value):
    """`commands`: the simple commands of the text, each with whether it is written directly in it."""

    rule: str
    lane: str
    text: str
    commands: tuple[tuple[tuple[str, ...], bool], ...]
    theirs: str
    ours: str
    why: str = ""


def part_of(argv: tuple[str, ...], *, direct: bool = True) -> Part:
    """The part as the analysis would give it: described for git and rm, else by its words alone."""
    program = argv[0].rpartition("/")[2]
    described = program in _ALIASES
    options: set[str] = set()
    words: list[str] = []
    rest = iter(argv[1:])
    for word in rest:
        if word.startswith("--") and len(word) > 2:
            names = [word.partition("=")[0]]
        elif word.startswith("-") and len(word) > 1:
            names = [word] if word in _WITH_VALUE.get(program, ()) else ["-" + letter for letter in word[1:]]
        else:
            words.append(word)
            continue
        for name in names:
            options.update((name, *_ALIASES.get(program, {}).get(name, ())))
            if name in _WITH_VALUE.get(program, ()):
                next(rest, None)
    subcommands = tuple(words[:1]) if program == "git" else ()
    operands = tuple(words[len(subcommands) :])
    literal = not any("\0" in word for word in argv)
    return Part(
        argv, 0, 0, program, subcommands, operands, frozenset(options), described, literal, direct, trusted=direct
    )


def _row(rule: str, lane: str, text: str, theirs: str, ours: str, why: str = "", *hidden: str) -> Row:
    """A row whose text is one plain command, or, with `hidden`, hands over these commands."""
    if hidden and hidden[0] == "+":
        return Row(rule, lane, text, tuple((tuple(each.split()), True) for each in hidden[1:]), theirs, ours, why)
    first = ((tuple(text.replace("'", "").split()), True),) if not hidden else ()
    return Row(rule, lane, text, first + tuple((tuple(each.split()), False) for each in hidden), theirs, ours, why)


_BLANKS = "words are compared, not blanks"
_QUOTES = "words are compared after quote removal"
_OPTIONS = "options match in any order and spelling"
_RUNNER = "the rule is for the runner; deny and ask rules still see what it runs, if they know the runner"
_NAME = "the name as written, unless the shell would find that very file by it"
_BASE = "the program is compared by its base name"
_CANONICAL = "global options do not hide a subcommand"
_NESTED = "commands in a shell's `-c` are commands"
_PARTS = "any command of the text is enough"
_EVERY = "every command of the text needs its own cover"
_WRAPPER = "an allow rule does not cover a command that is handed to another program"
_EXACT = "a rule without `*` also forbids the command with more options"

ROWS: tuple[Row, ...] = (
    _row("npm run build", "allow", "npm run build", YES, YES),
    _row("npm run build", "allow", "npm run build --x", NO, NO),
    _row("npm run build", "allow", "npm  run   build", UNCLEAR, YES, _BLANKS),
    _row("npm run build", "allow", "npm 'run' build", NO, YES, _QUOTES),
    _row("npm run build", "deny", "npm run build --x", NO, YES, _EXACT),
    _row("npm run build", "deny", "npm run build:all", NO, NO),
    _row("ls *", "allow", "ls", YES, YES),
    _row("ls *", "allow", "ls -la", YES, YES),
    _row("ls *", "allow", "lsof", NO, NO),
    _row("ls*", "allow", "ls -la", YES, YES),
    _row("ls*", "allow", "lsof", YES, YES),
    _row("npm run test:*", "allow", "npm run test", YES, YES),
    _row("npm run test:*", "allow", "npm run test -- -u", YES, YES),
    _row("npm run test:*", "allow", "npm run tests", NO, NO),
    _row("git:* push", "allow", "git push", NO, NO),
    _row("git:* push", "deny", "git push", NO, NO),
    _row("* install", "allow", "npm install", YES, YES),
    _row("* install", "allow", "pnpm -r install", YES, YES),
    _row("* install", "allow", "npm install x", NO, NO),
    _row("git * main", "allow", "git checkout main", YES, YES),
    _row("git * main", "allow", "git push origin main", YES, YES),
    _row("git * main", "allow", "git log --oneline main", YES, YES),
    _row("git * main", "allow", "git main", NO, NO),
    _row("git * main", "deny", "git main", NO, NO),
    _row("* --help *", "allow", "x --help y", YES, YES),
    _row("* --help *", "allow", "x --help", UNCLEAR, YES, "a last ` *` always matches the bare command"),
    _row("curl http://github.com/ *", "allow", "curl http://github.com/", YES, YES),
    _row("curl http://github.com/ *", "allow", "curl -X GET http://github.com/", NO, NO),
    _row("curl http://github.com/ *", "allow", "curl https://github.com/", NO, NO),
    _row("curl http://github.com/ *", "allow", "curl  http://github.com/", UNCLEAR, YES, _BLANKS),
    _row("curl http://github.com/ *", "deny", "curl -X GET http://github.com/", NO, YES,
         "options do not hide an operand; for hosts use `WebFetch(domain:…)`"),
    _row("devbox run *", "allow", "devbox run rm -rf .", YES, YES, _RUNNER),
    _row("npm test *", "allow", "timeout 30 npm test", YES, NO, _WRAPPER, "timeout 30 npm test"),
    _row("npm test *", "allow", "npm test && other", NO, NO, _EVERY, "+", "npm test", "other"),
    _row("grep *", "allow", "xargs grep p", YES, NO, _WRAPPER, "xargs grep p", "grep p"),
    _row("grep *", "allow", "xargs -n1 grep p", NO, NO, _WRAPPER, "xargs -n1 grep p", "grep p"),
    _row("find *", "allow", "find . -name x", YES, YES),
    _row("rm *", "deny", "rm -rf x", YES, YES),
    _row("rm *", "deny", "FOO=bar rm x", YES, YES, "", "+", "rm x"),
    _row("rm *", "deny", "a && rm x", YES, YES, _PARTS, "+", "a", "rm x"),
    _row("rm *", "deny", "$(rm x)", YES, YES, _PARTS, "rm x"),
    _row("rm *", "deny", "sudo rm x", YES, YES, "", "sudo rm x", "rm x"),
    _row("rm *", "deny", "env rm x", YES, YES, "", "env rm x", "rm x"),
    _row("rm *", "deny", "/bin/rm x", NO, YES, _BASE),
    _row("rm *", "deny", "bash -c 'rm x'", NO, YES, _NESTED, "bash -c rm_x", "rm x"),
    _row("rm *", "deny", "rmdir x", NO, NO),
    _row("rm *", "deny", "find . -delete", NO, NO, "deny the effect: `{effect: delete}`"),
    _row("rm -rf *", "deny", "rm -fr x", NO, YES, _OPTIONS),
    _row("rm -rf *", "deny", "rm -r x -f", NO, YES, _OPTIONS),
    _row("rm -rf *", "deny", "rm --recursive --force x", NO, YES, _OPTIONS),
    _row("rm -rf *", "deny", "rm -r x", NO, NO),
    _row("rm -rf *", "allow", "rm -fr x", NO, NO),
    _row("git push *", "deny", "git push", YES, YES),
    _row("git push *", "deny", "git push origin", YES, YES),
    _row("git push *", "deny", "git -C . push", NO, YES, _CANONICAL),
    _row("git push *", "deny", "git -c k=v push", NO, YES, _CANONICAL),
    _row("git push *", "deny", "git 'push'", NO, YES, _QUOTES),
    _row("git push *", "deny", "/usr/bin/git push", NO, YES, _BASE),
    _row("git push *", "deny", "sh -c 'git push'", NO, YES, _NESTED, "sh -c git_push", "git push"),
    _row("git push *", "deny", "git commit -m push", NO, NO),
    _row("git push *", "allow", "git -C . push", NO, NO),
    _row("git push *", "allow", "/usr/bin/git push", NO, NO, _NAME),
    _row("git push --force *", "deny", "git push -f origin", NO, YES, _OPTIONS),
    _row("git push --force *", "deny", "git push origin main --force", NO, YES, _OPTIONS),
    _row("git push --force *", "deny", "git push origin", NO, NO),
)  # fmt: skip


def render() -> str:
    """The table as a page of documentation."""
    lines = [
        "# Command rules in short form",
        "",
        "`Bash(npm run *)` and its kind are read as users of Claude Code know them. Where the answer differs, the",
        "last column says why: an allow rule is never wider than the words it was written with, a deny or ask rule",
        "holds however the command is spelled. What else a rule may say stands in [rules.md](rules.md).",
        "This page is generated from the tests.",
        "",
        "| rule | lane | command | Claude Code | here | why |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        here = row.ours if row.ours == row.theirs else f"**{row.ours}**"
        lines.append(f"| `Bash({row.rule})` | {row.lane} | `{row.text}` | {row.theirs} | {here} | {row.why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(render())
