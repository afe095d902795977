"""Whether git would start anything by itself in a repository: hooks, and programs that settings name for work trees.

It looks at the host through `gateway.host.base.Host` alone.
"""

from __future__ import annotations

from gateway.commands.steering.git_starts import starts_nothing
from gateway.host.git_settings import Unclear, absolute, settings_of
from gateway.host.repository import LINK, common_folder, linked_folder, nests, of_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.base import Host
    from gateway.model.context import Context

# By any of these in the environment that calls begin with git starts other programs than its own.
_OTHERS = ("GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF", "GIT_ATTR_SOURCE")


def is_quiet(top: str, links: bool, host: Host, context: Context) -> bool:
    """Whether there is no hook, and nothing in the repository's and the person's settings by which git starts a program
    when it changes a work tree, its commits and refs, wherever attributes of files stand. `top`: the work tree of a
    repository that is the project's own; `links`: git may be made to look into repositories that its index does not
    name yet: where nothing holds the call, none with settings of its own may lie in the work tree. Programs by which
    git connects are not meant, nor editors, which start where a command says so.

    Any file in a folder of hooks counts, executable or not, but git's own samples. False where anything cannot be told.
    """
    fact = host.path(f"{top}/.git")
    git_folder = fact.real if fact is not None and fact.kind == "dir" else linked_folder(f"{top}/.git", host)
    common = common_folder(git_folder, host)
    if not common or any(host.variable(name) for name in _OTHERS) or LINK in host.data(f"{git_folder}/index"):
        return False
    folders = [f"{common}/hooks"]
    own = dict.fromkeys((f"{common}/config", f"{git_folder}/config.worktree", f"{common}/config.worktree"))
    try:
        for file in (*own, *of_person(context.home, host)):
            for _, entry in settings_of(file, host, context):
                section, _, key, value = entry
                if section == "core" and key == "hookspath":
                    folder = absolute(value, top, context.home) if value and value[:1] != "%" else ""
                    if not folder or (f"{folder}/".startswith(f"{top}/") and folder not in folders):
                        return False  # what a change of the work tree brings would be a hook
                    folders.append(folder)
                elif not starts_nothing(entry):
                    return False
    except Unclear:
        return False
    if not all(_has_no_hooks(folder, host) for folder in folders):
        return False
    return context.confined or not links or nests(top, host) is False


def _has_no_hooks(folder: str, host: Host) -> bool:
    fact = host.path(folder)
    if fact is None or fact.kind == "unknown":
        return False
    if fact.kind != "dir":
        return True  # nothing, or what is no folder: `core.hooksPath = /dev/null`
    if fact.real != folder:
        return False
    try:
        return all(kind == "dir" or name.endswith(".sample") for name, kind in host.entries(folder))
    except OSError:
        return False
