"""Which variables matter: what setting one can change, and which ones hold secrets."""

from __future__ import annotations

from gateway.model.effect import HOLE

_HARMLESS = frozenset(
    (
        "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI", "CLICOLOR",
        "CLICOLOR_FORCE", "COLORTERM", "NODE_ENV", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "GIT_OPTIONAL_LOCKS",
        "DEBUG", "VERBOSE", "PORT", "CGO_ENABLED", "GOOS", "GOARCH",
    )
)  # fmt: skip
_LOADERS = frozenset(
    (
        "IFS", "ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS4", "HOME", "GLOBIGNORE", "TMPDIR", "TMP",
        "TEMP", "SHELL", "VISUAL", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "CC", "CXX", "LD",
        "AR", "MAKEFILES", "TAR_OPTIONS", "GREP_OPTIONS", "KUBECONFIG", "SUDO_ASKPASS", "OPENSSL_CONF", "FCEDIT",
        "HISTFILE", "EXINIT", "VIMINIT", "TERMINFO", "HOSTALIASES", "RES_OPTIONS", "EXECIGNORE", "INPUTRC", "OPTIND",
        "NODE", "POSIXLY_CORRECT",
    )
)  # fmt: skip
_LOADER_STARTS = (
    "LD_", "DYLD_", "BASH_", "GIT_", "LESS", "MAN", "PYTHON", "PERL", "RUBY", "NODE_", "RUSTC", "CARGO_",
    "RUSTUP_", "NPM_", "npm_config_", "PIP_", "UV_", "FZF_", "DOCKER_", "AWS_", "SSH_", "GIO_", "GTK_", "QT_", "JAVA_",
    "GEM_", "BUNDLE_", "LUA_", "PHP", "CMAKE_", "CONDA_", "VIRTUAL_ENV", "XDG_", "KRB5", "CURL_", "SSL_", "GO",
    "CLAUDE_", "CODEX_", "GEMINI_", "COPILOT_", "OPENCODE_", "CURSOR_", "GATEWAY_",
)  # fmt: skip
_LOADER_ENDS = ("PAGER", "EDITOR", "BROWSER", "_proxy", "_PROXY", "FLAGS", "PATH", "_COMMAND", "_CONFIG")
# Variables whose values are commands that some program starts.
_COMMAND_NAMES = frozenset(("VISUAL", "FCEDIT", "LESSOPEN", "LESSCLOSE", "GIT_EXTERNAL_DIFF", "SUDO_ASKPASS"))
_COMMAND_ENDS = ("PAGER", "EDITOR", "BROWSER", "_COMMAND", "_ASKPASS", "_SSH", "_SHELL")
# Programs whose own settings hold them: where these lie must not change.
GUARDED = frozenset(
    (
        "claude", "claude-code", "codex", "gemini", "gemini-cli", "copilot", "opencode", "opencode-ai", "cursor",
        "cursor-agent", "gateway", "gateway-shell",
    )
)  # fmt: skip
_SECRET_WORDS = (
    "SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY",
    "PRIVATE_KEY", "AUTH_KEY", "ENCRYPTION_KEY", "SIGNING_KEY", "DATABASE_URL", "CONNECTION_STRING", "COOKIE",
)  # fmt: skip


def assigned(name: str, for_program: bool) -> bool:
    """Whether setting this variable is an effect: it can change what a program runs, or a program sees it."""
    if name == HOLE:
        return True
    if name in _HARMLESS or name.startswith("LC_"):
        return False
    return for_program or name in _LOADERS or name.startswith(_LOADER_STARTS) or name.endswith(_LOADER_ENDS)


def holds_command(name: str) -> bool:
    """Whether what this variable holds is a command that programs start."""
    return name in _COMMAND_NAMES or name.endswith(_COMMAND_ENDS)


def zone_file(name: str, value: str) -> str:
    """The file that a time zone names by its path, "" if it is the name of a zone."""
    if name != "TZ":
        return ""
    value = value.removeprefix(":")
    return value if value[:1] == "/" else f"/usr/share/zoneinfo/{value}" if ".." in value else ""


def secret(name: str) -> bool:
    """Whether a variable of this name looks as if it held a secret."""
    upper = name.upper()
    if upper.endswith(("_KEY", "_PASS", "_PWD", "_PAT", "_AUTH")) or upper == "PASS":
        return True
    return any(word in upper for word in _SECRET_WORDS)
