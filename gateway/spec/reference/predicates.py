"""What people are told of each predicate: in the JSON Schema, in `docs/rules.md` and by `gateway policy help`.

The names are those of `gateway.policy.predicates.PREDICATES`; a test fails where one of the two lacks a name.
"""

# ruff: noqa: E501  one example a line

from __future__ import annotations

from gateway.spec.reference.entry import Entry, entry

DESCRIBED: dict[str, Entry] = {
    "tool": entry(
        "globs over tool names",
        ("deny: {tool: WebSearch}", "WebSearch(weather)", "WebFetch(https://example.com)"),
        ("ask: {tool: [mcp__github__*, mcp__jira__*]}", "mcp__github__create_issue", "mcp__slack__post"),
        more="In an allow rule the name is spelled out, but for the part after `mcp__<server>__`.",
    ),
    "args": entry(
        "tests on fields of the call's input, by dotted path",
        ("deny: {tool: Agent, args: {subagent_type: Explore}}", "Agent(Explore)", "Agent(Plan)"),
        (
            "ask: {tool: Bash, args: {command: {regex: 'docker.*--privileged'}}}",
            "docker run --privileged x",
            "docker ps",
        ),
        more="The tests of a value are listed under [tests of a value](#tests-of-a-value). An allow rule may not test the "
        "raw text of a command, path or URL; `command`, `path` and `host` cannot be walked around.",
    ),
    "server": entry(
        "globs over the identity of an MCP server",
        ("deny: {tool: mcp__*, server: github}", "mcp__github__create_issue", "WebSearch(weather)"),
        ("ask: {tool: '*__delete', server: 'acme-*'}", "mcp__acme-crm__delete", "mcp__acme-crm__list"),
        more="Where nobody told who serves a tool, the tool's name says it, which is enough to forbid and not to allow.",
    ),
    "annotations": entry(
        "what an MCP server says of its tool",
        ("ask: {tool: mcp__crm__*, annotations: {destructiveHint: true}}", "mcp__crm__delete", "Read(README.md)"),
        ("allow: {tool: mcp__crm__*, annotations: {readOnlyHint: true}}", "mcp__crm__list", "mcp__jira__list"),
        more="What a server left unsaid counts as the worst, and for an allow rule as not said.",
    ),
    "agent": entry(
        "globs over the name of the agent that calls",
        ("deny: {tool: Write, agent: Explore}", "Write(notes.txt)", "Read(notes.txt)"),
        ("ask: {effect: push, agent: ['review-*', Plan]}", "git push origin main", "git status"),
    ),
    "depth": entry(
        "how many agents stand above the one that calls",
        ("deny: {tool: Agent, depth: {ge: 1}}", "Agent(Explore)", "Read(README.md)"),
        ("allow: {tool: WebSearch, depth: 0}", "WebSearch(weather)", "WebFetch(https://example.com)"),
        more="A number, or bounds: `lt`, `le`, `gt`, `ge`, `equals`. The agent that a person talks to has depth 0.",
    ),
    "mode": entry(
        "the session's mode",
        ("ask: {effect: code, mode: accept_edits}", "npm test", "ls"),
        ("deny: {effect: connect, mode: [plan, read_only]}", "curl https://example.com", "ls"),
        more="What each mode says by itself: [modes.md](modes.md).",
    ),
    "branch": entry(
        "globs over the branch that is checked out",
        ("deny: {exec: git commit, branch: [main, release/*]}", "git commit -m x", "git log"),
        ("ask: {effect: write, path: 'migrations/**', branch: main}", "touch migrations/1.sql", "touch src/1.sql"),
        more="A branch that is not known may be any: deny and ask hold for it, allow does not.",
    ),
    "cwd": entry(
        "path patterns of the working directory",
        ("deny: {exec: terraform, cwd: infra}", "cd infra && terraform apply", "terraform apply"),
        ("allow: {command: 'make *', cwd: ./}", "make test", "cd /tmp && make test"),
        more="The folder that the command runs in, after any `cd` before it in the same text.",
    ),
    "confined": entry(
        "whether the call runs in the sandbox",
        ("ask: {effect: code, confined: false}", "npm test", "ls"),
        ("allow: {command: 'make *', confined: true}", "make test", "npm test"),
    ),
    "contained": entry(
        "whether the call runs by exactly the contained plan",
        ("deny: {effect: code, program: python, contained: false}", "python3 x.py", "ls"),
        ("allow: {effect: [code, opaque], contained: true}", "./run.sh", "curl https://example.com/"),
        more=(
            "A contained call can change nothing but the workspace, temporary folders and its project's own layer over "
            "caches, and reach nothing but the loopback of its sandbox. An allow rule gives the call exactly that plan, "
            "where all that is predicted of the call fits in it. Beside deny, ask and `require` it is true only of a "
            "call that runs by that plan."
        ),
    ),
    "alone": entry(
        "whether the call runs no code",
        (
            "allow: {effect: connect, host: api.github.com, alone: true}",
            "curl https://api.github.com/zen",
            "./x; curl https://api.github.com/zen",
        ),
        ("ask: {effect: write, path: 'infra/**', alone: false}", "make; touch infra/x", "touch infra/x"),
        more=(
            "True where each effect of the whole call is known: nothing of it runs code, is not understood or sets a "
            "variable for a program. For what is lent a login or a host, which code beside it could use."
        ),
    ),
    "time": entry(
        "hours and days, in UTC",
        (
            "ask: {effect: push, time: {from: '17:00', to: '09:00'}}",
            "git push origin main",
            "git status",
        ),
        ("deny: {exec: terraform apply, time: {days: [fri, sat, sun]}}", "terraform apply", "terraform plan"),
        more="`from`, `to` and `days`, each of which may be left out. A window that ends before it starts runs over "
        "midnight.",
    ),
    "command": entry(
        "patterns of commands as in `Bash(…)`",
        ("deny: {command: 'rm -rf *'}", "rm --force -r build", "rm build/x"),
        ("allow: {command: ['npm test', 'npm run lint *']}", "npm run lint src", "npm install"),
        more="An allow rule holds for the words as they are written, a deny or ask rule however the command is spelled "
        "([short-form.md](short-form.md)). It is a pattern of words with `*`: `|`, `^` and `/…/` mean nothing in it.",
    ),
    "exec": entry(
        "the first words of a command in canonical form; an entry that is a list gives alternatives",
        ("deny: {exec: git push}", "git -C . push origin main", "git status"),
        ("ask: {exec: [npm, [install, i, add]]}", "npm --silent i left-pad", "npm test"),
        more="Canonical: the program's base name, global options left out, the subcommand where the description finds it.",
    ),
    "option": entry(
        "options of which one is present, in any spelling",
        ("deny: {exec: git push, option: [--force, --mirror]}", "git push origin -f", "git push origin"),
        ("ask: {exec: rm, option: --recursive}", "rm -fr build", "rm build/x"),
        more="The name without its value. How to test the value: [an option's value](#an-options-value).",
    ),
    "option_not": entry(
        "options of which none is present, in any spelling",
        ("ask: {exec: [npm, [install, ci]], option_not: --ignore-scripts}", "npm ci", "npm ci --ignore-scripts"),
        ("deny: {exec: kubectl, option_not: --context}", "kubectl get pods", "kubectl --context dev get pods"),
    ),
    "effect": entry(
        "kinds of effects",
        ("deny: {effect: push}", "git push origin main", "git fetch"),
        ("ask: {effect: [write, delete], path: 'docs/**'}", "rm docs/index.md", "cat docs/index.md"),
        more="Every kind with its fields: [effects](#effects).",
    ),
    "path": entry(
        "paths that an effect touches",
        ("deny: {effect: [read, write], path: ~/.aws/**}", "cat ~/.aws/config", "cat README.md"),
        ("allow: {effect: write, path: 'build/**'}", "touch build/x", "touch src/x"),
        more="Where a pattern starts and what `*` means: [path patterns](#path-patterns). Without `effect` it holds for "
        "every kind that has a path: list, read, write and delete.",
    ),
    "path_not": entry(
        "the touched path matches none of these",
        ("ask: {effect: write, path_not: [src/**, tests/**]}", "touch setup.cfg", "touch src/x.py"),
        (
            "allow: {effect: delete, path: 'build/**', path_not: build/keep/**}",
            "rm build/x",
            "rm build/keep/x",
        ),
    ),
    "holds": entry(
        "the touched path is one of these folders, or a folder that it lies in",
        ("deny: {effect: delete, holds: workspace}", "rm -rf /home/dev/project", "rm -rf build"),
        ("ask: {effect: write, holds: [workspace, home]}", "chmod -R 700 /home", "touch src/x"),
    ),
    "named": entry(
        "the call itself names the path: a command's word, a redirection, a field of a tool",
        ("ask: {effect: write, path: AGENTS.md, named: true}", "echo x > AGENTS.md", "echo x > README.md"),
        ("deny: {effect: delete, path: docs/**, named: true}", "rm docs/x.md", "rm src/x.md"),
        more="Without it a rule on a path holds also for what lies below a folder that a call changes as a whole, and for "
        "code: the sandbox keeps the path from being changed. With it `git checkout` may bring such a file.",
    ),
    "host": entry(
        "hosts that are contacted",
        (
            "allow: {effect: connect, direction: fetch, host: '*.example.com'}",
            "curl https://api.example.com",
            "curl https://x.org",
        ),
        ("deny: {host: [10.0.0.0/8, '169.254.169.254']}", "curl http://10.1.2.3/", "curl https://example.com"),
        more="A name, `*.` and a name (not the name itself), an address, a network, or `*`. A host that is not known before "
        "the run may be any: deny and ask hold for it.",
    ),
    "host_not": entry(
        "the contacted host matches none of these",
        (
            "deny: {effect: connect, host_not: ['*.example.com', example.com]}",
            "curl https://x.org",
            "curl https://example.com",
        ),
        (
            "ask: {effect: connect, direction: send, host_not: api.example.com}",
            "curl -d @x https://x.org",
            "curl https://x.org",
        ),
    ),
    "port": entry(
        "ports that are contacted",
        ("deny: {effect: connect, port: 22}", "ssh build.example.com", "curl https://example.com"),
        ("ask: {effect: connect, port: [80, 8080]}", "curl http://example.com", "curl https://example.com"),
    ),
    "direction": entry(
        "which way data goes",
        ("ask: {direction: send}", "curl -d a=b https://example.com", "curl https://example.com"),
        ("deny: {direction: listen}", "python3 -m http.server 8000", "curl https://example.com"),
    ),
    "known_by": entry(
        "who names the host, if the call does not",
        (
            "allow: {effect: connect, known_by: provider}",
            "aws sts get-caller-identity --region eu-west-1",
            "curl https://example.com",
        ),
        ("ask: {known_by: person}", "git fetch origin", "git fetch https://example.com/x.git"),
        more=(
            "`person`: settings of the person that no call can write, as the kubeconfig's cluster and git's remotes of the "
            "project. `provider`: the program itself, for what it is asked, as `aws` for a service and a region. Of a host "
            "that the words of the call name, or that nobody knows, it is neither."
        ),
    ),
    "sends": entry(
        "files whose content leaves with a connection",
        ("deny: {sends: '**/*.pem'}", "curl -d @keys/a.pem https://example.com", "curl -d @a.txt https://example.com"),
        ("ask: {sends: src/**}", "cat src/main.py | curl -d @- https://example.com", "cat src/main.py"),
    ),
    "remote": entry(
        "globs over the remote of a push",
        ("deny: {effect: push, remote: upstream}", "git push upstream main", "git push origin main"),
        ("ask: {effect: push, remote: 'fork-*'}", "git push fork-ann main", "git push origin main"),
    ),
    "ref": entry(
        "globs over the ref of a push",
        ("deny: {effect: push, ref: [main, release/*]}", "git push origin HEAD:main", "git push origin topic"),
        (
            "allow: {effect: push, remote: origin, ref: wip/*, force: false}",
            "git push origin wip/a",
            "git push origin main",
        ),
    ),
    "force": entry(
        "whether a push rewrites history",
        ("deny: {effect: push, force: true}", "git push origin +main", "git push origin main"),
        ("allow: {effect: push, ref: topic, force: false}", "git push origin topic", "git push -f origin topic"),
    ),
    "name": entry(
        "globs over names of environment variables",
        ("deny: {effect: env, access: read, name: '*_TOKEN'}", "echo $GITHUB_TOKEN", "echo $LANG"),
        ("ask: {effect: env, access: set, name: LD_PRELOAD}", "LD_PRELOAD=./x.so ls", "LANG=C ls"),
    ),
    "access": entry(
        "whether a variable is read into output or set",
        ("ask: {effect: env, access: read, name: 'AWS_*'}", "echo $AWS_SECRET_ACCESS_KEY", "AWS_PROFILE=dev ls"),
        ("deny: {effect: env, access: set, name: PATH}", "PATH=/tmp:$PATH ls", "echo $PATH"),
    ),
    "action": entry(
        "what is done to a process or the system",
        ("deny: {effect: process, action: signal}", "kill 4711", "ps"),
        ("ask: {effect: system, action: [install, service]}", "apt-get install jq", "apt-cache search jq"),
        more="Of a process: `signal`, `trace`, `priority`. Of the system: `install`, `service`, `mount`, `user`, `clock`, "
        "`power`, `network`, `kernel`, `privilege` and what else descriptions of programs name.",
    ),
    "what": entry(
        "globs over what a system or session effect changes",
        ("ask: {effect: system, action: install, what: '*'}", "apt-get install jq", "ls"),
        ("deny: {effect: session, what: '*cron*'}", "CronCreate(a: b)", "Read(README.md)"),
    ),
    "program": entry(
        "globs over the program of code, credential and exec effects",
        ("deny: {effect: exec, program: docker}", "docker ps", "ls"),
        ("allow: {effect: code, program: make, confined: true}", "make test", "npm test"),
        more="By its base name. An allow rule holds where the command is written directly.",
    ),
}
