"""`gateway policy`: show, test, lint, diff, export, lsp, suggest, precommit, schema, help and trust."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.audit.log import FOLDER as RECORD
from gateway.config.load import Options, project_root, tool_files
from gateway.config.shipped import load_tools
from gateway.core.errors import EXIT_USAGE, ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.cli.policy_diff import diff
from gateway.frontends.cli.policy_export import export
from gateway.frontends.cli.policy_lsp import lsp
from gateway.frontends.cli.policy_suggest import suggest
from gateway.frontends.cli.replay import moment_of
from gateway.frontends.jsontext import dumps, pretty
from gateway.frontends.output import complain, safe_lines, write
from gateway.frontends.parameter_files import FOLDER, POLICY_FILES, POLICY_FOLDER, WRITES
from gateway.frontends.session import folder
from gateway.model.decision import LAYERS
from gateway.render.style import is_terminal, style_for
from gateway.spec.suggest import one_of

if TYPE_CHECKING:
    from gateway.core.places import Places
    from gateway.frontends.sarif import Result
    from gateway.judge.effective_policy import Effective
    from gateway.tools.registry import Registry

app = typer.Typer(
    name="policy",
    help="Show, test and check policies.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

UNLIMITED = 1_000_000  # what is piped on is not cut

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_Policies = Annotated[
    str | None,
    typer.Option("--policies", metavar="DIR", help="Use the layers in DIR and `builtin` only."),
    POLICY_FOLDER,
]
_Cwd = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER]
_FORMATS = ("text", "json", "sarif", "github")
_REVIEWS = ("sarif", "github")
_Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(_FORMATS)}.")]
_Unused = Annotated[
    str | None,
    typer.Option("--unused", metavar="TIME", help="Also rules that took part in no decision for so long: 30d, 12w."),
]
_Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", help="Policy files, each on top of `builtin`."), POLICY_FILES
]


def _options(cwd: str | None, policies: str | None, name: str = "--cwd") -> Options:
    here = os.path.realpath(folder(cwd, name))
    chosen = "" if policies is None else folder(policies, "--policies")
    return Options(here, policies=chosen, root=project_root(here))


def _effective(options: Options) -> tuple[Effective, Places, Registry]:
    from gateway.judge.effective_policy import effective

    here = places()
    brought = tool_files(here, options)
    registry = load_tools(here, brought)
    return effective(here, options, registry, brought), here, registry


def _print_problems(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        complain(f"gateway: {safe_lines(str(problem))}\n")


@app.command()
def show(
    json: _Json = False,
    policies: _Policies = None,
    cwd: _Cwd = None,
    layer: Annotated[str | None, typer.Option("--layer", metavar="LAYER", help="Only this layer.")] = None,
    sources: Annotated[bool, typer.Option("--sources", help="Only where policy comes from.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Fold no list and cut no line.")] = False,
) -> int:
    """Show the effective policy with the origin of every entry. Long lists are folded.

    Exit status: 0, or 2 if any file is broken; what can be read is shown all the same.
    """
    if layer is not None and layer not in LAYERS:
        raise ConfigError(Problem(f"--layer must be one of {', '.join(LAYERS)} (got `{layer}`)"))
    found, here, _registry = _effective(_options(cwd, policies))
    if json:
        from gateway.frontends.policy_json import effective_data

        write(pretty(effective_data(found, layer or "", only_sources=sources)) + "\n")
    else:
        from gateway.frontends.policy_text import effective_text

        style = style_for(sys.stdout)
        style = style if is_terminal(sys.stdout) else style.replace(width=UNLIMITED)
        write(effective_text(found, here.home, style, layer=layer or "", only_sources=sources, full=full))
        _print_problems(found.problems)
    return EXIT_USAGE if found.problems else 0


@app.command("test")
def run(
    files: _Files = None,
    policies: _Policies = None,
    cwd: _Cwd = None,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report."), WRITES] = None,
    min_coverage: Annotated[
        float | None, typer.Option("--min-coverage", metavar="PCT", help="The share of rules that must be exercised.")
    ] = None,
    json: _Json = False,
    format: _Format = "text",  # noqa: A002 - as the option is called
) -> int:
    """Run the examples of rules and the tables of tests, in a fixed example project.

    A table is the list `tests:` of a policy, or of NAME.tests.yaml beside NAME.yaml. Without FILE, the layers that
    hold here are tested. Exit status: 0, 1 if anything failed or too little is exercised, 2 for a broken file.
    """
    from gateway.config.descriptions import find_descriptions
    from gateway.config.layers import TESTS_ENDING, find_files
    from gateway.judge.policy_tables import run_tests
    from gateway.judge.policy_tests import stack_for

    if min_coverage is not None and not 0 <= min_coverage <= 100:
        raise ConfigError(Problem(f"--min-coverage must be from 0 to 100 (got `{min_coverage:g}`)"))
    options = _options(cwd, policies)
    here = places()
    registry = load_tools(here, tool_files(here, options))
    if files:
        _either(files, policies)
        named = [name.removesuffix(TESTS_ENDING) + ".yaml" if name.endswith(TESTS_ENDING) else name for name in files]
        named = [os.path.abspath(name) for name in dict.fromkeys(named)]
        stack = stack_for(named, options.root)
    else:
        stack = find_files(here, options.root, policies=options.policies)
        named = [file.path for file in stack if file.layer != "builtin"] if options.policies else []
    descriptions = find_descriptions(here, options.root, policies=options.policies)
    report = run_tests(stack, named, registry, here, options.root, descriptions)
    shape = _shape(format, json)
    if junit is not None:
        from gateway.frontends.junit import junit as as_junit

        _write_file(junit, as_junit(report, min_coverage))
    if shape in _REVIEWS:
        from gateway.frontends.policy_reports import test_results

        write(_reviewed(shape, test_results(report, options.root)))
    elif shape == "json":
        write(
            dumps(
                {
                    "passed": len(report.cases) - len(report.failures),
                    "failed": len(report.failures),
                    "cases": [case.as_dict() for case in report.cases],
                    "rules": report.rules,
                    "coverage": round(report.coverage, 2),
                    "unexercised": [each.as_dict() for each in report.unexercised],
                }
            )
            + "\n"
        )
    else:
        from gateway.frontends.policy_text import report_text

        write(report_text(report, style_for(sys.stdout)))
    too_little = min_coverage is not None and report.coverage < min_coverage
    if too_little and shape == "text":
        complain(f"gateway: coverage must be at least {min_coverage:g} % (got {report.coverage:.1f} %)\n")
    return 1 if report.failures or too_little else 0


def _shape(given: str, json: bool) -> str:
    """The form that was asked for. Raises ConfigError."""
    if given not in _FORMATS:
        raise ConfigError(Problem(f"--format must be one of {', '.join(_FORMATS)} (got `{safe_lines(given)}`)"))
    if json and given not in ("text", "json"):
        raise ConfigError(Problem("either --json or --format must be given, not both"))
    return "json" if json else given


def _reviewed(shape: str, results: list[Result]) -> str:
    from gateway.frontends.policy_reports import as_github, as_sarif

    return as_sarif(results) if shape == "sarif" else as_github(results)


def _either(files: list[str], policies: str | None) -> None:
    if files and policies is not None:
        raise ConfigError(Problem("either files or --policies must be given, not both"))


def _write_file(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        remedy = "name a file in a folder that is there and that you may write"
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error


@app.command()
def lint(
    files: _Files = None,
    policies: _Policies = None,
    cwd: _Cwd = None,
    json: _Json = False,
    format: _Format = "text",  # noqa: A002 - as the option is called
    unused: _Unused = None,
) -> int:
    """Find rules that never match, repeat others, allow more than they seem to, or fail their own examples and tests.

    Without FILE, the layers that hold here are looked at. Exit status: 0, 1 for anything worse than a remark, 2 for a
    broken file.
    """
    from gateway.config.descriptions import find_descriptions
    from gateway.config.layers import TESTS_ENDING
    from gateway.judge.findings import not_read
    from gateway.judge.linting import linted
    from gateway.judge.policy_tests import is_packaged, read_layers, stack_for

    since = moment_of(unused, "--unused")
    options = _options(cwd, policies)
    here = places()
    registry = load_tools(here, tool_files(here, options))
    if files:
        _either(files, policies)
        stack = stack_for([os.path.abspath(name) for name in dict.fromkeys(files)], options.root)
    else:
        from gateway.config.layers import find_files

        stack = find_files(here, options.root, policies=options.policies)
    descriptions = find_descriptions(here, options.root, policies=options.policies)
    tables = [name.removesuffix(".yaml") + TESTS_ENDING for name in files or ()]
    wanted = {os.path.realpath(name) for name in (*(files or ()), *tables)}

    def is_told(path: str) -> bool:
        # Nobody can change what is packaged, and it need not decide everywhere.
        return os.path.realpath(path) in wanted if files else not is_packaged(path)

    confirmed = linted(stack, registry, here, options.root, descriptions, of=is_told)
    findings = list(confirmed.findings)
    if unused is not None:
        from gateway.frontends.unused_rules import unused_rules

        bound = read_layers(stack, registry, options.root).bound
        remarks, why_none = unused_rules(os.path.join(here.state, RECORD), unused, since, bound)
        findings += remarks
        complain(f"note: {why_none}\n" if why_none else "")
    findings = [finding for finding in findings if is_told(finding.file)]
    findings += [] if files or policies else not_read(here, options.root)
    shape = _shape(format, json)
    if shape in _REVIEWS:
        from gateway.frontends.policy_reports import lint_results

        write(_reviewed(shape, lint_results(findings, options.root)))
    elif shape == "json":
        found = {"findings": [finding.as_dict() for finding in findings], "refuted": confirmed.refuted}
        write(dumps(found) + "\n")
    else:
        from gateway.frontends.policy_text import findings_text

        write(findings_text(findings, style_for(sys.stdout), refuted=confirmed.refuted))
    if any(finding.severity == "error" for finding in findings):
        return EXIT_USAGE
    return 1 if any(finding.severity == "warning" for finding in findings) else 0


@app.command()
def precommit(cwd: _Cwd = None) -> int:
    """Test and lint the project's policy. Exit status: 0, 1 if a test fails or lint warns, 2 for a broken file."""
    return max(run(cwd=cwd), lint(cwd=cwd))


