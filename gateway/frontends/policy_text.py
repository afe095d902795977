"""What `gateway policy …` prints for people: the effective policy, test reports, findings, what trust accepts."""

from __future__ import annotations

import json
import os

from gateway.judge.effective_policy import ACTIVE
from gateway.policy.wording import visible
from gateway.render.folding import folded, folded_value
from gateway.render.origins import layer_name
from gateway.render.style import columns_of
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gateway.judge.effective_policy import DescribedPrograms, Effective, ListedRule, SourceState
    from gateway.judge.policy_tables import Report
    from gateway.policy.lint.lint import Finding
    from gateway.render.style import Style
    from gateway.tools.registry import Registry

_PAINT = {"deny": "deny", "ask": "ask", "allow": "allow", "require": "strong"}
_MOST_VALUE = 400  # as much of a setting's value is shown, however its lists are folded
_SEVERITY = {"error": "deny", "warning": "ask", "info": "dim"}


def short_path(path: str, root: str, home: str) -> str:
    """A path as people recognise it: below the project or HOME if it lies there."""
    if root and path.startswith(root + "/"):
        path = path[len(root) + 1 :]
    elif home != "/" and path.startswith(home + "/"):
        path = "~" + path[len(home) :]
    return visible(path)


def effective_text(
    found: Effective, home: str, style: Style, *, layer: str = "", only_sources: bool = False, full: bool = False
) -> str:
    """The effective policy with the origin of every entry. Long lists are folded, and lines that are wider than the
    style cut, unless it is to be `full`."""
    sources = [source for source in found.sources if not layer or source.layer == layer]
    lines = [style.paint("sources", "strong"), *_sources(sources, found, home, style)]
    described = [each for each in found.commands if not layer or each.layer == layer]
    lines += _described(described, found, home, style)
    if not layer or layer == "project":
        lines += ["", *_project(found, style)]
    if only_sources:
        return "\n".join(lines) + "\n"
    lines += ["", style.paint("settings", "strong"), *_settings(found, home, layer, full=full)]
    if found.skipped:
        lines += ["", style.paint("not used", "strong")]
        lines += [f"  {short_path(reason, found.root, home)}" for reason in found.skipped]
    hooks = [hook for hook in found.hooks if not layer or hook["layer"] == layer]
    lines += ["", style.paint("hooks", "strong")] if hooks else []
    for hook in hooks:
        where = f"({hook['layer']}, {short_path(hook['file'], found.root, home)}:{hook['line']})"
        lines += [_hook(hook, where), f"    {what_runs(hook)}"]
    brought = [each for each in found.tool_files if not layer or each[0] == layer]
    lines += ["", style.paint("tools", "strong")] if brought else []
    lines += [f"  {each:<11}{short_path(path, found.root, home)}" for each, path in brought]
    rules = [rule for rule in found.rules if not layer or rule.layer == layer]
    for place, group in _by_file(rules):
        of = layer_name(*place)
        of = place[0] if of == place[0] else f"{place[0]}, {of}"
        lines += ["", f"{style.paint('rules', 'strong')}  {of}  {short_path(place[1], found.root, home)}"]
        lines += _rules(group, style, full=full)
    if any("…" in line for line in lines) and not full:
        lines += ["", style.paint("… stands for what is left out: `--full` shows all", "dim")]
    return "\n".join(lines) + "\n"


def _sources(sources: Sequence[SourceState], found: Effective, home: str, style: Style) -> list[str]:
    paths = [short_path(source.path, found.root, home) for source in sources]
    widest = max(map(columns_of, paths), default=0)
    lines = []
    for source, path in zip(sources, paths, strict=True):
        padded = path + " " * (widest - columns_of(path))
        notes = [source.state if source.state != "loaded" else _count(source.rules, "rule")]
        notes += [f"extended by {short_path(source.via, found.root, home)}"] if source.via else []
        notes += [f"level {source.level}"] if source.level != "enforce" else []
        notes += [visible(source.note)] if source.note else []
        said = ", ".join(notes)
        if source.state == "broken":
            said = style.paint(said, "deny")
        elif source.state == "absent":
            said = style.paint(said, "dim")
        lines.append(f"  {source.layer:<11}{padded}  {said}")
    return lines


