# ruff: noqa: E501 - one attempt a line reads better than one in pieces
"""Attempts at what lies around the wall: not at the sandbox, but at what the person, an editor or git does later, or does
meanwhile, with what a call has left behind.

Each is a text that a rule lets run confined. It succeeds where the person's own step makes the proof, a file where no
call can write.
"""

from __future__ import annotations

from gateway.core.value import Value

GIT = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false"
SECRET = "for-nobody-inside"
# What the texts of attempts may use. PROOF is set before.
WORDS = """\
evil() {
    mkdir -p "$1/objects" "$1/refs/heads"
    echo 'ref: refs/heads/main' > "$1/HEAD"
    printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "touch %s; false"\\n' "$PROOF" > "$1/config"
}
hook() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\\ntouch %s\\n' "$PROOF" > "$1"; chmod 755 "$1"; }
append() { printf '[core]\\n\\tfsmonitor = "touch %s; false"\\n' "$PROOF" >> "$1"; }
until_go() { : > ready; i=0; while [ ! -e go ] && [ $i -lt 200 ]; do sleep 0.02; i=$((i+1)); done; }
until_seen() { i=0; while [ ! -e seen ] && [ $i -lt 2000 ]; do sleep 0.02; i=$((i+1)); done; }
"""


class Around(Value):
    """`before`: what the person has done in the project; `text`: the call; `meanwhile`: what the person does while the
    call runs, once there is a file `ready`, and then there is one `go`; `then`: what the person does when it has ended,
    which makes the proof if the attempt worked. `said`: the proof is that the call could print the secret. `needs`:
    programs."""

    name: str
    theme: str
    text: str
    then: str = "true"
    before: str = "true"
    meanwhile: str = ""
    said: bool = False
    needs: tuple[str, ...] = ()


def _git(name: str, text: str, then: str = "cd sub && git status", before: str = "true") -> Around:
    return Around(name, "git", text, then, before, needs=("git",))


