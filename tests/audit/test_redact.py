"""Secrets, all of them made up, never reach the record; what only looks like one stays readable."""

from __future__ import annotations

import json
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any

import pytest
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit import issuers, secrets
from gateway.audit.redact import MOST_TEXT, Redactor

A16 = "a1B2c3D4e5F6g7H8"
A20, A32, A40 = A16 + "i9J0", A16 * 2, A16 * 2 + "k1L2m3N4"
HEX32 = "0123456789abcdef" * 2
UUID = "01234567-89ab-cdef-0123-456789abcdef"
FORMS = {
    "github": ["ghp_" + A40, "github_pat_" + A32],
    "gitlab": ["glpat-" + A20],
    "anthropic": ["sk-ant-" + A32],
    "openai": ["sk-" + A40, "sk-proj-" + A40],
    "slack": ["xoxb-" + A20, "hooks.slack.com/services/T0/B0/" + A20],
    "aws": ["AKIA" + "ABCDEFGHIJKLMNOP"],
    "google": ["AIza" + A16 * 2 + "abc", "ya29." + A32],
    "npm": ["npm_" + A32 + "abcd"],
    "pypi": ["pypi-" + A40],
    "rubygems": ["rubygems_" + HEX32 + HEX32[:16]],
    "hugging-face": ["hf_" + A32],
    "sendgrid": ["SG." + A20 + "." + A40],
    "mailgun": ["key-" + HEX32],
    "stripe": ["sk_live_" + A20, "rk_test_" + A20, "whsec_" + A20],
    "square": ["sq0atp-" + A20 + "ab"],
    "shopify": ["shpat_" + HEX32],
    "digitalocean": ["dop_v1_" + HEX32 * 2],
    "databricks": ["dapi" + HEX32],
    "docker": ["dckr_pat_" + A20],
    "atlassian": ["ATATT3" + A32],
    "linear": ["lin_api_" + A20],
    "figma": ["figd_" + A20],
    "notion": ["ntn_" + A32],
    "grafana": ["glsa_" + A32],
    "new-relic": ["NRAK-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0"],
    "sentry": ["sntrys_" + A32],
    "tailscale": ["tskey-" + A20],
    "postman": ["PMAK-" + A32],
    "groq": ["gsk_" + A40],
    "fireworks": ["fw_" + A32],
    "langsmith": ["lsv2_pt_" + HEX32 + "_" + HEX32[:10]],
    "elevenlabs": ["sk_" + HEX32 + HEX32[:16]],
    "firecrawl": ["fc-" + HEX32],
    "e2b": ["e2b_" + HEX32 + HEX32[:8]],
    "modal": ["ak-" + A20 + "kl", "as-" + A20 + "kl"],
    "braintree": ["access_token$production$" + HEX32[:16] + "$" + HEX32],
    "plaid": ["access-production-" + UUID],
    "razorpay": ["rzp_live_" + A16],
    "nuget": ["oy2" + HEX32 + HEX32[:11]],
    "packagist": ["packagist_uut_" + HEX32 * 2],
    "clojars": ["CLOJARS_" + HEX32 + HEX32[:28]],
    "alibaba": ["LTAI" + A20],
    "neon": ["napi_" + HEX32 * 2],
    "prefect": ["pnu_" + HEX32 + "abcd"],
    "honeycomb": ["hcaik_" + HEX32 + HEX32[:26]],
    "infisical": ["st." + HEX32[:24] + "." + HEX32 + "." + HEX32],
    "asana": ["1/1234567890123456:" + HEX32, "2/1234567890123456/1234567890123456:" + HEX32],
    "clickup": ["pk_12345678_" + "ABCDEFGH12345678" * 2],
    "hubspot": ["pat-na1-" + UUID],
    "linkedin": ["WPL_AP1." + A16 + ".abcdefgh=="],
    "twitch": ["oauth:" + HEX32[:30]],
    "readme": ["rdme_" + HEX32 * 2],
    "launchdarkly": ["sdk-" + UUID, "mob-" + UUID],
    "opsgenie": ["GenieKey " + UUID],
    "jenkins": ["11" + HEX32],
    "shippo": ["shippo_live_" + HEX32 + HEX32[:8]],
    "xai": ["xai-" + A40],
    "vault": ["hvs." + A20],
    "telegram": ["123456789:AA" + A32 + "b"],
    "supabase": ["sbp_" + "0123456789abcdef" * 2 + "01234567"],
    "discord": [
        "discord.com/api/webhooks/1/" + A20,
        "MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GaBcDe." + "abcdefghijABCDEFGHIJ0123456789abcd",
    ],
    "vercel": ["vcp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4"],
    "netlify": ["nfp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4aB3dE6gH9jK2"],
    "render": ["rnd_" + "aB3dE6gH9jK2mN5pQ8sT"],
    "planetscale": ["pscale_tkn_" + "aB3dE6gH9jK2mN5pQ8sT1vW4"],
    "doppler": ["dp.pt." + "aB3dE6gH9jK2mN5pQ8sT1vW4aB3dE6gH9jK2mN5p"],
    "terraform": ["aB3dE6gH9jK2mN.atlasv1." + "aB3dE6gH9jK2mN5pQ8sT1vW4" * 3],
    "pulumi": ["pul-" + "0123456789" * 4],
    "circleci": ["CCIPAT_" + "aB3dE6gH9jK2mN5pQ8sT1vW4"],
    "sonar": ["squ_" + "0123456789" * 4],
    "replicate": ["r8_" + "aB3dE6gH9jK2mN5pQ8sT1vW4aB3dE6gH9jK2m"],
    "perplexity": ["pplx-" + "aB3dE6gH9jK2mN5pQ8sT1vW4aB3dE6gH9jK2m"],
    "airtable": ["pat" + "aB3dE6gH9jK2mN." + "0123456789abcdef" * 4],
    "twilio": ["SK" + "0123456789abcdef" * 2],
    "resend": ["re_aB3dE6gH_" + "aB3dE6gH9jK2mN5pQ8sT1vW4"],
    "azure": ["aB3" + "8Q~" + "aB3dE6gH9jK2mN5pQ8sT1vW4aB3dE6gH9j"],
    "fly": ["fo1_" + "aB3dE6gH9j" * 4, "FlyV1 fm2_" + "aB3dE6gH9j" * 5, "fm2_" + "aB3dE6gH9j" * 7],
    "buildkite": ["bkua_" + "0123456789abcdef" * 2 + "01234567"],
    "dynatrace": ["dt0c01." + "AB12" * 6 + "." + "AB12" * 16],
    "cloudflare": ["v1.0-" + "0123456789ab" * 2 + "-" + "ab" * 73],
    "mapbox": ["sk.eyJ" + "aB3dE6gH9j" * 4 + "." + "aB3dE6gH9j" * 2],
    "brevo": ["xkeysib-" + "0123456789abcdef" * 4 + "-" + "aB3dE6gH9jK2mN5p"],
    "mailchimp": ["0123456789abcdef" * 2 + "-us14"],
    "clerk": ["unkey_prod_" + "aB3dE6gH9j" * 3],
    "1password": ["ops_eyJ" + "aB3dE6gH9j" * 12],
    "age": ["AGE-SECRET-KEY-1" + "QPZRY9X8GF" * 6],
    "jwt": ["eyJ" + A16 + "." + A20 + "." + A16],
}


