"""git's names for files: pathspecs, which git expands itself, and files of a revision, which start at the top."""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Effect
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation


_REVISIONS = frozenset(("HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "main", "master", "@", "stash"))
_HEX = frozenset("0123456789abcdef")
_STAGES = ("0:", "1:", "2:", "3:")
_GLOBS = frozenset("*?[")


def revision(findings: Findings, run: Invocation, word: Word, does: list[Effect]) -> None:
    """git's revisions and paths share their place; what can't be told apart counts as the path too. It may be a
    folder."""
    text = word.text
    if word.names is not None and word.names.revisions and ":" not in text:
        return
    stored = ""
    if "--no-index" not in run.options:
        head, colon, stored = text.partition(":")
        if colon and not head and stored[:1] not in ("(", "/", "!", "^"):
            stored = stored[2:] if stored[:2] in _STAGES else stored  # `:path`, `:0:path`: of the index
            head = ":"
        if colon and head:
            word = Word(stored or ".", word.start, word.end)
        elif _only_revision(text):
            return
        else:
            stored = ""
    for effect in does:
        findings.touch(effect["kind"], word, run.cwds, run.part, True)
        if stored and stored[:1] != ".":
            for cwd in run.cwds:
                findings.ask("top", run.part, cwd, f"{effect['kind']}/tree {stored}", word.start, word.end)


def _only_revision(text: str) -> bool:
    """Whether a word is a revision that people would not mistake for a file."""
    if text[:1] in ("/", "."):
        return False
    if text in _REVISIONS or "~" in text or "^" in text or "@{" in text:
        return True
    return (".." in text and "/.." not in text and "../" not in text) or (
        7 <= len(text) <= 40 and _HEX.issuperset(text)
    )


def widen(findings: Findings, run: Invocation) -> None:
    """Paths that git reads as patterns, or with a sign of their own, stand for more than the file of that name."""
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        effect = item.effect
        if not isinstance(effect, Touch) or effect.glob or item.part != run.part or HOLE in effect.path:
            continue
        path = effect.path
        for cwd in run.cwds:
            if path.startswith(cwd + "/:"):
                path = _magic(findings, run, effect.kind, path[len(cwd) + 2 :], cwd, item.start, item.end)
                break
        if not _GLOBS.isdisjoint(path):
            path = path[: min(path.find(sign) for sign in _GLOBS if sign in path)].rpartition("/")[0] or "/"
        if path != effect.path:
            findings.items[at] = item.replace(effect=Touch(effect.kind, path, True))
            findings.paths.append(path)


def _magic(findings: Findings, run: Invocation, kind: str, rest: str, cwd: str, start: int, end: int) -> str:
    """The folder that a pathspec with magic stays in, as seen from the current one."""
    if rest[:1] == "/" or "top" in rest.partition(")")[0]:
        findings.ask("top", run.part, cwd, f"{kind}/tree {rest[1:] if rest[:1] == '/' else ''}", start, end)
    return cwd


# Subcommands that look at the whole work tree when no path is named, wherever in it they start, and the kind of it.
_WHOLE = {
    "status": "list", "commit": "list", "diff": "read", "diff-index": "read", "diff-files": "read", "stash": "read",
}  # fmt: skip


def whole(findings: Findings, run: Invocation) -> None:
    """`git status` and `git diff` in a folder tell of the whole work tree, unless paths are named; `git commit` looks
    at all of it in any case."""
    subcommand = run.subcommands[0] if run.subcommands else ""
    kind = _WHOLE.get(subcommand)
    named = any(word.text != "." and not (word.splits and word.text == HOLE) for word in run.operands)
    if kind is None or (subcommand != "commit" and (run.after or named or "--relative" in run.options)):
        return
    start, end = run.words[0].start, run.words[-1].end
    for cwd in run.cwds:
        findings.ask("top", run.part, cwd, f"{kind}/tree ", start, end)


def lines(findings: Findings, run: Invocation) -> None:
    """`git log -L 1,5:file` shows the lines of a file."""
    for option, values in run.values:
        if "-L" in option["names"] and values and ":" in values[0].text[1:]:
            word = values[0]
            path = Word(word.text.rpartition(":")[2] or ".", word.start, word.end)
            findings.touch("read", path, run.cwds, run.part)
            for cwd in run.cwds:
                findings.ask("top", run.part, cwd, f"read {path.text}", word.start, word.end)
