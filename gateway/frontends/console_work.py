"""The process that does what takes the console long: brings the index of the record up to date, judges the record anew
under a policy that is about to be saved, looks for rules in what was answered, or for what a proposal would open. What
is given comes as JSON by standard input; how far it is and what came out goes to standard output, a line of JSON each.
"""

import json
import os
import signal
import sys
import time
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from gateway.core.errors import GatewayError

INDEX, REPLAY, SUGGEST, PROPOSAL = "index", "replay", "suggest", "proposal"
_EVERY = 0.2  # seconds between two words on how far it is


def main(kind: str) -> int:
    """Does one piece of work."""
    given = json.loads(sys.stdin.readline())
    told = _Telling()
    try:
        result = {INDEX: _index, REPLAY: _replay, SUGGEST: _suggest, PROPOSAL: _proposal}[kind](given, told)
    except GatewayError as error:
        _say({"problem": str(error)})
        return 1
    _say({"result": result})
    return 0


class _Telling:
    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            _say({"done": done, "of": of})


def _index(given: dict[str, str], told: _Telling) -> bool:
    from gateway.audit.index import Index

    Index(given["record"], progress=told).close()
    return True


def _replay(given: dict[str, Any], told: _Telling) -> object:
    """What a text makes of the record: against what holds now, or with `as_decided` against what was decided then. With
    `seconds` it is ended when they are over, also where nobody waits for it any more."""
    from gateway.frontends.replay_files import comparison_data
    from gateway.replay.compare import compared
    from gateway.replay.judging import PRESENT, RECORDED
    from gateway.replay.sources import side_with, trusting

    root = given["root"]
    new = side_with("as it would be", root, given["layer"], {given["name"]: given["content"].encode()})
    signal.alarm(given.get("seconds", 0))
    old = RECORDED if given.get("as_decided") else trusting(PRESENT, root)
    found = compared(given["record"], old, new, given["since"], workers=given.get("workers", 0), judging=told)
    return comparison_data(found)


def _suggest(given: dict[str, Any], told: _Telling) -> object:
    """The few rules that would have ended most questions of a project that people said yes to."""
    from gateway.replay.suggesting import suggested

    found = suggested(given["record"], given["root"], given["since"], judging=told)
    return found.as_json


def _proposal(given: dict[str, Any], told: _Telling) -> object:
    """What a proposal would open, and what a yes to it is bound to."""
    from gateway.frontends.proposal_answers import looked

    found = looked(given["root"], given["name"], given["record"], given["since"], told)
    return found.as_json | {"bound": found.bound, "can_be_accepted": found.can_be_accepted}


def _say(told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