def test_every_known_form_has_an_example() -> None:
    assert set(FORMS) == {name for name, _form in issuers.FORMS}


@pytest.mark.parametrize(("name", "token"), [(name, each) for name, some in FORMS.items() for each in some])
def test_a_token_of_a_known_form_is_found_wherever_it_stands(name: str, token: str) -> None:
    for before, after in (("", ""), ("echo ", " > x"), ('curl "', '"'), ("a=", "&b=c"), ("é ", " é")):
        assert secrets.redact(before + token + after) == (f"{before}[redacted:{name}]{after}", [token])
        assert secrets.may_hold(before + token + after)
        assert secrets.may_hold(json.dumps(before + token + after))


KEY = "-----BEGIN {} PRIVATE KEY-----\nMIIE\nabc\n-----END {} PRIVATE KEY-----"
REDACTED = [
    ("export API_KEY=abc; ls", "export API_KEY=[redacted:value]; ls"),
    ("AWS_SECRET_ACCESS_KEY=abc/def aws s3 ls", "AWS_SECRET_ACCESS_KEY=[redacted:value] aws s3 ls"),
    ("PASSWORD='a b'\"cd\"e x", "PASSWORD=[redacted:value] x"),
    ("PASSWORD=$'a b' x", "PASSWORD=[redacted:value] x"),
    ("java -Ddb.password=abc -jar x", "java -Ddb.password=[redacted:value] -jar x"),
    ('{"password": "x y", "user": "bob"}', '{"password": [redacted:value], "user": "bob"}'),
    (r'-d "{\"token\": \"x y\"}"', r'-d "{\"token\": [redacted:value]}"'),
    ("x --password 'a b' y", "x --password [redacted:value] y"),
    ("x --api-key=abc y", "x --api-key=[redacted:value] y"),
    ("x --token abc --verbose", "x --token [redacted:value] --verbose"),
    ("curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization: [redacted:value]' x"),
    ('curl -H "X-Api-Key: 123" x', 'curl -H "X-Api-Key: [redacted:value]" x'),
    ("curl -H 'Cookie: a=b; c=d' x", "curl -H 'Cookie: [redacted:value]' x"),
    ("Authorization: Basic Ym9iOmh1bnRlcg==\nHost: x", "Authorization: [redacted:value]\nHost: x"),
    ("said Bearer 0123456789abcdef0 there", "said Bearer [redacted:value] there"),
    ("git clone https://bob:pw@x.org/y", "git clone https://bob:[redacted:value]@x.org/y"),
    ("psql postgres://u:p%40ss@db:5432/x", "psql postgres://u:[redacted:value]@db:5432/x"),
    (f"git clone https://{A20}@x.org/y", "git clone https://[redacted:value]@x.org/y"),
    ("https://x.org/?a=1&access_token=abc&b=2", "https://x.org/?a=1&access_token=[redacted:value]&b=2"),
    ("https://x.org/?sig=abc&b=2", "https://x.org/?sig=[redacted:value]&b=2"),
    ("curl -u bob:hunter2 https://x", "curl -u bob:[redacted:value] https://x"),
    ("curl --user=bob:hunter2 https://x", "curl --user=bob:[redacted:value] https://x"),
    ("mysql -uroot -pS3cret db", "mysql -uroot -p[redacted:value] db"),
    ("sshpass -p abc ssh x", "sshpass -p [redacted:value] ssh x"),
    ("redis-cli -a abc ping", "redis-cli -a [redacted:value] ping"),
    ("openssl rsa -passin pass:abc", "openssl rsa -passin pass:[redacted:value]"),
    ("echo '" + KEY.format("RSA", "RSA") + "' > k", "echo '[redacted:private-key]' > k"),
    ("a " + KEY.format("OPENSSH", "OPENSSH")[:50], "a [redacted:private-key]"),
    ("echo wJalrXUtnFEM1/K7MDENG/bPxRf2CYzEXAMPL3KEY", "echo [redacted:random]"),
]
KEPT = [
    "git status | head -3",
    "echo $GITHUB_TOKEN ${API_KEY}",
    "TOKEN=$TOKEN PASSWORD=\"$(pass show x)\" y",
    "curl -H 'Authorization: Bearer $T' x",
    "docker login --password-stdin reg.example.com",
    "docker run -u 1000:1000 x",
    "gh auth status --show-token=false",
    "x --max-tokens=4096 --no-password y",
    "find . -path './x' -name 'y*'",
    "pytest -k auth tests/auth_key.py::test_passes",
    "git log --author=bob --format=%H",
    "git checkout 0123456789abcdef0123456789abcdef01234567",
    "ssh -i ~/.ssh/deploy.key host",
    "mkdir -p a/b && mysql -p db",
    "cat src/components/AuthenticationTokenProviderFactory.test.tsx",
    "/nix/store/0c6kzph7l0dcbfmjap64f0czdafn3b7x-python3-3.11/bin/python",
    "PASSWORD= TOKEN=none SECRET=false x",
    "grep -rn 'password' src",
    "https://x.org/a?b=c#d",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REDACTED, ids=[text[:40] for text, _expected in REDACTED])
