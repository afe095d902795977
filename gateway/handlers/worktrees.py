"""EnterWorktree and ExitWorktree: a git worktree becomes the working folder, and nothing in one is thrown away.

Each command of git is a call of Bash of its own: policy judges it, a person may be asked about it, the sandbox holds
it, and it is in the record.
"""

from __future__ import annotations

import os
import shlex

from gateway.approval.person import Choice, Inquiry, replies
from gateway.calls.output import Failure, Output, Text
from gateway.core.plain_files import open_plain
from gateway.handlers.branches import problem
from gateway.model.call import RawCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.output import Done
    from gateway.calls.work import Work
    from gateway.model.call import Call

# Where worktrees go that are given no place.
PLACE = ".worktrees"
KEEP, REMOVE = Choice("Keep it", "the worktree stays as it is"), Choice("Remove it", "what is listed is lost")
_MOST_LISTED = 20


def enter(call: Call, work: Work) -> Output:
    """Makes a worktree, or goes into one that is there, and works in it from the next call on."""
    fields = call.input
    branch = fields.get("branch") or f"agent/{os.urandom(4).hex()}"
    wrong = problem(branch)
    if wrong:
        raise Failure(f"`{branch}` is no name for a branch: {wrong}.")
    top = _said(_git(work, "rev-parse", "--show-toplevel")).strip()
    if not os.path.isabs(top):
        raise Failure(f"{work.context.cwd} lies in no git repository.", "A worktree can be made of one only.")
    place = fields.get("path") or os.path.join(work.context.root or top, PLACE, branch.replace("/", "+"))
    known = _known(work)
    if place in known:
        if fields.get("branch") and known[place] != branch:
            raise Failure(f"{place} is a worktree of `{known[place] or 'no branch'}` already.", "Choose another path.")
        return _entered(work, place, known[place], "You are in a worktree that was there")
    if os.path.lexists(place) and not (os.path.isdir(place) and not os.listdir(place)):
        raise Failure(f"{place} is there already, and no worktree.", "Choose another path.")
    if not fields.get("path"):
        _ignored(work, os.path.dirname(place))
    is_there = _there(work, branch)
    words = [place, branch] if is_there else ["-b", branch, place]
    _git(work, "worktree", "add", *words)
    if not os.path.isdir(place):  # it was made where only the session's own commands look, such as in its /tmp
        _git(work, "worktree", "prune")
        remedy = "Leave `path` out, or choose a path in the project."
        raise Failure(f"{place} is no place for a worktree: what commands make there is not really there.", remedy)
    return _entered(work, place, branch, "You are in a new worktree")


def leave(call: Call, work: Work) -> Output:
    """Goes back to where the session was before. The worktree stays, unless it is to be removed and nothing in it would
    be lost, or the person agrees to what would be."""
    cwd = work.context.cwd
    inside = [place for place in work.session.left if cwd == place or cwd.startswith(place + "/")]
    if not inside:
        raise Failure("You are in no worktree that this session has entered.")
    place = max(inside, key=len)
    back = work.session.left[place]
    lost = _lost(work, place)
    if not call.input["remove"]:
        said = f" It stays, with {_listed(lost)}." if lost else " It stays."
        del work.session.left[place]
        return Output(
            (Text(f"You are in {back} again, and have left {place}.{said}"),), _data(place, lost, False), cwd=back
        )
    if lost:
        _agreed(work, place, lost)
    work.session.follow(back)  # nobody can remove the folder that they work in
    try:
        done = _run(work, "rm", "-rf", "--", place, fails=True)
        if not _swept(place):
            raise Failure(f"The worktree could not be removed whole: {done.text.strip()}")
    except Failure:
        work.session.follow(cwd)
        raise
    _git(work, "worktree", "prune")
    del work.session.left[place]
    text = f"You are in {back} again. The worktree {place} is gone; its branch is still there."
    return Output((Text(text),), _data(place, lost, True), cwd=back)


def _entered(work: Work, place: str, branch: str, how: str) -> Output:
    real = os.path.realpath(place)
    work.session.left[real] = work.context.cwd
    text = f"{how}: {real}, on {f'branch {branch}' if branch else 'no branch'}. ExitWorktree leads back."
    return Output((Text(text),), {"path": real, "branch": branch}, cwd=real)


