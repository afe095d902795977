"""Which names settings of git give other meanings: aliases of a person and of a project's repositories.

It looks at the host through `gateway.host.base.Host` alone.
"""

from __future__ import annotations

from gateway.commands.git_programs import ANY
from gateway.host.git_settings import Unclear, settings_of
from gateway.host.repository import common_folder, linked_folder, of_person, work_tree
from gateway.model.facts import ClientFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.git_config import Entry
    from gateway.host.base import Host
    from gateway.model.context import Context

_NO = frozenset(("0", "false", "no", "off", "never", "show"))
# Settings of such programs that they run as commands, or for which they do more than they are told.
_OBEYED = {
    ("git-extras", "info"): ("info",),
    ("git-extras", "create-branch"): ("create-branch", "feature"),
    ("extras", "scp"): ("scp",),
    ("gitflow", "path"): ("flow",),
}


def git_names(host: Host, context: Context) -> ClientFact:
    """A row `("alias", NAME)` for each name, in small letters; `ANY` where a setting is about whatever is not found."""
    found: dict[str, None] = {}
    if host.variable("GIT_EXEC_PATH"):
        return ClientFact("GIT_EXEC_PATH is set")
    try:
        for file in _files(host, context):
            for _, entry in settings_of(file, host, context):
                found.update(dict.fromkeys(_meant(entry)))
    except Unclear as unclear:
        return ClientFact(str(unclear))
    if not host.is_missing(f"{context.home}/.gitflow_export"):
        found["flow"] = None  # it runs what stands there
    return ClientFact("", (), tuple([("alias", name) for name in found]))


def _files(host: Host, context: Context) -> tuple[str, ...]:
    """Those of every repository that may be the project's own, and the person's."""
    found: dict[str, None] = {}
    for folder in dict.fromkeys((context.root, *context.workspace)):
        top = work_tree(folder, host) if folder else ""
        fact = host.path(f"{top}/.git") if top else None
        if fact is None:
            continue
        git_folder = fact.real if fact.kind == "dir" else linked_folder(f"{top}/.git", host)
        common = common_folder(git_folder, host)
        found.update(dict.fromkeys((f"{common}/config", f"{common}/config.worktree", f"{git_folder}/config.worktree")))
    return (*found, *of_person(context.home, host))


def _meant(entry: Entry) -> tuple[str, ...]:
    section, subsection, key, value = entry
    if section == "alias":
        return ((subsection or key).lower(),)
    if section == "help" and key == "autocorrect" and (value or "1").lower() not in _NO:
        return (ANY,)
    if section == "extensions" and key == "worktreeconfig" and (value or "true").lower() not in _NO:
        return (ANY,)  # work trees may have settings of their own
    return _OBEYED.get((section, subsection.lower()), ())