def _described(files: Sequence[DescribedPrograms], found: Effective, home: str, style: Style) -> list[str]:
    """The files that describe programs, each with what it says of which."""
    lines = ["", style.paint("programs", "strong")] if files else []
    paths = [short_path(each.path, found.root, home) for each in files]
    widest = max(map(columns_of, paths), default=0)
    for each, path in zip(files, paths, strict=True):
        said = [f"describes {visible(', '.join(each.describes))}"] if each.describes else []
        said += [f"adds to {visible(', '.join(each.adds))}"] if each.adds else []
        said += ["describes them once the project is trusted"] if each.waits else []
        told = style.paint(each.state, "deny") if each.state == "broken" else "; ".join(said)
        lines.append(f"  {each.layer:<11}{path}{' ' * (widest - columns_of(path))}  {told}")
    return lines


def _project(found: Effective, style: Style) -> list[str]:
    if not found.project_digest:
        is_broken = any(source.layer == "project" and source.state == "broken" for source in found.sources)
        what = "its policy is broken" if is_broken else "has no policy"
        return [f"{style.paint('project', 'strong')}  {visible(found.root)}: {what}"]
    state = "trusted" if found.project_trusted else "not trusted: its allow rules, settings and tools wait"
    lines = [f"{style.paint('project', 'strong')}  {visible(found.root)}: {state}", f"  digest {found.project_digest}"]
    if not found.project_trusted:
        lines.append("  `gateway policy trust` shows what would be accepted")
    return lines


def _settings(found: Effective, home: str, layer: str, *, full: bool) -> list[str]:
    lines = [f"  mode = {found.mode}" + ("" if "mode" in found.settings else "  (nobody sets it)")]
    for name, setting in found.settings.items():
        if layer and layer not in setting.layers():
            continue
        where = f"{layer_name(setting.layer, setting.file)}, {short_path(setting.file, found.root, home)}"
        if name == "mode":
            lines[0] += f"  ({where})" if setting.value == found.mode else "  (command line)"
            continue
        if not isinstance(setting.value, dict):
            lines.append(f"  {name} = {_value(setting.value, full=full)}  ({where})")
            continue
        for key, value in setting.value.items():
            file, set_by = setting.origins[key]
            where = f"{layer_name(set_by, file)}, {short_path(file, found.root, home)}"
            lines.append(f"  {name}.{key} = {_value(value, full=full)}  ({where})")
    return lines


def _value(value: Any, *, full: bool) -> str:
    text = _whole(value) if full else visible(folded_value(value))
    return text if full or len(text) <= _MOST_VALUE else text[: _MOST_VALUE - 1] + "…"


def _by_file(rules: Sequence[ListedRule]) -> Iterator[tuple[tuple[str, str], list[ListedRule]]]:
    groups: dict[tuple[str, str], list[ListedRule]] = {}
    for rule in rules:
        groups.setdefault((rule.layer, rule.file), []).append(rule)
    yield from groups.items()