app.command()(diff)
app.command()(export)
app.command()(lsp)
app.command()(suggest)


@app.command()
def schema(
    what: Annotated[
        str, typer.Argument(metavar="policy|tools|command|explain", help="What the schema is of.")
    ] = "policy",
) -> int:
    """Print the JSON Schema of policy files, of tools.yaml, of descriptions of programs or of what `explain` prints."""
    if what == "policy":
        from gateway.spec.schema import policy_schema

        write(pretty(policy_schema()) + "\n")
    elif what == "tools":
        from gateway.spec.tools_schema import tools_schema

        write(pretty(tools_schema()) + "\n")
    elif what == "command":
        from gateway.spec.commandschema import command_schema

        write(pretty(command_schema()) + "\n")
    elif what == "explain":
        from gateway.render.explanation import explanation_schema

        write(pretty(explanation_schema()) + "\n")
    else:
        raise ConfigError(Problem(f"schema must be one of policy, tools, command, explain (got `{what}`)"))
    return 0


@app.command("help")
def reference(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="A key, predicate, effect, pattern or setting.")
    ] = None,
) -> int:
    """Say what a word of policy files means, with examples; without WORD, which words there are.

    Exit status: 0, or 2 for a word that is not known.
    """
    from gateway.spec.reference.page import lookup, near, overview

    if word is None:
        write(overview() + "\n`gateway policy help WORD` says what one means; all of it: docs/rules.md\n")
        return 0
    found = lookup(word)
    if not found:
        meant = near(word)
        remedy = f"did you mean {one_of(meant)}?" if meant else "`gateway policy help` lists them"
        raise ConfigError(Problem(f"word must be one of a policy file (got `{safe_lines(word)}`)", remedy=remedy))
    write(found)
    return 0


