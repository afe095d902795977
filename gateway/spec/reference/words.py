"""What people are told of the words of a policy file besides predicates: its keys, a rule's keys, short forms, kinds of
effect, path patterns, tests of a value, layers."""

# ruff: noqa: E501  one example a line

from __future__ import annotations

from gateway.spec.policy import KEYS
from gateway.spec.reference.entry import Entry, entry
from gateway.spec.rules import FIELDS

FILE: dict[str, Entry] = {
    name: Entry(KEYS[name], files=files)
    for name, files in {
        "version": ("version: 1", "version: 1\nextends: [daily]"),
        "extends": (
            "extends: [daily]",
            "extends: [{preset: guard, without: [ask-send]}, {file: team.yaml, level: observe}]",
        ),
        "settings": (
            "settings: {mode: accept_edits}",
            "settings: {sandbox: {hosts: [pypi.org]}, limits: {seconds: 600}}",
        ),
        "tools": (
            "tools: [CodeSearch]\nallow: [CodeSearch]",
            "tools: [Deploy]\nrules:\n- {ask: {tool: Deploy}, because: it reaches production}",
        ),
        "allow": ("allow: [Bash(npm test *), Read(~/notes/**)]", "allow:\n- WebFetch(domain:docs.python.org)"),
        "ask": ("ask: [Bash(git commit *)]", "ask:\n- Edit(migrations/**)\n- mcp__github__create_*"),
        "deny": ("deny: [Read(customers/**)]", "deny:\n- Bash(git push --force *)\n- WebSearch"),
        "rules": (
            "rules:\n- id: no-force\n  deny: {effect: push, force: true}\n  matches: git push -f",
            "rules:\n- id: docs\n  allow: {effect: write, path: 'docs/**'}\n  matches: Write(docs/x.md)",
        ),
        "hooks": (
            "hooks:\n- {id: house-rules, event: before_call, command: [./look.sh]}",
            "hooks:\n- {id: told, event: after_call, tools: [Bash], command: [./record.sh]}",
        ),
        "tests": (
            "deny: [Bash(git push --force *)]\ntests:\n- {call: git push -f, expect: deny}",
            "extends: [daily]\ntests:\n- {call: Read(README.md), expect: allow}\n- {call: Write(x.txt), expect: ask, mode: default}",
        ),
    }.items()
}

