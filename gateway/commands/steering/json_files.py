"""Settings in JSON, with remarks and commas too many, as many programs take it."""

from __future__ import annotations

from gateway.commands.steering.entries import NotRead, flat
from gateway.core.plainjson import AmbiguousError, decoder, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.entries import Entry


def entries(text: str) -> list[Entry]:
    """Raises NotRead for what is not JSON, and for a key that stands twice: programs do not agree which one holds."""
    try:
        return flat(_decode(_plain(text.removeprefix("\ufeff"))))
    except AmbiguousError as error:
        raise NotRead(str(error)) from None
    except (ValueError, RecursionError):
        raise NotRead("no JSON") from None


_decode = decoder(object_pairs_hook=unique)


def _plain(text: str) -> str:
    """The same without remarks, and without a comma before an end."""
    import re

    pieces: list[str] = []
    comma = -1  # where the last piece that counts is a comma
    for found in re.finditer(r'"(?:[^"\\\n]+|\\.)*+"?|//[^\n]*|/\*(?:[^*]+|\*(?!/))*+(?:\*/)?|\s+|.', text):
        piece = found[0]
        if piece.startswith(("//", "/*")) or piece.isspace():
            pieces.append(" ")
            continue
        if piece[0] == '"' and (len(piece) == 1 or piece[-1] != '"'):
            raise NotRead("a text that does not end")
        if piece in "}]" and comma >= 0:
            pieces[comma] = " "
        comma = len(pieces) if piece == "," else -1
        pieces.append(piece)
    return "".join(pieces)