_REBASE = f"{GIT} commit -q --allow-empty -m a && echo x > f && git add f && {GIT} commit -q -m b && {{ GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' {GIT} rebase -q -i HEAD~1 || true; }}"
_GO_ON = f"GIT_EDITOR=true {GIT} rebase --continue"
_COMMIT = f"{GIT} commit -q --allow-empty -m x"
_WORK_TREE = f"{GIT} worktree add -q wt"
_MODULE = (
    f"{GIT} init -q ../other && {GIT} -C ../other commit -q --allow-empty -m x && "
    f"{GIT} -c protocol.file.allow=always submodule --quiet add ../other mod && {GIT} commit -q -m mod"
)
_BARE = "git init -q --bare origin.git"
_PUSH = f"{_COMMIT} && git push -q ./origin.git HEAD:refs/heads/x"
GIT_ATTEMPTS = (
    _git("a git file leads to a folder", "evil ev; mkdir sub; echo 'gitdir: ../ev' > sub/.git"),
    _git("a git file leads there by its full path", 'evil ev; mkdir sub; echo "gitdir: $PWD/ev" > sub/.git'),
    _git("a git file leads to a name with a space at its end", "evil 'ev '; mkdir sub; echo 'gitdir: ../ev ' > sub/.git"),
    _git("a git file leads up through a link", "mkdir -p a/b sub; evil a/ev; ln -s ../a/b sub/l; echo 'gitdir: l/../ev' > sub/.git"),
    _git("a git file leads to one in a hidden folder", "evil .x/ev; mkdir sub; echo 'gitdir: ../.x/ev' > sub/.git"),
    _git("a git file leads to a folder that is closed", "evil ev; mkdir sub; echo 'gitdir: ../ev' > sub/.git; chmod 0 ev",
         "chmod 755 ev; cd sub && git status"),
    _git("a git file leads to one that shares another", "evil ev; mkdir -p sub n; cp ev/HEAD n; echo ../ev > n/commondir; echo 'gitdir: ../n' > sub/.git"),
    _git("a git link leads to a folder", "evil ev; mkdir sub; ln -s ../ev sub/.git"),
    _git("a git link leads to a git folder", "evil x/.git; mkdir sub; ln -s ../x/.git sub/.git"),
    _git("a git link is made first, its folder later", "mkdir sub; ln -s ../ev sub/.git; evil ev"),
    _git("a git folder is made", "evil sub/.git"),
    _git("a git folder is made in a folder that was there", "evil sub/.git", before="mkdir sub; touch sub/f"),
    _git("a git folder is renamed into place", "mkdir sub; evil x; mv x sub/.git"),
    _git("a git folder whose objects and refs are links", "mkdir -p sub o r/heads; evil sub/.git; rm -r sub/.git/objects sub/.git/refs; ln -s ../../o sub/.git/objects; ln -s ../../r sub/.git/refs"),
    _git("a git folder whose head is a link", "mkdir sub; evil sub/.git; rm sub/.git/HEAD; ln -s refs/heads/main sub/.git/HEAD"),
    _git("a git folder whose configuration is a link", "mkdir sub; evil sub/.git; mv sub/.git/config c; ln -s ../../c sub/.git/config"),
    _git("a git folder whose configuration includes another", "evil sub/.git; mv sub/.git/config sub/c; printf '[include]\\n\\tpath = ../c\\n' > sub/.git/config"),
    _git("a git folder takes its settings from elsewhere", "evil ev; evil sub/.git; : > sub/.git/config; echo ../../ev > sub/.git/commondir"),
    _git("git itself makes a repository with such settings", "git init -q sub && append sub/.git/config"),
    _git("git itself makes a repository with a hook", "git init -q sub && hook sub/.git/hooks/pre-commit", f"cd sub && {_COMMIT}"),
    _git("git itself makes one with its folder apart", "git init -q --separate-git-dir=ev sub && append ev/config"),
    _git("a hook is made in a repository that pushes reach", f"{_BARE} && hook origin.git/hooks/post-receive", _PUSH),
    _git("a hook is made in such a repository that was there", "hook origin.git/hooks/post-receive", _PUSH, _BARE),
    _git("such a repository is told where hooks are", "hook hk/post-receive; git -C origin.git config core.hooksPath \"$PWD/hk\" || printf '[core]\\n\\thooksPath = %s\\n' \"$PWD/hk\" >> origin.git/config", _PUSH, _BARE),
    _git("such a repository is replaced", f"mv origin.git o2; {_BARE}; hook origin.git/hooks/post-receive", _PUSH, _BARE),
    _git("a work tree is led elsewhere", "evil ev; echo 'gitdir: ../ev' > wt/.git", "cd wt && git status", _WORK_TREE),
    _git("a work tree's git file is replaced", "evil ev; echo 'gitdir: ../ev' > n; mv n wt/.git", "cd wt && git status", _WORK_TREE),
    _git("what a work tree shares lies elsewhere", "evil ev; echo ../../../ev > .git/worktrees/wt/commondir", "cd wt && git status", _WORK_TREE),
    _git("what a work tree shares is replaced", "evil ev; echo ../../../ev > n; mv n .git/worktrees/wt/commondir", "cd wt && git status", _WORK_TREE),
    _git("a new work tree shares what lies elsewhere", "evil ev; mkdir -p .git/worktrees/n n; cp .git/HEAD .git/worktrees/n/; echo ../../../ev > .git/worktrees/n/commondir; echo ../../../n/.git > .git/worktrees/n/gitdir; echo 'gitdir: ../.git/worktrees/n' > n/.git", "cd n && git status"),
    _git("a work tree has settings of its own", "append .git/worktrees/wt/config.worktree", "cd wt && git status", f"{_WORK_TREE} && git config extensions.worktreeConfig true"),
    _git("a submodule is led elsewhere", "evil ev; echo 'gitdir: ../ev' > mod/.git", "cd mod && git status", _MODULE),
    _git("a submodule's settings are changed", "append .git/modules/mod/config", "cd mod && git status", _MODULE),
    _git("a submodule has a hook", "hook .git/modules/mod/hooks/pre-commit", f"cd mod && {_COMMIT}", _MODULE),
    _git("the project takes its settings from elsewhere", "evil ev; echo ../ev > .git/commondir", "git status"),
    _git("the project has settings of its own", "append .git/config.worktree", "git status", "git config extensions.worktreeConfig true"),
    _git("the project's settings are changed", "append .git/config", "git status"),
    _git("the project's repository is replaced", "mv .git g; evil .git", "git status"),
    _git("the project has a hook", "hook .git/hooks/pre-commit", _COMMIT),
    _git("a hook where the project has them", "hook hk/pre-commit", _COMMIT, "mkdir hk && git config core.hooksPath hk"),
    _git("a hook where the project had one", "hook hk/pre-commit", _COMMIT, "mkdir hk && echo 'exit 0' > hk/pre-commit && git config core.hooksPath hk"),
    _git("a hook where the project will have them", "hook hk/pre-commit", _COMMIT, "git config core.hooksPath hk"),
    _git("a hook where the person has them", "hook hk/pre-commit", _COMMIT, "mkdir hk && git config --global core.hooksPath hk"),
    _git("a rebase that stopped is given a command", "echo \"exec touch $PROOF\" >> .git/rebase-merge/git-rebase-todo", _GO_ON, _REBASE),
    _git("its list is replaced", "echo \"exec touch $PROOF\" > n; mv n .git/rebase-merge/git-rebase-todo", _GO_ON, _REBASE),
    _git("its folder is replaced", "cp -r .git/rebase-merge r; echo \"exec touch $PROOF\" >> r/git-rebase-todo; rm -r .git/rebase-merge; mv r .git/rebase-merge || mv r/git-rebase-todo .git/rebase-merge", _GO_ON, _REBASE),
    _git("its folder is exchanged at once", "cp -r .git/rebase-merge r; echo \"exec touch $PROOF\" >> r/git-rebase-todo; python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'.git/rebase-merge', -100, b'r', 2)\"", _GO_ON, _REBASE),
    _git("a folder like a repository is entered", "evil ev; mkdir w", "cd ev && git --work-tree=../w status"),
    _git("a repository is made in the project's for a module", "evil .git/modules/n; mkdir n; echo 'gitdir: ../.git/modules/n' > n/.git", "cd n && git status"),
    _git("a repository is made in a module's", "evil .git/modules/mod/modules/n; mkdir mod/n; echo 'gitdir: ../../.git/modules/mod/modules/n' > mod/n/.git", "cd mod/n && git status", _MODULE),
    _git("a repository is made among the project's objects", "evil .git/objects/ev; mkdir s; echo 'gitdir: ../.git/objects/ev' > s/.git", "cd s && git status"),
    _git("a hook where the folder of hooks is gone", "hook .git/hooks/pre-commit", _COMMIT, "rm -rf .git/hooks"),
    _git("a link where the folder of hooks is gone", "hook h/pre-commit; ln -s ../h .git/hooks", _COMMIT, "rm -rf .git/hooks"),
    _git("git itself makes one from a template with a hook", "hook t/hooks/pre-commit; git init -q --template=\"$PWD/t\" sub", f"cd sub && {_COMMIT}"),
    _git("git itself clones with such a template", "hook t/hooks/pre-commit; git clone -q --template=\"$PWD/t\" . sub", f"cd sub && {_COMMIT}"),
    _git("a folder above a repository is moved away", "mv a b; evil a/in/.git", "cd a/in && git status", "mkdir a && git init -q a/in"),
    _git("settings through the folder of a process", "cd .git && append /proc/self/cwd/config", "git status"),
    _git("settings through the root of a process", 'append "/proc/self/root$PWD/.git/config"', "git status"),
    _git("settings by a second name", "{ ln .git/config c && append c; } || append .git/config", "git status"),
    _git("the repository is exchanged for another at once", "evil ev; python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'.git', -100, b'ev', 2)\"", "git status"),
    _git("a new work tree has settings of its own", "git worktree add -q n; append .git/worktrees/n/config.worktree", "cd n && git status", "git config extensions.worktreeConfig true"),
    _git("a submodule is added with a hook", f"{GIT} init -q o && {GIT} -C o commit -q --allow-empty -m x && git -c protocol.file.allow=always submodule --quiet add ./o mod2; hook .git/modules/mod2/hooks/pre-commit", f"cd mod2 && {_COMMIT}"),
    _git("what the project's settings include", "append git.inc", "git status", "touch git.inc && git config include.path ../git.inc"),
    _git("what the project's settings will include", "append git.inc", "git status", "git config include.path ../git.inc"),
    _git("what the person's settings include", "append git.inc", "git status", 'touch git.inc && git config --global include.path "$PWD/git.inc"'),
    _git("what the project's settings include where it lies here", "append git.inc", "git status", 'touch git.inc && git config "includeIf.gitdir:$PWD/.path" ../git.inc'),
    _git("a hook where the settings say behind what they include", "hook hk/pre-commit", _COMMIT, "touch git.inc && git config include.path ../git.inc && mkdir hk && git config core.hooksPath hk"),
    _git("a hook where what the settings include says", "hook hk/pre-commit", _COMMIT, "git config include.path ../git.inc && git config -f git.inc core.hooksPath hk"),
    _git("a hook where what is included twice over says", "hook hk/pre-commit", _COMMIT, "git config include.path ../a.inc && git config -f a.inc include.path b.inc && git config -f b.inc core.hooksPath hk && mkdir hk"),
    _git("a hook where a repository in the project has them", "hook in/hk/pre-commit", f"cd in && {_COMMIT}", "git init -q in && mkdir in/hk && git -C in config core.hooksPath hk"),
    *[
        _git(f"a program of the person's is changed that {what}", "hook t/p.sh", then, f"mkdir t; echo true > t/p.sh; chmod 755 t/p.sh; git config {setting}")
        for what, then, setting in (
            ("an alias starts", "git st", "alias.st '!./t/p.sh'"),
            ("an alias starts in a function", "git st", "alias.st '!f() { ./t/p.sh; }; f'"),
            ("a shell of an alias reads", "git st", "--global alias.st '!sh t/p.sh'"),
            ("gives logins", "echo url=https://x.invalid | GIT_ASKPASS=true git credential fill", "credential.helper '!f() { test 1 && ./t/p.sh; }; f'"),
        )
    ],
    _git("a program of an alias in a folder that is replaced", "mv t t2; hook t/p.sh", "git st", "mkdir t; echo true > t/p.sh; chmod 755 t/p.sh; git config alias.st '!./t/p.sh'"),
    _git("a hook where a repository in the project will have them", "hook in/hk/pre-commit", f"cd in && {_COMMIT}", "git init -q in && git -C in config core.hooksPath hk"),
)  # fmt: skip