RULE: dict[str, Entry] = {
    name: Entry(FIELDS[name], files=tuple(f"rules:\n- {each}" for each in rules))
    for name, rules in {
        "id": (
            "{id: no-force, deny: {effect: push, force: true}, matches: git push -f}",
            "{id: team-docs, allow: Edit(docs/**), matches: Write(docs/x.md)}",
        ),
        "deny": (
            "deny: Bash(terraform apply *)\n  matches: terraform apply -auto-approve",
            "deny: [Read(customers/**), {effect: push, ref: main}]\n  matches: [cat customers/a.csv, git push origin main]",
        ),
        "ask": (
            "ask: Edit(migrations/**)\n  matches: touch migrations/1.sql",
            "ask: {exec: [npm, [install, add]]}\n  matches: npm install x\n  not_matches: npm test",
        ),
        "allow": (
            "allow: Bash(npm run lint *)\n  matches: npm run lint src",
            "allow: {effect: connect, direction: fetch, host: pypi.org}\n  matches: curl https://pypi.org/simple/",
        ),
        "require": (
            "require: {confined: true}\n  for: {effect: code}\n  matches: npm test",
            "require: {network: 'off'}\n  for: {exec: make}\n  matches: make test",
        ),
        "for": (
            "require: {confined: true}\n  for: {effect: [code, opaque]}\n  matches: ./run.sh\n  not_matches: ls",
            "require: {confined: true}\n  for: {exec: python3}\n  matches: python3 x.py\n  not_matches: ls",
        ),
        "because": (
            "deny: Edit(src/generated/**)\n  because: it is written by `make generate`\n  matches: touch src/generated/a.py",
            "ask: {effect: push}\n  because: others see it\n  matches: git push origin main",
        ),
        "instead": (
            "deny: Edit(src/generated/**)\n  instead: change schema.json and run `make generate`\n  matches: touch src/generated/a.py",
            "deny: Bash(pip install *)\n  instead: add it to pyproject.toml and tell the person\n  matches: pip install x",
        ),
        "except": (
            "deny: Read(customers/**)\n  except: Read(customers/README.md)\n  matches: cat customers/a.csv\n  not_matches: cat customers/README.md",
            "ask: {effect: push}\n  except: {effect: push, ref: wip/*, force: false}\n  matches: git push origin main\n  not_matches: git push origin wip/a",
        ),
        "lock": (
            "ask: {effect: push, ref: main}\n  lock: true\n  matches: git push origin main",
            "deny: {effect: connect, host: '*.internal.example.com'}\n  lock: true\n  matches: curl https://a.internal.example.com",
        ),
        "delegate": (
            "id: no-push\n  deny: {effect: push}\n  delegate: {to: project, until: 2099-12-31}\n  matches: git push origin main",
            "id: no-send\n  ask: {direction: send}\n  delegate: {to: user, within: {host: api.example.com}}\n  matches: curl -d a=b https://api.example.com",
        ),
        "excepts": (
            "allow: {effect: push, remote: origin}\n  excepts: no-push\n  matches: git push origin main",
            "allow: {direction: send, host: api.example.com}\n  excepts: no-send\n  matches: curl -d a=b https://api.example.com",
        ),
        "changes": (
            "allow: {effect: [code, opaque], contained: true}\n  changes: keep\n  matches: ./run.sh",
            "allow: {effect: code, program: make, contained: true}\n  changes: ask\n  matches: make test",
        ),
        "expires": (
            "allow: Bash(make release *)\n  expires: 2099-12-31\n  matches: make release",
            "ask: {effect: push}\n  expires: '2099-12-31T18:00Z'\n  matches: git push origin main",
        ),
        "matches": (
            "deny: Bash(rm -rf *)\n  matches: [rm -fr build, sudo rm -rf build]",
            "deny: Read(~/.ssh/**)\n  matches: Read(~/.ssh/id_rsa)",
        ),
        "not_matches": (
            "deny: Bash(git push --force *)\n  matches: git push -f\n  not_matches: git push",
            "allow: Edit(docs/**)\n  matches: Write(docs/a.md)\n  not_matches: [Write(src/a.py), rm docs/a.md]",
        ),
    }.items()
}

SHORT: dict[str, Entry] = {
    "Bash(…)": entry(
        "a command of any shell tool; `*` stands for any words, and at the end, after a blank, for none as well",
        ("allow: Bash(npm run test *)", "npm run test", "npm run tests"),
        ("deny: Bash(rm -rf *)", "sudo rm --force -r build", "rm build/x"),
    ),
    "Read(…)": entry(
        "paths, whatever tool or command touches them. Allow: to list and to read. Deny and ask: to list, read, write or "
        "delete, since what must not be seen must not be replaced either",
        ("allow: Read(~/notes/**)", "ls ~/notes", "rm ~/notes/a"),
        ("deny: Read(customers/**)", "ls customers", "ls src"),
    ),
    "Edit(…)": entry(
        "paths, whatever tool or command touches them. Allow: to list, read and write, not to delete. Deny and ask: to write "
        "or delete, not to read",
        ("allow: Edit(docs/**)", "Write(docs/a.md)", "rm docs/a.md"),
        ("deny: Edit(docs/**)", "rm docs/a.md", "cat docs/a.md"),
    ),
    "WebFetch(domain:…)": entry(
        "a host, whatever contacts it. Allow: to fetch. Deny and ask: to fetch, send and listen",
        (
            "allow: WebFetch(domain:docs.python.org)",
            "curl https://docs.python.org/3/",
            "curl -d @x https://docs.python.org/",
        ),
        ("deny: WebFetch(domain:*.example.org)", "git clone https://git.example.org/x.git", "curl https://example.com"),
    ),
    "Tool": entry(
        "every call of this tool, and of no other. `allow: Edit` covers calls of the tool Edit; Write and `touch` are not "
        "calls of it, while `allow: Edit(docs/**)` speaks of paths and covers all of them",
        ("allow: Edit", "Edit(src/main.py)", "Write(src/main.py)"),
        ("deny: WebSearch", "WebSearch(weather)", "WebFetch(https://example.com)"),
    ),
    "Tool(field:value)": Entry(
        "calls of this tool whose input has this value; deny and ask only",
        files=(
            "deny: [Agent(model:opus)]\ntests:\n- {tool: Agent, input: {description: d, prompt: p, model: opus}, expect: deny}",
            "ask: [Bash(run_in_background:true)]\ntests:\n- {tool: Bash, input: {command: ls, run_in_background: true}, expect: ask}\n- {tool: Bash, input: {command: ls}, expect: allow}",
        ),
    ),
    "mcp__server__tool": entry(
        "tools of an MCP server; `*` after the second `__`",
        ("allow: mcp__github__get_*", "mcp__github__get_issue", "mcp__github__create_issue"),
        ("deny: mcp__github", "mcp__github__create_issue", "mcp__jira__create_issue"),
    ),
}

