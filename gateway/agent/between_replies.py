"""What a model is told between its replies, besides results: mail, what a person says meanwhile,
agents that have ended, servers that come and go."""

from __future__ import annotations

from collections import deque

from gateway.agent.events import Noticed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.agent.conversation import Conversation
    from gateway.agent.events import Happening
    from gateway.agent.mailbox import Post
    from gateway.calls.runner import RunsCalls
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel

MEANWHILE = "[gateway] While you worked, the person said:"


class Hearing:
    """Of one conversation. Not for use by several threads at once, but for `interject`."""

    def __init__(
        self,
        said: Conversation,
        session: Session,
        gateway: RunsCalls,
        *,
        post: Post | None,
        taken_in: Iterable[int],
        tell: Callable[[Happening], None],
        waits: bool,
    ) -> None:
        """`taken_in`: numbers of the mail that was taken in before; `tell` is told what people should know; `waits`:
        whether agents in the background are waited for at the end."""
        self._said = said
        self._session = session
        self._gateway = gateway
        self.post = post
        self._taken_in = set(taken_in)
        self._tell = tell
        self._waits = waits
        self._meanwhile: deque[str] = deque()

    def interject(self, text: str) -> None:
        """A person says something while the model works. Safe from any thread."""
        self._meanwhile.append(text)

    def unheard(self) -> list[str]:
        """Takes back what was said meanwhile, and was not read."""
        found = [*self._meanwhile]
        self._meanwhile.clear()
        return found

    def before_reply(self, cancel: Cancel) -> None:
        """Tells the model all that has come since its last reply."""
        self.mail()
        while self._meanwhile:
            text = self._meanwhile.popleft()
            self._said.task = f"{self._said.task}\n\n{text}" if self._said.task else text
            self._said.says(f"{MEANWHILE}\n{text}")
        self._agents()
        self._servers(cancel)

    def has_more(self, cancel: Cancel) -> bool:
        """Whether a run that is done goes on: with what a person has said, or what an agent in the background has
        found, which is waited for where the run does that."""
        if self._meanwhile:
            return True
        agents = self._session.agents
        if agents is None or not self._waits:
            return False
        agents.wait(self._session, cancel)
        return not cancel.is_set and self._agents()

    def mail(self) -> bool:
        """Takes in what mail has come; whether there was any."""
        messages = self.post.receive(self._taken_in) if self.post is not None else ()
        for each in messages:
            assert self.post is not None
            said = f"[message from {each.sender}, team {each.team}]\n{each.text}"
            self._said.hear([{"type": "text", "text": said}], mail=each.id)
            self._taken_in.add(each.id)
            self.post.acknowledge(each)
        return bool(messages)

    def _agents(self) -> bool:
        """Tells the model which agents that it started in the background have ended meanwhile; whether any has."""
        news = self._session.agents.news(self._session) if self._session.agents is not None else ()
        for each in news:
            self._said.says(f"[gateway] {each}")
            self._tell(Noticed(each.partition("\n")[0]))
        return bool(news)

    def _servers(self, cancel: Cancel) -> None:
        """Takes in which MCP servers have come and gone."""
        joined = self._gateway.calls.services.catalogue(self._session)
        if not self._session.has_servers or self._said.messages[-1]["role"] != "user":
            return  # there is nothing to take in, or the model goes on with what it was saying
        news = joined.look(cancel)
        if news.told:
            self._said.hear([{"type": "text", "text": f"[gateway] {text}"} for text in news.told])
        for text in (*news.told, *news.people):
            self._tell(Noticed(text))
