"""Which files a parameter of the command line opens, declared at the parameter.

A parameter that names a file or a folder has one of these marks among its annotations; one that holds anything else is
known by its metavariable (`gateway.frontends.parameters`).
"""

from __future__ import annotations

from gateway.core.value import Value


class Opens(Value):
    """What is done with the file or folder that a parameter names. `tree`: with all below it, too. `special`: the hook
    of descriptions that knows what is opened besides, because this file names it."""

    does: tuple[str, ...]
    tree: bool = False
    special: str = ""


READS = Opens(("read",))
WRITES = Opens(("write",))
REWRITES = Opens(("read", "write"))
# Policy files, which name others that they extend.
POLICY_FILES = Opens(("read",), special="policy_files")
POLICY_FOLDER = Opens(("read",), tree=True, special="policy_folder")
# A policy as comparisons take it: a file or folder of it, or what is no file.
POLICY_SOURCE = Opens(("read",), tree=True, special="policy_sources")
# A folder whose project counts.
FOLDER = Opens(("list", "read"))
# A record, beside which an index is kept.
RECORD = Opens(("read", "write"), tree=True)
# A folder that a new file is written to, after those that are there have been looked at.
INTO = Opens(("read", "write"), tree=True)
