"""Test reports as JUnit XML, the form that pipelines read."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.judge.policy_tables import Report
    from gateway.judge.policy_tests import Case


def junit(report: Report, least_coverage: float | None = None) -> str:
    """One suite for each file, one case for each example and test; a suite `coverage` if a least one is asked for."""
    suites: dict[str, list[Case]] = {}
    for case in report.cases:
        suites.setdefault(case.file, []).append(case)
    body = "".join(_suite(file, cases) for file, cases in suites.items())
    failures, total = len(report.failures), len(report.cases)
    if least_coverage is not None:
        missed = report.coverage < least_coverage
        failures, total = failures + missed, total + 1
        body += _coverage(report, least_coverage, missed)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}<testsuites name="gateway policy" tests="{total}" failures="{failures}">\n{body}</testsuites>\n'


def document(name: str, suites: Iterable[tuple[str, int, int]]) -> str:
    """A report of suites, each as `suite` gives it."""
    some = list(suites)
    total, failures = sum(each[1] for each in some), sum(each[2] for each in some)
    body = "".join(each[0] for each in some)
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={_attribute(name)}'
    return f'{head} tests="{total}" failures="{failures}">\n{body}</testsuites>\n'


def suite(name: str, cases: Iterable[tuple[str, str, int, str]]) -> tuple[str, int, int]:
    """A suite of cases, each with its name, file, line, and what is wrong, "" for one that passes: its text, and how
    many cases there are and fail."""
    some = list(cases)
    body = ""
    for title, file, line, problem in some:
        place = f' file={_attribute(file)} line="{line}"' if file else ""
        head = f"<testcase name={_attribute(title)} classname={_attribute(name)}{place}"
        failure = f"<failure message={_attribute(problem)}>{escape(_plain(problem))}</failure></testcase>"
        body += f"{head}>{failure}\n" if problem else f"{head}/>\n"
    failing = sum(bool(each[3]) for each in some)
    return (
        f'<testsuite name={_attribute(name)} tests="{len(some)}" failures="{failing}">\n{body}</testsuite>\n',
        len(some),
        failing,
    )


def _suite(file: str, cases: list[Case]) -> str:
    failures = sum(bool(case.problem) for case in cases)
    body = "".join(_case(case) for case in cases)
    return f'<testsuite name={_attribute(file)} tests="{len(cases)}" failures="{failures}">\n{body}</testsuite>\n'


def _case(case: Case) -> str:
    name = f"{case.rule} {case.kind} {case.call}" if case.rule else f"{case.kind} {case.call}"
    place = f'file={_attribute(case.file)} line="{case.line}"'
    head = f"<testcase name={_attribute(name)} classname={_attribute(case.file)} {place}"
    if not case.problem:
        return f"{head}/>\n"
    return f"{head}><failure message={_attribute(case.problem)}>{escape(_plain(case.problem))}</failure></testcase>\n"


def _coverage(report: Report, least: float, missed: bool) -> str:
    head = f'<testsuite name="coverage" tests="1" failures="{int(missed)}">\n<testcase name="rules exercised"'
    if not missed:
        return f"{head}/>\n</testsuite>\n"
    listed = "\n".join(f"{each.file}:{each.line}: {each.rule}" for each in report.unexercised)
    message = f"coverage must be at least {least:g} % (got {report.coverage:.1f} %)"
    failure = f"<failure message={_attribute(message)}>{escape(_plain(listed))}</failure>"
    return f"{head}>{failure}</testcase>\n</testsuite>\n"


def _attribute(text: str) -> str:
    return quoteattr(_plain(text), {"\n": "&#10;"})


def _plain(text: str) -> str:
    """XML has no way to write most control characters and lone surrogates."""
    return "".join(
        char if char in "\t\n" or (char >= " " and not "\ud800" <= char <= "\udfff") else "�" for char in text
    )