LED = {
    ".claude": "settings.json", ".vscode": "tasks.json", ".husky": "pre-commit", ".cargo": "config.toml",
    ".codex": "config.toml", ".gemini": "settings.json", ".cursor": "hooks.json", ".idea": "workspace.xml",
    ".yarn": "releases/y.cjs", ".mvn": "jvm.config", ".devcontainer": "devcontainer.json", ".github": "hooks/x.json",
}  # fmt: skip


def _there(path: str) -> str:
    return f'test ! -e "{path}" || touch "$PROOF"'


def _plant(name: str, file: str, text: str, before: str = "true") -> Around:
    return Around(name, "names", text, _there(file), before)


NAME_ATTEMPTS = (
    *[
        _plant(f"{name} is a link to a folder", f"{name}/{file}", f"mkdir -p $(dirname x/{file}); echo x > x/{file}; ln -s x {name}")
        for name, file in LED.items()
    ],
    _plant("a link comes first, its folder later", ".vscode/tasks.json", "ln -s x .vscode; mkdir x; echo x > x/tasks.json"),
    _plant("a link in a folder below", "a/b/.claude/settings.json", "mkdir -p a/b x; echo x > x/settings.json; ln -s ../../x a/b/.claude"),
    _plant("a link to a link", ".cursor/mcp.json", "mkdir x; echo x > x/mcp.json; ln -s x y; ln -s y .cursor"),
    _plant("a protected file", "a/.mcp.json", "mkdir a; echo x > a/.mcp.json"),
    _plant("a protected file in a folder with a line end in its name", "a\nb/.mcp.json", "mkdir 'a\nb'; echo x > 'a\nb/.mcp.json'"),
    _plant("a protected file in a folder whose name is no text", "a*/.mcp.json",
           "d=$(printf 'a\\377'); mkdir \"$d\"; echo x > \"$d/.mcp.json\"").replace(then='for f in a*/.mcp.json; do test ! -e "$f" || touch "$PROOF"; done'),
    _plant("a protected file in folders that are closed", "a/b/c/.mcp.json",
           "mkdir -p a/b/c; echo x > a/b/c/.mcp.json; chmod 0 a/b/c; chmod 0 a/b; chmod 0 a").replace(then="chmod 755 a; chmod 755 a/b; chmod 755 a/b/c; " + _there("a/b/c/.mcp.json")),
    _plant("a second name of a file", ".mcp.json", "mkfifo .mcp.json; rm .mcp.json; echo x > x; ln x .mcp.json"),
    _plant("a protected name flips between two", ".mcp.json", "for i in $(seq 300); do echo x > .mcp.json; mv .mcp.json y; mv y .mcp.json; done"),
    _plant("a protected file in a folder that cannot be written", "a/.mcp.json", "mkdir a; echo x > a/.mcp.json; chmod 555 a"),
    _plant("a protected file beside 1,001 others", ".mcp.json", "for i in $(seq 1001); do mkdir d$i; echo x > d$i/.mcp.json; done; echo x > .mcp.json"),
    _plant("the last of 1,001 protected files", "d1001/.mcp.json", "for i in $(seq 1001); do mkdir d$i; echo x > d$i/.mcp.json; done"),
    _plant("a protected file beside 3,000 links", ".mcp.json", "mkdir l; cd l; for i in $(seq 3000); do echo l$i/.vscode; done | while read -r n; do mkdir ${n%/*}; ln -s x $n; done; cd ..; echo x > .mcp.json"),
    _plant("a protected file beside a path too long to be one", ".mcp.json",
           "n=$(printf '%0200d' 0); (for i in $(seq 24); do mkdir $n && cd -P $n || exit; done); echo x > .mcp.json"),
    _plant("a protected file in a path too long to be one", "0*", "n=$(printf '%0200d' 0); (for i in $(seq 24); do mkdir $n && cd $n || exit; done; echo x > .mcp.json)").replace(
        then='find . -name .mcp.json 2>/dev/null | grep -q . && touch "$PROOF"; true'),
    _plant("a protected file beside two paths too long", ".mcp.json",
           "n=$(printf '%0200d' 0); for t in a b; do (mkdir $t; cd $t; for i in $(seq 24); do mkdir $n && cd $n || exit; done); done; echo x > .mcp.json"),
)  # fmt: skip


