"""What the analysis of a shell text found."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.facts import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.command import Part
    from gateway.model.effect import Item


class Pending(Value):
    """A question about one command that only the facts of the host answer; `settle` turns it into effects.

    `kind`: "glob" (matches of the pattern `target` could be read as options), "git" (git starts in the folder
    `target`), "remote" (git's remote `target` is contacted; `extra`: fetch or send, a blank, and git's folder), "hooks"
    (the code `extra` is there only where git starts something by itself in one of the folders `target`, which NUL signs
    divide), "branch" (the remote `target` is sent the branch that HEAD is on in the folder `extra`), "into" (`target`
    is written, or `extra` in it if it is a folder), "dash" (a match of `target` would be read as an option), "blanks"
    (matches of `target` become words again), "names" (so do names below the folder `target`), "parts" (only a part of a
    name may be read), "settings" (the program `extra` obeys files in the folder `target` and above), "client" (the
    client `target` connects where its person's settings say, `extra` being what the words choose among them), "sends"
    (the connection to `target` carries what the parts before it, its own and some redirects read: `extra` lists the
    three). `part` is the index of the command.
    """

    kind: str
    part: int
    target: str
    extra: str = ""
    start: int = 0
    end: int = 0


class Analysis(Value):
    """Every simple command of a text and every predicted effect.

    `parts` in order of their place in the text, at any depth. `items` hold everything the text does; what is
    not understood is among them as `Opaque` or `Code` with a reason. `tokens`: when the text could not be
    parsed or a bound was hit, its fallback tokens, for the deny and ask lanes; else ().
    `wanted`: what the host should be asked before the items are settled. `pending`: what settling turns the
    answers into, beside the paths and globs of the items themselves. `secrets`: words, or parts of them, of which
    descriptions say that they are login material. `sourced`: the scripts of which the facts told that they only set
    variables, each with the number of parts that may run before.
    """

    parts: tuple[Part, ...]
    items: tuple[Item, ...]
    tokens: tuple[str, ...] = ()
    wanted: Wanted = Wanted()
    pending: tuple[Pending, ...] = ()
    secrets: tuple[str, ...] = ()
    sourced: tuple[tuple[int, str], ...] = ()
