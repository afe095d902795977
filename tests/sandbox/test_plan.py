"""The plan of a confined call, whole, in a frozen world; and what no plan may ever hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from leftovers import contained_here
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.audit import secrets
from gateway.config.layers import PolicyFile
from gateway.config.load import Options, policy_from
from gateway.config.shipped import load_tools
from gateway.core.places import Places, packaged
from gateway.host.frozen import world
from gateway.judge.policy_tests import check_examples
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.facts import GitFact, PathFact
from gateway.model.limits import limits_of
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Endpoint, Injection, Mount, Network, SandboxPlan
from gateway.render.plan import plan_data, plan_text, planned
from gateway.render.style import Style
from gateway.sandbox.base import SandboxError
from gateway.sandbox.marks import Mark
from gateway.sandbox.persistent_folders import layer_of
from gateway.sandbox.plan import plan_of
from gateway.sandbox.profile import profile_of
from gateway.sandbox.survey import Surveyor
from gateway.tools.text import parse_call_text

NOWHERE = "/nonexistent/gateway"
HOME, ROOT = "/home/dev", "/home/dev/project"
WORLD = yaml.safe_load((Path(__file__).parents[1] / "worlds" / "confined.yaml").read_text(encoding="utf-8"))
SECRETS, WIRING, REPOSITORY = "secret-files", "gateway-and-agent-wiring", "protected-repository-files"
PROJECT, SANDBOX = "protected-project-files", "sandbox"
CALLER = {
    "PATH": "/home/dev/.cargo/bin:/usr/local/bin:/usr/bin:/bin:relative:/nowhere",
    "LANG": "de_DE.UTF-8",
    "NPM_TOKEN": "verysecret",
    "LD_PRELOAD": "/tmp/evil.so",
    "EDITOR": "vi",
    "SSH_AUTH_SOCK": "/tmp/agent",
}
USER = {
    "settings": {
        "sandbox": {
            "write": ["./**", "~/.cache/**", "~/.npm/**"],
            "read": ["~/other/notes.txt"],
            "hosts": ["registry.npmjs.org", "local.example:8443"],
            "env": ["EDITOR", "*_TOKEN"],
            "set": {"CI": "1"},
        }
    },
    "rules": [{"id": "tests", "allow": "Bash(npm test)"}],
}


class Planner:
    """A gateway in the frozen world, and the plans that it makes."""

    def __init__(
        self,
        user: dict[str, Any] | None,
        cache: str,
        *,
        mode: str = "",
        scene: dict[str, Any] | None = None,
        environment: dict[str, str] | None = None,
        builtin: bool = True,
        cwd: str = "",
    ) -> None:
        place = world(WORLD if scene is None else scene)
        where = Places(NOWHERE, NOWHERE, NOWHERE, cache, place.home)
        tools = load_tools(where)
        files = []
        if builtin:
            path = packaged("policies/builtin.yaml")
            files.append(PolicyFile("builtin", path, Path(path).read_bytes(), place.root, "/"))
        text = json.dumps({"version": 1, **(USER if user is None else user)}).encode()
        files.append(PolicyFile("user", "user.yaml", text, place.root, place.root))
        options = Options(cwd or place.root, mode=mode, root=place.root)
        self.gateway = Gateway(
            options,
            where=where,
            host=place.host,
            environment=CALLER if environment is None else environment,
            loaded=policy_from(files, options, tools, place.home, verify=check_examples),
            contains=contained_here,
        )
        self.gateway.places = where.replace(cache=f"{place.home}/.cache/gateway")
        self.surveyor = Surveyor(self.gateway, secrets.holds)

    def verdict(self, call: str):
        return self.gateway.check(parse_call_text(self.gateway.registry, call))

    def plan(self, call: str) -> SandboxPlan:
        verdict = self.verdict(call)
        return plan_of(verdict, profile_of(self.gateway.loaded.settings), self.surveyor.survey(verdict))


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory):
    cache = warm(tmp_path_factory.mktemp("compiled") / "gateway")
    known: dict[str, Planner] = {}

    def open_(user: dict[str, Any] | None = None, **options: Any) -> Planner:
        key = json.dumps([user, options], sort_keys=True)
        if key not in known:
            known[key] = Planner(user, cache, **options)
        return known[key]

    return open_


ALWAYS = (
    Mount("/etc", READ),
    Mount("/etc/shadow", HIDDEN, False, SECRETS),
    Mount("/etc/ssl/private", HIDDEN, True, SECRETS),
    Mount("/home/dev/.cargo/bin", READ),
    Mount("/home/dev/.rustup", READ),
    Mount(ROOT, READ),
    Mount(f"{ROOT}/.env", HIDDEN, False, SECRETS),
    Mount(f"{ROOT}/config/.env.production", HIDDEN, False, SECRETS),
    Mount("/usr", READ),
)
ENVIRONMENT = (
    ("CI", "1"),
    ("EDITOR", "vi"),
    ("HOME", HOME),
    ("LANG", "de_DE.UTF-8"),
    ("PATH", "/home/dev/.cargo/bin:/usr/local/bin:/usr/bin:/bin"),
    ("TMPDIR", "/tmp"),
)
BASE = SandboxPlan(
    ALWAYS,
    (("/bin", "usr/bin"), ("/lib", "usr/lib")),
    (HOME, "/tmp", "/var/tmp"),
    ROOT,
    ENVIRONMENT,
    Network(),
    limits_of({}),
)
METADATA = (Endpoint("metadata", 0, "metadata-addresses"),)
GIT = (
    Mount(f"{ROOT}/.git", WRITE),
    Mount(f"{ROOT}/.git/config", FIXED, False, REPOSITORY),
    Mount(f"{ROOT}/.git/hooks", FIXED, True, REPOSITORY),
)
# What is protected in a project that may be written as a whole.
HELD = (
    Mount(f"{ROOT}/.envrc", FIXED, False, PROJECT),
    Mount(f"{ROOT}/.git/config", FIXED, False, REPOSITORY),
    Mount(f"{ROOT}/.git/hooks", FIXED, True, REPOSITORY),
    Mount(f"{ROOT}/.vscode/settings.json", FIXED, False, PROJECT),
)


def mounts(*more: Mount, without: tuple[str, ...] = ()) -> tuple[Mount, ...]:
    """Those of every call with others on top, the later one where both have a path."""
    found = {mount.path: mount for mount in (*ALWAYS, *more) if mount.path not in without}
    return tuple(found[path] for path in sorted(found))


WHOLE = mounts(Mount(ROOT, WRITE), *HELD)
CALLS = {
    "listing gets nothing writable and no network": ("Bash(ls)", BASE),
    "reading a file of the project takes nothing more": ("Bash(cat src/main.py)", BASE),
    "a search through the tree does not see what is hidden in it": ("Bash(grep -r x .)", BASE),
    "a new file takes the folder that it comes in": (
        "Bash(touch build/x)",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/build", WRITE)), watched=(f"{ROOT}/build",)),
    ),
    "a file in folders that are not there takes the nearest one that is": (
        "Bash(mkdir -p build/new/deep)",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/build", WRITE)), watched=(f"{ROOT}/build",)),
    ),
    "where that is the project, what is protected in it stays as it is": (
        "Bash(mkdir -p fresh/b)",
        BASE.replace(mounts=WHOLE, watched=(ROOT,)),
    ),
    "a redirect into a file that is there takes that file alone": (
        "Bash(echo x > README.md)",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/README.md", WRITE, False))),
    ),
    "a redirect into a new file takes its folder": (
        "Bash(echo x > docs/new.md)",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/docs", WRITE)), watched=(f"{ROOT}/docs",)),
    ),
    "deleting a file takes its folder": (
        "Bash(rm build/app.js)",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/build", WRITE)), watched=(f"{ROOT}/build",)),
    ),
    "deleting a folder takes the one that it lies in": (
        "Bash(rm -r build/keep)",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/build", WRITE)), watched=(f"{ROOT}/build",)),
    ),
    "moving takes both folders": (
        "Bash(mv a/one.txt docs/two.txt)",
        BASE.replace(
            mounts=mounts(Mount(f"{ROOT}/a", WRITE), Mount(f"{ROOT}/docs", WRITE)),
            watched=(f"{ROOT}/a", f"{ROOT}/docs"),
        ),
    ),
    "a fetch reaches the remote's host and its own key, and changes only the repository": (
        "Bash(git fetch)",
        BASE.replace(
            mounts=mounts(*GIT, Mount(f"{HOME}/.ssh", READ)),
            network=Network("listed", (Endpoint("github.com", 22),), METADATA),
            watched=(f"{ROOT}/.git",),
        ),
    ),
    "a fetch from another remote reaches that one": (
        "Bash(git fetch backup)",
        BASE.replace(
            mounts=mounts(*GIT),
            network=Network("listed", (Endpoint("git.example.com", 443),), METADATA),
            watched=(f"{ROOT}/.git",),
        ),
    ),
    "tests that a rule allows get the profile": (
        "Bash(npm test)",
        BASE.replace(
            mounts=mounts(
                Mount(ROOT, WRITE, True, SANDBOX),
                *HELD,
                Mount(f"{ROOT}/.envrc", HIDDEN, False, "workspace-secrets"),  # it reaches hosts, and nobody was asked
                Mount(f"{HOME}/.cache", WRITE, True, SANDBOX),
                Mount(f"{HOME}/.cache/gateway", HIDDEN, True, "gateway"),
                Mount(f"{HOME}/other/notes.txt", READ, False, SANDBOX),
            ),
            network=Network(
                "listed",
                (Endpoint("local.example", 8443, SANDBOX), Endpoint("registry.npmjs.org", 0, SANDBOX)),
                METADATA,
            ),
            watched=(ROOT,),
            layers=((f"{HOME}/.cache", layer_of(f"{NOWHERE}/layers", ROOT, f"{HOME}/.cache")),),
        ),
    ),
    "a download that a person agrees to reaches that host": (
        "Bash(curl https://example.org/x -o build/x)",
        BASE.replace(
            mounts=mounts(Mount(f"{ROOT}/build", WRITE)),
            network=Network("listed", (Endpoint("example.org", 443),), METADATA),
            watched=(f"{ROOT}/build",),
        ),
    ),
    "an unknown host is not reached": (
        "Bash(curl $URL)",
        BASE.replace(withheld=(("connect ?", "it is not fully known before the run"),)),
    ),
    "what a person agrees to read elsewhere is that file": (
        "Bash(cat ~/other/notes.txt)",
        BASE.replace(mounts=mounts(Mount(f"{HOME}/other/notes.txt", READ, False))),
    ),
    "a tree elsewhere is seen without what is hidden in it": (
        "Bash(grep -r x /srv/data)",
        BASE.replace(mounts=mounts(Mount("/srv/data", READ), Mount("/srv/data/.env", HIDDEN, False, SECRETS))),
    ),
    "a link in the project leads where the call was judged to go": (
        "Bash(cat linked/table.csv)",
        BASE.replace(mounts=mounts(Mount("/srv/data/table.csv", READ, False))),
    ),
    "a protected file that a person agrees to change can be changed, and its neighbours cannot": (
        "Bash(cp README.md .git/hooks/pre-commit)",
        BASE.replace(
            mounts=mounts(
                Mount(f"{ROOT}/.git/hooks", WRITE),
                Mount(f"{ROOT}/.git/hooks/pre-commit.sample", FIXED, False, REPOSITORY),
            ),
            watched=(f"{ROOT}/.git/hooks",),
        ),
    ),
    "the listing of the home folder is that of the sandbox": (
        "Bash(ls ~)",
        BASE.replace(
            withheld=(
                (
                    "list /home/dev",
                    "the home folder and what lies above it are shown as the sandbox has them",
                ),
            )
        ),
    ),
    "temporary files are the call's own": ("Bash(cp README.md /tmp/x)", BASE),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_plan_is_what_was_predicted(planner, name: str) -> None:
    call, expected = CALLS[name]
    found = planner().plan(call)
    assert found == expected.replace(known=found.known)
    held = [each.path for each in found.mounts if each.access == FIXED]
    assert found.known is not None
    assert {*found.known}.issuperset(held)


def test_login_material_is_opened_and_nothing_beside_it(planner) -> None:
    scene = {**WORLD, "files": [*WORLD["files"], "/home/dev/.npmrc"]}
    found = planner(scene=scene).plan("Bash(npm view react version)")
    assert (found.mounts, found.network.allow) == (
        mounts(Mount(f"{HOME}/.npmrc", READ, False)),
        (Endpoint("registry.npmjs.org", 443),),
    )


@pytest.mark.parametrize("mode", ["plan", "read_only"])
@pytest.mark.parametrize("call", ["ls", "npm test", "cat src/main.py > /dev/null"])
def test_modes_that_write_nothing_have_nothing_writable_but_what_is_gone_afterwards(
    planner, mode: str, call: str
) -> None:
    found = planner(mode=mode).plan(f"Bash({call})")
    assert ([each for each in found.mounts if each.access == WRITE], found.watched, found.private) == (
        [],
        (),
        BASE.private,
    )


def test_what_is_run_for_its_output_shares_nothing_with_its_session(planner) -> None:
    """Its changes are thrown away, so neither the session's temporary folder nor its servers nor caches take any."""

    def plan(changes: str, *, wished: str = "") -> SandboxPlan:
        settings = {"sandbox": {"write": ["./**", "~/.cache/**"]}}
        rule = {"id": "held", "allow": {"effect": "code", "contained": True}, "changes": changes}
        found = planner({"settings": settings, "rules": [rule]})
        context = found.gateway.context.replace(room="r1", changes=wished or found.gateway.context.changes)
        call = parse_call_text(found.gateway.registry, "Bash(frobnicate --help)")
        verdict = found.gateway.check(call, context, contains=lambda *_: "")
        assert verdict.contained
        return plan_of(verdict, profile_of(found.gateway.loaded.settings), found.surveyor.survey(verdict))

    def shared(plan: SandboxPlan) -> tuple[object, ...]:
        return bool(plan.shared), bool(plan.loopback), bool(plan.layers), bool(plan.drafted)

    assert shared(plan("discard")) == (False, False, False, True)
    assert shared(plan("keep")) == (True, True, True, False)
    assert shared(plan("keep", wished="discard")) == (True, True, True, True)


