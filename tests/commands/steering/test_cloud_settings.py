"""Settings of the command lines of clouds: regions, and what reaches or runs more than is asked for."""

from __future__ import annotations

import pytest

from gateway.commands.steering.cloud_settings import aws_rows, gcloud_rows, gcloud_why
from gateway.commands.steering.entries import NotRead

ELSEWHERE = "its profile sets `{}`, which may lead elsewhere or run a program"
# Keys of a profile that change how answers are shown and asked for again, and those of a login that stands there.
SHOWN = (
    "output", "aws_access_key_id", "aws_secret_access_key", "aws_session_token", "cli_timestamp_format",
    "cli_binary_format", "cli_history", "cli_pager", "cli_error_format", "retry_mode", "max_attempts", "defaults_mode",
    "sts_regional_endpoints", "parameter_validation", "tcp_keepalive",
)  # fmt: skip


@pytest.mark.parametrize(
    ("config", "credentials", "rows"),
    [
        ("", "", []),
        ("[default]\nregion = eu-west-1\n", "", [("profile", "default", "eu-west-1", "")]),
        ("[profile a]\nREGION=x\n", "", [("profile", "a", "x", "")]),
        ("[a]\nregion=x\n", "", None),  # the command line does not know it as a profile
        ("[default]\nregion = a\n", "[default]\nregion = b\noutput = x\n", [("profile", "default", "b", "")]),
        ("[profile a]\ncredential_process = x\n", "", [("profile", "a", "", ELSEWHERE.format("credential_process"))]),
        ("[default]" + "".join(f"\n{key} = x" for key in SHOWN), "", [("profile", "default", "", "")]),
        ("", "[a]\ncredential_process = x\n", [("profile", "a", "", ELSEWHERE.format("credential_process"))]),
        ("[default]\nendpoint_url = x\n", "", [("profile", "default", "", ELSEWHERE.format("endpoint_url"))]),
        ("[default]\nservices = x\n[services x]\nec2 =\n  endpoint_url = y\n", "",
         [("profile", "default", "", ELSEWHERE.format("services"))]),
        ("[default]\ns3 =\n  endpoint_url = y\n", "", [("profile", "default", "", ELSEWHERE.format("s3"))]),
        ("[sso-session x]\nsso_region = y\n", "", []),
        ("[plugins]\nx = y\n", "", None),
        ("[profile 'a b']\nregion = x\n", "", None),
        ("[DEFAULT]\nendpoint_url = x\n[default]\nregion = y\n", "", None),
        ("region = x\n", "", None),
        ("[default]\nregion = x\n[default]\nregion = y\n", "", None),
    ],
)  # fmt: skip
def test_profiles_of_aws_have_their_region_and_why_nobody_can_tell(
    config: str, credentials: str, rows: list[tuple[str, ...]] | None
) -> None:
    if rows is None:
        with pytest.raises(NotRead):
            aws_rows(config, credentials)
    else:
        assert aws_rows(config, credentials) == rows


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[core]\nproject = p\n[compute]\nregion = r\n", ""),
        ("[api_endpoint_overrides]\ncompute = https://x/\n", "api_endpoint_overrides/compute"),
        ("[proxy]\naddress = x\n", "proxy/address"),
        ("[auth]\ncredential_file_override = x\n", "auth/credential_file_override"),
        ("[core]\ncustom_ca_certs_file = x\n", "core/custom_ca_certs_file"),
        ("[context_aware]\nuse_client_certificate = true\n", "context_aware/use_client_certificate"),
    ],
)
def test_configurations_of_gcloud_say_nothing_but_what_is_known(text: str, key: str) -> None:
    why = f"its configuration sets `{key}`, which may lead elsewhere or run a program" if key else ""
    assert gcloud_why(text) == why


def test_of_a_configuration_of_gcloud_its_project_and_its_regions_are_told() -> None:
    text = "[core]\nproject = p\naccount = a\n[run]\nregion = r\n[ai]\nregion = i\n[compute]\nregion = c\nzone = z\n"
    assert gcloud_rows(text) == [("project", "p"), ("region", "r"), ("region", "i")]
