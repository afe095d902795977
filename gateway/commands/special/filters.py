"""Small programs whose words mean more than their kind tells: curl, date, find, ln, tar, unzip."""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE, System, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_FILTERS = (
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-size", "-mtime", "-mmin",
    "-atime", "-amin", "-ctime", "-cmin", "-newer", "-newermt", "-empty", "-perm", "-user", "-group", "-inum", "-links",
)  # fmt: skip


def _find(findings: Findings, run: Invocation) -> None:
    """What is deleted or changed where a test picks it is something below the folder, not the folder."""
    if run.options.isdisjoint(_FILTERS):
        return
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        effect = item.effect
        if isinstance(effect, Touch) and effect.tree and effect.kind in ("write", "delete"):
            below = f"{effect.path.rstrip('/')}/{HOLE}"
            findings.items[at] = item.replace(effect=Touch(effect.kind, below))


def _date(findings: Findings, run: Invocation) -> None:
    """An operand that is no format sets the clock (BSD's `-j` only prints)."""
    for word in run.operands:
        if word.text[:1] != "+" and "-j" not in run.options:
            findings.add(System("clock", "set"), word.start, word.end, run.part)


# What tar is told to do, in whichever spelling; or that it only tells of itself.
_TAR_DOES = frozenset((
    "-c", "-x", "-t", "-r", "-u", "-A", "-d", "--delete", "--test-label", "--help", "--version", "--usage",
    "--show-defaults", "-?",
))  # fmt: skip


def _tar(findings: Findings, run: Invocation) -> None:
    """An archive `host:file` is reached through a remote shell."""
    if run.options.isdisjoint(_TAR_DOES):
        run.doubts.append("nothing says what tar is to do")
    for option, values in run.values:
        if "-f" in option["names"] and values:
            text = values[0].text
            if ":" in text.partition("/")[0] and "--force-local" not in run.options:
                findings.code(run, f"{text.replace(HOLE, '?')} is reached through a remote shell")
                findings.connect(HOLE, 0, "send", values[0], run.part)
    folders = [values[0] for option, values in run.values if "-C" in option["names"] and values]
    if len(folders) > 1:
        run.doubts.append("each folder holds for the operands behind it alone")
    for folder in folders:
        if any(operand.start < folder.start for operand in run.operands):
            run.doubts.append("an operand stands before the folder that is changed to")


def _curl(findings: Findings, run: Invocation) -> None:
    """Forms and encoded data name files behind `@` or `<`."""
    for option, values in run.values:
        if not values:
            continue
        word = values[0]
        name, equals, value = word.text.partition("=")
        if "--form" in option["names"]:
            files = value.partition(";")[0] if equals else word.text
            if files[:1] in ("@", "<"):
                pieces = files[1:].split(",")
            elif HOLE in files[:1]:
                pieces = [HOLE]
            else:
                continue
        elif {"--data-urlencode", "--url-query"} & set(option["names"]) and "@" in name:
            pieces = [word.text.partition("@")[2]]
        else:
            continue
        for piece in pieces:
            if piece != "-":
                findings.touch("read", Word(piece.strip('"'), word.start, word.end), run.cwds, run.part)


def _unzip(findings: Findings, run: Invocation) -> None:
    """What stands behind the archive's name are members, but for `-d` and `-x`."""
    del findings
    if not run.operands:
        return
    archive = run.operands[0]
    for word in run.words:
        if word.start > archive.start and word.text[:1] == "-" and word.text[:2] not in ("-d", "-x"):
            run.doubts.append(f"{word.text.replace(HOLE, '?')} stands behind the archive's name")


def _ln(findings: Findings, run: Invocation) -> None:
    """With one operand the link appears in the folder, under the operand's name. A hard link is the file itself under
    another name: what is written there later is written here."""
    if "-s" not in run.options:
        last = len(run.operands) > 1 and "-t" not in run.options
        for word in run.operands[:-1] if last else run.operands:
            findings.touch("write", word, run.cwds, run.part)
    if len(run.operands) == 1 and "-t" not in run.options:
        word = run.operands[0]
        name = word.text.rstrip("/").rpartition("/")[2] if word.literal else HOLE
        findings.touch("write", Word(name, word.start, word.end), run.cwds, run.part)


def _own_environment(findings: Findings, run: Invocation) -> None:
    """What is installed by a program of an environment, named by its path, changes that environment."""
    word = run.words[0]
    folder, mark, _ = word.text.rpartition("/bin/") if word.literal else ("", "", "")
    if mark and "/" not in word.text[len(folder) + len(mark) :]:
        findings.touch("write", Word(folder or "/", word.start, word.end), run.cwds, run.part, True)


_PREFIXES = frozenset(("--prefix", "-outstem"))