def test_what_is_refused_or_run_by_the_agent_itself_has_no_plan(planner) -> None:
    opened = planner()
    denied = opened.verdict("Bash(cat .env)")
    loose = opened.verdict("Bash(ls)")
    survey = opened.surveyor.survey(loose)
    loose = loose.replace(context=loose.context.replace(confined=False))
    for each in (denied, loose):
        with pytest.raises(SandboxError, match="not to run confined"):
            opened.surveyor.survey(each)
        with pytest.raises(SandboxError, match="not to run confined"):
            plan_of(each, profile_of(opened.gateway.loaded.settings), survey)


@pytest.mark.parametrize("call", ["touch ~/x", "git clone https://example.org/a.git ~/b", "rm ~/.bashrc-old"])
def test_the_home_folder_is_never_writable_as_a_whole(planner, call: str) -> None:
    with pytest.raises(SandboxError, match="cannot be changed without `/home/dev` as a whole"):
        planner().plan(f"Bash({call})")


def profile(**sandbox: Any) -> dict[str, Any]:
    return {"rules": USER["rules"], "settings": {"sandbox": sandbox}}


PROFILES = {
    "the home folder is no grant": ({"read": ["~/**"]}, "setting `~/**`", "`/home/dev` is never granted as a whole"),
    "nor is the whole disk": ({"write": ["//**"]}, "setting `//**`", "it stands for too many files, or for none"),
    "login material is hidden from it": (
        {"read": ["~/.ssh/**"]},
        "setting `~/.ssh/**`",
        f"rule `{SECRETS}` forbids it",
    ),
    "what the system runs is not writable by it": (
        {"write": ["//usr/local/**"]},
        "setting `//usr/local/**`",
        "rule `protected-start-entries` forbids it",
    ),
    "a link in a folder that calls may write leads nowhere": (
        {"write": ["./linked/**"]},
        "setting `./linked/**`",
        "a link in a folder that calls may change leads to `/srv/data`",
    ),
}


@pytest.mark.parametrize("name", PROFILES)
def test_what_a_profile_cannot_grant_is_withheld_with_the_reason(planner, name: str) -> None:
    sandbox, what, why = PROFILES[name]
    found = planner(profile(**sandbox)).plan("Bash(npm test)")
    assert found.mounts == ALWAYS
    assert [(each[0], each[1].startswith(why)) for each in found.withheld] == [(what, True)]


def test_stars_on_the_way_stand_for_what_is_there(planner) -> None:
    scene = {
        **WORLD,
        "files": [
            *WORLD["files"],
            f"{HOME}/.nvm/versions/node/v18/bin/node",
            f"{HOME}/.nvm/versions/node/v20/bin/node",
        ],
    }
    found = planner(profile(read=["~/.nvm/versions/node/*/bin/**"]), scene=scene).plan("Bash(npm test)")
    assert found.mounts == mounts(
        *(Mount(f"{HOME}/.nvm/versions/node/{version}/bin", READ, True, SANDBOX) for version in ("v18", "v20"))
    )


def test_a_folder_of_everybodys_temporary_files_is_not_given_where_it_is_only_touched(planner) -> None:
    user = {"rules": [{"id": "temp", "allow": {"effect": "write", "path": "//tmp/**"}}]}
    opened = planner(user, scene={**WORLD, "files": [*WORLD["files"], "/tmp/d/x"]})
    found = {
        call: [each for each in opened.plan(f"Bash({call})").mounts if each.path.startswith("/tmp")]
        for call in ("touch /tmp/new", "touch /tmp/d", "touch /tmp/d/x", "touch /tmp/d/new", "cp -r src /tmp/d")
    }
    assert opened.plan("Bash(touch /tmp/new)").given == ("/tmp/new",)
    assert found == {
        "touch /tmp/new": [],
        "touch /tmp/d": [],
        "touch /tmp/d/x": [Mount("/tmp/d/x", WRITE, False, "temp")],
        "touch /tmp/d/new": [Mount("/tmp/d", WRITE, True, "temp")],
        "cp -r src /tmp/d": [Mount("/tmp/d", WRITE, True, "temp")],
    }


