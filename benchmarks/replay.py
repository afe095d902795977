"""What judging a record anew gives and costs: equal decisions after the machine has changed, and time by size.

    python benchmarks/replay.py equal [--decisions 100000] [--seed 1]   # every one must come out as it was recorded
    python benchmarks/replay.py time --decisions 10000000 --distinct 200000 [--share 0.1] [--by ray] [--workers 2]
                                     [--keep FOLDER [--only record --only columns --only diff]]
    python benchmarks/replay.py recording                      # a call with its facts kept, against one without

`equal` judges the corpus and variations of it in a project of its own, confined and not, in several modes, and changes
the project between the decisions and once more before they are judged anew: another branch and remote, files gone,
links and configuration new. `time` writes a record of so many decisions of which so many are different; with `--keep`
it stays in a folder, and what is there is measured again, from the beginning or only what is named.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

_early = argparse.ArgumentParser(add_help=False)
_early.add_argument("--keep", default="")
KEPT = os.path.abspath(kept) if (kept := _early.parse_known_args()[0].keep) else ""
HOME = KEPT or tempfile.mkdtemp(prefix="replay-")
os.environ.update(HOME=HOME, XDG_STATE_HOME="", XDG_CONFIG_HOME="", XDG_CACHE_HOME="")

from gateway.audit import entries  # noqa: E402 - the home must be another one first
from gateway.audit.clock import text_of  # noqa: E402
from gateway.audit.log import Log  # noqa: E402
from gateway.config.load import Options  # noqa: E402
from gateway.core.errors import GatewayError  # noqa: E402
from gateway.judge.judge import Judge  # noqa: E402
from gateway.judge.pipeline import TEMP  # noqa: E402
from gateway.model.call import RawCall  # noqa: E402
from gateway.replay import columns, verdict_cache  # noqa: E402
from gateway.replay.compare import compared  # noqa: E402
from gateway.replay.decisions import segments_of  # noqa: E402
from gateway.replay.judging import PRESENT, RECORDED, Side  # noqa: E402
from gateway.replay.parts import POOL, WAYS, map_parts  # noqa: E402
from gateway.replay.sources import side_of  # noqa: E402

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
NAMES = ("src", "docs", "build", "README.md", "a.txt", ".env", "link", "package.json", "Makefile", "~/notes", "/tmp/x")
SHAPES = (
    "cat {0}", "cat {0} | head -{2}", "ls -la {0}", "rm -rf {0}", "cp {0} {1}", "mv {0} {1}", "grep -rn x{2} {0}",
    "git add {0} && git commit -m m{2}", "git push origin main", "npm test", "make -C {0} t{2}", "python3 {0}/x{2}.py",
    "find {0} -name '*.{2}'", "touch {0}/f{2}; ls {1}", "sed -i s/a/{2}/ {0}", "tar cf {1}/a{2}.tar {0}",
    "cd {0} && ls *", "echo {2} > {0}", "curl https://h{2}.example/{0}", "git log -{2} {0}", "node {0}", "cat {0}/*",
    "go test ./{0}/...", "ruff check {0}", "git checkout b{2} -- {0}", "X={0}; cat $X",
    "for f in {0}/*; do cat $f; done",
)  # fmt: skip
# A quarter of the facts of a session are new, as sessions of agents go.
REPEATED = 4
VARIANTS = 10  # of one text, which differ in a remark
AT_ONCE = 64  # lines that are written at once
MODES = ("default", "accept_edits", "read_only", "plan")


def corpus() -> list[str]:
    """The commands of the corpus, each once."""
    found: dict[str, None] = {}
    for path in sorted(CORPUS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            call = case.get("call")
            if isinstance(call, str) and call.startswith("Bash(") and call.endswith(")"):
                found[call.removeprefix("Bash(")[:-1]] = None
    return list(found)


def texts(seed: int):
    """Commands without end: the corpus, then variations of shapes."""
    yield from corpus()
    draw = random.Random(seed)
    while True:
        yield draw.choice(SHAPES).format(draw.choice(NAMES), draw.choice(NAMES), draw.randrange(1, 10_000))


def project(folder: str) -> None:
    """A repository with something of everything that facts are about."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    os.makedirs(f"{folder}/src")
    os.makedirs(f"{folder}/docs")
    for name, text in (
        ("README.md", "x"), ("a.txt", "x"), ("src/main.py", "x"), ("Makefile", "t:\n"), (".env", "A=1"),
        ("package.json", '{"scripts": {"test": "node t.js"}}'), ("docs/-v", "x"), ("src/b c", "x"),
    ):  # fmt: skip
        Path(folder, name).write_text(text, encoding="utf-8")
    os.symlink("src", f"{folder}/link")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True)
    subprocess.run([*git, "remote", "add", "origin", "https://git.example.com/x.git"], cwd=folder, check=True)


