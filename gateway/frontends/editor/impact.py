"""What a policy's text would have decided otherwise in the last days, asked of the record in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from gateway.audit.log import FOLDER
from gateway.core.places import places
from gateway.core.value import Value
from gateway.frontends import console_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.frontends.editor.checks import Document

DAYS = 7
SECONDS = 60  # what a replay may take; then it is ended, and nothing is said
_LONGEST_LINE = 16 << 20


class Effect(Value):
    """What would have come out differently. `rules`: how many decisions by the line of the rule that would now decide
    them, of this document's rules. `judged`: of how many, `changed`: how many in all."""

    judged: int
    changed: int
    wider: int
    rules: tuple[tuple[int, int], ...] = ()

    def summary(self) -> str:
        """All of it on one line."""
        if not self.changed:
            return f"would have changed none of {_calls(self.judged)} this week"
        milder = f" ({self.wider:,} of them to something milder)" if self.wider else ""
        return f"would have changed {self.changed:,} of {_calls(self.judged)} this week{milder}"

    def by_line(self) -> dict[int, str]:
        """What to say of each rule, by its line."""
        return {line: f"decides {_calls(count)} of this week differently" for line, count in self.rules}


async def effect_of(document: Document, text: str) -> Effect | None:
    """The effect of a text in the place of its file, against what was decided then; None where none can be told: for a
    file of no layer, without a record, where it takes longer than `SECONDS`, or where it cannot be judged. A
    cancelled task ends the process."""
    record = os.path.join(places().state, FOLDER)
    if document.folder is None or not os.path.isdir(record):
        return None
    since = (datetime.now(UTC) - timedelta(days=DAYS)).strftime("%Y-%m-%dT%H:%M:%S")
    given = {
        "root": document.root, "layer": document.folder.layer, "name": document.name, "content": text,
        "record": record, "since": since, "as_decided": True, "workers": 1, "seconds": SECONDS,
    }  # fmt: skip
    found = await _worked_out(given)
    return None if found is None else effect(found, document)


def effect(found: dict[str, Any], document: Document) -> Effect | None:
    """A comparison as `gateway replay --json` prints it, as far as editors show it."""
    if not found["judged"]:
        return None
    lines: dict[int, int] = {}
    for group in found["groups"]:
        _name, _layer, file, line = group["rule"]
        if os.path.realpath(file) == os.path.realpath(document.path):
            lines[line] = lines.get(line, 0) + group["decisions"]
    changed = {kind: sum(each["decisions"] for each in found["groups"] if each["kind"] == kind) for kind in _KINDS}
    return Effect(found["judged"], sum(changed.values()), wider=changed["wider"], rules=tuple(sorted(lines.items())))


_KINDS = ("wider", "narrower")


async def _worked_out(given: dict[str, Any]) -> dict[str, Any] | None:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", os.path.abspath(console_work.__file__), console_work.REPLAY, cwd="/",
            stdin=pipe, stdout=pipe, stderr=nothing, start_new_session=True, limit=_LONGEST_LINE,
        )  # fmt: skip
    except OSError:
        return None
    try:
        printed, _ = await asyncio.wait_for(process.communicate(json.dumps(given).encode() + b"\n"), SECONDS)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    last = printed.strip().rpartition(b"\n")[2]
    found = json.loads(last).get("result") if process.returncode == 0 and last else None
    return found if isinstance(found, dict) else None


def _calls(count: int) -> str:
    return f"{count:,} call" if count == 1 else f"{count:,} calls"