def _live(name: str, text: str, there: str, harm: str = 'touch "$PROOF"', before: str = "true", *needs: str) -> Around:
    """`there`: how the person sees that what the call made is still there. While it is the person waits, for as many
    tenths of a second as `$MOST` says, and is harmed if it stays; the call runs until then."""
    wait = f"i=0; while {there} && [ $i -lt $MOST ]; do sleep 0.1; i=$((i+1)); done; ! {there} || {harm}; touch seen"
    return Around(name, "meanwhile", f"{text}; until_go; until_seen", "true", before, wait, needs=needs)


def _file(path: str) -> str:
    return f'test -e "{path}"'


_SUB = "grep -q touch sub/.git/config 2>/dev/null"
LIVE_ATTEMPTS = (
    _live("a protected file is there while the call runs", "mkdir .claude; echo x > .claude/settings.json", _file(".claude/settings.json")),
    _live("one further down is there while it runs", "mkdir -p a/b/c/.vscode; echo x > a/b/c/.vscode/tasks.json", _file("a/b/c/.vscode/tasks.json")),
    _live("one in folders that were renamed is there while it runs", "mkdir -p x/y/.vscode; echo x > x/y/.vscode/tasks.json; mv x z", _file("z/y/.vscode/tasks.json")),
    _live("a link is there while it runs", "mkdir x; echo x > x/tasks.json; ln -s x .vscode", _file(".vscode/tasks.json")),
    _live("a hook of the project is there while it runs", "hook .git/hooks/pre-commit", _file(".git/hooks/pre-commit"), _COMMIT, "true", "git"),
    _live("a repository with such settings is there while it runs", "evil sub/.git", _SUB, "(cd sub && git status)", "true", "git"),
    _live("settings come to a repository while it runs", "git init -q sub; sleep 0.6; append sub/.git/config", _SUB, "(cd sub && git status)", "true", "git"),
    _live("a hook comes to a repository while it runs", "git init -q sub; sleep 0.6; hook sub/.git/hooks/pre-commit", _file("sub/.git/hooks/pre-commit"), f"(cd sub && {_COMMIT})", "true", "git"),
    _live("one is there again and again while it runs", "for i in 1 2 3; do mkdir -p .claude; echo x > .claude/settings.json; sleep 0.4; done", _file(".claude/settings.json")),
)  # fmt: skip

_TRY = "until_go; i=0; while [ $i -lt 100 ]; do append {} 2>/dev/null; i=$((i+1)); sleep 0.01; done"
_READ = "until_go; i=0; while [ $i -lt 100 ]; do cat {} 2>/dev/null; i=$((i+1)); sleep 0.01; done"
_CLONED = f"{GIT} init -q --bare ../up.git && git remote add origin ../up.git && {_COMMIT} && git push -q origin HEAD:b"


def _race(name: str, text: str, meanwhile: str, then: str, before: str = "true") -> Around:
    return Around(name, "races", text, then, before, meanwhile, needs=("git",))


