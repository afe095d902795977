"""What git's settings start, read or obey.

Three questions. May a repository that a call makes or meets keep an entry (`is_harmless`)? May the project's own
repository, in which a person works, say it without anybody being asked (`is_usual`)? Which files does an entry of the
person's own settings name (`named`)? The first two are lists of what is known to start nothing: whatever is not on
them might start a program, read another file or send data elsewhere, in this version of git or in a later one.

Pure. What is kept of a configuration is written anew, so that no trick of quoting survives.
"""

from __future__ import annotations

from posixpath import normpath

from gateway.commands.steering.git_config import INCLUDES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.steering.git_config import Entry


def names_in(text: str) -> frozenset[str]:
    """Names that are written with blanks between them."""
    return frozenset(text.split())


_CORE = names_in(
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol "
    "safecrlf quotepath sparsecheckout sparsecheckoutcone untrackedcache preloadindex bigfilethreshold compression "
    "abbrev commentchar commentstring longpaths fscache hidedotfiles protecthfs protectntfs trustctime checkstat "
    "whitespace commitgraph multipackindex createobject fsync fsyncmethod fsyncobjectfiles loosecompression "
    "packedgitlimit packedgitwindowsize deltabasecachelimit sharedrepository warnambiguousrefs disambiguate "
    "maxtreedepth splitindex"
)
_KEYS = {
    "core": _CORE,
    "remote": names_in(
        "url pushurl fetch push tagopt prune prunetags mirror promisor partialclonefilter skipdefaultupdate "
        "skipfetchall followremotehead gh-resolved pushdefault"
    ),
    "submodule": names_in("url active branch ignore shallow recurse fetchjobs fetchrecursesubmodules"),
    "user": names_in("name email useconfigonly"),
    "diff": names_in(
        "algorithm context interhunkcontext renames renamelimit noprefix mnemonicprefix colormoved colormovedws "
        "wserrorhighlight submodule ignoresubmodules dirstat statgraphwidth suppressblankempty wordregex "
        "indentheuristic relative autorefreshindex"
    ),
    "merge": names_in(
        "conflictstyle ff renames renamelimit directoryrenames renormalize stat log autostash verbosity branchdesc "
        "suppressdest defaulttoupstream"
    ),
    "commit": names_in("cleanup status verbose"),
    "lfs": names_in("repositoryformatversion access locksverify fetchrecentrefsdays skipdownloaderrors"),
    "feature": names_in("manyfiles experimental"),
}
# In these nothing starts anything, but for the keys below.
_SECTIONS = names_in(
    "advice clean color column fetch gc index init log merge-base pack pull push rebase rerere status tag branch"
)
_SUBSECTIONS = names_in("branch color")
# What attributes of files may choose by name, and still start nothing.
_DRIVERS = {
    "diff": names_in("xfuncname funcname binary wordregex algorithm"),
    "merge": names_in("name recursive"),
}
_UNSAFE_KEYS = names_in(
    "default gpgsign program helper command cmd recursesubmodules gpgsigned templatedir recentobjectshook driver "
    "bundleuri"
)
_EXTENSIONS = names_in(
    "objectformat refstorage worktreeconfig partialclone noop preciousobjects compatobjectformat relativeworktrees"
)
_UPDATES = ("checkout", "rebase", "merge", "none")
_BOOLEANS = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0", ""))

