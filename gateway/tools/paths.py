"""Absolute lexical paths: what a path means, told without touching the disk."""

from __future__ import annotations

from posixpath import normpath

MAX_LENGTH = 4096
WILDCARDS = "*?[{"


class UnclearError(Exception):
    """A value that cannot be made canonical. `args`: what it must be, and the remedy."""

    def __init__(self, must: str, remedy: str = "") -> None:
        super().__init__(must, remedy)
        self.must = must
        self.remedy = remedy


def absolute(path: str, cwd: str, home: str) -> str:
    """The absolute, lexically normal form of `path`: relative to `cwd`, `~` and `~/…` to `home`.

    `.`, `..`, doubled and trailing slashes are gone. `~name` is an ordinary name: tools have no login names.
    Raises `UnclearError` for an empty path, a path that no file system takes, and `~` without a home. A byte that is no
    UTF-8 is written as `os.fsdecode` writes it.
    """
    if not path:
        raise UnclearError("must not be empty")
    if len(path) > MAX_LENGTH:
        raise UnclearError(f"must be a path of at most {MAX_LENGTH} characters (got {len(path)})")
    _check_path(path)
    first = path[0]
    if first == "~" and (len(path) == 1 or path[1] == "/"):
        if not home:
            raise UnclearError("must not start with `~` where no home folder is known", "give an absolute path")
        path = home + path[1:]
    elif first != "/":
        if not cwd:
            raise UnclearError("must be absolute where no working directory is known")
        path = cwd + "/" + path
    elif "//" not in path and "/." not in path and path[-1] != "/":
        return path
    return "/" + normpath(path).lstrip("/")


def _check_path(path: str) -> None:
    """As `check_text`, but for bytes that are no UTF-8: names may hold them. What is no byte, or would be the bytes of
    a name that has another spelling, could be taken for another path than rules speak of."""
    try:
        check_text(path)
    except UnclearError:
        try:
            read = path.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            read = ""
        if read != path or "\0" in path:
            raise


def check_text(text: str) -> None:
    """Raises `UnclearError` for what no path, host or command can hold: NUL and code points that are no characters."""
    if "\0" in text:
        raise UnclearError("must not contain NUL")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UnclearError("must be valid Unicode", "send the text as UTF-8") from None


def split_pattern(pattern: str) -> tuple[str, str]:
    """A glob pattern as (the folders before its first wildcard, the rest).

    The folders come back as written, `""` if there are none; the rest is relative and cannot leave them. Raises
    `UnclearError` where it could: `..` behind a wildcard, an absolute alternative in braces.
    """
    if not pattern:
        raise UnclearError("must not be empty")
    check_text(pattern)
    wild = min((at for mark in WILDCARDS if (at := pattern.find(mark)) >= 0), default=len(pattern))
    cut = pattern.rfind("/", 0, wild) + 1
    folder, rest = pattern[:cut], pattern[cut:]
    if rest in ("", ".", "..", "~"):
        raise UnclearError("must name files, not a folder", "add `**` for everything below it")
    flat = rest.translate(_AS_SLASHES)
    if ".." in flat.split("/"):
        raise UnclearError("must not contain `..` behind a wildcard", "write the folder out")
    if wild < len(pattern) and ("{/" in rest or ",/" in rest or "{~" in rest or ",~" in rest):
        raise UnclearError("must not contain absolute paths in braces", "use one call for each folder")
    return ("/" if folder and not folder.strip("/") else folder.rstrip("/")), rest


_AS_SLASHES = {ord(mark): "/" for mark in "{},\\"}