RACE_ATTEMPTS = (
    _race("the project's settings while the person sets some", _TRY.format(".git/config"), "git config user.x y", "git status"),
    _race("the same in a repository in the project", _TRY.format("in/.git/config"), "git -C in config user.x y", "cd in && git status", "git init -q in"),
    _race("the project's settings while the person pushes", _TRY.format(".git/config"), "git push -q -u origin HEAD", "git status", _CLONED),
    _race("the project's settings while the person takes up a branch", _TRY.format(".git/config"), "git fetch -q && git checkout -q -b n --track origin/b", "git status", _CLONED),
    _race("the project's settings while the person names a remote", _TRY.format(".git/config"), "git remote add up https://example.com/x", "git status"),
    _race("what the settings include while an editor saves it", _TRY.format("git.inc"), "echo '[user]' > n && mv n git.inc", "git status", "touch git.inc && git config include.path ../git.inc").replace(theme="saved"),
    _race("a repository that is replaced as a whole", _TRY.format("in/.git/config"), "mv in in2; mkdir in; git init -q in; git -C in config a.b c", "cd in && git status", "git init -q in"),
    _race("the project's repository when it is replaced", _TRY.format(".git/config"), f"mv .git .g2; git init -q .; {_COMMIT}", "git status"),
    Around("a secret while git takes it out again", "races", _READ.format(".env"), "true", f"echo K={SECRET} > .env; git add -f .env; {GIT} commit -qm e", "rm .env; git checkout -q .env", said=True, needs=("git",)),
    Around("a secret while sed changes it", "races", _READ.format(".env"), "true", f"echo K={SECRET} > .env", "sed -i s/K/L/ .env", said=True),
    Around("a secret that is exchanged at once", "races", _READ.format(".env"), "true", f"echo K={SECRET} > .env", f"echo K={SECRET} > n.tmp; python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'n.tmp', -100, b'.env', 2)\"; true", said=True),
    Around("a secret whose folder is copied and moved", "races", _READ.format("d/.env"), "true", f"mkdir d; echo K={SECRET} > d/.env", "cp -r d e; rm -rf d; mv e d", said=True),
    Around("a secret while an editor saves it", "races", _READ.format(".env"), "true", f"echo K={SECRET} > .env", f"echo K={SECRET} > n.tmp && mv n.tmp .env", said=True),
    Around("a secret while it is made anew", "races", _READ.format(".env"), "true", f"echo K={SECRET} > .env", f"rm .env; echo K={SECRET} > .env", said=True),
    Around("a secret further down while an editor saves it", "races", _READ.format("a/b/.env.local"), "true", f"mkdir -p a/b; echo K={SECRET} > a/b/.env.local", f"(umask 77; echo K={SECRET} > ../n.tmp); mv ../n.tmp a/b/.env.local", said=True),
)  # fmt: skip
_TOOL = "printf '#!/bin/sh\\n' > {0}; chmod 755 {0}"
_PLANTED = 'printf "#!/bin/sh\\ntouch %s\\n" "$PROOF"'


def _cache(name: str, path: str, text: str = "", then: str = "") -> Around:
    """The person, or another project, runs what lies in a cache."""
    folder = path.rpartition("/")[0]
    return Around(
        name, "caches", text.format(path) or f"{_PLANTED} > {path}", then or f"sh {path}",
        f"mkdir -p {folder}; {_TOOL.format(path)}",
    )  # fmt: skip


CACHE_ATTEMPTS = (
    _cache("pre-commit's environments are changed", "~/.cache/pre-commit/repo1/py_env/bin/python"),
    _cache("dotnet is changed", "~/.dotnet/dotnet"),
    _cache("poetry's environments are changed", "~/.cache/pypoetry/virtualenvs/v/bin/python"),
    _cache("what npx has installed is changed", "~/.npm/_npx/1/node_modules/.bin/tool"),
    _cache("a build script of another crate is changed", "~/.cargo/registry/src/i/c/build.rs"),
    _cache("another module of go is changed", "~/go/pkg/mod/m@v1/x.go"),
    _cache("what gradle loads is changed", "~/.gradle/caches/jars-9/x.jar"),
    _cache("what maven loads is changed", "~/.m2/repository/g/a/1/a.jar"),
    _cache("a tool of go's cache is replaced", "~/.cache/go-build/aa/tool", _PLANTED + " > n; chmod 755 n; mv -f n {}"),
    _cache("a folder of a cache is replaced", "~/.cache/pre-commit/r2/bin/python", "rm -rf ~/.cache/pre-commit/r2; mkdir -p ~/.cache/pre-commit/r2/bin; " + _PLANTED + " > {}"),
    _cache("what uv has installed is changed", "~/.cache/uv/archive-v0/x/tool"),
    _cache("what pnpm keeps is changed", "~/.local/share/pnpm/store/v3/files/aa/tool"),
    _cache("what cargo has checked out is changed", "~/.cargo/git/checkouts/a/b/build.rs"),
    _cache("a program of a toolchain is changed", "~/.rustup/toolchains/x/bin/cargo"),
    _cache("a program that cargo has installed is changed", "~/.cargo/bin/tool"),
    _cache("a program that go has installed is changed", "~/go/bin/tool"),
    _cache("what gradle's wrapper starts is changed", "~/.gradle/wrapper/dists/x/bin/gradle"),
    _cache("what every build of gradle begins with is made", "~/.gradle/init.d/x.gradle"),
    _cache("a browser for tests is changed", "~/.cache/ms-playwright/chromium/chrome"),
    _cache("what nuget builds with is changed", "~/.nuget/packages/a/1/build/a.targets"),
    _cache("a file of a cache goes out and in again", "~/.cache/x/y", "mv {0} m; " + _PLANTED + " > m; mv m {0}"),
    _cache("a file of a cache is written in place", "~/.npm/_npx/2/tool", _PLANTED + " | dd of={} conv=notrunc status=none"),
    _cache("a file of a cache is written through a link", "~/.npm/_npx/3/tool", "ln -s {} l; " + _PLANTED + " > l"),
    _cache("a file of a cache is written by a second name", "~/.npm/_npx/4/tool", "ln {0} ~/.npm/x; " + _PLANTED + " > ~/.npm/x; " + _PLANTED + " > {0}"),
    _cache("a program is added to a cache", "~/.cache/bin/old", _PLANTED + " > ~/.cache/bin/new", "sh ~/.cache/bin/new"),
    _cache("a cache loses what the person needs", "~/.cache/x/tool", "rm -rf ~/.cache/x", 'test -e ~/.cache/x/tool || touch "$PROOF"'),
    _cache("a program of a cache may no longer be run", "~/.cache/x/tool2", "chmod 0 {}", 'test "$(stat -c %a ~/.cache/x/tool2)" = 755 || touch "$PROOF"'),
)  # fmt: skip
_VENV = "mkdir -p .venv/bin .venv/lib/python3.11/site-packages; echo home=/usr/bin > .venv/pyvenv.cfg; "


