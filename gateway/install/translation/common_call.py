"""A call in the words that all agents share. Pure."""

from __future__ import annotations

import shlex

from gateway.core.value import Value

SHELL, READ, WRITE, FETCH, MCP = "shell", "read", "write", "fetch", "mcp"
KINDS = (SHELL, READ, WRITE, FETCH, MCP)


class Asked(Value):
    """A call. `text`: a command, an absolute path that is read or written, an address to fetch, or `server/tool`."""

    kind: str
    text: str


def shown(asked: Asked, where: Where) -> str:
    """A call as people write it for `gateway check`, in their own project."""
    text = asked.text.replace(where.project + "/", "").replace(where.home + "/", "~/")
    if asked.kind == SHELL:
        return text
    if asked.kind == MCP:
        server, _, tool = text.partition("/")
        return f"mcp__{server}__{tool}"
    return f"{_TOOLS[asked.kind]}({text})"


_TOOLS = {READ: "Read", WRITE: "Write", FETCH: "WebFetch"}


class Where(Value):
    """Where an agent works and what its relative patterns start from: paths without a final slash, of the world that
    calls are tried in. `here`: the project on this machine."""

    home: str
    project: str
    here: str = ""


# Where the fixed world has its programs, so that a name and this path start the same one.
USUAL_FOLDER = "/usr/bin/"


def words_of(text: str) -> tuple[str, ...] | None:
    """The words of a command without anything special to a shell; None where there is more to it."""
    if set(text) & set("$`&|;<>(){}[]*?!#~\n\r"):
        return None
    try:
        found = tuple(shlex.split(text))
    except ValueError:
        return None
    return found if found and "=" not in found[0] else None


def spellings(words: tuple[str, ...]) -> tuple[str, ...]:
    """Ways to write one command. Agents that compare texts let run what any of them says: the same program gets the
    same words."""
    if words[0].startswith(USUAL_FOLDER):
        return (*_spelled(words), *_spelled((words[0].removeprefix(USUAL_FOLDER), *words[1:])))
    return _spelled(words)


def _spelled(words: tuple[str, ...]) -> tuple[str, ...]:
    plain = " ".join(words)
    found = [shlex.join(words)]
    if words_of(plain) == words:
        found.append(plain)
    found.append(" ".join(_with_backslashes(word) for word in words))
    if not any(set(word) & set('"$`\\!') for word in words):
        found.append(" ".join(f'"{word}"' if not word or set(word) & set(" '\t") else word for word in words))
    return tuple(dict.fromkeys(found))


def _with_backslashes(word: str) -> str:
    if not word:
        return "''"
    return "".join(c if c.isalnum() or c in "_-./:=@%+," else "\\" + c for c in word)