def test_what_stands_where_secrets_stand_is_replaced(text: str, expected: str) -> None:
    redacted, found = secrets.redact(text)
    assert (redacted, len(found)) == (expected, 1)
    assert secrets.may_hold(text)
    assert secrets.may_hold(json.dumps(text))


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert secrets.redact(text) == (text, [])


@given(
    st.lists(
        st.sampled_from(
            [
                "password",
                "=",
                ":",
                " ",
                "'",
                '"',
                "\\",
                "token",
                "-",
                "--",
                "://",
                "@",
                "a",
                "B2",
                "\n",
                "$",
                "sk-",
                ";",
                "Authorization",
                "-u ",
                "mysql -p",
                "é",
                "{",
                "}",
                ",",
                " ghp_" + A20,
                "-----BEGIN ",
                "PRIVATE KEY-----",
            ]
        ),
        max_size=30,
    )
)
def test_the_quick_look_never_misses_and_a_second_pass_finds_no_form_again(parts: list[str]) -> None:
    text = "".join(parts)
    redacted, found = secrets.redact(text)
    assert not found or secrets.may_hold(text)
    assert not found or secrets.may_hold(json.dumps(text))
    assert "ghp_" + A20 not in redacted


def repeats(pattern: Any) -> list[Any]:
    """The loops of an expression that could go back over many characters: without bound, and not possessive."""
    found = []
    for code, argument in pattern:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            if argument[0] != argument[1] and argument[1] > 3:
                found.append(argument)
            found += repeats(argument[2])
        elif code is codes.POSSESSIVE_REPEAT:
            found += repeats(argument[2])
        elif code is codes.SUBPATTERN:
            found += repeats(argument[3])
        elif code is codes.BRANCH:
            for each in argument[1]:
                found += repeats(each)
        elif code is codes.ATOMIC_GROUP:
            found += repeats(argument)
    return found