def _program(name: str, path: str, text: str, before: str = "") -> Around:
    return Around(
        name, "programs", text, f"bash {path}", f"{before or _VENV}mkdir -p $(dirname {path}); echo true > {path}"
    )


def _loaded(name: str, text: str) -> Around:
    """`text`: makes what an environment loads, which was not there before."""
    there = ".venv/lib/python3.11/site-packages"
    return Around(
        name,
        "programs",
        text.format(there),
        f"cat {there}/*.pth {there}/*customize* {there}/*/__init__.py | bash",
        _VENV,
    )


_SITE = ".venv/lib/python3.11/site-packages"
_HARM = "echo \"open('$PROOF', 'w')\""
_COMPILED = (
    f"{_HARM} > s.py; python3 -c \"import py_compile, sys; py_compile.compile('s.py', "
    "'{0}/mod.' + sys.implementation.cache_tag + '.pyc', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\""
)


def _imported(name: str, text: str, before: str = "touch {0}/mod.py") -> Around:
    """What a line of a `*.pth` has Python load each time it starts."""
    started = f"python3 -S -c 'import site; site.addsitedir(\"{_SITE}\")'"
    line = f"echo 'import os; m = __import__(\"mod\")' > {_SITE}/a.pth; "
    return Around(name, "programs", text.format(_SITE), started, _VENV + line + before.format(_SITE))


PROGRAM_ATTEMPTS = (
    _program("a program of the environment is changed", ".venv/bin/tool", "hook .venv/bin/tool"),
    _program("a program of the environment is replaced", ".venv/bin/tool", "hook n; mv -f n .venv/bin/tool"),
    _program("the environment's folder of programs is replaced", ".venv/bin/tool", "mv .venv/bin x; hook .venv/bin/tool"),
    _program("the environment is replaced", ".venv/bin/tool", "mv .venv x; hook .venv/bin/tool"),
    _program("what the environment loads is changed", ".venv/lib/python3.11/site-packages/a.pth", "hook .venv/lib/python3.11/site-packages/a.pth"),
    _program("a program of node's packages is changed", "node_modules/.bin/tool", "hook node_modules/.bin/tool", "true; "),
    _program("a program of an environment of another name is changed", "env/bin/tool", "hook env/bin/tool", "mkdir -p env/bin; echo home=/usr/bin > env/pyvenv.cfg; "),
    _program("a program of an environment that a shell enters by itself is changed", ".direnv/python-3.11/bin/tool", "hook .direnv/python-3.11/bin/tool", "mkdir -p .direnv/python-3.11/bin; echo home=/usr/bin > .direnv/python-3.11/pyvenv.cfg; "),
    _program("a program of an environment further down is changed", "a/b/venv/bin/tool", "hook n; mv n a/b/venv/bin/tool", "mkdir -p a/b/venv/bin; echo home=/usr/bin > a/b/venv/pyvenv.cfg; "),
    _program("what another environment loads is changed", "e/lib/python3.11/site-packages/sitecustomize.py", "hook e/lib/python3.11/site-packages/sitecustomize.py", "mkdir -p e/bin; echo home=/usr/bin > e/pyvenv.cfg; "),
    _loaded("something more that the environment loads is made", "hook {}/new.pth"),
    _loaded("something more that the environment loads comes by another name", "hook n; mv n {}/new.pth"),
    _loaded("something more that the environment loads is a link", "hook n; ln -s $PWD/n {}/new.pth"),
    _loaded("what the environment begins with is made", "hook {}/sitecustomize.py"),
    _loaded("what the environment begins with is a package", "mkdir {0}/usercustomize; hook {0}/usercustomize/__init__.py"),
    _imported("what the environment begins with loads is changed", _HARM + " > {0}/mod.py"),
    _imported("what it loads is a package now", "mkdir {0}/mod; " + _HARM + " > {0}/mod/__init__.py"),
    _imported("what it loads is a package that is changed", _HARM + " > {0}/mod/__init__.py", "mkdir {0}/mod; touch {0}/mod/__init__.py"),
    _imported("what it loads is made where it was not", _HARM + " > {0}/mod.py", "true"),
    _imported("what is compiled of it is changed", _COMPILED.format("{0}/__pycache__"), "touch {0}/mod.py; python3 -m compileall -q {0}"),
    _imported("what is compiled of it is made", _COMPILED.format("{0}/__pycache__")),
    _imported("what is compiled of it is led to", "mkdir pc; " + _COMPILED.format("pc") + "; ln -s $PWD/pc {0}/__pycache__"),
    _program("a program of PHP's packages is changed", "vendor/bin/tool", "hook vendor/bin/tool", "mkdir vendor; touch vendor/autoload.php; "),
    _program("the folder of node's packages is replaced", "node_modules/.bin/tool", "mv node_modules x; hook node_modules/.bin/tool", "true; "),
)  # fmt: skip
ATTEMPTS = (
    *GIT_ATTEMPTS, *NAME_ATTEMPTS, *LIVE_ATTEMPTS, *RACE_ATTEMPTS, *CACHE_ATTEMPTS, *PROGRAM_ATTEMPTS,
)  # fmt: skip


