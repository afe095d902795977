"""What a person's settings say to the command lines of AWS and Google Cloud: regions, and whatever makes them reach or
run something else than what they are asked for. Pure; nothing that is secret is read out.
"""

from __future__ import annotations

from gateway.commands.steering.entries import NotRead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = tuple[str, ...]

# Of a profile: its own keys, and what changes only how answers are shown or asked for again. All else may take the
# login from a program or another host, or lead elsewhere.
_OF_PROFILE = frozenset((
    "region", "output", "aws_access_key_id", "aws_secret_access_key", "aws_session_token", "cli_timestamp_format",
    "cli_binary_format", "cli_history", "cli_pager", "cli_error_format", "retry_mode", "max_attempts", "defaults_mode",
    "sts_regional_endpoints", "parameter_validation", "tcp_keepalive",
))  # fmt: skip
_ELSEWHERE = ("services", "sso-session")  # sections that count where a profile names them

_OF_GCLOUD = {
    "core": frozenset(("account", "project", "disable_usage_reporting", "disable_prompts", "verbosity", "survey",
                       "disable_color", "show_structured_logs", "default_format")),
    "compute": frozenset(("zone", "region")),
    "ai": frozenset(("region",)),
    "run": frozenset(("region", "platform", "cluster", "cluster_location", "namespace")),
    "container": frozenset(("cluster", "use_client_certificate", "build_timeout")),
    "functions": frozenset(("region", "gen2", "v2")),
    "artifacts": frozenset(("location", "repository")),
    "dataproc": frozenset(("region",)),
    "component_manager": frozenset(("disable_update_check",)),
    "survey": frozenset(("disable_prompts",)),
    "accessibility": frozenset(("screen_reader",)),
    "pubsub": frozenset(()),
}  # fmt: skip


def aws_rows(config: str, credentials: str) -> list[Row]:
    """`profile NAME REGION WHY` for each profile of the two files. Raises NotRead, also for what holds of every one and
    may run code."""
    regions: dict[str, str] = {}
    whys: dict[str, str] = {}
    for text, in_config in ((config, True), (credentials, False)):
        for section, key, value in _entries(text):
            name = _profile(section) if in_config else section.strip()
            if name is None:
                if section.split(" ", 1)[0] not in _ELSEWHERE:
                    raise NotRead(f"it has a section `{section[:40]}`, which may load code")
                continue
            regions.setdefault(name, "")
            if key == "region":
                regions[name] = value  # of both files the credentials' counts
            elif key not in _OF_PROFILE:
                whys.setdefault(name, f"its profile sets `{key[:40]}`, which may lead elsewhere or run a program")
    return [("profile", name, region, whys.get(name, "")) for name, region in regions.items()]


def _profile(section: str) -> str | None:
    """The profile that a section of `config` is of, None for another kind."""
    words = section.split()
    if words == ["default"]:
        return "default"
    if len(words) == 2 and words[0] == "profile" and set(words[1]).isdisjoint("'\"\\"):
        return words[1]
    return None


def gcloud_why(text: str) -> str:
    """What of a configuration of gcloud may lead elsewhere or run a program, "" if nothing does. Raises NotRead."""
    for section, key, _value in _entries(text):
        if key not in _OF_GCLOUD.get(section, ()):
            return f"its configuration sets `{section[:40]}/{key[:40]}`, which may lead elsewhere or run a program"
    return ""


_TOLD_OF_GCLOUD = {("core", "project"): "project", ("run", "region"): "region", ("ai", "region"): "region"}


def gcloud_rows(text: str) -> list[Row]:
    """`project NAME` and `region NAME` for those that a configuration of gcloud names. Raises NotRead."""
    told = [(_TOLD_OF_GCLOUD.get((section, key), ""), value) for section, key, value in _entries(text)]
    return [row for row in told if row[0]]


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    if not text:
        return
    from gateway.commands.steering.ini_files import entries  # lazy: few calls start a program that has such settings

    if "[DEFAULT]" in text:
        raise NotRead("it has a section `DEFAULT`")
    for (section, key), value in entries(text):
        yield section, key, str(value or "")
