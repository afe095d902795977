"""The programs that obey files of a project whatever they are asked, and the question which that is."""

from __future__ import annotations

from gateway.commands.places import absolute, literal_folder
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# What they obey stands in `gateway.commands.steering.programs`, which no call loads that starts none of them.
STEERED = frozenset(
    ("ack", "autopep8", "biome", "bun", "cargo", "clippy-driver", "codespell", "cross", "deno", "djlint", "dotnet",
     "go", "interrogate", "isort", "jupytext", "miri", "mvn", "mvnd", "npm", "radon", "ruff", "rust-analyzer",
     "rustc", "rustdoc", "rustfmt", "rustup", "taplo", "uv", "vale", "vulture", "yamllint", "yt-dlp")
)  # fmt: skip


def ask_of_settings(findings: Findings, run: Invocation, program: str, start: int, end: int) -> None:
    """Asks what the files tell a program, in the folders that it may start in and, where it looks there too, from the
    files on that it is given."""
    import gateway.commands.steering.programs as steering  # lazy: see above

    for cwd in run.cwds or ("",):
        findings.ask("settings", run.part, cwd, program, start, end)
        for word in run.operands if cwd and steering.PROGRAMS[program].operands else ():
            if HOLE in word.text:
                continue  # nobody knows what it is given: that counts by itself
            path = absolute(word.text, cwd) if word.pattern is None else literal_folder(absolute(word.pattern, cwd))
            if path != cwd:
                findings.ask("settings", run.part, path.rstrip("/") or "/", program, start, end)