def change(folder: str, draw: random.Random) -> None:
    """Something else becomes of the project."""
    number = draw.randrange(10_000)
    what = draw.randrange(8)
    if what == 0:
        subprocess.run(["git", "checkout", "-q", "-B", f"b{number % 7}"], cwd=folder, check=False, capture_output=True)
    elif what == 1:
        words = ("remote", "set-url", "origin", f"https://h{number % 9}.example/x.git")
        subprocess.run(["git", *words], cwd=folder, check=False)
    elif what == 2:
        Path(folder, "package.json").write_text(json.dumps({"scripts": {"test": f"node {number}"}}), encoding="utf-8")
    elif what == 3:
        Path(folder, ".gateway-link").unlink(missing_ok=True)
        Path(folder, "link").unlink(missing_ok=True)
        os.symlink(draw.choice(("src", "docs", "/etc", HOME, "nowhere")), f"{folder}/link")
    elif what == 4:
        name = Path(folder, draw.choice(("docs", "src")), draw.choice((f"f{number}", "-x", ".env", "a b")))
        name.parent.mkdir(exist_ok=True)
        name.unlink(missing_ok=True) if name.exists() else name.write_text("x", encoding="utf-8")
    elif what == 5:
        shutil.rmtree(Path(folder, "build"), ignore_errors=True)
    elif what == 6:
        Path(folder, "build").mkdir(exist_ok=True)
        Path(folder, "build", "id_rsa").write_text("x", encoding="utf-8")
    else:
        name = Path(folder, draw.choice(("mise.toml", ".tool-versions", "a.txt", "README.md")))
        name.unlink() if name.exists() else name.write_text("x", encoding="utf-8")


def record(folder: str, log: Log, decisions: int, seed: int = 1) -> int:
    """Judges and records so many calls in a project that changes all the while."""
    draw = random.Random(seed)
    judges = {confined: Judge(Options(cwd=folder), confined=confined) for confined in (True, False)}
    made = 0
    for number, text in enumerate(itertools.islice(texts(seed), 4 * decisions)):
        if made == decisions:
            break
        if number % 50 == 0:
            change(folder, draw)
            judges = {confined: each.afresh(folder, os.environ) for confined, each in judges.items()}
        confined = draw.random() < 0.5
        judge = judges[confined]
        context = judge.context.replace(mode=draw.choice(MODES), temp=TEMP if confined else ())
        if draw.random() < 0.2 and os.path.isdir(f"{folder}/src"):
            context = context.replace(cwd=f"{folder}/src")
        try:
            verdict = judge.check(RawCall("Bash", {"command": text}), context, contains=lambda *_asked: "")
            policy = judge.loaded_for(verdict).policy.revision
        except GatewayError:
            continue
        log.decision(verdict, front="benchmark", session=f"s{number % 97}", policy=policy, bundle=judge.bundle)
        made += 1
    return made


def equal(decisions: int, seed: int) -> int:
    folder, place = f"{HOME}/project", f"{HOME}/.local/state/gateway/audit"
    os.makedirs(folder)
    project(folder)
    log = Log(place)
    made = record(folder, log, decisions, seed)
    log.close()
    shutil.rmtree(folder)  # nothing of what was found is there any more
    found = compared(place, RECORDED, RECORDED)
    untold = dict(found.untold)
    size = sum(os.path.getsize(f"{place}/{name}") for name in os.listdir(place) if name.endswith(".facts"))
    print(f"{made:,} decisions, {found.distinct:,} different: {found.judged:,} judged, {found.equal:,} equal,")
    print(f"{found.elsewhere} by another rule, {size / made:.0f} bytes of facts a decision; not judged: {untold}")
    for group in found.groups[:20]:
        print(group)
    hidden = sum(count for why, count in found.untold if why != "a secret was left out of the call, or a text was cut")
    return int(found.judged != found.equal or bool(found.elsewhere) or bool(hidden))


