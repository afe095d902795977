"""Where what outlives a session is kept, and who a call is made by."""

from __future__ import annotations

from contextlib import contextmanager

from gateway.calls.output import Failure
from gateway.config.layers import local_folder
from gateway.core.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.calls.work import Work

MAIN = "main"


def folder_of(work: Work) -> str:
    """The project's folder in the state folder."""
    return local_folder(work.judge.places, work.context.root or work.context.cwd)


def caller(work: Work) -> str:
    """The name under which others know who makes this call."""
    return work.session.member or work.context.agent or MAIN


def setting(work: Work, section: str, key: str, usual: Any) -> Any:
    """A key of a section of the settings, as the layers leave it."""
    found = work.judge.loaded.settings.get(section)
    return usual if found is None else found.value.get(key, usual)


@contextmanager
def told() -> Iterator[None]:
    """What a store refuses is told to the model."""
    try:
        yield
    except StoreError as error:
        remedy = f"{error.remedy[:1].upper()}{error.remedy[1:]}." if error.remedy else ""
        raise Failure(f"{error.reason[:1].upper()}{error.reason[1:]}.", remedy) from error
