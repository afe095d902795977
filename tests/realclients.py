"""The real clients, installed from npm where `--real-clients` says: each in a home and a project of its own, with a
hook, against a model that follows a script. Nothing of the machine's own settings or credentials is read."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from attended import on_screen
from realmodel import Model, Step

from gateway.core.value import Value

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
}
# What each calls its shell tool and the field of the command, as the model says it.
SHELL_CALL = {
    "claude": ("Bash", "command", {"description": "Run it"}),
    "codex": ("exec_command", "cmd", {}),
    "gemini": ("run_shell_command", "command", {"description": "Run it"}),
    "copilot": ("bash", "command", {"description": "Run it", "mode": "sync", "initial_wait": 10}),
    "opencode": ("bash", "command", {"description": "Run it"}),
}
# What stands on the screen of each that asks its person, without blanks.
ASKS = ("Doyouwantto", "Allowonce", "Allowexecution", "Applythischange?")
SECONDS = 90
HOOK_SECONDS = 30


def program(folder: Path, agent: str) -> Path:
    """The client's program, installed from npm if it is not there."""
    place = folder / agent
    found = place / "node_modules" / ".bin" / agent
    if not found.exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", PACKAGES[agent]], cwd=place, check=True
        )
    return found


def shell(agent: str, command: str) -> tuple[str, dict[str, Any]]:
    """A call of the shell tool, as the model says it to this client."""
    name, field, more = SHELL_CALL[agent]
    return name, {field: command, **more}


class Ran(Value):
    """What became of a run: what the model was shown of its calls, and how the client ended. `late`: it had to be
    killed. `told`: all that the model was told."""

    results: tuple[str, ...]
    status: int
    late: bool
    out: str
    err: str
    told: str = ""


