"""`scripts/oracle`: every text of the corpora, for real, against what is predicted for it."""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import queue
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from oracle.cage import missing
from oracle.judge import Judge, Outcome, workers
from oracle.texts import Text, corpus, sample

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/oracle", description=__doc__)
    parser.add_argument("--only", default="", help="lines whose id starts so, or holds it")
    parser.add_argument("--described", action="store_true", help="texts made from the descriptions, not the corpora")
    parser.add_argument("--text", default="", help="just this text")
    parser.add_argument(
        "--again", default="", metavar="FILE", help="what an earlier `--json` of this name found wanting"
    )
    parser.add_argument("--shard", default="1/1", help="I/N: the I-th of N parts")
    parser.add_argument("--every", type=int, default=1, help="one in so many, and the first of each family")
    parser.add_argument("--variations", type=int, metavar="SEED", help="spell the commands differently, by this seed")
    parser.add_argument("--workers", type=int, default=workers())
    parser.add_argument("--json", default="", metavar="FILE", help="what was found, one line of JSON for each text")
    options = parser.parse_args()
    if reason := missing():
        print(f"cannot run here: {reason}", file=sys.stderr)
        return 2
    texts = chosen(options)
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(options.json, "w", encoding="utf-8")) if options.json else None
        outcomes = run(texts, options.workers, told=lambda text, outcome, number: tell(text, outcome, number, file))
    return summary(outcomes, time.monotonic() - begin)


def chosen(options: argparse.Namespace) -> list[Text]:
    if options.text:
        return [Text("text.given", options.text)]
    texts = [text for text in _all(options) if options.only in text.id]
    if options.again:
        with open(options.again, encoding="utf-8") as file:
            wanting = {row["id"] for row in map(json.loads, file) if row["surprises"]}
        texts = [text for text in texts if text.id in wanting]
    if options.every > 1:
        texts = sample(texts, options.every)
    if options.variations is not None:
        from oracle.variations import varied

        texts = varied(texts, options.variations)
    part, parts = (int(each) for each in options.shard.split("/"))
    return texts[part - 1 :: parts]


def _all(options: argparse.Namespace) -> list[Text]:
    if options.described:
        from oracle.described import described

        return described()
    return corpus()


def tell(text: Text, outcome: Outcome, number: str, file: TextIO | None) -> None:
    """What came of one text, as soon as it is known: a long run may be stopped."""
    compared = outcome.compared
    if compared.surprises:
        print(f"{text.id}: {text.text!r} ({outcome.decision})")
        for surprise in compared.surprises:
            print(f"    not predicted: {surprise}", flush=True)
    if sys.stderr.isatty():
        print(f"\r{number} ", end="", file=sys.stderr, flush=True)
    if file is not None:
        row = {"id": text.id, "text": text.text, "decision": outcome.decision, "late": outcome.late,
               "programs": outcome.programs, "seen": compared.seen, "beyond": compared.beyond,
               "linked": compared.linked, "surprises": compared.surprises}  # fmt: skip
        file.write(json.dumps(row) + "\n")
        file.flush()


def run(
    texts: list[Text], threads: int, *, told: Callable[[Text, Outcome, str], None] = lambda *_: None
) -> list[tuple[Text, Outcome]]:
    """The outcome of every text, in the order of the texts; each is told as it comes."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(texts)):
        waiting.put(index)
    done: dict[int, Outcome] = {}
    problems: list[BaseException] = []
    telling = threading.Lock()

    def work() -> None:
        try:
            with Judge() as judge:
                while not problems:
                    try:
                        index = waiting.get_nowait()
                    except queue.Empty:
                        return
                    outcome = judge(texts[index].text, texts[index].cwd)
                    with telling:
                        done[index] = outcome
                        told(texts[index], outcome, f"{len(done)}/{len(texts)}")
        except BaseException as problem:
            problems.append(problem)

    threads_ = [threading.Thread(target=work) for _ in range(min(threads, len(texts)) or 1)]
    for thread in threads_:
        thread.start()
    for thread in threads_:
        thread.join()
    if problems:
        raise problems[0]
    return [(texts[index], done[index]) for index in sorted(done)]


def summary(outcomes: list[tuple[Text, Outcome]], seconds: float) -> int:
    surprised = [(text, outcome) for text, outcome in outcomes if outcome.compared.surprises]
    decisions = collections.Counter(outcome.decision for _, outcome in outcomes)
    started = sum(outcome.programs > 0 for _, outcome in outcomes)
    print(
        f"{len(outcomes)} texts in {seconds:.0f} s: {started} started programs ("
        f"{sum(outcome.programs for _, outcome in outcomes)}), {sum(o.compared.seen for _, o in outcomes)} effects "
        f"compared, {sum(o.compared.beyond for _, o in outcomes)} below unknown code, "
        f"{sum(o.compared.linked for _, o in outcomes)} behind links, "
        f"{sum(o.late for _, o in outcomes)} stopped for time; {dict(decisions)}"
    )
    print(f"{len(surprised)} did what was not predicted")
    return 1 if surprised else 0


if __name__ == "__main__":
    sys.exit(main())