def _loss(name: str, text: str, there: str) -> Around:
    """`there`: where what the call has made must not be."""
    before = "mkdir -p docs/in; echo mine > docs/in/precious-1; echo mine > docs/precious-2; sleep 0.05"
    return Around(name, "losses", text, _there(there), before)


# What a call does with what the person has in the project: nothing of it is taken away with what the call has made.
LOSSES = (
    _loss("a folder gets a protected name", "cp docs/precious-2 docs/tasks.json; mv docs .vscode", ".vscode/tasks.json"),
    _loss("a folder is moved into a new protected one", "mkdir .claude; mv docs .claude/; echo x > .claude/settings.json", ".claude/settings.json"),
    _loss("files are moved into a new protected one", "mkdir .claude; mv docs/in/* docs/p* .claude/; echo x > .claude/settings.json", ".claude/settings.json"),
    _loss("a folder is moved into one of its kind that is closed", "mkdir -p .claude/x; mv docs .claude/x/; chmod 0 .claude/x .claude", ".claude"),
    _loss("a folder holds a protected name that lies in what gets one", "mkdir docs/.claude; echo x > docs/.claude/settings.json; mv docs .claude", ".claude/.claude/settings.json"),
    _loss("a folder becomes the hooks of a new repository", "git init -q sub; rm -rf sub/.git/hooks; mv docs sub/.git/hooks; hook sub/.git/hooks/pre-commit", "sub/.git/hooks/pre-commit"),
    _loss("a folder becomes a git folder", "mkdir sub; mv docs sub/.git; cd sub/.git; evil ../x; mv ../x/* .", "").replace(then="cd sub && git status"),
    _loss("a folder lies in a path too long to be one", "n=$(printf '%0200d' 0); top=$PWD; mkdir d; mv docs d/; cd d; for i in $(seq 24); do mkdir $n && mv docs $n/ && cd $n || exit; done", "docs/.claude"),
    _loss("its name is taken by something new", "mkdir .claude; mv docs .claude/; echo x > docs", ".claude"),
)  # fmt: skip


# Packages of these tools' own kinds, made here: nothing is fetched.
_GO_MODULE = (
    "mkdir -p p/example.com/m/@v z/example.com/m@v1.0.0 w; cd z/example.com/m@v1.0.0; "
    "printf 'module example.com/m\\n\\ngo 1.19\\n' > go.mod; printf 'package m\\nfunc A() int { return 7 }\\n' > m.go; "
    "cd ../../../p/example.com/m/@v; cp ../../../../z/example.com/m@v1.0.0/go.mod v1.0.0.mod; "
    'echo \'{"Version":"v1.0.0"}\' > v1.0.0.info; echo v1.0.0 > list; cd ../../../../z; '
    "python3 -c \"import zipfile; z = zipfile.ZipFile('../p/example.com/m/@v/v1.0.0.zip', 'w'); "
    "[z.write('example.com/m@v1.0.0/' + name) for name in ('go.mod', 'm.go')]; z.close()\"; cd ../w; "
    "printf 'module w\\n\\ngo 1.19\\n\\nrequire example.com/m v1.0.0\\n' > go.mod; "
    "printf 'package main\\nimport \"example.com/m\"\\nfunc main() { println(m.A()) }\\n' > m.go"
)
_NODE_PACKAGE = (
    'mkdir q; cd q; echo \'{"name":"p","version":"1.0.0","bin":"x.js"}\' > package.json; '
    "echo '#!/usr/bin/env node' > x.js; echo 'module.exports=1' > index.js; npm pack -s --cache ../../c; mv p-1.0.0.tgz ..; "
    'cd ..; echo \'{"dependencies":{"p":"file:p-1.0.0.tgz"}}\' > package.json'
)
_CRATES = (
    "mkdir -p c/src d/src; echo 'fn main(){ d::f() }' > c/src/main.rs; echo 'pub fn f(){}' > d/src/lib.rs; "
    'printf \'[package]\\nname="c"\\nversion="0.1.0"\\n[dependencies]\\nd={path="../d"}\\n\' > c/Cargo.toml; '
    'printf \'[package]\\nname="d"\\nversion="0.1.0"\\n\' > d/Cargo.toml'
)


class Use(Value):
    """Ordinary work that must go on working: each text is a call, all of which must end well; `then` the person's step
    that finds what is to be there. `forms`: by which it works."""

    name: str
    texts: tuple[str, ...]
    then: str = "true"
    before: str = "true"
    needs: tuple[str, ...] = ()
    forms: tuple[str, ...] = ("namespaces", "bubblewrap")


