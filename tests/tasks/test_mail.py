"""Teams and their mail: each message is delivered exactly once, whoever is killed at whatever moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from fuzzing import share

from gateway.tasks.mail import Mail, MailError, Member

if TYPE_CHECKING:
    from pathlib import Path

TEAM = (Member("lead", "coordinator"), Member("anna", "worker"), Member("ben", "worker"))


@pytest.fixture
def mail(tmp_path: Path) -> Mail:
    made = Mail(str(tmp_path / "state"), now=lambda: 7.0)
    made.create("builders", TEAM)
    return made


def texts(mail: Mail, member: str) -> list[str]:
    with mail.mailbox("builders", member) as box:
        return [message.text for message in box.receive()]


def test_a_message_waits_until_it_is_acknowledged(mail: Mail) -> None:
    assert mail.send("builders", sender="lead", recipient="anna", text="one") == ("anna",)
    mail.send("builders", sender="ben", recipient="anna", text="two")
    with mail.mailbox("builders", "anna") as box:
        first, second = box.receive()
        assert first.as_dict() == {
            "id": 1, "team": "builders", "sender": "lead", "recipient": "anna", "text": "one", "sent": 7.0,
        }  # fmt: skip
        box.acknowledge(first.id)
        assert box.receive() == (second,)
    assert (mail.waiting("builders", "anna"), texts(mail, "anna"), texts(mail, "ben")) == (1, ["two"], [])


def test_a_message_to_everybody_reaches_all_but_its_sender(mail: Mail) -> None:
    assert mail.send("builders", sender="anna", recipient="*", text="hello") == ("lead", "ben")
    assert [texts(mail, each) for each in ("lead", "anna", "ben")] == [["hello"], [], ["hello"]]


def test_a_message_that_is_sent_again_with_its_key_is_there_once(mail: Mail) -> None:
    for _ in range(3):
        mail.send("builders", sender="lead", recipient="*", text="begin", key="turn-1")
    mail.send("builders", sender="lead", recipient="anna", text="begin", key="turn-2")
    assert [texts(mail, each) for each in ("anna", "ben")] == [["begin", "begin"], ["begin"]]


def test_without_a_key_the_same_words_are_another_message(mail: Mail) -> None:
    for _ in range(2):
        mail.send("builders", sender="lead", recipient="anna", text="begin")
    assert texts(mail, "anna") == ["begin", "begin"]


def test_who_had_written_a_message_down_is_not_handed_it_again(mail: Mail) -> None:
    mail.send("builders", sender="lead", recipient="anna", text="one")
    with mail.mailbox("builders", "anna") as box:
        (message,) = box.receive()
    with mail.mailbox("builders", "anna") as box:
        assert box.receive(has=[message.id]) == ()
    assert texts(mail, "anna") == []


def test_nobody_acknowledges_the_mail_of_another_one(mail: Mail) -> None:
    mail.send("builders", sender="lead", recipient="anna", text="one")
    with mail.mailbox("builders", "ben") as box:
        box.acknowledge(1)
        assert box.receive(has=[1]) == ()
    assert texts(mail, "anna") == ["one"]


def test_a_mailbox_has_one_reader_at_a_time(mail: Mail) -> None:
    with mail.mailbox("builders", "anna"), pytest.raises(MailError, match="being read by another process"):
        mail.mailbox("builders", "anna")
    mail.mailbox("builders", "anna").close()


REFUSED = {
    "to a stranger": {"sender": "lead", "recipient": "zoe"},
    "from a stranger": {"sender": "zoe", "recipient": "anna"},
    "from everybody": {"sender": "*", "recipient": "anna"},
}


@pytest.mark.parametrize("ends", REFUSED.values(), ids=REFUSED)
def test_mail_stays_in_the_team(mail: Mail, ends: dict[str, str]) -> None:
    with pytest.raises(MailError, match="must be a member of team `builders`"):
        mail.send("builders", text="x", **ends)


def test_teams_are_told_apart_and_named_once(mail: Mail) -> None:
    mail.create("testers", [Member("anna", "coordinator")])
    with pytest.raises(MailError, match="there is a team `testers` already"):
        mail.create("testers", TEAM)
    with pytest.raises(MailError, match="member `x` must be named once"):
        mail.create("others", [Member("x", "worker"), Member("x", "worker")])
    mail.send("builders", sender="lead", recipient="anna", text="one")
    assert mail.waiting("testers", "anna") == 0
    assert mail.teams() == {"builders": TEAM, "testers": (Member("anna", "coordinator"),)}


def test_a_team_with_unread_mail_ends_only_where_that_is_said(mail: Mail) -> None:
    mail.send("builders", sender="lead", recipient="anna", text="one")
    with pytest.raises(MailError, match="has 1 unread messages"):
        mail.delete("builders")
    assert texts(mail, "anna") == ["one"]
    assert mail.delete("builders", unread=True) == 1
    with pytest.raises(MailError, match="there is no team `builders`"):
        mail.send("builders", sender="lead", recipient="anna", text="two")
    mail.create("builders", TEAM)
    assert texts(mail, "anna") == []


# Sends what is missing of its messages, in order; whether an earlier one of it had sent a message it cannot know, so it
# begins with the last that it wrote down.
SENDING = """
import os, sys
from gateway.tasks.mail import Mail
folder, me, log, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
mail = Mail(folder)
done = open(log).read().split("\\n")[:-1] if os.path.exists(log) else []
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
print("ready", flush=True)
for number in range(len(done), count):
    mail.send("builders", sender=me, recipient="lead", text=f"{me} {number}", key=str(number))
    os.write(out, f"{number}\\n".encode())
