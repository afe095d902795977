"""Which of git's settings start no program while git changes a work tree, its commits and refs.

That is more than what is harmless (`git_keys`) in one way and less in another: how git connects or shows is not meant,
and what a person has set up to run there counts, whoever wrote it. A list of what is known to start nothing, too.
"""

from __future__ import annotations

from gateway.commands.steering.git_keys import is_harmless, names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.git_config import Entry


# Sections of which no key starts anything in a work tree: how git connects, shows and mails, and what tools of their
# own read. An editor starts where a command says so.
_AWAY = names_in(
    "alias gitflow gui gitg gitk vscode github gitlab git-town branchless credential http protocol url receive "
    "transfer gpg mergetool difftool sendemail format blame grep versionsort "
    "notes svn-remote safe delta apply am mailinfo help include includeif"
)
_AWAY_KEYS = {
    "core": names_in("sshcommand gitproxy editor pager notesref excludesfile attributesfile"),
    "sequence": names_in("editor"),
    "user": names_in("signingkey"),
    "commit": names_in("template"),
    "merge": names_in("tool guitool"),
    "diff": names_in("tool guitool"),
    "push": names_in("default"),
    "interactive": names_in("singlekey"),
    "init": names_in("defaultbranch"),
    "maintenance": names_in("auto strategy autodetach"),
    "stash": names_in("showpatch showstat showincludeuntracked useautostash"),
    "lfs": names_in(
        "url pushurl locksverify access concurrenttransfers activitytimeout dialtimeout batch fetchinclude fetchexclude"
    ),
}
# Only where they are off, or decide nothing.
_OFF = {
    "commit": names_in("gpgsign"),
    "tag": names_in("gpgsign"),
    "push": names_in("gpgsign recursesubmodules"),
    "submodule": names_in("recurse"),
    "fetch": names_in("recursesubmodules"),
    "core": names_in("fsmonitor"),
}
# What names programs that merge.
_MERGES = {"pull": names_in("twohead octopus"), "branch": names_in("mergeoptions")}
_NO = frozenset(("false", "no", "off", "0", ""))
_BY_HAND = ("interactive", "i")  # a rebase that starts an editor
# Commands whose output is shown by a program of which a setting says so.
_QUIET_PAGES = names_in("log show diff blame branch tag reflog stash status grep config help whatchanged shortlog")


def starts_nothing(entry: Entry) -> bool:
    """Whether git starts no program for it while it changes a work tree, its commits and refs, whatever attributes its
    files have: no filter, driver, signer or monitor. Folders of hooks are asked about elsewhere."""
    section, subsection, key, value = entry
    if key in _OFF.get(section, ()) and not subsection:
        return value is not None and value.lower() in _NO
    if section == "filter" or key in _MERGES.get(section, ()):
        return False
    if key == "rebase" and section in ("pull", "branch"):
        return value is None or value.lower() not in _BY_HAND
    if section == "pager":
        return key in _QUIET_PAGES or (value is not None and value.lower() in _NO)
    if section in _AWAY or (key in _AWAY_KEYS.get(section, ()) and not subsection):
        return True
    return (section == "core" and key == "worktree") or is_harmless(entry, "/", ("/",))
