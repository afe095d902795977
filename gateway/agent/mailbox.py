"""The mail of one agent, in whatever teams of the project it is: read between its turns."""

from __future__ import annotations

import os

from gateway.tasks.mail import FILE, Mail, MailError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gateway.tasks.mail import Mailbox, Message


class Post:
    """Not for use by several threads at once."""

    def __init__(self, folder: str, member: str) -> None:
        """`folder`: the project's in the state folder; `member`: the name under which teams know the agent."""
        self._folder = folder
        self.member = member
        self._boxes: dict[str, Mailbox] = {}

    def receive(self, has: Collection[int] = ()) -> tuple[Message, ...]:
        """What has come and was not acknowledged, the oldest first. `has`: ids of what is written down already. Mail
        that another process reads for this name is that one's. Raises StoreError."""
        if not os.path.exists(os.path.join(self._folder, FILE)):
            return ()
        found: list[Message] = []
        for team, members in Mail(self._folder).teams().items():
            if any(each.name == self.member for each in members):
                box = self._boxes.get(team)
                try:
                    if box is None:
                        box = self._boxes[team] = Mail(self._folder).mailbox(team, self.member)
                    found += box.receive(has=has)
                except MailError:
                    continue
        return tuple(sorted(found, key=lambda each: each.id))

    def acknowledge(self, message: Message) -> None:
        """It is written down, and never comes again."""
        self._boxes[message.team].acknowledge(message.id)

    def is_member(self) -> bool:
        """Whether any team has this agent."""
        if not os.path.exists(os.path.join(self._folder, FILE)):
            return False
        return any(each.name == self.member for members in Mail(self._folder).teams().values() for each in members)

    def close(self) -> None:
        """Lets others read the mail."""
        boxes, self._boxes = self._boxes, {}
        for box in boxes.values():
            box.close()
