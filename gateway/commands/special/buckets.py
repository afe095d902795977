"""Copies, moves and syncs between this machine and cloud buckets: `aws s3 cp a s3://b/a`, `gsutil rsync d gs://b`.

A word that begins with the scheme of a bucket lies there, every other one here. Whatever is not fully known may be
either.
"""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# Of each program: what a bucket's address begins with, and the host that holds it.
_BUCKETS = {
    "aws": ("s3://", "s3.amazonaws.com"),
    "gsutil": ("gs://", "storage.googleapis.com"),
    "gcloud": ("gs://", "storage.googleapis.com"),
}
_ALL = ("sync", "rsync")
_RECURSIVE = ("--recursive", "-r", "-R")
_DELETING = ("--delete", "-d", "--delete-unmatched-destination-objects")


def _buckets(findings: Findings, run: Invocation) -> None:
    """`SOURCE ... DESTINATION` of `cp`, `mv`, `sync` and `rsync`."""
    *sources, last = run.operands or (run.words[0],)
    if not sources:
        if last.text == "help":
            return
        run.doubts.append("a copy needs a source and a destination")
        return
    verb = run.subcommands[-1]
    scheme, host = _BUCKETS[run.name]
    tree = verb in _ALL or run.has(list(_RECURSIVE))

    def there(word: Word) -> bool:
        return word.text.startswith(scheme)

    def here(word: Word) -> bool:
        return word.text != "-" and not there(word)

    for word in filter(here, sources):
        findings.touch("read", word, run.cwds, run.part, tree)
        if verb == "mv":
            findings.touch("delete", word, run.cwds, run.part, tree)
    if here(last):
        findings.touch("write", last, run.cwds, run.part, tree)
        for word in () if tree else sources:
            # Into a folder it goes by its name.
            name = word.text.rstrip("/").rpartition("/")[2] if word.literal else HOLE
            findings.touch("write", Word(f"{last.text.rstrip('/')}/{name}", last.start, last.end), run.cwds, run.part)
        if verb in _ALL and run.has(list(_DELETING)):
            findings.touch("delete", last, run.cwds, run.part, True)
    changes = there(last) or HOLE in last.text or (verb == "mv" and not all(map(here, sources)))
    findings.connect(host, 443, "send" if changes else "fetch", last, run.part)
    if changes:
        findings.add(System("cloud", "change"), last.start, last.end, run.part)


def _spelled_out(findings: Findings, run: Invocation) -> None:
    """rclone's `:sftp,ssh=CMD:dir` and `name,ssh=CMD:dir` are remotes with settings of their own, some of which start
    programs."""
    del findings
    for word in run.operands:
        remote, colon, _ = word.text.partition(":")
        if word.text[:1] in (":", HOLE) or (colon and ("," in remote or HOLE in remote)):
            run.doubts.append(f"{word.text.replace(HOLE, '?')} may bring settings that start programs")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"buckets": _buckets, "rclone": _spelled_out}
