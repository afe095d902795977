"""Programs that run what their arguments say, and domains where anybody can have a host: tables for `lint`."""

from __future__ import annotations

# names | arguments that show it | words after which code follows
_INTERPRETERS = """
python python2 python3 pypy pypy3                               | -c 'import os'         | -c -m -
node nodejs deno bun tsx ts-node                                | -e 'process.exit()'    | -e -p --eval eval x exec
ruby perl lua luajit julia Rscript R osascript elixir groovy    | -e 1                   | -e -E
php                                                             | -r 1                   | -r
bash sh zsh dash ksh fish ash                                   | -c id                  | -c -lc
pwsh powershell cmd                                             | -Command id            | -Command /c
awk gawk mawk nawk                                              | 'BEGIN {system("id")}' |
psql mysql sqlite3 vim vi nvim emacs ed gdb lldb expect tclsh   | x                      | -c -e -ex
eval source .                                                   | x                      |
"""

# first words | a command that shows it
_RUNNERS = """
npx                | npx some-package
bunx               | bunx some-package
uvx                | uvx some-package
pipx run           | pipx run some-package
uv                 | uv run x.py
uv run             | uv run x.py
npm                | npm exec some-package
npm exec           | npm exec some-package
npm x              | npm x some-package
pnpm               | pnpm dlx some-package
pnpm dlx           | pnpm dlx some-package
pnpm exec          | pnpm exec x
yarn               | yarn dlx some-package
yarn dlx           | yarn dlx some-package
yarn exec          | yarn exec x
poetry run         | poetry run x
bundle exec        | bundle exec x
go                 | go run example.com/x@latest
go run             | go run example.com/x@latest
cargo              | cargo run
cargo run          | cargo run
git                | git -c core.pager=x log
env                | env sh -c id
xargs              | xargs sh -c id
find               | find . -delete
parallel           | parallel sh -c id
sudo               | sudo id
doas               | doas id
su                 | su -c id
ssh                | ssh example.com 'rm -rf x'
timeout            | timeout 5 sh -c id
nohup              | nohup sh -c id
nice               | nice sh -c id
time               | time sh -c id
watch              | watch sh -c id
setsid             | setsid sh -c id
stdbuf             | stdbuf -oL sh -c id
strace             | strace sh -c id
script             | script -c id
exec               | exec sh -c id
command            | command sh -c id
systemd-run        | systemd-run id
screen             | screen -dm sh
tmux               | tmux new -d sh
docker             | docker run -v /:/x image
docker run         | docker run -v /:/x image
docker exec        | docker exec x sh
podman             | podman run -v /:/x image
podman run         | podman run -v /:/x image
podman exec        | podman exec x sh
kubectl            | kubectl exec x -- sh
kubectl exec       | kubectl exec x -- sh
"""

# Whoever asks gets a host there.
_SHARED = """
    amazonaws.com appspot.com azureedge.net azurewebsites.net blogspot.com cloudfront.net cloudfunctions.net deno.dev
    digitaloceanspaces.com duckdns.org firebaseapp.com fly.dev github.io gitlab.io glitch.me googleusercontent.com
    herokuapp.com loca.lt myshopify.com netlify.app ngrok-free.app ngrok.app ngrok.io nip.io onrender.com pages.dev
    pipedream.net r2.dev repl.co replit.dev run.app s3.amazonaws.com sslip.io surge.sh trycloudflare.com
    up.railway.app vercel.app web.app windows.net wordpress.com workers.dev
"""
SHARED_DOMAINS = frozenset(_SHARED.split())
SECOND_LEVELS = ("ac", "co", "com", "edu", "go", "gob", "gov", "ne", "net", "or", "org")


def _table(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


INTERPRETERS: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (f"{name} {shown}", tuple(inline.split()))
    for names, shown, inline in _table(_INTERPRETERS)
    for name in names.split()
}
"""Program -> a command that shows it, and the words after which code follows."""

RUNNERS: dict[tuple[str, ...], str] = {tuple(words.split()): shown for words, shown in _table(_RUNNERS)}
"""First words -> a command that shows that another program starts, or another machine is reached."""