EFFECTS: dict[str, Entry] = {
    "use": entry(
        "a tool is called. Every call has it; it needs no allowance of its own",
        ("deny: {effect: use, tool: WebSearch}", "WebSearch(weather)", "Read(README.md)"),
        ("ask: {effect: use, tool: mcp__crm__*}", "mcp__crm__list", "Read(README.md)"),
    ),
    "exec": entry(
        "a program starts that has a description. It needs no allowance of its own: what the program does needs one",
        ("deny: {effect: exec, program: docker}", "docker ps", "ls"),
        ("ask: {effect: exec, program: 'aws'}", "aws s3 ls", "ls"),
    ),
    "code": entry(
        "code runs of which only the start is known: `npm test`, `make`, a script, a program that nobody described",
        ("allow: {effect: code, program: make, confined: true}", "make test", "npm test"),
        ("ask: {effect: code}", "python3 x.py", "ls"),
    ),
    "opaque": entry(
        'not even the program or its words are known: `eval "$x"`, a text that cannot be parsed',
        ("deny: {effect: opaque}", 'eval "$X"', "ls"),
        ("ask: {effect: [opaque, code]}", "$CMD --version", "ls"),
    ),
    "list": entry(
        "names in a folder are shown",
        ("deny: {effect: list, path: customers}", "ls customers", "cat src/main.py"),
        ("allow: {effect: list, path: ~/notes}", "ls ~/notes", "cat ~/notes/a"),
    ),
    "read": entry(
        "what is in a file is read",
        ("deny: {effect: read, path: customers}", "cat customers/a", "ls customers"),
        ("allow: {effect: [list, read], path: //opt/data}", "cat /opt/data/a", "touch /opt/data/a"),
    ),
    "write": entry(
        "a file or folder is made, changed or renamed to",
        ("allow: {effect: write, path: build}", "touch build/x", "rm build/x"),
        ("deny: {effect: write, path: vendor}", "sed -i s/a/b/ vendor/x", "cat vendor/x"),
    ),
    "delete": entry(
        "a file or folder is removed or renamed from",
        ("allow: {effect: delete, path: build}", "rm build/x", "touch build/x"),
        ("ask: {effect: delete}", "rm -r dist", "ls dist"),
    ),
    "connect": entry(
        "a host is contacted",
        ("allow: {effect: connect, direction: fetch, host: pypi.org}", "curl https://pypi.org/", "curl https://x.org/"),
        ("deny: {effect: connect}", "git fetch origin", "git status"),
    ),
    "push": entry(
        "refs are sent to another repository; `+ref`, `--mirror` and `--delete` count as forced",
        ("deny: {effect: push, ref: main}", "git push origin HEAD:main", "git push origin topic"),
        ("ask: {effect: push, force: true}", "git push --mirror", "git push origin topic"),
    ),
    "credential": entry(
        "a program reads its own login material and does not show it: ssh its key, `gh` its token",
        ("ask: {effect: credential, program: ssh}", "ssh build.example.com", "ls"),
        ("deny: {effect: credential}", "gh pr list", "git status"),
    ),
    "env": entry(
        "an environment variable is read into output, or set for a program",
        ("deny: {effect: env, access: read, name: '*_TOKEN'}", "echo $GITHUB_TOKEN", "echo $LANG"),
        ("ask: {effect: env, access: set, name: LD_PRELOAD}", "LD_PRELOAD=./x.so ls", "ls"),
    ),
    "process": entry(
        "another process is signalled, traced or slowed down",
        ("deny: {effect: process}", "kill 4711", "ps"),
        ("ask: {effect: process, action: signal}", "pkill node", "ps"),
    ),
    "system": entry(
        "the machine is changed beyond its files: packages, services, users, mounts, the clock",
        ("deny: {effect: system}", "apt-get install jq", "ls"),
        ("ask: {effect: system, action: service}", "systemctl restart nginx", "systemctl status nginx"),
    ),
    "session": entry(
        "the session itself changes: its list of tasks, its mode, its scheduled calls",
        ("deny: {effect: session, what: '*cron*'}", "CronCreate(a: b)", "Read(README.md)"),
        ("ask: {effect: session, tool: EnterPlanMode}", "EnterPlanMode", "Read(README.md)"),
    ),
}

