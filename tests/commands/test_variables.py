"""Which variables change what programs do, and which hold secrets, by the programs that read them."""

from __future__ import annotations

import pytest

from gateway.commands.variables import assigned, secret, zone_file
from gateway.model.effect import HOLE

STEERING = {
    "shells": "PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS PS0 PS1 PS2 PS4 PROMPT_COMMAND HOME CDPATH GLOBIGNORE "
    "EXECIGNORE BASH_CMDS BASH_ALIASES BASH_XTRACEFD BASH_FUNC_ls%% FCEDIT HISTFILE INPUTRC OPTIND SHELL "
    "POSIXLY_CORRECT",
    "the loader and the C library": "LD_PRELOAD DYLD_INSERT_LIBRARIES GCONV_PATH LOCPATH HOSTALIASES RES_OPTIONS",
    "places of files": "TMPDIR TMP TEMP XDG_CONFIG_HOME XDG_DATA_HOME XDG_CONFIG_DIRS TERMINFO MANPATH KUBECONFIG",
    "what programs start": "VISUAL EDITOR GIT_EDITOR PAGER GIT_PAGER BROWSER LESSOPEN LESSCLOSE MANOPT SSH_ASKPASS "
    "SUDO_ASKPASS GIT_SSH_COMMAND EXINIT VIMINIT",
    "languages": "CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS PYTHON PYTHONPATH "
    "PERL5OPT RUBYOPT NODE NODE_OPTIONS RUSTC_WRAPPER CARGO_HOME RUSTUP_TOOLCHAIN GOFLAGS GOPROXY LUA_INIT PHPRC",
    "builds": "CC CXX LD AR CFLAGS LDFLAGS MAKEFLAGS MAKEFILES CMAKE_TOOLCHAIN_FILE",
    "installers": "NPM_CONFIG_REGISTRY npm_config_registry PIP_INDEX_URL UV_INDEX_URL GEM_HOME BUNDLE_PATH "
    "CONDA_PREFIX VIRTUAL_ENV",
    "options of programs": "TAR_OPTIONS RIPGREP_CONFIG_PATH GREP_OPTIONS FZF_DEFAULT_COMMAND GIO_EXTRA_MODULES "
    "GTK_MODULES QT_PLUGIN_PATH STARSHIP_CONFIG",
    "networks": "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY https_proxy OPENSSL_CONF SSL_CERT_FILE CURL_CA_BUNDLE "
    "SSH_AUTH_SOCK KRB5_CONFIG DOCKER_HOST AWS_PROFILE",
    "agents and this program": "CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_DIR COPILOT_HOME OPENCODE_CONFIG CURSOR_DIR "
    "GATEWAY_MODE",
}
HARMLESS = (
    "LANG LANGUAGE LC_ALL TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CI CLICOLOR CLICOLOR_FORCE COLORTERM NODE_ENV "
    "RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 PYTHONHASHSEED "
    "GIT_OPTIONAL_LOCKS DEBUG VERBOSE PORT CGO_ENABLED GOOS GOARCH"
)
SECRETS = (
    "CLIENT_SECRET GITHUB_TOKEN PASSWORD MYSQL_PASSWD PASSPHRASE GOOGLE_CREDENTIALS API_KEY_1 STRIPE_APIKEY "
    "AWS_ACCESS_KEY_ID PRIVATE_KEY_FILE AUTH_KEY_1 ENCRYPTION_KEY_B64 SIGNING_KEY_ID DATABASE_URL "
    "DB_CONNECTION_STRING SESSION_COOKIE SOME_KEY DB_PASS DB_PWD GITLAB_PAT NPM_AUTH PASS PGPASSWORD npm_token"
)
NO_SECRETS = "HOME PATH KEYBOARD COMPASS PATTERN AUTHOR PWD MONKEY"


@pytest.mark.parametrize("readers", STEERING)
def test_setting_what_steers_programs_is_an_effect_whoever_sees_it(readers: str) -> None:
    names = STEERING[readers].split()
    assert [name for name in names if not assigned(name, False)] == []


def test_setting_what_changes_only_looks_and_targets_is_none() -> None:
    assert [name for name in HARMLESS.split() if assigned(name, False) or assigned(name, True)] == []


@pytest.mark.parametrize(
    ("name", "alone", "for_a_program"), [("ANYTHING", False, True), ("PATHS", False, True), (HOLE, True, True)]
)
def test_any_other_variable_counts_where_a_program_sees_it_and_an_unknown_one_everywhere(
    name: str, alone: bool, for_a_program: bool
) -> None:
    assert (assigned(name, False), assigned(name, True)) == (alone, for_a_program)


def test_secrets_are_known_by_their_names() -> None:
    found = [name for name in (*SECRETS.split(), *NO_SECRETS.split()) if secret(name)]
    assert found == SECRETS.split()


@pytest.mark.parametrize(
    ("name", "value", "file"),
    [
        ("TZ", "/tmp/zone", "/tmp/zone"),
        ("TZ", ":/tmp/zone", "/tmp/zone"),
        ("TZ", "../../../tmp/zone", "/usr/share/zoneinfo/../../../tmp/zone"),
        ("TZ", "Europe/Berlin", ""),
        ("TZ", "UTC", ""),
        ("LANG", "/tmp/zone", ""),
    ],
)
def test_a_time_zone_may_name_a_file(name: str, value: str, file: str) -> None:
    assert zone_file(name, value) == file
