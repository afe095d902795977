"""The next reply of a conversation: asked for within what the model can take and what the task may use, and after the
conversation was made shorter where it had become too long."""

from __future__ import annotations

from gateway.agent.asking import StoppedError
from gateway.agent.events import Noticed
from gateway.agent.transcript import AGAIN
from gateway.agent.window import KEPT_TURNS, latter_half
from gateway.llm.model import TOO_LONG, WINDOW, ModelError, Request, limits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.agent.asking import Again, Asking
    from gateway.agent.budget import Budget, Purse
    from gateway.agent.conversation import Conversation
    from gateway.agent.events import Happening
    from gateway.core.cancel import Cancel
    from gateway.llm.model import Message, Reply

# How often one request is made shorter before it counts as too long for good.
_MOST_SHORTENED = 6
_SUMMARY_TOKENS = 8_000


class Replying:
    """Of one conversation. Not for use by several threads at once."""

    def __init__(
        self,
        said: Conversation,
        asking: Asking,
        budget: Budget,
        purse: Purse,
        tell: Callable[[Happening], None],
        name: str = "",
    ) -> None:
        """`tell` is told pieces of replies, tries that failed, and what became of the conversation; `name`: the model,
        "" for `asking`'s own."""
        self._said = said
        self._asking = asking
        self._budget = budget
        self._purse = purse
        self._tell = tell
        self._name = name

    @property
    def model_name(self) -> str:
        """Who is asked next."""
        return self._asking.name_of(Request("", (), model=self._name))

    def use(self, name: str) -> None:
        """Has another model of the same provider answer from now on."""
        self._name = name
        self._asking.afresh()

    def compact(self, system: str, tools: Sequence[Mapping[str, Any]], cancel: Cancel) -> None:
        """Puts a summary in the place of all that was said. Raises ModelError where there is none, StoppedError once
        `cancel` is set; then the conversation stays as it is."""
        request = Request(system, tuple(self._said.messages), tools=tools, model=self._name)
        self._said.sum_up(self._summary(request, self._said.for_summary(), cancel))

    def afresh(self) -> None:
        """A new task begins."""
        self._asking.afresh()

    def reply(self, system: str, tools: Sequence[Mapping[str, Any]], cancel: Cancel) -> tuple[Reply, bool]:
        """The reply, which is in the conversation by then, and whether what was said before it is gone in part. Raises
        ModelError where there is none, StoppedError once `cancel` is set."""
        kept_turns, times = KEPT_TURNS, 0
        while True:
            request = Request(system, tuple(self._said.messages), tools=tools, model=self._name)
            limits = limits_of(self._asking.model, self._name)
            most, tokens = self._said.window.most(limits), self._said.tokens(request)
            if most and tokens > most and times < _MOST_SHORTENED:
                times += 1
                self._shorten(request, cancel, kept_turns)
                continue
            bounds = (self._budget.reply or limits.reply, self._said.window.reply(limits, tokens), self._purse.left())
            room = min(each for each in bounds if each)
            try:
                return self._whole(request.replace(max_tokens=room), cancel), times > 0
            except ModelError as error:
                if error.kind != TOO_LONG or times >= _MOST_SHORTENED or len(request.messages) == 1:
                    raise  # there is nothing that could be left out
                self._said.window.learn(error.window)
            times, kept_turns = times + 1, 1
            self._shorten(request, cancel, kept_turns)

    def _whole(self, request: Request, cancel: Cancel) -> Reply:
        reply = self._asking.ask(
            request, cancel, lambda said: None if cancel.is_set else self._tell(said), self._asks_again
        )
        self._said.replied(reply)
        self._purse.add(self._asking.name_of(request), reply.usage)
        if reply.stop_reason == WINDOW:  # the provider's way of telling how long it may be
            self._said.window.learn(self._said.tokens(request))
        self._tell(reply)
        return reply

    def _asks_again(self, again: Again) -> None:
        self._said.write(AGAIN, **again.as_dict())
        self._tell(again)

    def _shorten(self, request: Request, cancel: Cancel, kept_turns: int) -> None:
        """Makes the conversation shorter, if need be without a summary. Raises ModelError for a model that cannot be
        had, StoppedError."""
        limits = limits_of(self._asking.model, self._name)
        try:
            done = self._said.shorten(
                request, limits, lambda messages: self._summary(request, messages, cancel), kept_turns=kept_turns
            )
        except StoppedError:
            raise
        except ModelError as error:
            if error.kind != TOO_LONG:
                raise
            self._said.sum_up(None)
            done = "the conversation became too long, and could not be summed up"
        self._tell(Noticed(done))

    def _summary(self, request: Request, messages: Sequence[Message], cancel: Cancel) -> Reply:
        """What the model sums up, of the latter part alone where the whole is too long for that too."""
        while True:
            wish = request.replace(messages=tuple(messages), max_tokens=_SUMMARY_TOKENS)
            try:
                reply = self._asking.ask(wish, cancel, None, self._asks_again)
            except ModelError as error:
                if error.kind != TOO_LONG or len(messages) <= 1:
                    raise
                self._said.window.learn(error.window)
            else:
                self._purse.add(self._asking.name_of(wish), reply.usage)
                return reply
            messages = latter_half(messages)
