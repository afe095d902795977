"""Events of a run, as they happen: pieces of replies, calls, and notices for people."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.agent.asking import Again
    from gateway.calls.output import Done, Progress
    from gateway.llm.model import Reply, Said
    from gateway.model.call import RawCall


class Calling(Value):
    """A call that begins. `id`: the model's name for it."""

    id: str
    raw: RawCall


class Called(Value):
    """A call that has ended, and what the model is handed of it."""

    id: str
    raw: RawCall
    done: Done


class Doing(Value):
    """What happens while a call runs."""

    id: str
    progress: Progress


class Noticed(Value):
    """What people should know, such as a server that has ended."""

    text: str


if TYPE_CHECKING:
    Happening = Said | Reply | Calling | Doing | Called | Noticed | Again
    Listener = Callable[[Happening], None]