# Commands that not every git has: it runs an alias of such a name. Of all others its own holds.
NOT_ALWAYS = names_in(
    "absorb annex archimport backfill branchless bug bugreport citool cliff cola crypt cvsexportcommit cvsimport "
    "cvsserver diagnose diff-pairs extras filter-repo flow for-each-repo format-rev gitk gitweb gui history hook "
    "imerge instaweb last-modified lfs machete maintenance mergetool-lib p4 quiltimport range-diff refs replay "
    "repo restore revise scalar secret send-email sh-i18n sh-setup sizer sparse-checkout stack standup subrepo "
    "subtree summary svn switch town url-parse version"
)
# What a person's tools keep in the settings of a repository: read by those tools alone, which ask for themselves.
_OF_TOOLS = names_in("alias gitflow gui gitg gitk vscode github gitlab git-town branchless")
_LFS = {
    "clean": ("git-lfs clean -- %f", "git-lfs clean %f"),
    "smudge": ("git-lfs smudge -- %f", "git-lfs smudge %f", "git-lfs smudge --skip -- %f"),
    "process": ("git-lfs filter-process", "git-lfs filter-process --skip"),
    "required": ("true", "false"),
}
# Programs of the search path, which no call can put there, and which start nothing by their own settings in a project.
_EDITORS = names_in("vi vim nvim nano emacs micro hx ed code codium subl true : cat")
_EDITOR_FLAGS = names_in("--wait -w -nw -n --new-window --nofork -f")
_PAGERS = names_in("less more cat most true")
_PAGER_FLAGS = frozenset("FRXSMKNiIJWegqrs")
_SIGNERS = names_in("gpg gpg2 gpgsm ssh-keygen /usr/bin/gpg /usr/bin/gpg2 /usr/bin/ssh-keygen")
_HELPERS = frozenset(
    ("store", "cache", "manager", "manager-core", "osxkeychain", "wincred", "libsecret", "secretservice", "")
)
_HELPERS_WHOLE = frozenset(("!gh auth git-credential", "!/usr/bin/gh auth git-credential", "!glab auth git-credential"))
_SSH_VALUES = names_in("-i -p -l")
_SSH_FLAGS = names_in("-4 -6 -a -q -T -v")
_SSH_OPTIONS = (
    "identitiesonly=", "identityfile=", "port=", "user=", "stricthostkeychecking=", "connecttimeout=",
    "serveraliveinterval=", "serveralivecountmax=", "batchmode=", "forwardagent=no", "addkeystoagent=",
)  # fmt: skip
# Sections of which each subsection is a driver or a tool with commands of its own.
_BY_NAME = names_in("diff difftool merge mergetool")
_PLAIN = {
    "user": names_in("signingkey"),
    "commit": names_in("gpgsign"),
    "tag": names_in("gpgsign"),
    "push": names_in("default recursesubmodules gpgsign"),
    "merge": names_in("tool guitool"),
    "diff": names_in("tool guitool"),
    "mergetool": names_in("keepbackup prompt writetotemp keeptemporaries hideresolved"),
    "difftool": names_in("prompt trustexitcode guidefault"),
    "gpg": names_in("format mintrustlevel"),
    "credential": names_in("username usehttppath interactive"),
    "http": names_in("postbuffer sslverify version lowspeedlimit lowspeedtime maxrequests extraheader sslcainfo"),
    "core": names_in("notesref"),
    "init": names_in("defaultbranch"),
    "maintenance": names_in("auto strategy autodetach"),
    "format": names_in("pretty signoff attach subjectprefix to cc numbered"),
    "blame": names_in("coloring date showroot markignoredlines markunblamablelines"),
    "grep": names_in("linenumber patterntype column extendedregexp fullname threads"),
    "versionsort": names_in("suffix prereleasesuffix"),
    "stash": names_in("showpatch showstat showincludeuntracked useautostash"),
    "notes": names_in("displayref rewriteref mergestrategy rewritemode"),
    "lfs": names_in(
        "url pushurl concurrenttransfers activitytimeout dialtimeout batch allowincompletepush fetchinclude "
        "fetchexclude"
    ),
    "protocol": names_in("version"),
    "receive": names_in("denycurrentbranch denynonfastforwards denydeletes fsckobjects"),
    "transfer": names_in("fsckobjects"),
    "svn-remote": names_in("url fetch branches tags"),
}


def is_harmless(entry: Entry, inside: str, roots: tuple[str, ...]) -> bool:
    """Whether git runs nothing and reads nothing else for it, whoever wrote it. `inside`: the folder of the repository;
    `roots`: where a work tree that it names may lie."""
    section, subsection, key, value = entry
    if section == "core" and key == "worktree":
        path = work_tree_of(value, inside)
        return any((path + "/").startswith(root.rstrip("/") + "/") for root in roots)
    if section == "core" and key == "fsmonitor":  # git's own daemon, or none
        return (value or "true").lower() in _BOOLEANS
    if section == "submodule" and key == "update":
        return value in _UPDATES
    if key in ("url", "pushurl") and section in ("remote", "submodule"):
        return value is not None and "::" not in value and not value.startswith("-")
    if section == "filter" and subsection == "lfs":
        return value is None or value in _LFS.get(key, ())
    if section in _KEYS:
        return key in (_DRIVERS[section] if subsection and section in _DRIVERS else _KEYS[section])
    if section == "extensions":
        return key in _EXTENSIONS
    return section in _SECTIONS and (not subsection or section in _SUBSECTIONS) and key not in _UNSAFE_KEYS


