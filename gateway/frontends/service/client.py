"""The program in an agent's settings: `python -I -S …/gateway/frontends/service/client.py hook AGENT …`.

It asks the warm service, decides by itself where there is none, and ends in the refusal that every agent obeys where
nothing else works. It is compiled at each start, so that all but this lies in `thin.py` and `wire.py`.
"""

import posix
import sys
from posix import _exit as leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


def refuse(reason: str) -> "NoReturn":
    """The refusal that suits all agents, and the end of the process."""
    said = ascii(reason)[1:-1].replace("\\", "/").replace('"', "'")
    out = (
        '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
        f'"permissionDecisionReason":"{said}"}},"decision":"block","reason":"{said}"}}\n'
    )
    try:
        for number, text in ((2, said + "\n"), (1, out)):
            data = text.encode()
            while data:
                data = data[posix.write(number, data) :]
    finally:
        leave(82 if "--in-shell" in sys.argv else 2)  # `thin.ended_with`, which may not be there


def decide(
    words: "Sequence[str]", given: bytes, is_late: bool, begins: "Callable[[], float]"
) -> "tuple[bytes, bytes, int]":
    """The answer of the process that decides by itself, which only refuses where it is too late."""
    from gateway.frontends.hook_process import decided

    return decided(words, given, is_late, begins)


def other(words: "Sequence[str]") -> int:
    """Every other command: as `gateway` itself, and the service."""
    try:
        thin.prepare()
        if list(words) == ["serve"]:
            from gateway.frontends.service.server import main as serve

            return serve()
        from gateway.frontends.main import main as run

        sys.argv = ["gateway", *words]
        return run()
    except BaseException as error:
        said = f"gateway: nothing ran: an internal error ({type(error).__name__})\n"
        posix.write(2, said.encode("utf-8", "backslashreplace"))
        return 126


if __name__ == "__main__":
    try:
        sys.path.insert(0, __file__.rpartition("/")[0])
        import thin  # type: ignore[import-not-found]  # which lies beside this, as does what it imports

        del sys.path[0]
        if sys.argv[1:2] == ["hook"]:
            thin.answer_hook(sys.argv[1:], refuse, decide)
        leave(other(sys.argv[1:]))
    except BaseException as error:
        refuse(f"gateway refused this call because of an internal error ({type(error).__name__}).")
