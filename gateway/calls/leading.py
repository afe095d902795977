"""Runs a call through its lifecycle, a second time where it has turned out to be another kind of call."""

from __future__ import annotations

from gateway.calls.lifecycle import Life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.calls.output import Done
    from gateway.calls.ports import Serves
    from gateway.calls.session import Session
    from gateway.model.call import RawCall


def lead(services: Serves, raw: RawCall, session: Session, **how: Any) -> Done:
    """What became of a call; `how`: as `Life` is told. An install of which nothing ran, because nobody has it built
    already, is known as such by then, and asks: both are recorded. Raises as `Life.live` does."""
    life = Life(services, raw, session, **how)
    done = life.live()
    if not life.unfetched or life.cancel.is_set:
        return done
    return Life(services, raw, session, **how).live()
