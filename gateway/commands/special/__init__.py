"""What YAML can't tell: programs whose words are a language of their own.

`HOOKS` maps the name that a description's `special:` gives to a function, which runs after the description was
applied and adds items, doubts and hand-overs. A module is loaded when a call first needs one of its hooks: a process
that answers one question needs few of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# Each module of this folder with the hooks it has.
MODULES = {
    "awk": "awk",
    "buckets": "buckets rclone",
    "builtins": "alias command kill let names printf set test",
    "compressors": "ar beside compressor",
    "clients": "aws gcloud helm kube",
    "containers": "compose mounts",
    "finders": "finder",
    "filters": "curl date find keypair ln own_environment page parents parted ps split strings tar tree unzip",
    "gateway": "policy_files policy_folder policy_sources",
    "git": "git git_clone git_config git_fetch git_push git_ref starts_git",
    "git_programs": (
        "git_bulk git_effort git_evaluates git_force_clone git_merge_index git_offers git_overwrites git_prefix "
        "git_program git_request git_script git_sed"
    ),
    "javascript.code": "node",
    "jq": "jq",
    "media": "ffmpeg media",
    "namepatterns": "grep_names rg_names",
    "netcat": "raw",
    "oneliners": "oneliner",
    "perl.code": "perl",
    "python.programs": "python",
    "recipes": "make",
    "requests": "cargo_plain go_modules httpie init_script looked_up pegged resolved service sources sysctl yq",
    "sed": "sed",
    "sql.servers": "mysql psql",
    "shells": "each_shell env eval flock later npx script shell source ssh su sudo trap uv_run watch wrapped",
    "signals": "pkill",
    "sql.sqlite": "duckdb sqlite",
}


def _later(module: str, name: str) -> Callable[[Findings, Invocation], None]:
    """A hook that loads its module when it is first called; from then on the module's own stands in its place."""

    def hook(findings: Findings, run: Invocation) -> None:
        loaded = __import__(f"gateway.commands.special.{module}", fromlist=("HOOKS",))
        HOOKS[name] = loaded.HOOKS[name]
        HOOKS[name](findings, run)

    return hook


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    name: _later(module, name) for module, names in MODULES.items() for name in names.split()
}
