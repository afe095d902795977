"""`signal` as the interpreter has it: the same functions, with plain numbers. The standard module makes enumerations of
them, which a process that runs one command would load for nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import *  # noqa: F403
else:
    from _signal import *  # noqa: F403