PATTERNS: dict[str, Entry] = {
    "x": entry(
        "one name alone: at any depth. Below the project; in a deny or ask rule of the user's or the organisation's file on the whole file system",
        ("deny: Read(secret.txt)", "cat a/b/secret.txt", "cat a/b/public.txt"),
        ("allow: Read(shared.txt)", "cat a/shared.txt", "cat /tmp/shared.txt"),
    ),
    "a/x": entry(
        "several names: from the project's root (the folder that holds the file's `.gateway`, else the root of the git repository)",
        ("allow: Read(notes/x.txt)", "cat notes/x.txt", "cat a/notes/x.txt"),
        ("deny: Edit(src/gen/*.py)", "touch src/gen/a.py", "touch a/src/gen/a.py"),
        more="One exception: `x/**` in a deny or ask rule holds at any depth, as it does in Claude Code. Write `./x/**` for the one in the root.",
    ),
    "./": entry(
        "from the project's root, one name too",
        ("deny: Read(./secret.txt)", "cat secret.txt", "cat a/secret.txt"),
        ("deny: Edit(./gen/**)", "touch gen/a", "touch a/gen/a"),
    ),
    "/": entry(
        "from the root of the layer: of a project's file the project, of the user's `~/.config/gateway`, of the organisation's `/etc/gateway`. Not the root of the file system",
        ("deny: Read(/secret.txt)", "cat secret.txt", "cat a/secret.txt"),
        ("allow: Edit(/docs/**)", "touch docs/a", "touch a/docs/a"),
    ),
    "//": entry(
        "from the root of the file system",
        ("deny: Read(//srv/data/**)", "cat /srv/data/a", "cat srv/data/a"),
        ("allow: Read(//opt/tools/**)", "ls /opt/tools/bin", "ls /opt"),
    ),
    "~/": entry(
        "from the home folder",
        ("deny: Read(~/private/**)", "cat ~/private/a", "cat private/a"),
        ("allow: Read(~/notes/**)", "cat /home/dev/notes/a", "cat ~/other/a"),
    ),
    "**/": entry(
        "at any depth, and still anchored: below the project, and only in a deny or ask rule of the user's or the organisation's file on the whole file system. For more in an allow rule write `//**/x`",
        ("allow: Read(**/notes/**)", "cat a/notes/x", "cat /tmp/notes/x"),
        ("deny: Edit(**/gen/*.py)", "touch a/b/gen/x.py", "touch a/b/x.py"),
    ),
    "*": entry(
        "any text within one name",
        ("deny: Read(*.pem)", "cat keys/a.pem", "cat keys/a.txt"),
        ("deny: Read(a/*/x)", "cat a/b/x", "cat a/b/c/x"),
    ),
    "**": entry(
        "any number of names, none as well",
        ("deny: Read(a/**/x)", "cat a/b/c/x", "cat b/x"),
        ("deny: Edit(./a/**)", "touch a/b/c", "touch b"),
    ),
    "?": entry(
        "one character of a name",
        ("deny: Read(log-?.txt)", "cat log-1.txt", "cat log-12.txt"),
        ("allow: Read(~/v?/x)", "cat ~/v1/x", "cat ~/v10/x"),
    ),
    "[…]": entry(
        "one of these characters; `[!…]` one of all others",
        ("deny: 'Read(log-[0-9].txt)'", "cat log-1.txt", "cat log-a.txt"),
        ("deny: 'Read(log-[!0-9].txt)'", "cat log-a.txt", "cat log-1.txt"),
    ),
    "x/": entry(
        "a `/` at the end: a folder, and all that lies below it; a pattern that matches a folder matches what is below it in any case",
        ("deny: Read(build/)", "cat build/x", "cat built"),
        ("deny: Read(./data)", "cat data/a/b", "cat datum"),
    ),
}