@app.command()
def trust(
    directory: Annotated[
        str | None, typer.Argument(metavar="DIR", help="The project; the current one if missing."), FOLDER
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the trusted projects and their digests.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust the project no longer.")] = False,
    yes: Annotated[
        str | None, typer.Option("--yes", metavar="DIGEST", help="Accept exactly this content, unasked.")
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Accept what its AGENTS.md, CLAUDE.md and memory.md tell agents, instead.")
    ] = False,
    json: _Json = False,
) -> int:
    """Accept the project's policy as it is now: its allow rules and settings hold, its hooks run from then on.

    Shows what would be accepted, its tools and servers included, and asks at the terminal. A change of any file needs
    to be accepted anew. Exit status: 0, 1 if it was not accepted, 2 for wrong usage or a broken policy.
    """
    from gateway.config.trust import TrustStore
    from gateway.frontends.trusting import accept, accept_memory

    here = places()
    store = TrustStore(here.state)
    if list_all:
        return _list_trusted(store.projects(), json)
    options = _options(directory, None, "DIR")
    project = os.path.realpath(options.root)
    if revoke:
        if not store.revoke(project):
            remedy = "see `gateway policy trust --list`"
            raise ConfigError(Problem(f"project must be a trusted one (got `{project}`)", remedy=remedy))
        write(f"{project} is trusted no longer\n")
        return 0
    return accept_memory(store, options, project, yes) if memory else accept(store, options, project, yes, _effective)


def _list_trusted(projects: dict[str, dict[str, str]], as_json: bool) -> int:
    from gateway.policy.wording import visible

    if as_json:
        write(dumps(projects) + "\n")
    elif not projects:
        write("no project is trusted\n")
    else:
        write(
            "".join(
                f"{visible(project)}\n" + "".join(f"  {digest}  {visible(when)}\n" for digest, when in kept.items())
                for project, kept in sorted(projects.items())
            )
        )
    return 0