def test_what_must_not_be_deleted_is_kept_by_the_rule_that_says_so(planner) -> None:
    rules = [*USER["rules"], {"id": "stays", "deny": {"effect": "delete", "path": "README.md"}}]
    found = {each.path: each for each in planner({**USER, "rules": rules}).plan("Bash(npm test)").mounts}
    assert found[f"{ROOT}/README.md"] == Mount(f"{ROOT}/README.md", WRITE, False, "stays")


def test_who_agrees_to_a_change_has_it_and_the_rule_against_loss_still_holds(planner) -> None:
    path = f"{ROOT}/a/one.txt"
    rules = [{"id": f"no-{each}", "ask": {"effect": each, "path": "a/one.txt"}} for each in ("write", "delete")]
    opened = planner({"rules": rules})
    found = {
        call: [each for each in opened.plan(f"Bash({call})").mounts if each.path == path]
        for call in ("touch a/two.txt", "cp README.md a/one.txt", "rm a/one.txt")
    }
    assert found == {
        "touch a/two.txt": [Mount(path, FIXED, False, "no-write")],
        "cp README.md a/one.txt": [Mount(path, WRITE, False, "no-delete")],
        "rm a/one.txt": [Mount(path, FIXED, False, "no-write")],
    }


def test_hidden_patterns_of_the_profile_hide_from_every_call(planner) -> None:
    opened = planner(profile(hide=["docs/**", "*.csv"]))
    for call in ("ls", "cat docs/guide.md", "npm test"):
        found = {each.path: each for each in opened.plan(f"Bash({call})").mounts}
        assert found[f"{ROOT}/docs/guide.md"] == Mount(f"{ROOT}/docs/guide.md", HIDDEN, False, "sandbox.hide")


def test_a_call_that_starts_where_nothing_is_granted_starts_in_an_empty_folder(planner) -> None:
    assert planner(cwd="/srv/data").plan("Bash(true)").private == tuple(sorted((*BASE.private, "/srv/data")))
    assert planner(cwd=f"{ROOT}/src").plan("Bash(true)").private == BASE.private


def test_a_call_that_starts_in_a_hidden_folder_has_no_plan(planner) -> None:
    with pytest.raises(SandboxError, match=f"the working directory `{ROOT}/docs` is hidden by rule `sandbox.hide`"):
        planner(profile(hide=["docs"]), cwd=f"{ROOT}/docs").plan("Bash(true)")


@pytest.mark.parametrize(
    ("folder", "home", "granted"),
    [
        ("/tmp", HOME, False),
        ("/tmp", "/tmp/user", True),
        ("/var/tmp", HOME, False),
        ("/dev/shm", HOME, False),
        ("/private/tmp", HOME, False),
    ],
)
def test_programs_that_lie_in_everybodys_temporary_folder_are_not_shown_unless_the_home_folder_is_there(
    planner, folder: str, home: str, granted: bool
) -> None:
    scene = {**WORLD, "home": home, "files": [*WORLD["files"], f"{folder}/bin/tool"]}
    found = planner(scene=scene, environment={"PATH": f"{folder}/bin:/usr/bin"}).plan("Bash(ls)")
    assert (Mount(f"{folder}/bin", READ) in found.mounts) == granted


def test_an_installer_finds_programs_only_where_no_call_can_have_put_them(planner) -> None:
    held = {"allow": {"effect": ["code", "opaque", "connect", "write"], "contained": True}}
    user = {"settings": {"sandbox": {"registries": ["npm"], "write": ["~/.cache/**"]}}, "rules": [held]}
    scene = {**WORLD, "files": [*WORLD["files"], f"{ROOT}/bin/node", f"{HOME}/.cache/bin/node"]}
    found = planner(user, scene=scene, environment={"PATH": f"{ROOT}/bin:{HOME}/.cache/bin:/usr/bin"})

    def plan(text: str) -> SandboxPlan:
        verdict = found.gateway.check(RawCall("Bash", {"command": text}), contains=lambda *_: "")
        assert verdict.contained
        return plan_of(verdict, profile_of(found.gateway.loaded.settings), found.surveyor.survey(verdict))

    other, install = plan("./x"), plan("npm install")
    *_others, last = path = dict(other.environment)["PATH"].split(":")
    assert (other.network.mode, len(path), last) == ("off", 4, f"{other.packages}/bin")
    assert (install.network.installer, dict(install.environment)["PATH"]) == ("npm", "/usr/bin")


def test_what_a_call_was_to_write_in_a_hidden_folder_is_withheld_with_the_reason(planner) -> None:
    found = planner(profile(hide=["docs"])).plan("Bash(echo x > docs/guide.md)")
    assert (found.mounts, found.withheld) == (
        mounts(Mount(f"{ROOT}/docs", HIDDEN, True, "sandbox.hide")),
        ((f"`{ROOT}/docs/guide.md`", f"it lies in `{ROOT}/docs`, which is hidden"),),
    )


def test_permits_and_headers_come_with_a_rule_only(planner) -> None:
    header = {
        "host": "registry.npmjs.org",
        "header": "Authorization",
        "source": "env:NPM_TOKEN",
        "template": "Bearer {}",
    }
    opened = planner(profile(permit=["ptrace"], inject=[header], hosts=["registry.npmjs.org"], weaker=["landlock"]))
    by_rule, by_person = opened.plan("Bash(npm test)"), opened.plan("Bash(npm view react version)")
    assert (by_rule.permits, by_rule.network.inject, by_rule.weaker) == (
        ("ptrace",),
        (Injection("registry.npmjs.org", "Authorization", "env:NPM_TOKEN", "Bearer {}"),),
        ("landlock",),
    )
    assert (by_person.permits, by_person.network.inject, by_person.weaker) == ((), (), ("landlock",))


def test_a_host_of_the_profile_that_may_only_be_read_from_is_planned_as_that(planner) -> None:
    found = planner(profile(hosts=["a.org", {"host": "registry.npmjs.org", "access": "read"}])).plan("Bash(npm test)")
    assert found.network.allow == (
        Endpoint("a.org", 0, "sandbox"), Endpoint("registry.npmjs.org", 0, "sandbox", "read"),
    )  # fmt: skip


def test_a_person_who_agrees_to_the_rest_of_a_line_leaves_a_rule_its_profile(planner) -> None:
    opened = planner()
    alone, both = opened.plan("Bash(npm test)"), opened.plan("Bash(npm test; rm build/app.js)")
    assert both == alone.replace(mounts=both.mounts, watched=both.watched)
    assert {each.path: each.access for each in both.mounts} == {each.path: each.access for each in alone.mounts}


HOST_RULES = {
    "a denied host is refused by its rule": (
        {"id": "no", "deny": {"effect": "connect", "host": ["*.evil.example", "private"]}},
        {"network": "open"},
        Network("open", (), (Endpoint("*.evil.example", 0, "no"), Endpoint("private", 0, "no"))),
        (),
    ),
    "a port may be denied by itself": (
        {"id": "no", "deny": {"effect": "connect", "port": 22}},
        {"network": "open"},
        Network("open", (), (Endpoint("*", 22, "no"),)),
        (),
    ),
    "only some hosts, of an open network": (
        {"id": "ours", "deny": {"effect": "connect", "host_not": ["*.acme.example"]}},
        {"network": "open"},
        Network("listed", (Endpoint("*.acme.example", 0, "ours"),)),
        (),
    ),
    "only some hosts, of listed ones": (
        {"id": "ours", "deny": {"effect": "connect", "host_not": ["*.acme.example"]}},
        {"hosts": ["wiki.acme.example", "pypi.org", "*.git.acme.example", "*.example"]},
        Network("listed", (Endpoint("*.git.acme.example", 0, SANDBOX), Endpoint("wiki.acme.example", 0, SANDBOX))),
        (("connect pypi.org", "rule `ours` refuses it"), ("connect *.example", "rule `ours` refuses it")),
    ),
    "every host but exceptions is the same": (
        {"id": "ours", "deny": {"effect": "connect", "host": "*"}, "except": [{"host": "wiki.acme.example"}]},
        {"hosts": ["wiki.acme.example", "pypi.org"]},
        Network("listed", (Endpoint("wiki.acme.example", 0, SANDBOX),)),
        (("connect pypi.org", "rule `ours` refuses it"),),
    ),
    "no connections at all": (
        {"id": "none", "deny": {"effect": "connect"}},
        {"network": "open", "hosts": ["pypi.org"]},
        Network(),
        (("connect pypi.org", "rule `none` refuses it"),),
    ),
    "sending cannot be told from fetching inside code": (
        {"id": "none", "deny": {"effect": "connect", "direction": "send"}},
        {"hosts": ["pypi.org"]},
        Network(),
        (("connect pypi.org", "rule `none` refuses it"),),
    ),
    "a rule of another mode does not count": (
        {"id": "none", "deny": {"effect": "connect", "mode": "plan"}},
        {"hosts": ["pypi.org"]},
        Network("listed", (Endpoint("pypi.org", 0, SANDBOX),)),
        (),
    ),
    "a required lack of network wins over the profile": (
        {"id": "off", "require": {"network": "off"}, "for": {"effect": "code"}},
        {"hosts": ["pypi.org"]},
        Network(),
        (),
    ),
}