def _data(place: str, lost: list[str], removed: bool) -> dict[str, object]:
    return {"path": place, "removed": removed, "unsaved": lost}


def _agreed(work: Work, place: str, lost: list[str]) -> None:
    """Has the person agree to what would be lost. Raises Failure where nobody does."""
    listed = "\n".join(lost)
    inquiry = Inquiry(f"Remove the worktree {place} with all of this?", (KEEP, REMOVE), "Worktree", listed, free=False)
    found = replies(work.session.person, (inquiry,), lambda: work.cancel.is_set)
    if found is None or found[0].chosen != (REMOVE.label,):
        why = "nobody is there to agree" if work.session.person is None else "the person does not agree"
        remedy = "Commit what is to stay, or leave the worktree without removing it."
        raise Failure(f"The worktree stays: it would be lost with {_listed(lost)}, and {why}.", remedy)


def _swept(place: str) -> bool:
    """Whether a worktree is gone. The sandbox lets no command remove what names a repository, so of one that was
    emptied the file `.git` is left, which only says where the repository is; that goes here."""
    pointer = os.path.join(place, ".git")
    try:
        if os.path.islink(place) or os.path.islink(pointer) or os.listdir(place) != [".git"]:
            return not os.path.lexists(place)
        with open_plain(pointer) as file:
            if not file.read(4_096).startswith(b"gitdir: "):
                return False
        os.unlink(pointer)
        os.rmdir(place)
    except FileNotFoundError:
        return not os.path.lexists(place)
    except OSError:
        return False
    return True


def _listed(lost: list[str]) -> str:
    more = f" and {len(lost) - _MOST_LISTED} more" if len(lost) > _MOST_LISTED else ""
    return ", ".join(lost[:_MOST_LISTED]) + more


def _lost(work: Work, place: str) -> list[str]:
    """What is in a worktree and nowhere else: changed, new and ignored files, and commits that no branch holds."""
    status = _said(_git(work, "-C", place, "status", "--porcelain=v1", "--untracked-files=all", "--ignored"))
    kinds = {"??": "new", "!!": "ignored"}
    found = [f"{line[3:]} ({kinds.get(line[:2], 'changed')})" for line in status.splitlines() if line.strip()]
    words = ("log", "--oneline", "HEAD", "--not", "--branches", "--tags", "--remotes")
    commits = _said(_git(work, "-C", place, *words))
    return found + [f"commit {line}" for line in commits.splitlines() if line.strip()]


def _there(work: Work, branch: str) -> bool:
    words = ("git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    return _run(work, *words, fails=True).result.status == 0


def _known(work: Work) -> dict[str, str]:
    """The worktrees of the repository, with the branch that each is on."""
    found: dict[str, str] = {}
    place = ""
    for line in _said(_git(work, "worktree", "list", "--porcelain")).splitlines():
        what, _, value = line.partition(" ")
        if what == "worktree":
            place = value
            found[place] = ""
        elif what == "branch":
            found[place] = value.removeprefix("refs/heads/")
    return found


def _ignored(work: Work, folder: str) -> None:
    """Keeps git from taking the worktrees in a folder for files of the project. Where that is refused they are merely
    listed as new."""
    path = os.path.join(folder, ".gitignore")
    if not os.path.lexists(path):
        assert work.call is not None
        work.call(RawCall("Write", {"file_path": path, "content": "*\n"}))


def _said(done: Done) -> str:
    return done.result.stdout.decode("utf-8", "surrogateescape")


def _git(work: Work, *words: str) -> Done:
    return _run(work, "git", *words)


def _run(work: Work, *words: str, fails: bool = False) -> Done:
    """Runs a command as a call of Bash. Raises Failure where it is refused, and where it fails unless it may."""
    command = shlex.join(words)
    assert work.call is not None
    done = work.call(RawCall("Bash", {"command": command}))
    if not done.ran:
        raise Failure(f"`{command}` was refused: {done.result.reason}")
    if done.result.ended != "exited" or (done.result.status != 0 and not fails):
        said = done.text.strip() or done.result.reason
        raise Failure(f"`{command}` failed: {said}")
    return done
