"""An agent's own program, run once against a model that follows a script, in a temporary home and project:
whether the hook that stands in its settings stops a call that must be stopped.

Of the person's settings only the gateway's own hooks, and what switches hooks off, are taken along; nothing of their
credentials, and nothing that a repository brings. What the model is shown of its call tells what became of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress

from gateway.core.programs import persons_environment
from gateway.core.value import Value
from gateway.install.canary import DENIED
from gateway.install.scripted_model import Model, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    # (home, project, address of the model, hooks by event, switches) -> words of the command line, variables
    Prepared = tuple[list[str], dict[str, str]]
    Prepare = Callable[[str, str, str, Mapping[str, Any], Mapping[str, Any]], Prepared]

SECONDS = 60
# What the file that must not be read holds.
SECRET = "the-canary-of-gateway-doctor"
REFUSED, RAN, UNKNOWN = "refused", "ran", "unknown"
_TASK = "Do it."
_SHOWN = 300


class Lived(Value):
    """What became of the call: refused, ran or unknown, and what the agent said where that is not known."""

    became: str
    said: str = ""


def can_be_tried(agent: str) -> bool:
    """Whether it is known how an agent is pointed at another model."""
    return agent in _AGENTS


def lived(
    agent: str, program: str, hooks: Mapping[str, Any], switches: Mapping[str, Any], environment: Mapping[str, str]
) -> Lived:
    """Runs an agent once. `hooks`: the gateway's own in its settings, by event, as they stand there; `switches`:
    what of its settings turns hooks off. Whatever it has started ends with it."""
    call, prepare = _AGENTS[agent]
    top = tempfile.mkdtemp(prefix="gateway-doctor-")
    try:
        home, project = os.path.join(top, "home"), os.path.join(top, "home", "project")
        _write(os.path.join(home, ".ssh", "id_rsa"), SECRET + "\n")
        _write(os.path.join(project, ".git", "HEAD"), "ref: refs/heads/main\n")
        step: Step = [call]
        with Model([step]) as model:
            words, more = prepare(home, project, model.url, hooks, switches)
            given = _environment(environment, home, top) | more
            said = _ran([program, *words], project, given)
            results = "".join(model.results())
    finally:
        shutil.rmtree(top, ignore_errors=True)
    if SECRET in results:
        return Lived(RAN)
    if results and "secret-files" in results:
        return Lived(REFUSED)
    return Lived(UNKNOWN, (results or said)[-_SHOWN:])


def _environment(environment: Mapping[str, str], home: str, top: str) -> dict[str, str]:
    """A dozen variables, none of them a credential; no service is started for a home that goes."""
    kept = persons_environment({name: environment[name] for name in ("PATH", "LANG") if name in environment}, (top,))
    return {
        **kept, "HOME": home, "TMPDIR": top, "SHELL": "/bin/bash", "TERM": "dumb", "NO_COLOR": "1",
        "GATEWAY_SERVICE": "off", "GATEWAY_DOCTOR_KEY": "none",
    }  # fmt: skip


def _ran(words: list[str], project: str, environment: Mapping[str, str]) -> str:
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(
            words, cwd=project, env=dict(environment), stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                out, _none = process.communicate(timeout=SECONDS)
                said = out.decode("utf-8", "replace")
            except subprocess.TimeoutExpired:
                said = f"it did not end within {SECONDS} s"
            finally:
                with suppress(ProcessLookupError, PermissionError):  # all of it has ended
                    os.killpg(process.pid, signal.SIGKILL)
    except OSError as error:
        return f"it does not start: {error.strerror}"
    return said


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _claude(home: str, _project: str, url: str, hooks: Mapping[str, Any], switches: Mapping[str, Any]) -> Prepared:
    _write(os.path.join(home, ".claude", "settings.json"), json.dumps({**switches, "hooks": hooks}))
    words = ["-p", _TASK, "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"]
    return [*words, "--permission-mode", "bypassPermissions"], {
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1",
    }  # fmt: skip


def _codex(home: str, project: str, url: str, hooks: Mapping[str, Any], switches: Mapping[str, Any]) -> Prepared:
    own = os.path.join(home, ".codex")
    off = "hooks = false\n" if switches.get("features", {}).get("hooks") is False else ""
    _write(
        os.path.join(own, "config.toml"),
        'model = "gpt-none"\nmodel_provider = "doctor"\napproval_policy = "never"\n'
        'sandbox_mode = "danger-full-access"\ncheck_for_update_on_startup = false\n'
        f'[model_providers.doctor]\nname = "doctor"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        'env_key = "GATEWAY_DOCTOR_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        f"[analytics]\nenabled = false\n[features]\nenable_request_compression = false\n{off}"
        f'[projects.{json.dumps(project)}]\ntrust_level = "trusted"\n',
    )
    _write(os.path.join(own, "hooks.json"), json.dumps({"hooks": hooks}))
    # Trust is bound to the place of the settings, which is another one here; the doctor asks Codex about the real one.
    words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", _TASK]
    return words, {"CODEX_HOME": own}


def _gemini(home: str, _project: str, url: str, hooks: Mapping[str, Any], switches: Mapping[str, Any]) -> Prepared:
    settings = {
        **switches, "hooks": hooks,
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "tools": {"shell": {"enableInteractiveShell": False}},
    }  # fmt: skip
    _write(os.path.join(home, ".gemini", "settings.json"), json.dumps(settings))
    words = ["-p", _TASK, "--skip-trust", "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-o", "stream-json"]
    return words, {
        "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_TELEMETRY_ENABLED": "false",
        "TERM": "xterm-256color",
    }  # fmt: skip


def _copilot(home: str, _project: str, url: str, hooks: Mapping[str, Any], switches: Mapping[str, Any]) -> Prepared:
    own = os.path.join(home, ".copilot")
    _write(os.path.join(own, "settings.json"), json.dumps({**switches, "hooks": hooks}))
    words = ["-p", _TASK, "--output-format", "json", "--no-auto-update", "--no-ask-user", "--allow-all-tools"]
    return [*words, "--trust-folder", "--log-dir", os.path.join(home, "logs")], {
        "COPILOT_HOME": own, "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": "claude-sonnet-4.5", "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_API_KEY": "none",
    }  # fmt: skip


_AGENTS: dict[str, tuple[tuple[str, dict[str, Any]], Prepare]] = {
    "claude": (("Bash", {"command": DENIED, "description": "Look"}), _claude),
    "codex": (("exec_command", {"cmd": DENIED}), _codex),
    "gemini": (("run_shell_command", {"command": DENIED, "description": "Look"}), _gemini),
    "copilot": (("bash", {"command": DENIED, "description": "Look", "mode": "sync", "initial_wait": 10}), _copilot),
}