@pytest.mark.parametrize("name", HOST_RULES)
def test_rules_on_hosts_hold_for_code(planner, name: str) -> None:
    rule, sandbox, network, withheld = HOST_RULES[name]
    found = planner({"rules": [*USER["rules"], rule], "settings": {"sandbox": sandbox}}, builtin=False).plan(
        "Bash(npm test)"
    )
    assert (found.network, found.withheld) == (network, withheld)


def test_a_worktree_of_another_repository_takes_that_repository_with_it(planner) -> None:
    other = "/home/dev/main/.git"
    scene = {
        "home": HOME,
        "root": ROOT,
        "files": ["README.md", f"{other}/config", f"{other}/objects/aa/b", f"{other}/hooks/pre-push", "/usr/bin/git"],
        "contents": {
            ".git": f"gitdir: {other}/worktrees/wt\n",
            f"{other}/HEAD": "ref: refs/heads/main\n",
            f"{other}/worktrees/wt/gitdir": f"{ROOT}/.git\n",
            f"{other}/worktrees/wt/commondir": "../..\n",
            f"{other}/worktrees/wt/HEAD": "ref: refs/heads/topic\n",
        },
    }
    opened = planner(scene=scene, mode="accept_edits")
    reading = {each.path: each.access for each in opened.plan("Bash(ls)").mounts}
    beside = {each.path: each.access for each in opened.plan("Bash(echo x > README.md)").mounts}
    writing = {each.path: each.access for each in opened.plan("Bash(git commit -m x)").mounts}
    assert (reading, beside, writing) == (
        {"/usr": READ, ROOT: READ, other: READ},
        {"/usr": READ, ROOT: READ, f"{ROOT}/README.md": WRITE, other: READ},
        {"/usr": READ, ROOT: READ, other: WRITE, f"{other}/config": FIXED, f"{other}/hooks": FIXED},
    )


@pytest.mark.parametrize("named", ["/home/dev/.ssh", "/home/dev/other", "../other"])
def test_a_git_file_that_nothing_confirms_opens_nothing(planner, named: str) -> None:
    files = [each for each in WORLD["files"] if not each.startswith(".git/")]
    scene = {**WORLD, "files": files, "contents": {".git": f"gitdir: {named}\n"}}
    assert planner(scene=scene).plan("Bash(ls)").mounts == ALWAYS


def with_files(*files: str, **links: str) -> dict[str, Any]:
    return {**WORLD, "files": [*WORLD["files"], *files], "links": {**WORLD["links"], **links}}


def denied(kind: str, path: str, **sandbox: Any) -> dict[str, Any]:
    return {"rules": [*USER["rules"], {"id": "no", "deny": {"effect": kind, "path": path}}],
            "settings": {"sandbox": sandbox}}  # fmt: skip


def asked(kind: str | list[str], path: str) -> dict[str, Any]:
    return {"rules": [*USER["rules"], {"id": "asks", "ask": {"effect": kind, "path": path}}]}


NOTES, CACHE = f"{HOME}/other/notes.txt", f"{HOME}/.cache"
LINKS = dict(BASE.links)


def linked(**links: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({**LINKS, **links}.items()))


