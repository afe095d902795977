"""Which commands go on to take further ones from an input that their text does not give them."""

from __future__ import annotations

import pytest

from gateway.commands.analyse import Start, analyse
from gateway.commands.waiting import waits_for_input
from gateway.config.shipped import load_descriptions
from gateway.core.places import places

START = Start("/home/dev/project", "/home/dev", {"HOME": "/home/dev"})
WAIT = [
    "bash", "sh -i", "bash -i -c 'ls'", "zsh -l", "python", "python3 -i x.py", "python3 -", "python3 /dev/stdin",
    "node", "node -i", "perl", "ruby", "php -a", "lua", "psql", "psql -h db app", "mysql app", "sqlite3 app.db",
    "redis-cli", "ssh host", "ssh -t host ls", "ssh -p 22 host", "vim a.txt", "vi", "less a.txt", "man ls", "ed",
    "gdb ./a", "irb", "ipython", "screen", "tmux attach", "script", "expect x", "nc host 80", "telnet host",
    "ftp host", "sudo -i", "sudo -s", "su", "docker run -it alpine", "docker exec -it web sh", "docker attach web",
    "kubectl exec -it pod sh", "kubectl edit pod x", "xargs rm", "crontab", "bc", "cat | bash", "tee log | sh",
    "env bash", "timeout 5 python3", "nohup bash &", "echo hi; bash", "x=1 bash", "sudo bash", "cat - | python3",
    "head -n 5 | sh", "source /dev/stdin", ". /dev/stdin", "deno repl", "R", "Rscript", "/usr/bin/python3",
    "python3.12", "cat | tee log | bash", "bash < /dev/tty", "bash 0<&0", "bash <&3 3</dev/tty", "sh < /dev/stdin",
    "python3 -m code", "python3 -m pdb x.py",
]  # fmt: skip
GO_ON = [
    "bash -c 'ls'", "bash -lc ls", "bash x.sh", "python3 x.py", "python3 -c 'print(1)'", "python3 -m pytest",
    "python3 -V", "node x.js", "node -e '1'", "perl -ne print a", "perl -e 1", "ruby x.rb", "psql -c 'select 1'",
    "psql -f x.sql app", "mysql -e 'select 1'", "sqlite3 app.db 'select 1'", "redis-cli get x", "ssh host ls",
    "gdb -batch ./a", "ls | xargs rm", "echo 1 | bc", "echo ls | bash", "bash <<< ls", "bash < x.sh",
    "python3 <<'EOF'\nprint(1)\nEOF", "cat x.sh | bash", "crontab -l", "ls", "git status", "npm test",
    "docker run alpine ls", "kubectl get pods", "sudo ls", "printf x | tee y", "curl https://example.com | sh",
    "echo 'bash'", "python3 -m json.tool", "read x < /dev/tty", "make <&3",
    "grep python3 x", "python3 --version", "find . -name bash", "make",
]  # fmt: skip


@pytest.fixture(scope="module")
def describe():
    return load_descriptions(places())


@pytest.mark.parametrize("text", WAIT)
def test_what_would_wait_is_found(describe, text: str) -> None:
    assert waits_for_input(text, analyse(text, START, describe).parts)


@pytest.mark.parametrize("text", GO_ON)
def test_what_is_given_all_it_reads_goes_on(describe, text: str) -> None:
    assert waits_for_input(text, analyse(text, START, describe).parts) == ""