class Client:
    """One client in a home and a project of its own."""

    def __init__(self, agent: str, binary: Path, folder: Path) -> None:
        self.agent, self.binary, self.prompt = agent, binary, "Do it."
        self.typed: tuple[str, ...] = ()  # more words of its command line
        self.home, self.project, self.temp = folder / "home", folder / "home" / "project", folder / "tmp"
        for each in (self.project, self.temp):
            each.mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.environment = {
            "PATH": os.pathsep.join([str(Path(_node()).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.home), "TMPDIR": str(self.temp), "LANG": "C.UTF-8", "SHELL": "/bin/bash",
            "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT), "FAKE_KEY": "sk-none",
        }  # fmt: skip

    def policy(self, text: str) -> None:
        """The user's policy."""
        place = self.home / ".config" / "gateway"
        place.mkdir(parents=True, exist_ok=True)
        (place / "policy.yaml").write_text(f"version: 1\n{text}")

    def run(self, hooks: dict[str, list[str]], steps: list[Step], *, mode: str = "") -> Ran:
        """Runs a task. `hooks`: the command line for each event; `mode`: the client's own permission mode. What Codex's
        model is depends on what it calls: those of its catalogue have no tool but programs that call tools."""
        with Model(steps) as model:
            words, more = getattr(self, f"_{self.agent}")(hooks, model.url, mode)
            process = subprocess.Popen(
                [str(self.binary), *words, *self.typed], cwd=self.project, env=self.environment | more,
                start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            )  # fmt: skip
            late = False
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                late = True
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
            return Ran(tuple(model.results()), process.returncode, late, out, err, json.dumps(model.requests))

    def attended(
        self, hooks: dict[str, list[str]], steps: list[Step], *options: str, settings: dict[str, Any] | None = None
    ) -> tuple[bool, tuple[str, ...], str]:
        """Runs a task in the client's interactive terminal until it asks its person or the model has a result: whether
        it asked, the results, and the screen. `options`: of its command line; `settings`: more of its own."""
        with Model(steps) as model:
            _words, more = getattr(self, f"_{self.agent}")(hooks, model.url, "")
            words = getattr(self, f"_attended_{self.agent}")(settings or {})
            screen = on_screen(
                {
                    "args": [str(self.binary), *words, *options], "cwd": self.project,
                    "env": self.environment | more | {"TERM": "xterm-256color"},
                },
                lambda shown: bool(model.results()) or any(each in shown for each in ASKS), SECONDS,
            )  # fmt: skip
            return any(each in screen for each in ASKS), tuple(model.results()), screen

    def _attended_claude(self, settings: dict[str, Any]) -> list[str]:
        """Its first steps are taken: colours, trust in the folder and the key, the warning of bypassing permissions."""
        _merge(self.home / ".claude.json", {
            "hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": ["sk-none"], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        })  # fmt: skip
        _merge(self.home / ".claude" / "settings.json", {"skipDangerousModePermissionPrompt": True, **settings})
        return ["Do it."]

    def _attended_gemini(self, settings: dict[str, Any]) -> list[str]:
        _merge(self.home / ".gemini" / "settings.json", settings)
        return ["-i", "Do it.", "--skip-trust", "-m", "gemini-2.5-pro"]

    def _attended_copilot(self, settings: dict[str, Any]) -> list[str]:
        _merge(self.home / ".copilot" / "config.json", {"trusted_folders": [str(self.project)], **settings})
        return ["-i", "Do it.", "--no-auto-update", "--log-dir", str(self.temp)]

    # ------------------------------------------------------------ each client's own settings and command line

    def _claude(self, hooks: dict[str, list[str]], url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        groups = {
            event: [{"matcher": "*", "hooks": [
                {"type": "command", "command": line[0], "args": line[1:], "timeout": HOOK_SECONDS}]}]
            for event, line in hooks.items()
        }  # fmt: skip
        place = self.project / ".claude"
        place.mkdir(exist_ok=True)
        (place / "settings.json").write_text(json.dumps({"hooks": groups}))
        words = ["-p", self.prompt, "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"]
        return [*words, *(["--permission-mode", mode] if mode else [])], {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1",
        }  # fmt: skip

    def _codex(self, hooks: dict[str, list[str]], url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        """`mode`: a model, or `model/approval policy/sandbox`."""
        model, approval, sandbox = mode.split("/") if "/" in mode else (mode, "never", "danger-full-access")
        home = self.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            f'model = "{model or "gpt-fake"}"\nmodel_provider = "fake"\napproval_policy = "{approval}"\n'
            f'sandbox_mode = "{sandbox}"\ncheck_for_update_on_startup = false\n'
            f'[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
            'env_key = "FAKE_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
            "[analytics]\nenabled = false\n[features]\nenable_request_compression = false\n"
            f'[projects."{self.project}"]\ntrust_level = "trusted"\n'
        )
        groups = {
            event: [{"hooks": [{"type": "command", "command": shlex.join(line), "timeout": HOOK_SECONDS}]}]
            for event, line in hooks.items()
        }
        (home / "hooks.json").write_text(json.dumps({"hooks": groups}))
        words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", self.prompt]
        return words, {"CODEX_HOME": str(home)}

    def _gemini(self, hooks: dict[str, list[str]], url: str, mode: str) -> tuple[list[str], dict[str, str]]:
        home = self.home / ".gemini"
        home.mkdir(exist_ok=True)
        groups = {
            event: [{"hooks": [
                {"type": "command", "name": event, "command": shlex.join(line), "timeout": HOOK_SECONDS * 1000}]}]
            for event, line in hooks.items()
        }  # fmt: skip
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "tools": {"shell": {"enableInteractiveShell": False}}, "hooks": groups,
        }  # fmt: skip
        (home / "settings.json").write_text(json.dumps(settings))
        words = ["-p", self.prompt, "--skip-trust", "-m", "gemini-2.5-pro", "--approval-mode", mode or "yolo"]
        return [*words, "-o", "stream-json"], {
            "GEMINI_API_KEY": "sk-none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_TELEMETRY_ENABLED": "false",
            "TERM": "xterm-256color",
        }  # fmt: skip

    def _copilot(self, hooks: dict[str, list[str]], url: str, _mode: str) -> tuple[list[str], dict[str, str]]:
        home = self.home / ".copilot"
        home.mkdir(exist_ok=True)
        groups = {
            event: [{"type": "command", "bash": shlex.join(line), "timeoutSec": HOOK_SECONDS}]
            for event, line in hooks.items()
        }
        (home / "settings.json").write_text(json.dumps({"hooks": groups}))
        words = ["-p", self.prompt, "--output-format", "json", "--no-auto-update", "--no-ask-user", "--allow-all-tools"]
        return [*words, "--trust-folder", "--log-dir", str(self.temp)], {
            "COPILOT_HOME": str(home), "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "claude-sonnet-4.5", "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": url, "COPILOT_PROVIDER_API_KEY": "sk-none",
        }  # fmt: skip

    def _opencode(self, hooks: dict[str, list[str]], url: str, _mode: str) -> tuple[list[str], dict[str, str]]:
        place = self.home / ".config" / "opencode"
        place.mkdir(parents=True, exist_ok=True)
        model = "claude-sonnet-4-5"
        plugin = self.temp / "plugin" / "gateway.js"
        plugin.parent.mkdir(exist_ok=True)
        plugin.write_text(_plugin(hooks["tool.execute.before"]))
        config = {
            "autoupdate": False, "share": "disabled", "enabled_providers": ["anthropic"],
            "model": f"anthropic/{model}", "small_model": f"anthropic/{model}", "plugin": [plugin.as_uri()],
            "provider": {"anthropic": {
                "options": {"baseURL": f"{url}/v1", "apiKey": "sk-none"},
                "models": {model: {"name": model, "limit": {"context": 200000, "output": 8000}}}}},
        }  # fmt: skip
        (place / "opencode.json").write_text(json.dumps(config))
        # It would fetch the types of plugins, and wait; so it finds them fetched.
        wanted = {"dependencies": {"@opencode-ai/plugin": "*"}}
        (place / "node_modules").mkdir(exist_ok=True)
        (place / "package.json").write_text(json.dumps(wanted))
        (place / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": {"": wanted}}))
        return ["run", "--format", "json", self.prompt], {
            "OPENCODE_DISABLE_AUTOUPDATE": "true", "OPENCODE_DISABLE_LSP_DOWNLOAD": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "true",
        }  # fmt: skip


def _merge(path: Path, more: dict[str, Any]) -> None:
    """Adds to a file of JSON."""
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | more))


def _plugin(line: list[str]) -> str:
    """The plugin that `gateway init opencode` writes, for this command line."""
    from gateway.install.opencode import content

    return content(line)


def _node() -> str:
    found = shutil.which("node")
    assert found is not None, "the real clients need node"
    return found


def hook(agent: str, *options: str, event: str = "") -> list[str]:
    """The command line of the gateway's hook before a call, or of another event, as it stands in settings. opencode's
    plugin takes nothing but a clear yes, so that there is no shell around it."""
    from gateway.install.canary import BEFORE
    from gateway.install.hook_lines import held

    words = [sys.executable, "-m", "gateway", "hook", agent, *options]
    return words if agent == "opencode" else held(agent, event or BEFORE[agent], [*words, "--in-shell"])
