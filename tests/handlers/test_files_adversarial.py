"""The table of adversarial cases of the file tools, in `adversarial/*.txt`: what each call comes to, exactly.

A line is a case: `name | before | meanwhile | call | outcome | after`.

- `before` prepares the world, `meanwhile` changes it between the decision and the use. Steps are separated by `;`,
  paths start in the home folder: `file P=TEXT`, `raw P=BYTES`, `dir P`, `link P=TARGET`, `hard P=OTHER`, `fifo P`,
  `sock P`, `mode P=OCTAL`, `rm P`, `mv P=TO`, `days P=AGE`, `read P` (with Read), `own P=UID` (root only).
- `call` is `Read P`, `Write P <- TEXT`, `Edit P: OLD -> NEW` or `Cell P` (NotebookEdit), paths from the project.
  Further fields follow Read as `name=value`.
- `outcome`: `denied` by policy, `! MESSAGE` for a refusal, `= TEXT` for what the model gets. `N>` stands for the number
  of a line, `{p}` for the project, `{h}` for the home folder.
- `after`: what has changed afterwards, as `P=TEXT`, `P/` (a new folder), `-P` (gone). Anything else must be as it was.

Text may hold escapes (`\\n`, `\\u2019`, `\\xff`; bytes in `raw` and `raw:`). Lines up to an empty one belong together:
what is blocked there has a twin that works. A name in brackets is made as an ordinary user (`[user]`) or needs root.
"""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.calls.output import Failure, Text
from gateway.files import opening as held
from gateway.handlers.replacing import spare_name

FOLDER = Path(__file__).parent / "adversarial"
COLUMNS = 6


def rows(path: Path) -> list[list[list[str]]]:
    """The paragraphs of a table."""
    groups: list[list[list[str]]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            groups.append([])
            continue
        columns = [column.strip() for column in line.split(" | ")]
        groups[-1].append(columns + [""] * (COLUMNS - len(columns)))
    return [group for group in groups if group]


TABLES = {path.stem: rows(path) for path in sorted(FOLDER.glob("*.txt"))}
CASES = [
    pytest.param(*row, id=f"{stem}: {row[0]}") for stem, groups in TABLES.items() for group in groups for row in group
]


def plain(text: str) -> str:
    """Text with its escapes resolved; `{x*20}` repeats, `{s:NAME}` is the spare file for NAME."""
    text = re.sub(r"\{s:(.*?)\}", lambda found: spare_name(found[1]), text)
    text = re.sub(
        r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt\\s])",
        lambda found: " " if found[0] == "\\s" else found[0].encode().decode("unicode_escape"),
        text,
    )
    return re.sub(r"\{([^{}]{1,4})\*(\d+)\}", lambda found: found[1] * int(found[2]), text)


def content(text: str) -> bytes:
    """The bytes of a file: text, or bytes after `raw:`; `*N` at the end repeats."""
    repeated = re.fullmatch(r"(.*)\*(\d+)", text)
    if repeated:
        return content(repeated[1]) * int(repeated[2])
    if text.startswith("raw:"):
        return plain(text[4:]).encode("latin-1")
    return plain(text).encode()


def named(text: str) -> str:
    """A path: text, or bytes where `raw:` stands in it."""
    if "raw:" in text:
        return os.fsdecode(plain(text.replace("raw:", "")).encode("latin-1"))
    return plain(text)


def arrange(bench: Any, steps: str) -> None:
    """Makes the world of a case."""
    for step in filter(None, [each.strip() for each in steps.split(";")]):
        verb, _, rest = step.partition(" ")
        name, _, value = rest.partition("=")
        path = f"{bench.home}/{named(name)}"
        match verb:
            case "file" | "raw":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_bytes(content(f"raw:{value}" if verb == "raw" else value))
            case "dir":
                Path(path).mkdir(parents=True)
            case "link":
                Path(path).symlink_to(named(value).replace("{h}", bench.home))
            case "hard":
                os.link(f"{bench.home}/{value}", path)
            case "fifo":
                os.mkfifo(path)
            case "sock":
                # Its name must be short: it is bound from its folder.
                here = os.open(".", os.O_RDONLY)
                os.chdir(os.path.dirname(path))
                try:
                    with socket.socket(socket.AF_UNIX) as made:
                        made.bind(os.path.basename(path))
                finally:
                    os.fchdir(here)
                    os.close(here)
            case "mode":
                os.chmod(path, int(value, 8))
            case "own":
                os.chown(path, int(value), int(value))
            case "rm":
                os.unlink(path)
            case "mv":
                os.rename(path, f"{bench.home}/{value}")
            case "days":
                os.utime(path, (time.time() - 86_400 * float(value),) * 2)
            case "read":
                bench("Read", file_path=path)
            case _:
                raise AssertionError(step)