HIDES_IT, FORBIDS_IT = "rule `sandbox.hide` hides it", "rule `no` forbids it"
GRANTED: dict[str, tuple[dict[str, Any], dict[str, Any], str, SandboxPlan]] = {
    "what a rule asks about is read by who agrees": (
        asked("read", "~/other/**"), {}, f"cat {NOTES}", BASE.replace(mounts=mounts(Mount(NOTES, READ, False))),
    ),
    "and not found in a tree by who agrees to that": (
        asked("read", "~/other/**"), {}, "grep -r x ~/other",
        BASE.replace(mounts=mounts(Mount(f"{HOME}/other", READ), Mount(NOTES, HIDDEN, False, "asks"))),
    ),
    "what the profile hides is read by nobody": (
        profile(hide=["~/other/**"]), {}, f"cat {NOTES}", BASE.replace(withheld=((f"read {NOTES}", HIDES_IT),)),
    ),
    "nor the folder in which it hides all": (
        profile(hide=["~/other/**"]), {}, "grep -r x ~/other",
        BASE.replace(withheld=((f"read {HOME}/other", HIDES_IT),)),
    ),
    "nor one that it hides itself": (
        profile(hide=["//srv/data"]), {}, "grep -r x /srv/data",
        BASE.replace(withheld=(("read /srv/data", HIDES_IT),)),
    ),
    "a search through the home folder sees it without what is hidden": (
        {}, {}, "grep -r x ~",
        BASE.replace(
            mounts=mounts(
                Mount(HOME, READ), Mount(f"{HOME}/.aws", HIDDEN, True, SECRETS),
                Mount(f"{HOME}/.ssh", HIDDEN, True, SECRETS),
                Mount(f"{CACHE}/gateway", HIDDEN, True, "gateway"),
                without=(f"{HOME}/.cargo/bin", f"{HOME}/.rustup", ROOT),
            ),
            private=("/tmp", "/var/tmp"),
        ),
    ),
    "one above it does not": (
        {}, {}, "grep -r x /home",
        BASE.replace(withheld=((
            "read /home", "the home folder and what lies above it are shown as the sandbox has them",
        ),)),
    ),
    "what is not there takes nothing": ({}, {}, "cat nothing.txt ~/nothing.txt", BASE),
    "what the kernel shows is the call's own": ({}, with_files("/proc/version"), "cat /proc/version", BASE),
    "also what it shows of processes": ({}, with_files("/proc/1/status"), "cat /proc/1/status", BASE),
    "a link elsewhere is known by its name": (
        {}, with_files(**{f"{HOME}/other/t": "/srv/data/table.csv"}), "cat ~/other/t",
        BASE.replace(mounts=mounts(Mount("/srv/data/table.csv", READ, False)),
                     links=linked(**{f"{HOME}/other/t": "/srv/data/table.csv"})),
    ),
    "also where it is written": (
        {}, with_files(**{f"{HOME}/other/t": "/srv/data/table.csv"}), "echo x > ~/other/t",
        BASE.replace(mounts=mounts(Mount("/srv/data/table.csv", WRITE, False)),
                     links=linked(**{f"{HOME}/other/t": "/srv/data/table.csv"})),
    ),
    "and in a folder behind one": (
        {}, with_files(**{f"{HOME}/out": "/srv/data"}), "touch ~/out/new",
        BASE.replace(
            mounts=mounts(Mount("/srv/data", WRITE), Mount("/srv/data/.env", HIDDEN, False, SECRETS)),
            links=linked(**{f"{HOME}/out/new": "/srv/data/new"}), watched=("/srv/data",),
        ),
    ),
    "also of the profile": (
        profile(read=["~/t"]), with_files(**{f"{HOME}/t": "/srv/data/table.csv"}), "npm test",
        BASE.replace(mounts=mounts(Mount("/srv/data/table.csv", READ, False, SANDBOX)),
                     links=linked(**{f"{HOME}/t": "/srv/data/table.csv"})),
    ),
    "a link in a cache that calls may write leads nowhere": (
        profile(write=["~/.cache/**"], read=["~/.cache/data/**"]), with_files(**{f"{CACHE}/data": "/srv/data"}),
        "npm test",
        BASE.replace(
            mounts=mounts(Mount(CACHE, WRITE, True, SANDBOX), Mount(f"{CACHE}/gateway", HIDDEN, True, "gateway")),
            layers=((CACHE, layer_of(f"{NOWHERE}/layers", ROOT, CACHE)),),
            withheld=((
                "setting `~/.cache/data/**`", "a link in a folder that calls may change leads to `/srv/data`",
            ),),
        ),
    ),
    "the profile lets a file be written": (
        profile(write=["~/other/notes.txt"]), {}, "npm test",
        BASE.replace(mounts=mounts(Mount(NOTES, WRITE, False, SANDBOX))),
    ),
    "and read what must not be written": (profile(read=["//usr/local/**"]), {}, "npm test", BASE),
    **{
        f"no profile has a folder that must not be {kind}: {path}": (
            denied(kind, path, write=["~/.cache/**"]), {}, "npm test",
            BASE.replace(withheld=(("setting `~/.cache/**`", FORBIDS_IT),)),
        )
        for kind in ("write", "delete", "read") for path in ("~/.cache", "~/.cache/**")
    },
    **{
        f"nor a file that must not be {kind}": (
            denied(kind, "~/other/notes.txt", write=["~/other/notes.txt"]), {}, "npm test",
            BASE.replace(withheld=(("setting `~/other/notes.txt`", FORBIDS_IT),)),
        )
        for kind in ("write", "delete")
    },
    "nor a file that is hidden": (
        denied("read", "~/other/*", read=["~/other/notes.txt"]), {}, "npm test",
        BASE.replace(withheld=(("setting `~/other/notes.txt`", FORBIDS_IT),)),
    ),
    "a pattern that names no folder hides at any depth": (
        profile(hide=["*.csv"]), with_files("src/deep/x.csv"), "ls",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/src/deep/x.csv", HIDDEN, False, "sandbox.hide"))),
    ),
    "what lies beside a file that is deleted elsewhere is protected": (
        {"rules": [{"id": "del", "allow": {"effect": "delete", "path": "//srv/data/table.csv"}}]}, {},
        "rm /srv/data/table.csv",
        BASE.replace(
            mounts=mounts(Mount("/srv/data", WRITE, True, "del"), Mount("/srv/data/.env", HIDDEN, False, SECRETS)),
            watched=("/srv/data",),
        ),
    ),
    "who agrees to a change through a link has it where that leads": (
        asked("write", "//srv/data/**"), {}, "sed -i s/a/b/ linked/table.csv",
        BASE.replace(mounts=mounts(Mount("/srv/data", WRITE), Mount("/srv/data/.env", HIDDEN, False, SECRETS)),
                     watched=("/srv/data",)),
    ),
    "who agrees to a rule on both changes and losses has both": (
        asked(["write", "delete"], "a/one.txt"), {}, "rm a/one.txt",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/a", WRITE)), watched=(f"{ROOT}/a",)),
    ),
    "also who agrees that it is written": (
        asked(["write", "delete"], "a/one.txt"), {}, "cp README.md a/one.txt",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/a", WRITE)), watched=(f"{ROOT}/a",)),
    ),
    "a link that must not be changed is told, since no mount can hold it": (
        {}, {**with_files(**{f"{ROOT}/.envrc": "/srv/data/table.csv"}),
             "files": [each for each in WORLD["files"] if each != ".envrc"]}, "mkdir -p fresh/b",
        BASE.replace(mounts=mounts(Mount(ROOT, WRITE), *HELD, without=(f"{ROOT}/.envrc",)),
                     watched=(ROOT,), held=(f"{ROOT}/.envrc",)),
    ),
    "a file that lies in a cache is written where it is": (
        profile(write=["~/.cache/pip/x"]), {}, "npm test",
        BASE.replace(mounts=mounts(Mount(f"{CACHE}/pip/x", WRITE, False, SANDBOX))),
    ),
    "a cache in a cache is no layer of its own": (
        profile(write=["~/.cache/**", "~/.cache/pip/**"]), {}, "npm test",
        BASE.replace(
            mounts=mounts(Mount(CACHE, WRITE, True, SANDBOX), Mount(f"{CACHE}/gateway", HIDDEN, True, "gateway")),
            layers=((CACHE, layer_of(f"{NOWHERE}/layers", ROOT, CACHE)),),
        ),
    ),
    "a link shows what lies behind it, too": (
        {}, with_files(**{f"{HOME}/out": "/srv/data"}), "cat ~/out/table.csv; ls ~/out",
        BASE.replace(mounts=mounts(Mount("/srv/data", READ), Mount("/srv/data/.env", HIDDEN, False, SECRETS)),
                     links=linked(**{f"{HOME}/out": "/srv/data"})),
    ),
    "what is hidden in a hidden folder needs nothing of its own": (
        profile(hide=["docs"]), with_files("docs/sub/.env"), "grep -r x docs/sub",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/docs", HIDDEN, True, "sandbox.hide"))),
    ),
    "nor does what is protected in a protected one": (
        denied("write", "docs", write=["./**"]), with_files("docs/sub/x", "docs/sub/.envrc"),
        "npm test; grep -r x docs/sub",
        BASE.replace(mounts=mounts(Mount(ROOT, WRITE, True, SANDBOX), *HELD, Mount(f"{ROOT}/docs", FIXED, True, "no")),
                     watched=(ROOT,)),
    ),
    "nor a link there": (
        denied("write", "docs", write=["./**"]),
        with_files("docs/sub/x", **{f"{ROOT}/docs/sub/.envrc": "/srv/data/table.csv"}), "npm test; grep -r x docs/sub",
        BASE.replace(mounts=mounts(Mount(ROOT, WRITE, True, SANDBOX), *HELD, Mount(f"{ROOT}/docs", FIXED, True, "no")),
                     watched=(ROOT,)),
    ),
    "what every call sees is no grant of the profile": (profile(read=["//usr/**"]), {}, "npm test", BASE),
    "a folder of the kernel's is the call's own": (
        {}, with_files("/dev/shm/x"), "touch /dev/shm/new",
        BASE.replace(withheld=(("write /dev/shm/new", "it is the sandbox's own"),)),
    ),
    "what a rule asks about in the project is seen by who agrees": (
        asked("read", "docs/**"), {}, "cat docs/guide.md; ls src", BASE,
    ),
    "and by nobody else": (
        asked("read", "docs/**"), {}, "ls src",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/docs/guide.md", HIDDEN, False, "asks"))),
    ),
    "a file that is hidden in a folder of the profile is not shown": (
        denied("read", "~/other/x.key", read=["~/other/**"]), with_files(f"{HOME}/other/x.key"), "npm test",
        BASE.replace(mounts=mounts(Mount(f"{HOME}/other", READ, True, SANDBOX),
                                   Mount(f"{HOME}/other/x.key", HIDDEN, False, "no"))),
    ),
    "nor is one changed that must not be in a folder that it lets be written": (
        denied("write", "~/.cache/pip/x", write=["~/.cache/**"]), {}, "npm test",
        BASE.replace(
            mounts=mounts(Mount(CACHE, WRITE, True, SANDBOX), Mount(f"{CACHE}/gateway", HIDDEN, True, "gateway"),
                          Mount(f"{CACHE}/pip/x", FIXED, False, "no")),
            layers=((CACHE, layer_of(f"{NOWHERE}/layers", ROOT, CACHE)),),
        ),
    ),
    "a folder that the profile hides is hidden at any depth": (
        profile(hide=["keys/**"]), with_files("src/deep/keys/x"), "ls",
        BASE.replace(mounts=mounts(Mount(f"{ROOT}/src/deep/keys/x", HIDDEN, False, "sandbox.hide"))),
    ),
    "hooks that git takes from elsewhere in the project are protected as its own": (
        {}, {**with_files("githooks/pre-commit"),
             "contents": {f"{ROOT}/.git/config": "[core]\n\thooksPath = githooks\n"}}, "mkdir -p fresh/b",
        BASE.replace(mounts=mounts(Mount(ROOT, WRITE), *HELD, Mount(f"{ROOT}/githooks", FIXED, True, REPOSITORY)),
                     watched=(ROOT,)),
    ),
    "what must not be changed in a cache is held by the folder that holds all of it": (
        {"rules": [*USER["rules"], {"id": "no", "deny": {
            "effect": "write", "path": ["~/.cache/pip", "~/.cache/pip/x", "~/.cache/pip/link"]}}],
         "settings": {"sandbox": {"write": ["~/.cache/**"]}}},
        with_files(**{f"{CACHE}/pip/link": "/srv/data/table.csv"}), "npm test",
        BASE.replace(
            mounts=mounts(Mount(CACHE, WRITE, True, SANDBOX), Mount(f"{CACHE}/gateway", HIDDEN, True, "gateway"),
                          Mount(f"{CACHE}/pip", FIXED, True, "no")),
            layers=((CACHE, layer_of(f"{NOWHERE}/layers", ROOT, CACHE)),),
        ),
    ),
    "what is the gateway's own in a hidden folder is hidden with it": (
        denied("read", "~/.cache"), {}, "grep -r x ~",
        BASE.replace(
            mounts=mounts(
                Mount(HOME, READ), Mount(f"{HOME}/.aws", HIDDEN, True, SECRETS),
                Mount(f"{HOME}/.ssh", HIDDEN, True, SECRETS), Mount(CACHE, HIDDEN, True, "no"),
                without=(f"{HOME}/.cargo/bin", f"{HOME}/.rustup", ROOT),
            ),
            private=("/tmp", "/var/tmp"),
        ),
    ),
    "of clusters that the profile names those of the kubeconfig are reached, which is read": (
        profile(hosts=[{"host": "c.example", "access": "read", "also": ["kubernetes"]}]), {}, "npm test",
        BASE.replace(
            mounts=mounts(Mount(f"{ROOT}/.envrc", HIDDEN, False, "workspace-secrets")),
            withheld=((
                "connect c.example", "nobody can tell what the kubeconfig says: there is no kubeconfig",
            ),),
        ),
    ),
    "login material behind a link is known by its name": (
        {}, with_files("/srv/npmrc", **{f"{HOME}/.npmrc": "/srv/npmrc"}), "npm view react version",
        BASE.replace(
            mounts=mounts(Mount("/srv/npmrc", READ, False)), links=linked(**{f"{HOME}/.npmrc": "/srv/npmrc"}),
            network=Network("listed", (Endpoint("registry.npmjs.org", 443),), METADATA),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GRANTED)
def test_what_a_plan_grants_holds_and_withholds(planner, case: str) -> None:
    user, scene, call, expected = GRANTED[case]
    found = planner(user, scene=scene or WORLD).plan(f"Bash({call})")
    assert found == expected.replace(known=found.known, environment=found.environment)


@pytest.mark.parametrize(("kind", "mode"), [("other", ""), ("file", ""), ("dir", ""), ("other", "plan")])
def test_a_socket_of_the_profile_is_shown_by_its_name_and_what_is_none_is_not(
    planner, kind: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{HOME}/{kind}{mode}.sock"
    opened = planner(
        profile(sockets=[path.replace(HOME, "~")]),
        scene=with_files(path),
        environment={"SSH_AUTH_SOCK": path},
        mode=mode,
    )
    look = type(opened.gateway.host).path

    def looked(host: Any, asked: str) -> Any:
        found = look(host, asked)
        return found.replace(kind=kind) if asked == path else found

    monkeypatch.setattr(type(opened.gateway.host), "path", looked)
    found = opened.plan("Bash(npm test)")
    shown = [each for each in found.mounts if each.path == path]
    assert (shown, path in dict(found.environment).values()) == (
        ([Mount(path, READ, False, SANDBOX)], True) if kind == "other" else ([], False)
    )


@pytest.mark.parametrize("mode", ["plan", "read_only"])
def test_a_mode_that_changes_nothing_has_the_profile_s_files_to_read(planner, mode: str) -> None:
    sandbox = {"read": [NOTES.replace(HOME, "~")], "write": ["~/.cache/**"]}
    found = planner(profile(**sandbox), mode=mode).plan("Bash(npm test)")
    assert found.mounts == mounts(Mount(NOTES, READ, False, SANDBOX))


def test_a_contained_call_does_not_see_the_programs_that_a_rule_denies(planner) -> None:
    held = {"allow": {"effect": ["code", "opaque"], "contained": True}}
    no_tool = {"id": "no-tool", "deny": "Bash(tool *)", "except": ["Bash(tool ok)"]}
    no_node = {"id": "no-node", "deny": "Bash(node *)", "except": ["Bash(node --version)"]}
    opened = planner({"rules": [held, no_tool, no_node]}, scene=with_files("/usr/bin/node"))
    found = {}
    for text in ("./x", "./x; tool ok", "./x; node --version"):  # the one nobody has described, the other somebody has
        verdict = opened.gateway.check(RawCall("Bash", {"command": text}), contains=lambda *_: "")
        assert verdict.contained
        plan = plan_of(verdict, profile_of({}), opened.surveyor.survey(verdict))
        found[text] = [each for each in plan.mounts if each.path.startswith("/usr/")]
    node, tool = (
        Mount("/usr/bin/node", HIDDEN, False, "no-node"), Mount("/usr/local/bin/tool", HIDDEN, False, "no-tool"),
    )  # fmt: skip
    assert found == {"./x": [node, tool], "./x; tool ok": [node], "./x; node --version": [tool]}


def test_what_appears_while_a_call_runs_is_protected_but_for_what_it_was_judged_to_change(planner) -> None:
    opened = planner()
    names = (".git/hooks/new", ".git/hooks/pre-commit", ".env", "build/y")
    found = {
        call: [opened.surveyor.rule_on(opened.verdict(f"Bash({call})"), f"{ROOT}/{name}") for name in names]
        for call in ("touch build/x", "cp README.md .git/hooks/pre-commit", "rm .git/hooks/new")
    }
    assert found == {
        "touch build/x": [REPOSITORY, REPOSITORY, SECRETS, ""],
        "cp README.md .git/hooks/pre-commit": [REPOSITORY, "", SECRETS, ""],
        "rm .git/hooks/new": ["", REPOSITORY, SECRETS, ""],
    }


def test_what_is_looked_at_around_a_call_are_the_names_that_it_was_not_judged_to_change(planner) -> None:
    opened = planner()
    found = {
        call: {
            each.path.removeprefix(f"{ROOT}/") for each in opened.surveyor.marks(opened.verdict(f"Bash({call})"), ROOT)
        }
        for call in ("touch build/x", "cp README.md .vscode/settings.json")
    }
    assert found["touch build/x"] == {
        ".env", ".envrc", ".git", ".git/config", ".git/hooks", ".vscode/settings.json", "config/.env.production",
    }  # fmt: skip
    assert found["touch build/x"] - found["cp README.md .vscode/settings.json"] == {".vscode/settings.json"}


def test_there_may_be_more_names_around_a_call_than_a_plan_can_hold_where_nothing_is_planned(
    planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = planner()
    verdict = opened.verdict("Bash(touch build/x)")
    many = opened.surveyor.marks(verdict, ROOT)
    monkeypatch.setattr("gateway.sandbox.index.MAX_MARKS", len(many) - 1)
    assert opened.surveyor.marks(verdict, ROOT, bounded=False) == many
    with pytest.raises(SandboxError, match="names"):
        opened.surveyor.marks(verdict, ROOT)


@pytest.mark.parametrize(
    ("call", "searched"),
    [("ls", ()), ("grep -r x /", ()), ("grep -r x /home", ()), ("grep -r x ~", (HOME,)), ("touch ~/x", ()),
     ("echo x > ~/other/notes.txt", ()), ("touch ~/other/new", (f"{HOME}/other",)),
     ("touch ~/other/n/n/new", (f"{HOME}/other",)), ("cat /srv/data/table.csv", ()),
     ("rm /srv/data/table.csv", ("/srv/data",)), ("rm /opt/x/y", ("/opt/x",)),
     ("grep -r x /usr/bin", ()), ("grep -r x src", ()), ("touch src/new", ())],
)  # fmt: skip
def test_all_of_the_workspace_is_searched_and_what_a_call_names_unless_that_is_most_of_the_machine(
    planner, call: str, searched: tuple[str, ...]
) -> None:
    opened = planner(scene=with_files("/opt/x/y"))
    found = opened.surveyor.survey(opened.verdict(f"Bash({call})"))
    assert found.searched == (ROOT, *searched)
    assert found.search_path == ("/home/dev/.cargo/bin", "/usr/local/bin", "/usr/bin", "/bin")


@pytest.mark.parametrize(
    ("name", "call", "kind"), [("went", "touch ~/went/x", "write"), ("went/x", "cat ~/went/x", "read")]
)  # fmt: skip
def test_what_nobody_can_tell_the_place_of_any_more_is_neither_read_nor_written(
    planner, name: str, call: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{HOME}/{name}"
    opened = planner(scene=with_files(f"{HOME}/went/x"))
    verdict = opened.verdict(f"Bash({call})")
    look = type(opened.gateway.host).path
    monkeypatch.setattr(type(opened.gateway.host), "path", lambda host, at: None if at == path else look(host, at))
    survey = opened.surveyor.survey(verdict)
    withheld = ((f"{kind} {HOME}/went/x", "nobody can tell where it leads"),)
    assert (survey.searched, survey.places[path].near) == ((ROOT,), "")
    assert plan_of(verdict, profile_of({}), survey).withheld == withheld


def test_a_workspace_that_is_the_temporary_folder_is_no_empty_one(planner) -> None:
    assert planner(scene={**with_files("/tmp/x"), "root": "/tmp"}).plan("Bash(ls)").private == (HOME, "/var/tmp")


@pytest.mark.parametrize(
    ("path", "kind", "call", "more"),
    [(f"{ROOT}/docs/guide.md", "missing", "echo x > docs/guide.md", (Mount(f"{ROOT}/docs", WRITE),)),
     (f"{HOME}/.npmrc", "missing", "npm view react version", ()),
     (f"{HOME}/.npmrc", "other", "npm view react version", (Mount(f"{HOME}/.npmrc", READ, False),))],
)  # fmt: skip
def test_a_plan_is_made_of_what_is_there_now_be_it_something_else_than_was_judged(
    planner, path: str, kind: str, call: str, more: tuple[Mount, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = planner(scene=with_files(path), environment={**CALLER, "SSH_AUTH_SOCK": path})
    verdict = opened.verdict(f"Bash({call})")
    look = type(opened.gateway.host).path
    now = PathFact(path, kind)
    monkeypatch.setattr(type(opened.gateway.host), "path", lambda host, at: now if at == path else look(host, at))
    found = plan_of(verdict, profile_of({}), opened.surveyor.survey(verdict))
    assert (found.mounts, "SSH_AUTH_SOCK" in dict(found.environment)) == (mounts(*more), kind == "other")


def test_what_only_the_superuser_may_read_is_hidden_where_the_gateway_is_he(
    planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = planner()
    private = (Mark("/etc/hosts", "file", "private-to-root"),)
    monkeypatch.setattr(type(opened.surveyor.system_view), "private", lambda _self: private)
    assert opened.plan("Bash(ls)").mounts == mounts(Mount("/etc/hosts", HIDDEN, False, "private-to-root"))


def test_of_a_folder_that_is_in_no_repository_none_is_shown(planner) -> None:
    other = "/home/dev/main/.git"
    contents = {
        "/.git": f"gitdir: {other}/worktrees/top\n",
        f"{other}/HEAD": "ref: refs/heads/main\n",
        f"{other}/worktrees/top/gitdir": "/.git\n",
        f"{other}/worktrees/top/commondir": "../..\n",
        f"{other}/worktrees/top/HEAD": "ref: refs/heads/topic\n",
    }
    scene = {**with_files(f"{other}/config", f"{other}/objects/aa/b"), "contents": contents}
    opened = planner(scene=scene)
    verdict = opened.verdict("Bash(git -C /nowhere log)")
    verdict = verdict.replace(facts=verdict.facts.replace(git={"/nowhere": GitFact("", False, "")}))
    assert opened.surveyor.survey(verdict).repositories == ()


def test_what_was_found_is_kept_as_long_as_there_is_little_of_it(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.sandbox.survey.MAX_TREES", 2)
    opened = planner()
    surveyor = Surveyor(opened.gateway, secrets.holds)
    protection = surveyor.protection(opened.verdict("Bash(ls)"))
    trees = [surveyor.tree(f"{ROOT}/{name}", protection) for name in ("a", "docs")]
    tools = [surveyor.tools((folder,), ()) for folder in (f"{HOME}/.cargo/bin", "/usr/local/bin")]
    assert [surveyor.tree(each.root, protection) is each for each in trees] == [True, True]
    assert surveyor.tools((f"{HOME}/.cargo/bin",), ()) is tools[0]
    surveyor.tree(f"{ROOT}/src", protection)
    surveyor.tools(("/usr/bin",), ())
    assert surveyor.tree(trees[0].root, protection) is not trees[0]
    assert (surveyor.tools((f"{HOME}/.cargo/bin",), ()) is tools[0], bool(tools[0])) == (False, True)


def test_the_kernel_is_asked_to_tell_of_changes_once_a_folder_is_looked_at_again(planner) -> None:
    opened = planner()
    verdict = opened.verdict("Bash(ls)")
    first, around = (Surveyor(opened.gateway, secrets.holds) for _ in range(2))
    found = []
    for look in (lambda: first.survey(verdict), lambda: first.survey(verdict), lambda: around.marks(verdict, ROOT)):
        look()
        found.append([each.changes.descriptor >= 0 for each in (first, around)])
    first.changes.close()
    around.changes.close()
    assert found == [[False, False], [True, False], [True, True]]


def test_places_with_stars_on_the_way_are_looked_for_each_time(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    surveyor = Surveyor(planner().gateway, secrets.holds)
    stars, plain = "~/.nvm/*/bin/**", "~/.nvm/v18/bin/**"
    before = [surveyor.roots(each) for each in (stars, plain)]
    monkeypatch.setattr(surveyor, "_host", planner(scene=with_files(f"{HOME}/.nvm/v18/bin/node")).gateway.host)
    assert before == [(), (f"{HOME}/.nvm/v18/bin",)]
    assert [surveyor.roots(each) for each in (stars, plain)] == [(f"{HOME}/.nvm/v18/bin",), before[1]]
    assert surveyor.roots(plain) is before[1]


@pytest.mark.parametrize(
    ("room", "mode", "access"), [("r1", "", WRITE), ("r1", "plan", READ), ("", "", "")]
)  # fmt: skip
def test_what_the_client_s_tools_wrote_in_the_temporary_folder_is_there_in_its_session(
    planner, room: str, mode: str, access: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gateway.sandbox.rooms.brought", lambda _rooms, _name: ("/tmp/given", "/tmp/folder", "/tmp/.env")
    )
    opened = planner(scene=with_files("/tmp/given", "/tmp/folder/x", "/tmp/.env"), mode=mode)
    context = opened.gateway.context.replace(room=room)
    verdict = opened.gateway.check(parse_call_text(opened.gateway.registry, "Bash(ls)"), context)
    found = plan_of(verdict, profile_of(opened.gateway.loaded.settings), opened.surveyor.survey(verdict))
    assert [each for each in found.mounts if each.path.startswith("/tmp")] == (
        [Mount("/tmp/folder", access, True), Mount("/tmp/given", access, False)] if access else []
    )


def test_the_profile_s_limits_are_the_plan_s(planner) -> None:
    limits = {"processes": 7}
    assert planner({"settings": {"limits": limits}}).plan("Bash(ls)").limits == limits_of(limits)


def test_files_that_look_like_secrets_are_found_below_some_folders(planner) -> None:
    found = planner(USER, scene=SECRETIVE).surveyor.secret_files((ROOT,))
    assert {f"{ROOT}/certs/dev.pem", f"{ROOT}/prod.tfvars", f"{ROOT}/run.log"} <= set(found)


def test_each_verdict_has_the_protection_of_the_rules_that_count_for_it(planner) -> None:
    rule = {"id": "later", "deny": {"effect": "write", "path": "a/**", "mode": "accept_edits"}}
    opened = planner({"rules": [rule]})
    call = parse_call_text(opened.gateway.registry, "Bash(ls)")
    context = opened.gateway.context
    verdicts = [opened.gateway.check(call, context.replace(mode=mode)) for mode in ("default", "accept_edits")]
    surveyor, path = opened.surveyor, f"{ROOT}/a/one.txt"
    assert [surveyor.protection(each).of(path).fixed for each in (*verdicts, verdicts[0])] == ["", "later", ""]
    assert surveyor.protection(verdicts[0]) is surveyor.protection(verdicts[0])


@pytest.mark.parametrize("more", [{}, {"direction": "send"}])
def test_hosts_that_rules_forbid_are_told_for_a_call_whatever_was_judged(planner, more: dict[str, str]) -> None:
    rule = {"id": "no", "deny": {"effect": "connect", "host": "evil.example", **more}}
    opened = planner({"rules": [rule]}, builtin=False)
    refused, only = opened.surveyor.forbidden_hosts(opened.verdict("Bash(ls)"))
    assert ([(each.host, each.rule) for each in refused], only) == ([("evil.example", "no")], ())


def test_a_session_s_own_folder_is_hidden_in_what_a_call_sees(planner) -> None:
    opened = planner()
    call = parse_call_text(opened.gateway.registry, "Bash(grep -r x ~)")
    found = {}
    for name in ("other", "not-there"):
        verdict = opened.gateway.check(call, opened.gateway.context.replace(scratch=f"{HOME}/{name}"))
        plan = plan_of(verdict, profile_of(opened.gateway.loaded.settings), opened.surveyor.survey(verdict))
        found[name] = [each for each in plan.mounts if each.rule == "gateway"]
    kept = Mount(f"{CACHE}/gateway", HIDDEN, True, "gateway")
    assert found == {"other": [kept, Mount(f"{HOME}/other", HIDDEN, True, "gateway")], "not-there": [kept]}


def test_what_the_gateway_keeps_nowhere_hides_nothing(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = planner()
    monkeypatch.setattr(opened.gateway, "places", opened.gateway.places.replace(cache="", state=".", config=""))
    assert opened.plan("Bash(ls)").mounts == BASE.mounts


@pytest.mark.parametrize("path", ["//opt", "//opt/**"])
def test_programs_that_a_rule_hides_are_not_shown_and_that_is_told(planner, path: str) -> None:
    found = planner(denied("read", path), scene=with_files("/opt/x/tool"), environment={"PATH": "/opt/x:/usr/bin"})
    plan = found.plan("Bash(ls)")
    assert ([each.path for each in plan.mounts if each.path.startswith("/opt")], plan.withheld) == (
        [], (("`/opt`", "rule `no` hides what lies in it"),),
    )  # fmt: skip


def test_what_a_call_meets_when_it_changes_a_folder_is_what_is_known_in_it(planner) -> None:
    found = {call: planner().plan(f"Bash({call})").known for call in ("ls", "touch build/x", "mkdir -p fresh/b")}
    names = (".env", ".envrc", ".git", ".git/config", ".git/hooks", ".vscode/settings.json", "config/.env.production")
    assert found == {"ls": (), "touch build/x": (), "mkdir -p fresh/b": tuple(f"{ROOT}/{each}" for each in names)}


def test_a_layer_is_that_of_the_project_wherever_in_it_the_call_starts(planner) -> None:
    _call, expected = CALLS["tests that a rule allows get the profile"]
    found = planner(cwd=f"{ROOT}/src").plan("Bash(npm test)")
    assert (found.layers, found.mounts) == (expected.layers, expected.mounts)


@pytest.mark.parametrize(
    ("room", "mode", "own"),
    [("", "accept_edits", True), ("r1", "accept_edits", False), ("r1", "plan", True), ("", "plan", True)],
)
def test_a_call_that_starts_below_its_temporary_folder_finds_that_there(planner, room, mode: str, own: bool) -> None:
    """In a room the folder is the session's, in which it is already; else there is a new one for the call."""
    opened = planner(cwd="/tmp/w", mode=mode, scene=with_files("/tmp/w/x"))
    context = opened.gateway.context.replace(room=room)
    verdict = opened.gateway.check(parse_call_text(opened.gateway.registry, "Bash(true)"), context)
    found = plan_of(verdict, profile_of(opened.gateway.loaded.settings), opened.surveyor.survey(verdict))
    assert ("/tmp/w" in found.private) == own


def test_a_plan_has_as_many_mounts_as_it_may_have_and_no_more(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    many = len(planner().plan("Bash(ls)").mounts)
    monkeypatch.setattr("gateway.sandbox.plan.MAX_MOUNTS", many)
    assert len(planner().plan("Bash(ls)").mounts) == many
    monkeypatch.setattr("gateway.sandbox.plan.MAX_MOUNTS", many - 1)
    with pytest.raises(SandboxError, match=f"the plan would need more than {many - 1} mounts"):
        planner().plan("Bash(ls)")


# --- what no plan may hold ------------------------------------------------------------------------------------------

TEXTS = (
    "ls", "ls -la ~", "cat src/main.py", "cat .env", "cat ~/.ssh/id_ed25519", "grep -r x .", "grep -r x ~/other",
    "touch build/x", "echo x > build/y", "echo x > README.md", "rm -r build", "mv a docs", "cp linked/table.csv docs",
    "git fetch", "git commit -m x", "git add .", "npm test", "npm install", "npm test; rm -r build", "curl https://a.org",
    "curl -o docs/x https://b.org", "python x.py", "make", "$x y", "sed -i s/a/b/ docs/guide.md", "cat < .envrc",
    "tee .git/hooks/pre-commit", "rm .vscode/settings.json", "ssh host ls", "scp x host:y", "aws s3 ls",
    "find . -delete",
)  # fmt: skip
PATHS = (
    "./**",
    "docs/**",
    "src/**",
    "**/*.md",
    "**/.env*",
    "~/.cache/**",
    "//etc/**",
    "build",
    "**/.git/**",
    "~/other/**",
)
DENIES = st.builds(
    lambda kinds, path: {"id": "drawn", "deny": {"effect": kinds, "path": [path]}},
    st.lists(st.sampled_from(["read", "write", "delete"]), min_size=1, max_size=3, unique=True),
    st.sampled_from(PATHS),
)
RULES = st.lists(
    st.sampled_from([
        {"id": "all", "allow": "Bash"},
        {"id": "edits", "allow": "Edit(docs/**)"},
        {"id": "git", "allow": "Bash(git *)"},
        {"id": "web", "allow": {"effect": "connect"}},
    ]),
    max_size=3,
    unique_by=lambda each: each["id"],
)  # fmt: skip
MODES = st.sampled_from(["default", "accept_edits", "plan", "bypass", "dont_ask"])


def drawn(planner, rules: list[dict[str, Any]], mode: str, text: str) -> tuple[Any, SandboxPlan | None]:
    user = {"rules": [*USER["rules"], *rules], "settings": USER["settings"]}
    opened = planner(user, mode=mode)
    verdict = opened.verdict(f"Bash({text})")
    try:
        return verdict, plan_of(verdict, profile_of(opened.gateway.loaded.settings), opened.surveyor.survey(verdict))
    except SandboxError:
        return verdict, None


def access(plan: SandboxPlan, path: str) -> str:
    """What the deepest mount that holds a path makes of it."""
    found = [each for each in plan.mounts if path == each.path or path.startswith(each.path + "/")]
    return max(found, key=lambda each: len(each.path)).access if found else ""


def everything(planner) -> list[str]:
    host = planner().gateway.host
    return [path for path in host.below("/") if host.path(path).kind == "file" and host.path(path).real == path]


@given(st.data())
def test_no_plan_makes_a_denied_path_readable_or_writable(planner, data: st.DataObject) -> None:
    deny = data.draw(DENIES)
    verdict, plan = drawn(planner, [*data.draw(RULES), deny], data.draw(MODES), data.draw(st.sampled_from(TEXTS)))
    if plan is None:
        return
    alone = planner({"rules": [deny]}, builtin=False)
    # Names at any depth are looked for in the project and in what the call names, not in caches and the system.
    near = [path for path in everything(planner) if path.startswith((ROOT, "/etc"))]
    for path in near:
        standing = alone.surveyor.protection(verdict).of(path)
        found = access(plan, path)
        if standing.hidden and not (path.startswith("/etc") and deny["deny"]["path"][0][:2] == "**"):
            assert found in ("", HIDDEN), path
        if standing.fixed:
            assert found != WRITE, path


@given(rules=RULES, mode=MODES, text=st.sampled_from(TEXTS))
def test_by_analysis_nothing_is_writable_but_where_a_change_was_predicted(planner, rules, mode: str, text: str) -> None:
    verdict, plan = drawn(planner, rules, mode, text)
    if plan is None or any(each.reason.rule.lane == "allow" for each in verdict.outcomes):
        return
    predicted = [
        place
        for item in verdict.analysis.items
        if item.effect.kind in ("write", "delete")
        for place in (item.effect.path, item.effect.real or item.effect.path)
    ]
    for mount in plan.mounts:
        if mount.access == WRITE:
            assert any(place == mount.path or place.startswith(mount.path + "/") for place in predicted), mount


@given(rules=RULES, mode=MODES, text=st.sampled_from(TEXTS), deny=DENIES)
def test_one_more_deny_never_adds_a_grant(planner, rules, mode: str, text: str, deny) -> None:
    _, before = drawn(planner, rules, mode, text)
    verdict, after = drawn(planner, [*rules, deny], mode, text)
    if after is None:
        return
    assert before is not None or verdict.decision is Decision.DENY
    strength = {"": 0, HIDDEN: 0, READ: 1, FIXED: 1, WRITE: 2}
    for path in everything(planner):
        assert strength[access(after, path)] <= strength[access(before, path)], path
    assert set(after.network.allow) <= set(before.network.allow)


@given(rules=RULES, mode=st.sampled_from(["plan", "read_only"]), text=st.sampled_from(TEXTS))
def test_ceilings_leave_nothing_writable(planner, rules, mode: str, text: str) -> None:
    _, plan = drawn(planner, rules, mode, text)
    if plan is not None:
        assert [each for each in plan.mounts if each.access == WRITE] == []


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("by-rule", "npm test"),
        ("fetch", "git fetch"),
        ("unknown-host", "curl $URL"),
        ("protected", "cp README.md .git/hooks/pre-commit"),
    ],
)
def test_people_see_the_plan_like_this(planner, golden, name: str, call: str) -> None:
    found = plan_data(planner().plan(f"Bash({call})"))
    text = plan_text(found, Style())
    golden(f"plan-{name}.txt", f"$ gateway check --plan 'Bash({call})'\n{text}")
    assert "verysecret" not in text + json.dumps(found)


def test_where_there_can_be_no_plan_people_see_why(planner) -> None:
    opened = planner()
    found = planned(opened.gateway, opened.verdict("Bash(touch ~/x)"))
    assert found == {
        "error": "`/home/dev/x` cannot be changed without `/home/dev` as a whole, which no sandbox is given",
        "remedy": "let the person make a folder for it, or change the file in its place",
    }
    text = plan_text(found, Style())
    assert " ".join(text.split()) == f"no plan {found['error']} help {found['remedy']}"


SECRETIVE = {
    **WORLD,
    "files": [*WORLD["files"], "certs/dev.pem", "prod.tfvars", ".gitignore", "run.log"],
    "contents": {
        f"{ROOT}/.gitignore": "*.log\n",
        f"{ROOT}/run.log": "token=ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3x\n",
    },
}


@pytest.mark.parametrize(
    ("call", "told", "hidden"),
    [
        ("npm test", {}, ["certs/dev.pem", "prod.tfvars", "run.log"]),
        ("npm test", {"hosts": []}, []),
        ("npm test", {"show": ["certs/**", "*.log"]}, ["prod.tfvars"]),
        ("npm test < prod.tfvars", {}, ["certs/dev.pem", "run.log"]),
        ("make; curl https://registry.npmjs.org/x", {}, []),  # they see both
        ("make", {}, []),  # a person is asked, who sees what it is
        ("curl https://registry.npmjs.org/x", {}, []),  # what it sends was predicted
    ],
    ids=lambda value: str(value),
)
def test_what_runs_unseen_and_reaches_hosts_without_a_question_sees_no_secrets_of_the_workspace(
    planner, call: str, told: dict[str, Any], hidden: list[str]
) -> None:
    user = {**USER, "settings": {"sandbox": {**USER["settings"]["sandbox"], **told}}}
    found = planner(user, scene=SECRETIVE).plan(f"Bash({call})").mounts
    names = [f"{ROOT}/{name}" for name in ("certs/dev.pem", "prod.tfvars", "run.log")]
    assert [
        each.path.removeprefix(f"{ROOT}/") for each in found if each.path in names and each.access == HIDDEN
    ] == hidden


def test_a_call_whose_secrets_cannot_all_be_looked_for_says_so(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.sandbox.workspace_secrets.MAX_FILES", 0)
    assert ("all that git ignores", "there is too much of it to find every secret in it") in planner(
        USER, scene=SECRETIVE
    ).plan("Bash(npm test)").withheld


def test_login_material_that_its_program_writes_is_lent_so_with_its_folder_in_the_workspace_alone(planner) -> None:
    """terraform opens its state to be written whatever it does, and keeps the lock on it beside it."""
    names = ["infra/terraform.tfstate", "infra/.git/hooks/x", "/srv/data/state/terraform.tfstate"]
    scene = {**WORLD, "files": [*WORLD["files"], *names], "links": {**WORLD["links"], "terraform.tfstate": names[2]}}
    terraform = planner({}, scene=scene)
    mounts = {each.path: each.access for each in terraform.plan("Bash(terraform -chdir=infra plan)").mounts}
    infra = {path: access for path, access in mounts.items() if path.startswith(f"{ROOT}/infra")}
    assert infra == {f"{ROOT}/infra": WRITE, f"{ROOT}/infra/.git/hooks": FIXED}, infra
    # What a link leads to beside the workspace is read there.
    mounts = {each.path: each.access for each in terraform.plan("Bash(terraform plan)").mounts}
    assert {mounts[path] for path in (names[2], ROOT)} == {READ}
    assert "/srv/data/state" not in mounts