def write_record(folder: str, place: str, decisions: int, distinct: int) -> None:
    """A record of so many decisions of which so many are different, by the product's own writer, many lines at once.
    Of each call that is judged there are up to ten that differ in a remark: the verdict is the same."""
    judge = Judge(Options(cwd=folder))
    log = Log(place, keep=0)
    store, beside = log._store, log._beside
    key, revision = store.key(), judge.loaded.policy.revision
    bodies: list[tuple[str, str]] = []
    kept: list[tuple[tuple[str, str], ...]] = []
    plain = len(corpus())  # these stay as they are: a remark may be something else there
    for number, text in enumerate(texts(7)):
        if len(bodies) >= distinct:
            break
        try:
            verdict = judge.check(RawCall("Bash", {"command": text}))
        except GatewayError:
            continue
        log._keep(revision, judge.bundle)
        seen, found = beside.of(verdict.seen, key)
        for _variant in range(1 if number < plain else VARIANTS):
            remark = f" # {len(bodies)}" if number >= plain else ""
            call = verdict.call.replace(input={"command": text + remark})
            body = entries.decision(
                verdict.replace(call=call), key=key, redactor=log._redactor, id="ID", at="AT", front="benchmark",
                session="SESSION", policy=revision, seen=seen,
            )  # fmt: skip
            head, _mark, rest = body.partition('"id":"ID","at":"AT"')
            middle, _mark, tail = rest.partition('"session":"SESSION"')
            bodies.append((f'{middle}"session":"s', f'"{tail}'))
            kept.append(found)
    draw = random.Random(3)
    start, beside_it, segment = time.time_ns() - decisions * 1_000_000, set(), 0
    for first in range(0, decisions, AT_ONCE):
        lines, more = [], []
        session = first // 512
        for number in range(first, min(first + AT_ONCE, decisions)):
            which = number if number < distinct else int(distinct * draw.random() ** 2)
            before, after = bodies[which]
            lines.append(
                f'{head}"id":"b-{number}","at":"{text_of(start + number * 1_000_000)}"{before}{session}{after}'
            )
            for each in kept[which]:
                if each[0] not in beside_it:
                    beside_it.add(each[0])
                    more.append(each)
        store._write(tuple(lines), tuple(more))
        if store._segment != segment:  # another file has texts of its own
            segment, beside_it = store._segment, set()
    log.close()


