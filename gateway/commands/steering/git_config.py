"""Git's configuration files, read as git reads them, and what they say of remotes. Pure."""

from __future__ import annotations

_SPACES = " \t\r\n\f\v"
_NO = frozenset(("false", "no", "off", "0", ""))
INCLUDES = ("include", "includeif")
_PLAIN_PUSHES = frozenset(("simple", "current", "nothing"))

Entry = tuple[str, str, str, str | None]  # section, subsection, key, value; no value means true


class BadConfig(ValueError):
    """A text that git's own reader would not take, or that is not understood here."""


def entries(text: str) -> list[Entry]:
    """Every entry in order, sections and keys in lower case. Raises BadConfig."""
    found: list[Entry] = []
    section, subsection = "", ""
    at = 0
    while at < len(text):
        character = text[at]
        if character in _SPACES or character == "\ufeff":
            at += 1
        elif character in "#;":
            at = _line_end(text, at)
        elif character == "[":
            section, subsection, at = _head(text, at + 1)
        else:
            if not section:
                raise BadConfig("a key before any section")
            start = at
            while at < len(text) and ((text[at].isascii() and text[at].isalnum()) or text[at] == "-"):
                at += 1
            key = text[start:at].lower()
            while at < len(text) and text[at] in " \t":
                at += 1
            value: str | None = None
            if at < len(text) and text[at] == "=":
                value, at = _value(text, at + 1)
            elif at < len(text) and text[at] not in "\n\r#;":
                raise BadConfig("a key that is not one")
            if not key or not key[0].isalpha():
                raise BadConfig("a key that is not one")
            found.append((section, subsection, key, value))
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _head(text: str, at: int) -> tuple[str, str, int]:
    start = at
    while at < len(text) and ((text[at].isascii() and text[at].isalnum()) or text[at] in "-."):
        at += 1
    section = text[start:at].lower()
    while at < len(text) and text[at] in " \t":
        at += 1
    subsection = ""
    if at < len(text) and text[at] == '"':
        at += 1
        letters = []
        while at < len(text) and text[at] != '"':
            if text[at] == "\n":
                raise BadConfig("a section that does not end")
            if text[at] == "\\":
                at += 1
            letters.append(text[at : at + 1])
            at += 1
        subsection = "".join(letters)
        at += 1
    elif "." in section:
        section, _, subsection = section.partition(".")
    if not section or text[at : at + 1] != "]":
        raise BadConfig("a section that does not end")
    return section, subsection, at + 1


def _value(text: str, at: int) -> tuple[str, int]:
    kept: list[str] = []
    quoted, solid = False, 0
    while at < len(text):
        character = text[at]
        if character == "\n":
            if quoted:
                raise BadConfig("a quote that does not end")
            break
        at += 1
        if character == "\\":
            following = text[at : at + 1]
            if following == "\r" and text[at + 1 : at + 2] == "\n":
                at += 2
                continue
            at += 1
            if following == "\n":
                continue
            if following not in ("n", "t", "b", "\\", '"'):
                raise BadConfig("an escape that git does not know")
            kept.append({"n": "\n", "t": "\t", "b": "\b"}.get(following, following))
            solid = len(kept)
        elif character == '"':
            quoted = not quoted
            solid = len(kept)
        elif not quoted and character in "#;":
            at = _line_end(text, at)
            break
        elif not quoted and character in " \t\r\f\v":
            if kept:
                kept.append(character)
        else:
            kept.append(character)
            solid = len(kept)
    if quoted:
        raise BadConfig("a quote that does not end")
    return "".join(kept[:solid]), at


def name_of(entry: Entry) -> str:
    """How git calls an entry."""
    section, subsection, key = entry[:3]
    return f"{section}.{subsection}.{key}" if subsection else f"{section}.{key}"


def remotes(found: list[Entry]) -> tuple[tuple[str, str], ...]:
    """Name and URL of each remote, "" for one that has several; ` (push)` stands behind the name of where it is pushed
    to, if that is elsewhere. No remote at all where other settings may change what is dialled."""
    urls: dict[str, list[str | None]] = {}
    for section, subsection, key, value in found:
        if section in INCLUDES or (section == "url" and key in ("insteadof", "pushinsteadof")):
            return ()
        if section == "remote" and subsection and key in ("url", "pushurl"):
            urls.setdefault(subsection if key == "url" else f"{subsection} (push)", []).append(value)
    return tuple([(name, (given[0] or "") if len(given) == 1 else "") for name, given in urls.items()])


def default_remotes(found: list[Entry], branch: str) -> tuple[str, str]:
    """The remotes that are fetched from and pushed to on a branch where none is named; "" where nothing says so."""
    fetch = push = own = ""
    for section, subsection, key, value in found:
        if section == "remote" and not subsection and key == "pushdefault":
            push = value or ""
        elif section == "branch" and branch and subsection == branch:
            if key == "remote":
                fetch = value or ""
            elif key == "pushremote":
                own = value or ""
    return fetch, own or push or fetch


def pushes(found: list[Entry]) -> str:
    """What is said of a push that names no ref: see `GitFact.pushes`."""
    told = ""
    for section, _, key, value in found:
        if section == "remote" and (
            (key == "mirror" and (value is None or value.lower() not in _NO))
            or (key == "push" and (value or "").startswith("+"))
        ):
            return "force"
        if (
            section in INCLUDES
            or (section == "remote" and key == "push")
            or (section == "push" and key == "default" and (value or "").lower() not in _PLAIN_PUSHES)
        ):
            told = "settings"
    return told