def test_no_expression_can_go_back_over_what_it_took() -> None:
    finder = secrets._finder()
    expressions = [each for _name, each in finder.forms] + [
        finder.any_form,
        finder.random,
        finder.value,
        finder.by_pipe,
        finder.any_program,
    ]
    expressions += [each for head, value, _test in finder.steps for each in (head, value)]
    expressions += [finder.piped, finder.here, *finder.cookies, *(each for pair in finder.programs for each in pair)]
    bounded = [each.pattern for each in expressions if repeats(parser.parse(each.pattern))]
    assert set(bounded) == {secrets._VALUE}  # where nothing that could fail follows a loop


def test_values_of_secret_variables_are_found_anywhere_by_their_value() -> None:
    environment = {"MY_TOKEN": "plain words", "OTHER": "another value", "SHORT_TOKEN": "abc", "NAMED": "by policy"}
    redactor = Redactor(environment=environment, named=["NAMED"])
    text = "echo plain words, another value, abc, by policy"
    assert redactor.text(text) == (
        "echo [redacted:environment], another value, abc, [redacted:environment]",
        ["plain words", "by policy"],
    )
    assert not redactor.is_clean(text)


def digest(data: bytes) -> str:
    return f"digest of {len(data)}"


def test_private_fields_are_kept_as_size_and_digest() -> None:
    redactor = Redactor(lambda tool: ("content",) if tool == "Write" else ())
    given = {"file_path": "/a", "content": "some text", "n": 5}
    kept = {"file_path": "/a", "content": {"bytes": 9, "digest": "digest of 9"}, "n": 5}
    assert redactor.input("Write", given, digest) == (kept, [])
    assert redactor.input("Other", given, digest) == (given, [])


def test_fields_with_names_that_secrets_have_are_replaced_at_any_depth() -> None:
    given = {
        "user": "bob",
        "password": "hunter2",
        "pin_token": 123456,
        "deep": [{"apiKey": "x", "secrets": {"a": "y", "b": ["z"]}}],
        "max_tokens": 4096,
        "ghp_" + A20: "name",
    }
    kept, found = Redactor().input("T", given, digest)
    value = "[redacted:value]"
    assert kept == {
        "user": "bob",
        "password": value,
        "pin_token": value,
        "deep": [{"apiKey": value, "secrets": {"a": value, "b": [value]}}],
        "max_tokens": 4096,
        "[redacted:github]": "name",
    }
    assert sorted(found) == sorted(["hunter2", "123456", "x", "y", "z", "ghp_" + A20])


def test_long_texts_are_cut_and_large_inputs_kept_by_digest() -> None:
    text, _found = Redactor().text("x" * 20_000)
    assert text == "x" * MOST_TEXT + "[cut: 20,000 characters]"
    kept, _found = Redactor().input("T", {f"f{number}": "y" * 8000 for number in range(6)} | {"small": 1}, digest)
    assert kept == {f"f{number}": {"bytes": 8000, "digest": "digest of 8000"} for number in range(6)} | {"small": 1}


def test_a_secret_that_the_cut_goes_through_is_not_left_half() -> None:
    token = "ghp_" + A40
    for place in share(range(4 * MOST_TEXT - 60, 4 * MOST_TEXT + 5), 12):  # all of them in a thorough run
        text, _found = Redactor().text("password=" + "p" * (place - 9) + " " + token)
        assert "ghp_a1" not in text