def _value(about: str, *examples: tuple[str, str, str]) -> Entry:
    """Tests of a field `x`, each with an input that passes and one that does not."""
    files = tuple(
        f"rules:\n- deny: {{tool: mcp__a__b, args: {{x: {test}}}}}\ntests:\n"
        f"- {{tool: mcp__a__b, input: {yes}, expect: deny}}\n- {{tool: mcp__a__b, input: {no}, expect: ask}}"
        for test, yes, no in examples
    )
    return Entry(about, files=files)


VALUES: dict[str, Entry] = {
    "glob": _value(
        "the value as text matches this glob; a text alone means the same",
        ("{glob: 'prod-*'}", "{x: prod-eu}", "{x: dev}"),
        ("prod-*", "{x: prod-eu}", "{x: dev}"),
    ),
    "equals": _value(
        "the value is this one; a number or boolean alone means the same",
        ("{equals: dev}", "{x: dev}", "{x: prod}"),
        ("3", "{x: 3}", "{x: 4}"),
    ),
    "lt": _value("the value is less", ("{lt: 5}", "{x: 4}", "{x: 5}"), ("{lt: 0}", "{x: -1}", "{x: 0}")),
    "le": _value("the value is less or equal", ("{le: 5}", "{x: 5}", "{x: 6}"), ("{ge: 1, le: 5}", "{x: 1}", "{x: 6}")),
    "gt": _value("the value is greater", ("{gt: 5}", "{x: 6}", "{x: 5}"), ("{gt: 1, lt: 5}", "{x: 2}", "{x: 5}")),
    "ge": _value("the value is greater or equal", ("{ge: 5}", "{x: 5}", "{x: 4}"), ("{ge: 0}", "{x: 0}", "{x: -1}")),
    "absent": _value(
        "the field is missing, or with `false` there",
        ("{absent: true}", "{y: 1}", "{x: 1}"),
        ("{absent: false}", "{x: 1}", "{y: 1}"),
    ),
    "in": _value(
        "the value is one of these; a list alone means the same",
        ("{in: [a, b]}", "{x: a}", "{x: c}"),
        ("[1, 2]", "{x: 2}", "{x: 3}"),
    ),
    "type": _value(
        "the value has this type of JSON",
        ("{type: string}", "{x: many}", "{x: 3}"),
        ("{type: integer}", "{x: 3}", "{x: many}"),
    ),
    "regex": _value(
        "this regular expression is found in the text",
        ("{regex: '^prod(uction)?$'}", "{x: production}", "{x: products}"),
        ("{regex: '[0-9]+'}", "{x: a1}", "{x: a}"),
    ),
    "not": _value(
        "this test fails",
        ("{not: {in: [dev, test]}}", "{x: prod}", "{x: dev}"),
        ("{not: {lt: 5}}", "{x: 5}", "{x: 4}"),
    ),
}

OPTION_VALUES: dict[str, Entry] = {
    "option": Entry(
        "there is no predicate on the value of an option; a pattern of the command holds it. Deny and ask: in whatever place and spelling the option stands. Allow: as the words are written",
        examples=entry(
            "",
            (
                "deny: Bash(kubectl --context prod *)",
                "kubectl get pods --context=prod",
                "kubectl get pods --context=dev",
            ),
            ("deny: Bash(curl -X POST *)", "curl https://x.org --request=POST", "curl -X GET https://x.org"),
            (
                "allow: Bash(kubectl --context dev get *)",
                "kubectl --context dev get pods",
                "kubectl --context prod get pods",
            ),
        ).examples,
    )
}

_SAYS = "deny: [Bash(terraform *)]\ntests:\n- {call: terraform apply, expect: deny}"
LAYERS: dict[str, Entry] = {
    "builtin": Entry("what ships with the gateway and always holds; no file leaves its rules out"),
    "enterprise": Entry("the organisation's, `/etc/gateway/policy.yaml` and `policy.d/`; nothing below weakens it"),
    "user": Entry(
        "one person's, `~/.config/gateway/policy.yaml` and `policy.d/`; without any, the preset `daily` stands here"
    ),
    "project": Entry(
        "a repository's, `.gateway/policy.yaml` and `policy.d/`; its deny and ask rules hold at once, all that loosens after `gateway policy trust`"
    ),
    "local": Entry('what one person answered with "always" for one project, in the gateway\'s own state folder'),
    "session": Entry("what one session brings along, such as the tools that a skill may use; the lowest"),
}