def in_a_process(work, *given) -> None:
    """So that its memory is its own."""
    process = multiprocessing.get_context("fork").Process(target=work, args=given)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def judge_record(name: str, place: str, old: Side, new: Side, how: str, workers: int) -> None:
    """One comparison, and what it takes."""
    start, worked = time.perf_counter(), processor()
    times: list[float] = []
    found = compared(
        place, old, new, how=how, workers=workers, reading=lambda _done, _of: times.append(time.perf_counter())
    )
    took = time.perf_counter() - start
    reading = times[-1] - start if times else 0.0
    own, others = (resource.getrusage(who).ru_maxrss >> 10 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    untold = sum(count for _why, count in found.untold)
    print(
        f"{name}: {found.decisions:,} decisions, {found.distinct:,} different, by {how}: {took:.1f} s, of which "
        f"reading {reading:.1f} s, {processor() - worked:.1f} s of processors; "
        f"{found.judged - found.equal:,} changed, {untold:,} not judged; memory {own} MB, largest worker {others} MB",
        flush=True,
    )


def processor() -> float:
    """Seconds of processors that this process and those that it waited for have taken."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def make_columns(place: str, workers: int) -> None:
    """What is done once for each full file of lines."""
    start, worked = time.perf_counter(), processor()
    known = {each.segment for each in columns.kept(segments_of(place)[:-1])}
    full = [each for each in segments_of(place)[:-1] if each not in known]
    made = sum(map_parts(columns.Making, full, workers=workers))
    beside = sum(os.path.getsize(f"{place}/{each}") for each in os.listdir(place) if each.endswith((".calls", ".uses")))
    lines = sum(each.size for each in full)
    print(
        f"columns: {made} of {len(full)} full files of {lines >> 20:,} MB in {time.perf_counter() - start:.1f} s, "
        f"{processor() - worked:.1f} s of processors, {beside >> 20:,} MB beside them", flush=True,
    )  # fmt: skip


def measure(decisions: int, distinct: int, how: str, workers: int, only: list[str]) -> int:
    """A record of so many lines, of which so many are different; then what judging it anew takes, or only what is
    named of it. The first replay begins with the columns of all full files, which an installation has from the replay
    before."""
    folder, place = f"{HOME}/project", f"{HOME}/.local/state/gateway/audit"
    if not os.path.isdir(folder):
        os.makedirs(folder)
        project(folder)
        start = time.perf_counter()
        in_a_process(write_record, folder, place, decisions, distinct)
        print(f"written in {time.perf_counter() - start:.1f} s", flush=True)
    if not only:  # what was judged before is not known
        shutil.rmtree(f"{place}/{verdict_cache.FOLDER}", ignore_errors=True)
    if columns.is_there() and (not only or "columns" in only):
        in_a_process(make_columns, place, workers)
    head = "version: 1\nextends: [daily]\nrules:\n"
    others = {"one": "  - {id: more, deny: 'Bash(git push *)'}\n", "another": "  - {id: more, ask: 'Bash(make *)'}\n"}
    for name, rule in others.items():
        Path(f"{HOME}/{name}.yaml").write_text(head + rule, encoding="utf-8")
    one, another = (side_of(f"{HOME}/{name}.yaml", folder, "user") for name in others)
    # From the second time on, what was judged is known: no more is judged than what the changed rule may speak of.
    sides: list[tuple[str, Side, Side]] = [
        ("replay", RECORDED, RECORDED), ("replay again", RECORDED, RECORDED), ("diff", PRESENT, one),
        ("diff of another rule", PRESENT, another),
    ]  # fmt: skip
    for name, old, new in sides:
        if not only or name in only:
            in_a_process(judge_record, name, place, old, new, how, workers)
    return 0


def recording(rounds: int) -> int:
    """One call judged and recorded, with its facts and without, in turns."""
    folder = f"{HOME}/project"
    os.makedirs(folder)
    project(folder)
    judge = Judge(Options(cwd=folder))
    some = [each for each, _ in zip(corpus(), range(400), strict=False)]
    ratios = []
    for turn in range(rounds):
        took = {}
        for kept in (True, False) if turn % 2 else (False, True):
            log = Log(f"{HOME}/.local/state/gateway/audit-{turn}-{kept}", facts=kept)
            start = time.process_time()
            for text in some * REPEATED:
                try:
                    log.decision(judge.check(RawCall("Bash", {"command": text})), front="benchmark", policy="0" * 48)
                except GatewayError:
                    continue
            took[kept] = time.process_time() - start
            log.close()
        ratios.append(took[True] / took[False])
    ratios.sort()
    print(f"a call with its facts kept takes {ratios[len(ratios) // 2]:.3f} times as long ({rounds} rounds)")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("equal", "time", "recording"))
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--distinct", type=int, default=20_000)
    parser.add_argument("--by", choices=WAYS, default=POOL)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of both numbers of `time`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--keep", default="", help="the folder in which the record of `time` stays, and is found again")
    parser.add_argument("--only", action="append", default=[], help="of what `time` measures; may be repeated")
    asked = parser.parse_args()
    try:
        if asked.what == "equal":
            return equal(asked.decisions, asked.seed)
        if asked.what == "time":
            decisions, distinct = (max(int(each * asked.share), 1) for each in (asked.decisions, asked.distinct))
            return measure(decisions, distinct, asked.by, asked.workers, asked.only)
        return recording(asked.rounds)
    finally:
        if not KEPT:
            shutil.rmtree(HOME, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