def _rules(group: Sequence[ListedRule], style: Style, *, full: bool) -> list[str]:
    widest = min(max((len(listed.rule["id"]) for listed in group), default=0), 32)
    lines = []
    for listed in group:
        rule = listed.rule
        flags = [listed.level] if listed.level != "enforce" else []
        flags += ["locked"] if rule["lock"] else []
        flags += [listed.state] if listed.state != ACTIVE else []
        flags += [f"until {rule['expires']}"] if rule["expires"] and listed.state == ACTIVE else []
        said = f" [{', '.join(flags)}]" if flags else ""
        text = visible(str(rule["text"]) if full else folded(str(rule["text"])))
        lane = style.paint(f"{rule['lane']:<8}", _PAINT[rule["lane"]])
        body = text.removeprefix(rule["lane"] + " ")
        room = max(style.width - widest - 20 - len(said), 30)
        body = body if full or len(body) <= room else body[: room - 1] + "…"
        line = f"{rule['line']:>5}  {lane}{visible(rule['id']):<{widest}}  {body}{said}"
        lines.append(style.paint(line, "dim") if listed.state != ACTIVE else line)
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def report_text(report: Report, style: Style) -> str:
    """What failed, what nothing exercised, and the numbers."""
    if not report.cases and not report.rules:
        return "nothing to test: no rules and no tests of your own; `gateway new rule ID` begins with one\n"
    fail = style.paint("FAIL", "deny")
    lines = [f"{fail} {visible(case.file)}:{case.line}: {visible(case.problem)}" for case in report.failures]
    if report.unexercised:
        lines.append("never exercised by an example or test:")
        lines += [f"  {visible(rule.file)}:{rule.line}: {visible(rule.rule)}" for rule in report.unexercised]
    passed = len(report.cases) - len(report.failures)
    said = f"{passed} passed, {len(report.failures)} failed; {_count(report.rules, 'rule')}"
    said += f", {report.coverage:.0f} % exercised"
    lines.append(style.paint(said, "deny" if report.failures else "allow"))
    return "\n".join(lines) + "\n"


def findings_text(findings: Sequence[Finding], style: Style, *, refuted: int = 0) -> str:
    """One finding a paragraph, as compilers print them. `refuted`: how many the engine did not bear out."""
    lines = []
    for finding in findings:
        place = visible(finding.file) + (f":{finding.line}" if finding.line else "")
        severity = style.paint(finding.severity, _SEVERITY[finding.severity])
        rule = f"rule `{visible(finding.rule)}`: " if finding.rule else ""
        lines.append(f"{place}: {severity}[{finding.id}]: {rule}{visible(finding.message)}")
        if finding.witness:
            lines.append(f"  shown by: {visible(finding.shown)}")
        if finding.remedy:
            lines.append(f"  help: {visible(finding.remedy)}")
    counts = [sum(finding.severity == severity for finding in findings) for severity in _SEVERITY]
    if any(counts):
        said = [
            _count(number, name) for number, name in zip(counts, ("error", "warning", "remark"), strict=True) if number
        ]
        lines.append(", ".join(said))
    else:
        lines.append("nothing to say")
    if refuted:
        lines.append(f"{_count(refuted, 'finding')} left out: the engine did not bear out the call that was to show it")
    return "\n".join(lines) + "\n"