def _split(findings: Findings, run: Invocation) -> None:
    """The pieces are named by a prefix, which may lead to another folder."""
    prefixes = [values[0] for option, values in run.values if _PREFIXES & set(option["names"]) and values]
    if run.name == "split":
        prefixes += run.operands[1:2]
    for word in prefixes:
        findings.touch("write", Word(word.text + HOLE, word.start, word.end), run.cwds, run.part)


def _strings(findings: Findings, run: Invocation) -> None:
    """`@file` stands for words that a file holds."""
    for word in run.words[1:]:
        if word.text[:1] in ("@", HOLE):
            findings.touch("read", Word(word.text[1:] or HOLE, word.start, word.end), run.cwds, run.part)
            run.doubts.append(f"{word.text.replace(HOLE, '?')} takes options from a file")


def _ps(findings: Findings, run: Invocation) -> None:
    """BSD's `e`, in whatever word without a dash, and the column `environ` show what processes hold in variables."""
    shown = [word for word in run.operands if "e" in word.text or HOLE in word.text]
    for _, values in run.values:
        shown += [word for word in values if "environ" in word.text or HOLE in word.text]
    for word in shown:
        findings.env("*", "read", word.start, word.end, run.part)


_TREE_VALUES = frozenset("HILPTo")


def _tree(findings: Findings, run: Invocation) -> None:
    """In a cluster of letters each that takes a value takes the next word that is left, wherever it stands."""
    del findings
    for word in run.words[1:]:
        text = word.text
        if text == "--":
            return
        letters = text[1:]
        if text[:1] != "-" or letters[:1] == "-" or (letters[:1] == "L" and letters[1:].isdigit()):
            continue
        if not _TREE_VALUES.isdisjoint(letters[:-1]):
            run.doubts.append(f"option {text.replace(HOLE, '?')} takes its values from the words behind")


_PARTING = (";", "\n", "#(", "://")


def _parted(findings: Findings, run: Invocation) -> None:
    """A word may end the command and start another, or name something elsewhere: what stands behind is not followed."""
    del findings
    for word in run.words[1:]:
        text = word.text
        if HOLE in text or any(sign in text for sign in _PARTING) or text.startswith(("github.com", "gitlab.com")):
            run.doubts.append(f"{text.replace(HOLE, '?')} may mean more than it is described to")


def _page(findings: Findings, run: Invocation) -> None:
    """A name with a slash is a file, whose text may name others that are shown in its place."""
    for word in run.operands:
        if "/" in word.text or HOLE in word.text or "-l" in run.options:
            findings.touch("read", word, run.cwds, run.part)
            if run.name == "man":
                run.doubts.append(f"{word.text.replace(HOLE, '?')} may show other files (`.so`)")


def _kept_parents(findings: Findings, run: Invocation) -> None:
    """`cp --parents` makes the whole path of each source below the target; `cp -l` makes the sources' other names."""
    if run.options.isdisjoint(("--parents", "-l")):
        return
    targets = [values[0] for option, values in run.values if "-t" in option["names"]]
    sources = run.operands if targets else run.operands[:-1]
    if "-l" in run.options:
        for source in sources:
            findings.touch("write", source, run.cwds, run.part, not run.options.isdisjoint(("-r", "-a")))
    if "--parents" not in run.options:
        return
    for target in targets or run.operands[-1:]:
        for source in sources:
            path = f"{target.text.rstrip('/')}/{source.text.lstrip('/')}" if source.literal and target.literal else HOLE
            deep = not run.options.isdisjoint(("-r", "-a"))
            findings.touch("write", Word(path, target.start, target.end), run.cwds, run.part, deep)


def _keypair(findings: Findings, run: Invocation) -> None:
    """`ssh-keygen -f x` keeps the public key in `x.pub`, and what stood in a list of hosts in `x.old`."""
    suffix = ".old" if not run.options.isdisjoint(("-R", "-H")) else ".pub"
    shows = not run.options.isdisjoint(("-l", "-B", "-F", "-e", "-y"))
    for option, values in run.values:
        word = values[0]
        if "-f" in option["names"] and not (shows and (suffix == ".old" or word.text.endswith(".pub"))):
            beside = Word(word.text + suffix if word.literal else HOLE, word.start, word.end)
            findings.touch("read" if shows else "write", beside, run.cwds, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "curl": _curl,
    "date": _date,
    "find": _find,
    "keypair": _keypair,
    "ln": _ln,
    "own_environment": _own_environment,
    "page": _page,
    "parents": _kept_parents,
    "parted": _parted,
    "ps": _ps,
    "split": _split,
    "strings": _strings,
    "tar": _tar,
    "tree": _tree,
    "unzip": _unzip,
}