def fields(call: str) -> tuple[str, dict[str, Any]]:
    """A call of the table: tool and input."""
    tool, _, rest = call.partition(" ")
    if tool == "Read":
        words = rest.split(" ")
        given: dict[str, Any] = {"file_path": plain(words[0])}
        for word in words[1:]:
            name, _, value = word.partition("=")
            given[name] = value
    elif tool == "Write":
        path, _, text = (rest + " ").partition(" <- ")
        text = text.removesuffix(" ")
        given = {"file_path": plain(path), "content": content(text).decode()}
    elif tool == "Edit":
        path, _, pairs = rest.partition(": ")
        edits = []
        for pair in pairs.split(" && "):
            old, _, new = (pair + " ").partition(" -> ")
            everywhere = new.endswith("(all) ")
            new = new.removesuffix(" ").removesuffix(" (all)")
            edits.append({"old_string": plain(old), "new_string": plain(new), "replace_all": everywhere})
        given = {"file_path": plain(path), **(edits[0] if len(edits) == 1 else {"edits": edits})}
    else:
        tool, given = "NotebookEdit", {"notebook_path": plain(rest), "cell_id": "a", "new_source": "2"}
    return tool, given


def told(bench: Any, tool: str, given: dict[str, Any], meanwhile: str) -> str:
    """What a call comes to, as the table has it."""
    verdict = bench.check(tool, **given)
    if verdict.decision.word == "deny":
        return "denied"
    arrange(bench, meanwhile)
    try:
        output = bench.run(verdict)
    except Failure as failure:
        said = f"! {failure}"
    else:
        shown = "\n".join(block.text if isinstance(block, Text) else f"[{block.media_type}]" for block in output.blocks)
        said = f"= {shown}" + "".join(f"\n(note) {note}" for note in output.notes)
    said = re.sub(r"(?m)^(= )? *(\d+)\t", r"\1\2>", said)
    return said.replace(bench.project, "{p}").replace(bench.home, "{h}")


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What is different in two looks at the world."""
    return {name: after.get(name) for name in {*before, *after} if before.get(name) != after.get(name)}


@pytest.mark.parametrize(("name", "before", "meanwhile", "call", "outcome", "after"), CASES)
def test_a_file_tool_does_what_the_table_says_and_nothing_else(
    request: pytest.FixtureRequest, name: str, before: str, meanwhile: str, call: str, outcome: str, after: str
) -> None:
    if "[root]" in name and os.geteuid() != 0:
        pytest.skip("only root can arrange this")
    if "/proc/" in before + meanwhile + call and not os.path.exists("/proc/self/root"):
        pytest.skip("there is no /proc here")
    bench = request.getfixturevalue("ordinary" if "[user]" in name else "bench")
    arrange(bench, before)
    start = bench.everything()
    tool, given = fields(call.replace("{h}", bench.home))
    if meanwhile:  # what is changed from outside is no doing of the call
        verdict = bench.check(tool, **given)
        assert verdict.decision.word != "deny"
        arrange(bench, meanwhile)
        start = bench.everything()
        bench.check = lambda *_, **__: verdict
    said = told(bench, tool, given, "")
    expected: dict[str, Any] = {}
    for each in filter(None, [part.strip() for part in after.split(";")]):
        path, _, value = each.partition("=")
        path = named(path)
        if path.startswith("-"):
            expected[path[1:]] = None
        else:
            expected[path.rstrip("/")] = "dir" if path.endswith("/") else content(value)
    now = bench.everything()
    found = {
        path: None if state is None else "dir" if state[0] == "dir" else state[-1]
        for path, state in changed(start, now).items()
    }
    modes = {path: now[path][1] for path in found if path in start and path in now and start[path][0] == "file"}
    assert (said, found) == (plain(outcome), expected)
    assert modes == {path: start[path][1] for path in modes}


def test_the_table_has_two_hundred_cases_and_whatever_it_blocks_has_a_twin_that_works() -> None:
    assert len(CASES) >= 200
    assert len({case.id for case in CASES}) == len(CASES)
    alone = [
        group[0][0]
        for groups in TABLES.values()
        for group in groups
        if any(row[4][:1] in "d!" for row in group) and not any(row[4].startswith("=") for row in group)
    ]
    assert alone == []


@pytest.mark.parametrize(
    ("name", "before", "meanwhile", "call", "outcome", "after"),
    [case for case in CASES if str(case.id).startswith(("links", "swaps"))],
)
def test_links_lead_nowhere_else_on_a_kernel_that_does_not_help(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    before: str,
    meanwhile: str,
    call: str,
    outcome: str,
    after: str,
) -> None:
    monkeypatch.setattr(held, "_has_openat2", False)
    test_a_file_tool_does_what_the_table_says_and_nothing_else(request, name, before, meanwhile, call, outcome, after)
