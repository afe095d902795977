"""When something that is to be done again and again is due; pure.

Expressions have five fields, as cron has them, or are `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. They are
meant in a time zone. Where its clocks are put forward, what was due in the hour that is left out is due right after it;
where they are put back, what is due at a fixed time is due once. What is due every hour or every few minutes goes on in
even steps. So does Debian's cron.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.core.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cronsim import CronSim

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class TimetableError(StoreError):
    """The expression or the time zone is none."""


def check(schedule: str, zone: str) -> None:
    """Raises TimetableError for what is no schedule, or never due."""
    _simulated(schedule, zone, 0.0)
    if next_after(schedule, zone, 0.0) is None:
        raise TimetableError(f"the schedule must be due some day (got `{schedule}`)")


def next_after(schedule: str, zone: str, moment: float) -> float | None:
    """When it is due next after a moment, both in seconds since the epoch; None for never. Raises TimetableError."""
    try:
        found: datetime = next(_simulated(schedule, zone, moment))
    except StopIteration:
        return None
    return found.timestamp()


def due_between(schedule: str, zone: str, after: float, until: float, most: int) -> tuple[float, ...]:
    """When it was due after one moment and until another one: the first `most` times. Raises TimetableError."""
    found: list[float] = []
    for each in _simulated(schedule, zone, after):
        moment = each.timestamp()
        if moment > until or len(found) == most:
            break
        found.append(moment)
    return tuple(found)


def _simulated(schedule: str, zone: str, moment: float) -> CronSim:
    from cronsim import CronSim, CronSimError

    expression = NAMED.get(schedule.strip().lower(), schedule)
    if len(expression.split()) != 5:
        remedy = "write minute, hour, day of the month, month and day of the week, such as `0 9 * * 1-5`"
        raise TimetableError(f"a schedule must have five fields (got `{schedule}`)", remedy)
    try:
        return CronSim(expression, datetime.fromtimestamp(moment, _zone(zone)))
    except CronSimError as error:
        raise TimetableError(f"the schedule must be one of cron (got `{schedule}`: {error})") from error


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        remedy = "name one such as Europe/Oslo; where none is known, install tzdata"
        raise TimetableError(f"there is no time zone `{name}`", remedy) from error
