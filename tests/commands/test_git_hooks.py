"""Code that git runs by itself is settled away where there is none, and by nothing that the text itself may make."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.commands.analyse import Start, analyse
from gateway.commands.settle import settle
from gateway.model.context import Context
from gateway.model.facts import Facts, GitFact

CWD = "/home/dev/project"
OWN = GitFact(CWD, True, "topic", quiet=True)
WHY = "runs the repository's hooks"


def runs_hooks(text: str, descriptions: dict[str, Any], *, fact: GitFact | None = OWN) -> bool:
    analysis = analyse(text, Start(CWD, "/home/dev"), descriptions.get)
    folders = dict.fromkeys(analysis.wanted.git)
    facts = Facts(git={} if fact is None else dict.fromkeys(folders, fact))
    settled = settle(analysis, facts, Context(CWD, CWD, "/home/dev", (CWD,)))
    return any(getattr(item.effect, "why", "") == WHY for item in settled.items)


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m x",
        "git -C src commit -m x",
        "git add . && git commit -m x && git push origin topic",
        "touch a.py; git commit -am x",
        "git merge x",
        "git pull",
        "git rebase main",
        "git am x.patch",
        "git cherry-pick x",
        "git worktree add ../x",
        "git branch -D x; git commit -m x",
        "echo x > /tmp/message; git commit -F /tmp/message",
        "cp -r a b; git commit -m x",
        "git diff | tee out.txt; git commit -m x",
    ],
)
def test_a_command_runs_hooks_where_there_are_some(text: str, descriptions: dict[str, Any]) -> None:
    facts = [OWN, OWN.replace(quiet=False), OWN.replace(own=False), None]
    assert [runs_hooks(text, descriptions, fact=fact) for fact in facts] == [False, True, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "./x; git commit -m x",
        "git commit -m x & ./x",
        "if ./x; then git commit -m x; fi",
        "$X; git commit -m x",
        "echo x > .git/hooks/pre-commit; git commit -m x",
        "echo x > .GIT/hooks/pre-commit; git commit -m x",
        "echo x > src/../.git/config; git commit -m x",
        "echo x > .git; git commit -m x",
        "git log > .git/hooks/post-commit; git commit -m x",
        "echo x > $F; git commit -m x",
        "git commit -m x; mv src .git/hooks; git commit -m x",
        "rm -r .git; git commit -m x",
        "mv .git x; git commit -m x",
        "cp -r x .; git commit -m x",
        "cp -r x ..; git commit -m x",
        "tar xzf a.tgz; git commit -m x",
        "git config core.hooksPath x; git commit -m x",
        "git config --global core.hooksPath x; git commit -m x",
        "git remote add x ext::./x; git push x",
        "git init; git commit -m x",
        "echo x >> ~/.gitconfig; git commit -m x",
        "cp x ~/.config/git/config; git commit -m x",
        "git clone https://h/x ~/.config/git; git commit -m x",
        "HOME=/tmp git commit -m x",
        "GIT_CONFIG_GLOBAL=x git commit -m x",
        "export GIT_DIR=x; git commit -m x",
        "mount --bind src .git/hooks; git commit -m x",
        "git -c core.hooksPath=x commit -m x",
        "git --git-dir=x commit -m x",
        "cd $X && git commit -m x",
        "git -C $X commit -m x",
    ],
)
def test_what_a_text_may_make_is_as_good_as_there(text: str, descriptions: dict[str, Any]) -> None:
    assert runs_hooks(text, descriptions)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("git commit -m x", ((CWD, False),)),
        ("git switch x", ((CWD, True),)),
        ("git commit -m x; git switch x; git -C src push", ((CWD, True), (f"{CWD}/src", False))),
        ("git status", ()),
    ],
)
def test_the_host_is_asked_where_it_matters(
    text: str, wanted: tuple[tuple[str, bool], ...], descriptions: dict[str, Any]
) -> None:
    assert analyse(text, Start(CWD, "/home/dev"), descriptions.get).wanted.hooks == wanted
