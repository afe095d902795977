"""An agent that another agent has started: its task, and its state meanwhile."""

from __future__ import annotations

import threading

from gateway.core.cancel import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.agent.loop import Agent, Outcome
    from gateway.agent.transcript import Transcript
    from gateway.agent.types import AgentType

_LOOK_EVERY = 0.1


class Child:
    """One agent that was started. `outcome`: None while it works."""

    def __init__(self, name: str, kind: AgentType, agent: Agent, task: str, transcript: Transcript | None) -> None:
        self.name = name
        self.kind = kind
        self.agent = agent
        self.task = task
        self.transcript = transcript
        self.outcome: Outcome | None = None
        self.error = ""
        self.doing = ""  # what it was seen to do last
        self.calls = 0
        self.worktree = ""
        self.cancel = Cancel()
        self.at_rest = threading.Event()  # it has nothing to do
        self.at_rest.set()
        self.listening: threading.Thread | None = None
        self.has_news = False  # it works in the background, and nobody was told yet that it has ended
        self.post = agent.hearing.post

    def run(self, task: str, cancel: Cancel) -> None:
        """Works on a task until that has ended. Never raises: what went wrong is in `error`."""
        self._do(lambda: self.agent.run(task, cancel))

    def listen(self, task: str) -> None:
        """Works on a task, and then on what its teams write to it, until it is cancelled or in no team any more."""
        self.run(task, self.cancel)
        while not self.cancel.is_set and not self.error and self.agent.hearing.post is not None:
            self._do(self._mail)

    def _mail(self) -> Outcome | None:
        """Does what the next message asks for; what was before if none came."""
        post = self.agent.hearing.post
        if post is None or not post.is_member():
            self.agent.hearing.post = None
        elif self.agent.hearing.mail():
            self.at_rest.clear()
            return self.agent.go_on(self.cancel)
        else:
            self.cancel.wait(_LOOK_EVERY)
        return self.outcome

    def _do(self, work: Callable[[], Outcome | None]) -> None:
        try:
            self.outcome = work()
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self.at_rest.set()

    def close(self) -> None:
        """Ends whatever it still does."""
        self.cancel.set()
        self.at_rest.wait()
        if self.listening is not None:
            self.listening.join()
        if self.post is not None:
            self.post.close()
        self.agent.session.close()
        if self.transcript is not None:
            self.transcript.close()
        self.cancel.close()