def trust_text(found: Effective, registry: Registry, home: str, style: Style) -> str:
    """What trusting the project would add to what its deny and ask rules say already: every allow rule, setting and
    description, and the whole of whatever starts to run."""

    def place(file: str, line: int) -> str:
        return f"({short_path(file, found.root, home)}:{line})"

    files = [source for source in found.sources if source.layer == "project" and source.state == "loaded"]
    brought = [path for layer, path in found.tool_files if layer == "project"]
    tools = [registry[name].entry for name in registry if registry[name].entry.get("layer") == "project"]
    lines = [f"{style.paint('project', 'strong')}  {visible(os.path.realpath(found.root))}"]
    lines += [f"  {short_path(source.path, found.root, home)}  {_count(source.rules, 'rule')}" for source in files]
    lines += [f"  {short_path(path, found.root, home)}  {_count(len(tools), 'tool')}" for path in brought]
    before = len(lines)
    allows = [each for each in found.rules if each.layer == "project" and each.rule["lane"] == "allow"]
    lines += ["", style.paint("rules that would allow", "strong")] if allows else []
    for each in allows:
        text = style.paint(visible(each.rule["text"]), "allow")
        lines.append(f"  {text}  {place(each.file, each.rule['line'])}")
    hooks = [hook for hook in found.hooks if hook["layer"] == "project"]
    lines += ["", style.paint("hooks that begin to run, unasked, with each call they are told of", "strong")] * bool(
        hooks
    )
    for hook in hooks:
        lines += [_hook(hook, place(hook["file"], hook["line"])), f"    {what_runs(hook)}"]
    lines += ["", style.paint("tools that calls can use", "strong")] if tools else []
    for entry in tools:
        lines += [f"  {visible(entry['name'])}: {visible(entry['summary'])}  {place(brought[0], entry['line'])}"]
        lines += [f"    runs {visible(quoted([_template(word) for word in entry['handler']['words']]))}"]
    values = list(_of_project(found))
    servers = [(key, value) for name, key, value in values if name == "servers"]
    lines += ["", style.paint("servers that begin to run when they are called", "strong")] if servers else []
    for key, server in servers:
        runs = f"runs {visible(quoted(server['command']))}"
        does = f"is asked at {visible(server['url'])}" if server["url"] else runs
        lines += [f"  {visible(key)}", f"    {does}"]
        lines += [f"    its tools are taken for those of `{visible(server['is'])}`"] * bool(server["is"])
        lines += [f"    with {visible(name)}={visible(value)}" for name, value in server["env"].items()]
    languages = [(key, value) for name, key, value in values if name == "language_servers"]
    lines += ["", style.paint("language servers that begin to run when they are asked", "strong")] * bool(languages)
    for key, server in languages:
        lines += [f"  {visible(key)}, for {visible(' '.join(server['extensions']))}"]
        lines += [f"    runs {visible(quoted(server['command']))}"]
        lines += [f"    with {visible(name)}={visible(value)}" for name, value in server["env"].items()]
        told = (("initialization", server["initialization"]), ("configuration", server["configuration"]))
        lines += [f"    {name} = {_whole(value)}" for name, value in told if value]
    shown = ("servers", "language_servers")
    settings = [(f"{name}.{key}" if key else name, value) for name, key, value in values if name not in shown]
    lines += ["", style.paint("settings", "strong")] if settings else []
    lines += [f"  {visible(name)} = {_whole(value)}" for name, value in settings]
    described = [each for each in found.commands if each.layer == "project"]
    if len(lines) == before and not any(each.describes for each in described):
        idle = ["", "nothing in it loosens anything: it holds already"]
    else:
        idle = []
    lines += [*_described(described, found, home, style), *idle, "", f"digest {found.project_digest}"]
    return "\n".join(lines) + "\n"


def _hook(hook: dict[str, Any], place: str) -> str:
    told = ", ".join(hook["event"])
    of = f" of {visible(', '.join(hook['tools']))}" if hook["tools"] else ""
    does = "may refuse and change calls" if hook["guards"] else "only watches"
    return f"  {visible(hook['id'])}: {told}{of}, {does}  {place}"


def what_runs(hook: dict[str, Any]) -> str:
    """What a hook does when it is told of a call."""
    if "command" in hook:
        return f"runs {visible(quoted(hook['command']))}"
    if "http" not in hook:
        return f"calls {visible(hook['python'])}"
    headers = {
        name: "".join(part["text"] if "text" in part else f"{{env:{part['env']}}}" for part in parts)
        for name, parts in hook["http"]["headers"].items()
    }
    sent = ", ".join(f"{name}: {value}" for name, value in headers.items())
    return f"sends each of them to {visible(hook['http']['url'])}" + (f" with {visible(sent)}" if sent else "")


def _template(word: list[dict[str, Any]]) -> str:
    return "".join(part["text"] if "text" in part else f"{{{part['field']}}}" for part in word)


def _of_project(found: Effective) -> Iterator[tuple[str, str, Any]]:
    """The settings that the project sets: name, key in a section, value."""
    for name, setting in found.settings.items():
        if not isinstance(setting.value, dict):
            if setting.layer == "project":
                yield name, "", setting.value
            continue
        for key, value in setting.value.items():
            if setting.origins[key][1] == "project":
                yield name, key, value


def _whole(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