print("done", flush=True)
"""
# Writes each message down with its id, then acknowledges it.
READING = """
import os, sys
from gateway.tasks.mail import Mail
folder, log, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
mail = Mail(folder)
has = [int(line.split(" ")[0]) for line in open(log).read().split("\\n")[:-1]] if os.path.exists(log) else []
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
print("ready", flush=True)
with mail.mailbox("builders", "lead") as box:
    while (new := box.receive(has=has, most=3)) or len(has) < count:
        for message in new:
            os.write(out, f"{message.id} {message.text}\\n".encode())
            has.append(message.id)
            box.acknowledge(message.id)
print("done", flush=True)
"""
COUNT = 12


def start(program: str, *words: object) -> subprocess.Popen[str]:
    running = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    return running


@pytest.mark.parametrize("seed", share(range(3), 3))
def test_each_message_is_delivered_exactly_once_whoever_is_killed(mail: Mail, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder, log = tmp_path / "state", tmp_path / "read"
    programs = {
        "anna": (SENDING, folder, "anna", tmp_path / "anna", COUNT),
        "ben": (SENDING, folder, "ben", tmp_path / "ben", COUNT),
        "lead": (READING, folder, log, 2 * COUNT),
    }
    running = {name: start(*words) for name, words in programs.items()}
    kills = 0
    while running:
        name = chance.choice(sorted(running))
        each = running[name]
        if kills < 15:
            # How far it has got by then is for the machine to say; the log grows, so some time passes.
            for _ in range(chance.randrange(200_000)):
                pass
            each.send_signal(signal.SIGKILL)
            kills += 1
        out, errors = each.communicate(timeout=60)
        assert errors == ""
        del running[name]
        if out != "done\n":
            running[name] = start(*programs[name])
    lines = log.read_text(encoding="utf-8").splitlines()
    found = Counter(line.split(" ", 1)[1] for line in lines)
    assert found == {f"{name} {number}": 1 for name in ("anna", "ben") for number in range(COUNT)}
    for name in ("anna", "ben"):  # and those of one sender in their order
        mine = [line.split(" ", 1)[1] for line in lines if f" {name} " in line]
        assert mine == [f"{name} {number}" for number in range(COUNT)]
    assert mail.waiting("builders", "lead") == 0
    assert sorted(each for each in os.listdir(folder) if each.endswith(".sqlite")) == ["mail.sqlite"]


def test_a_mailbox_that_cannot_be_held_is_said(mail: Mail, tmp_path: Path) -> None:
    with mail.mailbox("builders", "anna"):
        (lock,) = (tmp_path / "state").glob("mail-*.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(MailError, match="the mail of `anna` in team `builders` cannot be read: Is a directory"):
        mail.mailbox("builders", "anna")