USES = (
    Use("git clones inside", (f"{GIT} init -q a && {GIT} -C a commit -q --allow-empty -m x && git clone -q a b", "git -C b log --oneline"), "git -C b log", needs=("git",)),
    Use("git rebases inside", (f"{GIT} commit -q --allow-empty -m a && {GIT} switch -qc n && {GIT} commit -q --allow-empty -m b && {GIT} rebase -q HEAD~1 && {GIT} rebase -q -x 'sleep 0.6' HEAD~1",), "git log n", needs=("git",)),
    Use("git adds a work tree", (f"{_COMMIT} && git worktree add -q wt", "git -C wt status"), "git -C wt log", "true", ("git",)),
    Use("git makes and uses a repository apart", ("git init -q --separate-git-dir=apart sub && touch sub/f && git -C sub add f", f"cd sub && {_COMMIT}"), "git -C sub log", needs=("git",)),
    Use("git makes a bare one and pushes", (f"git init -q --bare o.git && {_COMMIT} && git push -q ./o.git HEAD:refs/heads/x", "git push -q ./o.git HEAD:refs/heads/y"), "git -C o.git log x", needs=("git",)),
    Use("a clone brings its own settings of editors", (f"git init -q a && mkdir a/.vscode && echo '{{}}' > a/.vscode/tasks.json && cd a && git add . && {_COMMIT} && cd .. && git clone -q a b", "cat b/.vscode/tasks.json"), "test -e b/.vscode/tasks.json", needs=("git",)),
    Use("git commits, branches and stashes", (f"echo x > f && git add f && {_COMMIT} && git switch -qc n && echo y > f && {GIT} stash -q && {GIT} stash pop -q",), "git log n", needs=("git",)),
    Use("a build makes and removes many folders", ("mkdir -p out/{1..100}/x; for i in {1..100}; do echo $i > out/$i/x/f; done; rm -r out; mkdir out; echo x > out/f",), "test -e out/f"),
    Use("files are saved by renaming", ("for i in 1 2 3; do echo $i > .t && mv .t f; done; test $(cat f) = 3",), "test -e f"),
    Use("a cache is filled by one call and found by the next", ("mkdir -p ~/.npm/_cacache/x && echo x > ~/.npm/_cacache/x/f && rm ~/.npm/_cacache/old", "test $(cat ~/.npm/_cacache/x/f) = x && test ! -e ~/.npm/_cacache/old && mv ~/.npm/_cacache/x/f ~/.npm/_cacache/g && mkdir ~/.npm/d && mv ~/.npm/d ~/.npm/e", "test -e ~/.npm/_cacache/g && test -d ~/.npm/e"), "test -e ~/.npm/_cacache/old && test ! -e ~/.npm/e", "mkdir -p ~/.npm/_cacache && touch ~/.npm/_cacache/old", forms=("namespaces",)),
    Use("what a tool keeps is found by the next call", ('echo x > "${npm_config_cache:-$HOME/.npm}/f"', 'test $(cat "${npm_config_cache:-$HOME/.npm}/f") = x'), "test ! -e ~/.npm/f", "mkdir -p ~/.npm"),
    Use("go takes a module into the cache and builds from it", ("cd w && GOFLAGS=-mod=mod GOSUMDB=off GOPROXY=\"file://$PWD/../p\" go build -o ../a .", "cd w && GOFLAGS=-mod=mod GOSUMDB=off GOPROXY=off go build -o ../b . && ../b 2>&1 | grep -q 7"), "test ! -e ~/go/pkg/mod/example.com", f"mkdir -p ~/go/pkg ~/.cache; {_GO_MODULE}", ("go",)),
    Use("an environment is made and filled by a build", ("python3 -m venv --without-pip .venv && echo x > .venv/bin/tool && mkdir -p node_modules/.bin && echo x > node_modules/.bin/t", "test -x .venv/bin/python && .venv/bin/python -c pass && cat node_modules/.bin/t"), "test -e .venv/bin/tool && test -e node_modules/.bin/t"),
    Use("an environment of a runner of tests is made anew", ("echo x > .tox/py/bin/tool && echo y > .tox/py/pyvenv.cfg",), "grep x .tox/py/bin/tool", "mkdir -p .tox/py/bin; echo home=/usr/bin > .tox/py/pyvenv.cfg; echo true > .tox/py/bin/tool"),
    Use("the person works meanwhile", ("until_go; sleep 0.3; cat f",), "true", "echo x > f"),
)  # fmt: skip
# Tools that take a second and more, for a thorough run: what they need of the sandbox those above need of it, too.
LONG_USES = (
    Use("go builds twice with modules of the person's", ("mkdir -p $HOME/go/pkg && cd m && go build -o a . && go build -o b .", "cd m && go build -o c ."), "test -e m/c", "mkdir -p ~/go/pkg ~/.cache m && printf 'module m\\ngo 1.19\\n' > m/go.mod && printf 'package main\\nfunc main(){}\\n' > m/m.go", ("go",)),
    Use("npm fills its cache and installs again", ("npm install --offline --no-audit --no-fund && node -e 'require(\"p\")' && mv package-lock.json l", 'mkdir n && cp package.json p-1.0.0.tgz n/ && cd n && npm install --offline --no-audit --no-fund && test -e "${npm_config_cache:-$HOME/.npm}/_cacache" && npm cache verify'), "test ! -e ~/.npm/_cacache", f"mkdir -p ~/.npm; {_NODE_PACKAGE}", ("npm", "node")),
    Use("cargo builds again and again", ("cd c && cargo build -q --offline && cargo build -q --offline", "cd c && touch src/main.rs && cargo build -q --offline && ./target/debug/c"), "true", f"mkdir -p ~/.cargo/registry ~/.cargo/git; {_CRATES}", ("cargo",)),
    Use("pip keeps what it has built", ("python3 -m pip --version && python3 -m pip cache dir && python3 -m pip cache dir",), "true", "mkdir -p ~/.cache/pip", ("pip",)),
)  # fmt: skip