def work_tree_of(value: str | None, inside: str) -> str:
    """The folder that `core.worktree` names, "" where `..` stands behind a name, which may be a link's."""
    names = (value or "/").split("/")
    passed = next((at for at, name in enumerate(names) if name not in ("", ".", "..")), len(names))
    if ".." in names[passed:]:
        return ""
    return normpath(f"{inside}/{value}" if value and not value.startswith("/") else value or "/")


def is_usual_inside(entry: Entry, inside: str, top: str) -> bool:
    """Whether a repository inside of another one may say it, whose work tree is `top`: what is harmless there, and
    nothing that moves the work tree, because what git keeps for paths would then count elsewhere."""
    section, _, key, value = entry
    if section == "core" and key == "worktree":
        return work_tree_of(value, inside) == top
    return is_harmless(entry, inside, (top,))


def is_usual(entry: Entry, inside: str, top: str, is_safe: Callable[[str], bool]) -> bool:
    """Whether the own repository of a project may say it, in files that no call can write: what is harmless, what tools
    of its person keep there, and programs of the search path that are known to be what they are called. `top`: its work
    tree, which nothing may move elsewhere; `is_safe`: whether no call may write what lies under a path, as it is
    written; `inside`: as in `is_harmless`."""
    section, subsection, key, value = entry
    if is_usual_inside(entry, inside, top):
        return True
    if section == "alias":
        return (subsection or key).lower() not in NOT_ALWAYS
    if reads(entry):
        return value is not None and value.rpartition("/")[2].startswith(".git")
    if section in _OF_TOOLS or (key in _PLAIN.get(section, ()) and not (subsection and section in _BY_NAME)):
        return True
    if value is None or section in INCLUDES:
        return section in INCLUDES and key == "path"  # what is included is looked at by itself
    if section in ("remote", "submodule") and key in ("url", "pushurl"):
        return not value.startswith("-")  # where a call dials it, that is an effect of the call
    if section == "url":
        return key in ("insteadof", "pushinsteadof")
    if section == "core" and key == "hookspath":
        return value == "" or is_safe(value)
    words = _words(value)
    if words is None:
        return False
    first, rest = (words[0], words[1:]) if words else ("", [])
    if (section, key) in (("core", "editor"), ("sequence", "editor")):
        return first in _EDITORS and _EDITOR_FLAGS.issuperset(rest)
    if (section, key) == ("core", "pager") or section in ("pager", "interactive"):
        plain = all(each[:1] == "-" and _PAGER_FLAGS.issuperset(each[1:]) for each in rest)
        return value.lower() in _BOOLEANS or (first in _PAGERS and plain)
    if section == "gpg" and key == "program":
        return value in _SIGNERS
    if section == "gpg" and key == "allowedsignersfile":
        return True
    if section == "credential" and key == "helper":
        return value in _HELPERS_WHOLE or (first in _HELPERS and all(_is_flag(each) for each in rest))
    if section == "core" and key == "sshcommand":
        return first in ("ssh", "/usr/bin/ssh") and _is_plain_ssh(rest)
    return False


# What git itself shows a part of, or writes into a commit, where it is no file of its own.
_SHOWN_FILES = frozenset(
    (("blame", "ignorerevsfile"), ("commit", "template"), ("core", "excludesfile"), ("core", "attributesfile"))
)


def reads(entry: Entry) -> bool:
    """Whether it names a file that git may show."""
    return (entry[0], entry[2]) in _SHOWN_FILES and not entry[1]


def _split(value: str) -> list[str]:
    """The words of a command, as a shell splits them. Raises ValueError where a quote has no end."""
    if value.isascii() and value.isprintable() and not any(sign in value for sign in "'\"\\"):
        return value.split()
    import shlex  # lazy: few settings that are commands are quoted

    return shlex.split(value)


