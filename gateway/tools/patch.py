"""The patches of Codex: which files one adds, changes, moves and deletes.

    *** Begin Patch
    *** Add File: new.txt
    +hello
    *** Update File: a.txt
    *** Move to: b.txt
    @@
    -beta
    +gamma
    *** Delete File: old.txt
    *** End Patch

What is told is at least what is done: whoever applies it forgives blanks before a heading, so a line of context that
looks like one counts as one too. A heading that nobody knows is a doubt.
"""

from __future__ import annotations

from gateway.core.value import Value

_STARS = "*** "
_SILENT = ("*** Begin Patch", "*** End Patch", "*** End of File")
_HEADINGS = {
    "*** Add File: ": ("write",),
    "*** Update File: ": ("read", "write"),
    "*** Delete File: ": ("delete",),
}
_MOVE = "*** Move to: "


class Touched(Value):
    """What a patch does to files, as (list, read, write or delete; path as written), and "" or why that is not all."""

    files: tuple[tuple[str, str], ...]
    doubt: str = ""


def touched(patch: str) -> Touched:
    """The files that a patch names. Never raises."""
    found: list[tuple[str, str]] = []
    doubt, last = "", ""
    for line in patch.replace("\r", "\n").split("\n"):
        text = line.strip()
        if not text.startswith("***"):
            continue
        heading, what = _heading(text)
        if heading == _MOVE:
            if not last:
                doubt = doubt or "the patch moves a file that it does not name"
            found += [("delete", last), ("write", what)] if last else [("write", what)]
        elif heading:
            found += [(kind, what) for kind in _HEADINGS[heading]]
            last = what if heading == "*** Update File: " else ""
        elif text not in _SILENT:
            doubt = doubt or "the patch has a heading that is not known"
    if not found and not doubt:
        doubt = "the patch names no file"
    return Touched(tuple(dict.fromkeys(found)), doubt)


def _heading(text: str) -> tuple[str, str]:
    """The heading that a line is, and the path behind it; ("", "") for any other line."""
    for heading in (*_HEADINGS, _MOVE):
        if text.startswith(heading) and (path := text[len(heading) :].strip()):
            return heading, path
    return "", ""
