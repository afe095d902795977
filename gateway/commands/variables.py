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
        "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND",
        "HOME", "CDPATH", "GLOBIGNORE", "TMPDIR", "TMP", "TEMP", "SHELL", "VISUAL", "CLASSPATH", "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "GOFLAGS", "GOPROXY", "CC", "CXX", "LD",
        "AR", "MAKEFLAGS", "MAKEFILES", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "KUBECONFIG",
        "SSH_ASKPASS", "SSH_AUTH_SOCK", "SUDO_ASKPASS", "LESSOPEN", "LESSCLOSE", "OPENSSL_CONF", "GCONV_PATH",
        "LOCPATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "BASH_CMDS", "BASH_ALIASES", "FCEDIT",
        "HISTFILE", "EXINIT", "VIMINIT", "MANPATH", "TERMINFO", "HOSTALIASES", "RES_OPTIONS", "XDG_CONFIG_HOME",
        "XDG_DATA_HOME", "XDG_CONFIG_DIRS", "BASH_XTRACEFD", "EXECIGNORE", "INPUTRC", "OPTIND", "PYTHON", "NODE",
        "POSIXLY_CORRECT",
    )
)  # fmt: skip
_LOADER_STARTS = (
    "LD_", "DYLD_", "BASH_FUNC_", "BASH_", "GIT_", "LESS", "MAN", "PYTHON", "PERL", "RUBY", "NODE_", "RUSTC", "CARGO_",
    "RUSTUP_", "NPM_", "npm_config_", "PIP_", "UV_", "FZF_", "DOCKER_", "AWS_", "SSH_", "GIO_", "GTK_", "QT_", "JAVA_",
    "GEM_", "BUNDLE_", "LUA_", "PHP", "CMAKE_", "CONDA_", "VIRTUAL_ENV", "XDG_", "KRB5", "CURL_", "SSL_", "GO",
    "CLAUDE_", "CODEX_", "GEMINI_", "COPILOT_", "OPENCODE_", "CURSOR_", "GATEWAY_",
)  # fmt: skip
_LOADER_ENDS = ("PAGER", "EDITOR", "BROWSER", "_proxy", "_PROXY", "FLAGS", "_PATH", "PATH", "_COMMAND", "_CONFIG")
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


def zone_file(name: str, value: str) -> str:
    """The file that a time zone names by its path, "" if it is the name of a zone."""
    if name != "TZ":
        return ""
    value = value.removeprefix(":")
    return value if value[:1] == "/" else f"/usr/share/zoneinfo/{value}" if ".." in value else ""


def secret(name: str) -> bool:
    """Whether a variable of this name looks as if it held a secret."""
    upper = name.upper()
    if upper.endswith(("_KEY", "_PASS", "_PWD", "_PAT", "_AUTH")) or upper in ("PASS", "PGPASSWORD"):
        return True
    return any(word in upper for word in _SECRET_WORDS)