def _words(value: str) -> list[str] | None:
    """The words of a command without any sign that a shell would act on, None for one that has some."""
    if any(sign in value for sign in "$`;|&<>(){}*?[]!\\\n#") and not value.startswith("!"):
        return None
    try:
        return _split(value)
    except ValueError:
        return None


def _is_flag(word: str) -> bool:
    return word.startswith("-") and "/" not in word and "+" not in word


def _is_plain_ssh(words: list[str]) -> bool:
    at = 0
    while at < len(words):
        word = words[at]
        if word in _SSH_VALUES:
            at += 2
        elif word in _SSH_FLAGS:
            at += 1
        elif word == "-o" or word.startswith("-o"):
            given = word[2:] or (words[at + 1] if at + 1 < len(words) else "")
            if not given.lower().startswith(_SSH_OPTIONS):
                return False
            at += 1 if word[2:] else 2
        else:
            return False
    return True


# How programs are called to which a bare word is the name of a file.
_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "node", "perl", "ruby", "php", "deno", "bun", "env")


# Programs that take what they run from files of the folder they start in.
_OF_PROJECTS = names_in(
    "make gmake npm npx pnpm pnpx yarn bun bunx cargo go just task rake bundle rails composer mvn gradle ant sbt lein "
    "mix poetry pipenv pdm hatch uv uvx rye tox nox invoke inv fab doit scons cmake ninja meson bazel buck2 pants nx "
    "turbo lerna grunt gulp mise direnv devbox nix nix-shell docker-compose vagrant pre-commit lefthook husky dotnet"
)


def named(entry: Entry, top: str, home: str) -> list[str] | None:
    """The files and folders that an entry of the person's own settings names, absolute; those that lie relative to the
    work tree `top` among them. Nothing for an entry that starts nothing. None where it cannot be told what it names."""
    section, _, key, value = entry
    if value is None or is_harmless(entry, "/", ()) or key in _PLAIN.get(section, ()) or reads(entry):
        return []
    if section in _OF_TOOLS:
        return []
    if (section, key) in (("core", "hookspath"), ("init", "templatedir")):
        return [_absolute(value, top, home)] if value else []
    if section in INCLUDES or (section, key) == ("core", "worktree"):
        return []
    return _in_command(value, top, home)


def started(entry: Entry, top: str, home: str) -> list[str] | None:
    """As `named`, with what aliases name: git starts that for the person alone, never for the gateway."""
    section, _, _, value = entry
    if section == "alias" and value is not None and value.startswith("!"):
        return _in_command(value, top, home)
    return named(entry, top, home)


# Signs of a shell next to which a word may stand without a space.
_BETWEEN_WORDS = str.maketrans(dict.fromkeys(";|&()`", " "))


def _in_command(value: str, top: str, home: str) -> list[str] | None:
    """The files and folders that a command names."""
    value = value.removeprefix("!").translate(_BETWEEN_WORDS)
    try:
        words = _split(value)
    except ValueError:
        words = value.split()
    if not words:
        return []
    program = words[0].rpartition("/")[2]
    found = [top] if program in _OF_PROJECTS else []
    script = program.startswith(_INTERPRETERS)
    for at, word in enumerate(words):
        _, equals, given = word.partition("=")
        for each in {word, given} if equals else {word}:
            if "$" in each and not each.startswith(("$HOME/", "${HOME}/")):
                if "/" in each.partition("$")[2]:
                    return None
            elif ("/" in each and "://" not in each) or (script and at and not each.startswith("-") and "." in each):
                found.append(_absolute(each, top, home))
    return found


def _absolute(path: str, top: str, home: str) -> str:
    for sign in ("~/", "$HOME/", "${HOME}/"):
        if path.startswith(sign):
            return normpath(f"{home}/{path[len(sign) :]}")
    return normpath(path if path.startswith("/") else f"{top}/{path}")


def written(kept: list[Entry]) -> str:
    """A configuration that says just this."""
    lines: list[str] = []
    head = ("", "")
    for section, subsection, key, value in kept:
        if (section, subsection) != head:
            head = (section, subsection)
            quoted = subsection.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'[{section} "{quoted}"]' if subsection else f"[{section}]")
        if value is None:
            lines.append(f"\t{key}")
        else:
            shown = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            lines.append(f'\t{key} = "{shown}"'.replace("\b", "\\b"))
    return "\n".join(lines) + "\n" if lines else ""
