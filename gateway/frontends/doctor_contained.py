"""What `gateway doctor` says of contained calls: one is made, kept and taken back, and typical ones are judged."""

from __future__ import annotations

import os
import shutil
import tempfile

from gateway.config.layers import local_folder
from gateway.core.errors import GatewayError
from gateway.frontends.finding import BETTER, BROKEN, OK, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.api.changes import Changes
    from gateway.core.places import Places

# Commands of an ordinary day in a project, of several trades; `init` says beforehand what they come to.
TYPICAL = (
    "git status", "git diff", "git log --oneline -10", "ls -la src", "cat README.md", "grep -rn TODO src",
    "find . -name '*.py'", "sed -n 1,80p src/main.py", "npm test", "npm run build", "npx tsc --noEmit", "npx eslint .",
    "pytest -q", "python -m pytest tests -x", "ruff check .", "mypy src", "cargo test", "cargo build", "go test ./...",
    "make", "make test", "cmake --build build", "mkdir -p src/new", "touch src/new/x.py", "mv a.txt b.txt",
    "rm -rf build", "sed -i s/a/b/ src/main.py", "git add -A", "git commit -m 'Add x'", "git switch -c topic",
    "python scripts/make.py", "node scripts/make.mjs", "./run.sh", "bash scripts/check.sh", "timeout 60 npm test",
    "source .venv/bin/activate && pytest -q", "npm install", "pip install -r requirements.txt",
    "curl -s https://example.com/", "git push -u origin topic",
)  # fmt: skip
_SCRIPT = "echo made > made; echo x > .git/hooks/pre-commit; true\n"
_MODE = "accept_edits"


def contained_findings(name: str, where: Places, root: str) -> list[Finding]:
    """Whether a call runs contained under this policy, and how many questions to expect in a project. Raises
    ConfigError."""
    return [proof(name, where), expected(name, root)]


def proof(name: str, where: Places) -> Finding:
    """Runs a script that nobody knows in a project that is thrown away, looks at what it did, and takes that back."""
    remedy = "gateway doctor says whether a sandbox holds here"
    with tempfile.TemporaryDirectory(prefix="gateway-trial-") as top:
        root = os.path.realpath(top)
        os.makedirs(f"{root}/.git/hooks")
        for path, text in ((".git/HEAD", "ref: refs/heads/trial\n"), ("try.sh", _SCRIPT)):
            with open(f"{root}/{path}", "w", encoding="ascii") as file:
                file.write(text)
        try:
            wrong = _tried(where, root)
        except (GatewayError, OSError) as error:
            wrong = f"could not be tried: {error}"
        finally:
            shutil.rmtree(local_folder(where, root), ignore_errors=True)
    if wrong is None:
        text = f"this policy lets no contained call run without a question, not in the mode `{_MODE}` either"
        return Finding(name, BETTER, text, "extend `daily`, or see `gateway policy show`")
    if wrong:
        return Finding(name, BROKEN, f"a contained call {wrong}", remedy)
    return Finding(name, OK, "a contained call ran, changed its project alone, and was taken back")


def _tried(where: Places, root: str) -> str | None:
    """What went wrong with a contained call, "" for nothing; None where it is not let run. Raises GatewayError."""
    from gateway.api.changes import Changes
    from gateway.api.gateway import Gateway
    from gateway.config.load import Options
    from gateway.model.call import RawCall

    with Gateway(Options(root, root=root, mode=_MODE, binding=True), where=where) as gateway:
        done = gateway.call(RawCall("Bash", {"command": "bash ./try.sh"}))
        if not (done.ran and done.verdict.contained):
            return None
        return _wrong(root) or _left(Changes(gateway), root)


def _wrong(root: str) -> str:
    """What a contained call did that it must not, or did not do."""
    if os.path.exists(f"{root}/.git/hooks/pre-commit"):
        return "changed a protected file"
    return "" if os.path.exists(f"{root}/made") else "changed nothing in its project"


def _left(changes: Changes, root: str) -> str:
    """What is left after the call was taken back."""
    changes.undo(changes.last())
    return "could not be taken back" if os.path.exists(f"{root}/made") else ""


def expected(name: str, root: str) -> Finding:
    """How many of typical commands would ask under the policy of a project, as it is set up. Raises ConfigError."""
    from gateway.agents.guarded import unavailable
    from gateway.calls.containing import cannot_contain
    from gateway.config.load import Options
    from gateway.judge.judge import Judge
    from gateway.model.call import RawCall

    options = Options(root, root=root)
    judge = Judge(options, contains=cannot_contain)
    confined = judge.loaded.guarded and not unavailable(judge)
    if not confined:
        judge = Judge(options, confined=False)
    words = [judge.check(RawCall("Bash", {"command": each})).decision.word for each in TYPICAL]
    asks, mode = sum(word != "allow" for word in words), judge.loaded.mode
    where = "in the sandbox" if confined else "outside of the sandbox"
    text = f"of {len(TYPICAL)} typical commands, {where}, in the mode `{mode}`, {asks} would ask"
    less = "" if confined and mode == _MODE else f"; to be asked less: gateway init {name} --edits accept"
    return Finding(name, OK, f"{text}{less}")
