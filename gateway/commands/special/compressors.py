"""gzip and its like, whose new file is named after the given one, which often disappears; and ar's key of letters."""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# Of each program: what it appends, and what it takes off a name or puts in place of its end.
_GZIP = (".gz", {".tgz": ".tar", ".taz": ".tar", ".gz": "", "-gz": "", ".z": "", "-z": "", "_z": "", ".Z": ""})
_BZIP2 = (".bz2", {".tbz2": ".tar", ".tbz": ".tar", ".bz2": "", ".bz": ""})
_XZ = (".xz", {".txz": ".tar", ".tlz": ".tar", ".xz": "", ".lzma": ""})
_LZMA = (".lzma", _XZ[1])
_ZSTD = (
    ".zst",
    {".tzst": ".tar", ".tgz": ".tar", ".txz": ".tar", ".zst": "", ".gz": "", ".xz": "", ".lzma": "", ".lz4": ""},
)
_LZ4 = (".lz4", {".lz4": ""})
_LZIP = (".lz", {".tlz": ".tar", ".lz": ""})
_LZOP = (".lzo", {".tzo": ".tar", ".lzo": ""})
_BROTLI = (".br", {".br": ""})
_COMPRESS = (".Z", {".taz": ".tar", ".Z": ""})
_NAMES = {
    "gzip": _GZIP, "pigz": _GZIP, "gunzip": _GZIP, "unpigz": _GZIP, "bzip2": _BZIP2, "bunzip2": _BZIP2,
    "pbzip2": _BZIP2, "pbunzip2": _BZIP2, "lbzip2": _BZIP2, "lbunzip2": _BZIP2, "xz": _XZ, "unxz": _XZ, "pixz": _XZ,
    "lzma": _LZMA, "unlzma": _LZMA, "zstd": _ZSTD, "unzstd": _ZSTD, "zstdmt": _ZSTD, "pzstd": _ZSTD, "lz4": _LZ4,
    "unlz4": _LZ4, "lz4c": _LZ4, "lzip": _LZIP, "lunzip": _LZIP, "plzip": _LZIP, "lzop": _LZOP, "brotli": _BROTLI,
    "unbrotli": _BROTLI, "compress": _COMPRESS, "uncompress": _COMPRESS,
}  # fmt: skip


def _compressor(findings: Findings, run: Invocation) -> None:
    """`elsewhere` is set where an option names the output or nothing is written; `down` where it unpacks; `removes` and
    `keeps` say what becomes of the given file."""
    if "elsewhere" in run.flags:
        return
    added, taken = _NAMES[run.name]
    down = "down" in run.flags or run.name.startswith(("un", "gun", "bun", "lun", "pbun", "lbun"))
    removes = "removes" in run.flags or ("keep" not in run.flags and run.name not in _KEEPING)
    suffixes = [values[0].text for option, values in run.values if "-S" in option["names"] and values]
    for word in run.operands:
        if word.text == "-":
            continue
        if suffixes or "stored" in run.flags or not word.literal or "-r" in run.options:
            # Which names appear is known only once the folder or the archive has been looked into.
            folder = word.text if "-r" in run.options and word.literal else _folder_of(word)
            findings.touch("write", Word(folder, word.start, word.end), run.cwds, run.part, True)
        else:
            for name in _new(word.text, added, taken, down, run):
                findings.touch("write", Word(name, word.start, word.end), run.cwds, run.part)
        if removes:
            findings.touch("delete", word, run.cwds, run.part, "-r" in run.options)


_KEEPING = frozenset(("zstd", "unzstd", "zstdmt", "pzstd", "lz4", "unlz4", "lz4c", "lzop", "brotli", "unbrotli"))


def _folder_of(word: Word) -> str:
    """The folder that a word's file lies in; unknown where the folder is a pattern itself."""
    if word.literal:
        return word.text.rpartition("/")[0] or "."
    if word.pattern is None or HOLE in word.text:
        return HOLE
    folder = word.pattern.rpartition("/")[0]
    return HOLE if any(sign in folder for sign in "*?[") else folder or "."


def _beside(findings: Findings, run: Invocation) -> None:
    """What is made of each operand lies in its folder; `elsewhere` is set where an option names the output."""
    for word in run.operands if "elsewhere" not in run.flags else ():
        findings.touch("write", Word(_folder_of(word), word.start, word.end), run.cwds, run.part, True)


def _new(name: str, added: str, taken: dict[str, str], down: bool, run: Invocation) -> list[str]:
    """The names that may appear: one, or several where the program looks into the file."""
    if not down:
        if run.name in ("lz4", "lz4c") and "up" not in run.flags and name.endswith(added):
            return [name[: -len(added)]]
        formats = [values[0].text for option, values in run.values if "--format" in option["names"] and values]
        if formats:
            return [f"{name}.{kind}" for kind in ("zst", "gz", "xz", "lzma", "lz4")]
        return [name + added]
    for ending, instead in taken.items():
        if name.endswith(ending) and len(name) > len(ending):
            return [name[: -len(ending)] + instead]
    if added == ".gz" or added == ".Z":
        # An ending that is not given is tried: `gunzip f` opens f.gz.
        return [name, *(name + ending for ending in (".gz", ".z", ".Z"))]
    return [name + ".out", name]


_AR_SHOWS, _AR_CHANGES = frozenset("pt"), frozenset("dmqrs")
_AR_LETTERS = frozenset("dmpqrstxabiNcDfIkloOPSTuvVU")


def _ar(findings: Findings, run: Invocation) -> None:
    """The first word is the operation with its modifiers; `a`, `b`, `i` and `N` take a word each before the archive."""
    words = run.operands
    key = words[0].text.removeprefix("-") if words else ""
    letters = frozenset(key)
    operations = letters & frozenset("dmpqrtx") or letters & frozenset("s")
    if key[:1] == "-" or not letters <= _AR_LETTERS or len(operations) != 1:
        if words and words[0].text not in ("--version", "--help", "-V", "-h"):
            run.doubts.append(f"operation {words[0].text.replace(HOLE, '?')} is not described")
        return
    at = 1 + sum(letter in "abiN" for letter in key)
    archive, members = words[at : at + 1], words[at + 1 :]
    for word in archive:
        findings.touch("read", word, run.cwds, run.part)
        if operations & _AR_CHANGES:
            findings.touch("write", word, run.cwds, run.part)
    if operations & frozenset("qr"):
        for word in members:
            findings.touch("read", word, run.cwds, run.part)
    if "p" in operations:
        run.doubts.append("a thin archive shows files that it names")
    if any(word.text[:1] in ("@", HOLE) for word in words):
        run.doubts.append("a word with @ stands for those that a file holds")
    if "x" in operations:
        findings.touch("write", run.words[0].replace(text="."), run.cwds, run.part, True)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "ar": _ar,
    "beside": _beside,
    "compressor": _compressor,
}
