"""The keys of a program's description, each with what it says and an example.

The reader (`gateway.spec.commands`), the schema for editors and the reference in `docs/commands.md` are made from
these tables. An example is what stands in the file at that place: a line of the top level or of a subcommand, an
entry of `options`, an item of `operands` or of `effects`.
"""

# ruff: noqa: E501  one key a line

from __future__ import annotations

DIALECTS = {
    "gnu": "options anywhere, clusters (`-xvf`), glued values (`-ofile`, `--out=file`), `--` ends them",
    "posix": "the same, and the first operand ends them",
    "dash": "long options with one dash or two (`-name x`, `--name=x`), no clusters",
    "keys": "no options, but operands `key=value`",
    "none": "no options at all: every word is an operand",
}
KINDS = {
    "text": "means nothing to us",
    "number": "the same",
    "secret": "login material, which no record keeps",
    "user:secret": "the same behind the first `:`",
    "user%secret": "the same behind the first `%`",
    "pass:secret": "the same where `pass:` stands before it",
    "name=secret": "the same behind the first `=`",
    "path": "a file or folder",
    "@path": "a text, or with `@` in front the name of a file that holds it",
    "file-url": "a text, or with `file://` in front the name of a file that holds it",
    "url": "an address that is contacted",
    "host": "a host that is contacted",
    "remote": "a place as `git` and `rsync` name them: `host:path`, an address or a path",
    "revision": "a revision of git, or a path in it",
    "command": "the first word of a command of its own; the words after it belong to it",
    "shell": "text that a shell runs",
    "assignment": "`NAME=value`, set for the program",
}
CLASSES = ("search", "read", "list", "silent", "write", "network", "package", "vcs", "process", "destructive", "code")
PATH_KINDS = ("list", "read", "write", "delete")
EFFECTS = {
    "list": "`list [PATH] [tree]`: names and properties are looked at",
    "read": "`read [PATH] [tree]`: content is read",
    "write": "`write [PATH] [tree]`: made or changed",
    "delete": "`delete [PATH] [tree]`: deleted or moved away",
    "code": "`code [WHY]`: something runs that nobody can see from here",
    "opaque": "`opaque WHY`: not even what runs is known",
    "connect": "`connect [HOST[:PORT]] [fetch|send|listen]`: a connection; `?` for a host that is not known",
    "credential": "`credential [PATH [changed]]`: the program uses its own login material, and writes that, too",
    "env": "`env NAME read|set`: a variable is printed, or set for programs",
    "process": "`process ACTION [TARGET]`: signals, tracing, priorities",
    "system": "`system ACTION [WHAT]`: a change beyond files: packages, services, mounts, accounts, remote state",
}
CHANGED = "changed"
DIRECTIONS = ("fetch", "send", "listen")
SKIPS = ("hidden",)
UNKNOWN_OPTIONS = ("harmless",)

# A program, then its version, which begins with a digit or has `v`, `r` or the like in front of one.
CHECKED = r"^\S+( \S+)* [a-z]?[0-9]\S*$"

Keys = dict[str, tuple[str, str]]

TOP: Keys = {
    "names": (
        "the names of one program; the first is what rules and verdicts call it. Either this or `programs`",
        "names: [grep, egrep, fgrep]",
    ),
    "programs": (
        "the names of several programs that are used alike; each keeps its own",
        "programs: [md5sum, sha1sum]",
    ),
    "of": (
        (
            "instead of `names`, in a file beside it that goes on with it: `of: git` begins `git.NAME.yaml`. Such a part holds"
            " `subcommands`, `groups`, `examples`, `checked` and `about` alone"
        ),
        "of: git",
    ),
    "about": ("a remark for readers", "about: the front end of our build farm"),
    "checked": (
        (
            "the program and version whose help or manual this was compared with option by option; a list for several."
            " What parts say counts if the file that they go on with says it, too"
        ),
        "checked: GNU tar 1.35",
    ),
    "groups": ("named keys that several subcommands share by `use`", "groups: {common: {flags: -v|--verbose}}"),
    "examples": (
        "commands with all that each does. They are tests: a description whose examples do not hold does not load",
        'examples: {"x a.txt": []}',
    ),
    "builtin": ("bash has it built in, so it is not looked for on PATH. Shipped descriptions only", "builtin: true"),
}
# What a part may hold.
PART = ("of", "about", "checked", "groups", "subcommands", "examples")
SPEC: Keys = {
    "flags": (
        "options without a value that do nothing we speak of. `|` joins one option's spellings, `--[no-]x` is two options",
        "flags: -i|--ignore-case -v --[no-]color",
    ),
    "values": ("options with a value that means nothing to us", "values: -m|--max-count --include"),
    "optionals": ("options with a value only if it is glued to them (`--color=always`)", "optionals: --color"),
    "file_urls": ("options with a value of the kind `file-url`", "file_urls: --parameters"),
    "at_paths": ("options with a value of the kind `@path`", "at_paths: --parameters"),
    "inert": ("flags that change so little that an allow rule need not name them", "inert: --no-pager"),
    "alone": ("words that, as the only argument, print something and do nothing else; `|` as in `flags`. A listed flag `--help` does so behind subcommands too, `--version` behind the program, unless there is `code` or `special`", "alone: --version --help|-h version"),
    "helps": (
        ("of a program alone: words that, as the last one behind nothing but subcommands that have a name here, print help"
        " and do nothing else, even where those run code: for programs that read their words before they load anything"),
        "{helps: --help help, subcommands: {run: {code: runs the project}}}",
    ),
    "options": ("options that do something; see below", "options: {-o|--output: {value: path, does: write}}"),
    "operands": (
        ("what the words are that are no options, in their order; see below. `[]`: there are none. Without the key any"
        " operand is code"),
        "operands: [{kind: path, does: read, rest: true}]",
    ),
    "after": ("what the words behind `--` are, where they are something else", "after: {kind: command}"),
    "effects": ("what it always does; see below", "effects: [connect api.example.com:443 fetch, credential ~/.x]"),
    "code": ("it runs what nobody can see from here; the text says what", "code: runs the project's scripts"),
    "subcommands": (
        ("the same keys for each subcommand, or its effects alone. `add|stage` is one with two names, `push pull` are two"
        " alike, `get-*` is all that start so and are not named, `*` all others"),
        "subcommands: {add|stage: {flags: -A}, push pull: {effects: ['connect ?']}, '*': {code: a plugin}}",
    ),
    "bare": ("the subcommand that is meant when none is given", "{bare: list, subcommands: {list: {}}}"),
    "default": (
        "the subcommand that is meant when the first word names none",
        "{default: run, subcommands: {run: {operands: [{kind: path, does: read}]}}}",
    ),
    "inherit": ("subcommands take the options of what they belong to as well", "{inherit: true, flags: -v, subcommands: {a: {}}}"),
    "use": ("groups whose keys hold here too", "use: [common]"),
    "classes": (f"what verdicts call the command: {', '.join(CLASSES)}", "classes: [read]"),
    "dialect": ("how options are written; see below. `gnu` if missing", "dialect: dash"),
    "unknown_options": (
        "`harmless`: options that are not listed do nothing. Only for programs that cannot do harm by any option",
        "unknown_options: harmless",
    ),
    "numeric": ("`-20` is an option, called `-NUM`", "numeric: true"),
    "dashless": ("a first word without a dash holds letters of options (`tar xf a.tar`)", "dashless: true"),
    "assign": ("operands `NAME=value` in front set variables", "assign: true"),
    "ignored": ("operands that are no operands (`find . ( -name x )`)", 'ignored: ["(", ")"]'),
    "skips": ("what the program leaves out of the trees it reads, unless one of the options is given", "skips: {hidden: [--hidden]}"),
    "special": (
        ("functions of gateway's own code that read what YAML cannot say. Shipped descriptions, and the enterprise layer's,"
        " only"),
        "special: [sed]",
    ),
}  # fmt: skip
OPTION: Keys = {
    "value": ("the kind of its value; a list for several values", "-o: {value: path, does: write}"),
    "optional": ("the kind of a value that stands there only if glued", "--log: {optional: path, does: write}"),
    "does": ("effects of the option; of a path or host without a target of their own on its value", "-d: {does: delete build tree}"),
    "tree": ("the path is meant with all below it; or the options with which it is", "--dir: {value: path, does: read, tree: true}"),
    "when": ("its effects are there only together with one of these options or marks", "-o: {value: path, does: write, when: [-w]}"),
    "sets": ("marks that `when` and `unless` elsewhere look for", "-e: {value: text, sets: pattern}"),
    "harmless": ("values with which it does nothing and sets no mark", "--pager: {value: text, harmless: [never], does: code starts it}"),
    "inert": ("as the key `inert`, for an option with a value", "-C: {value: path, cwd: true, inert: true}"),
    "cwd": ("the program runs in this folder; `operands`: only what follows is seen from there", "-C: {value: path, cwd: true}"),
    "until": ("a command of its own follows, up to one of these words", '-exec: {until: [";"], braces: true}'),
    "open": ("the command may also end with the line", '-x: {until: [";"], open: true}'),
    "braces": ("`{}` in the command is something that was found below the operands", '-exec: {until: [";"], braces: true}'),
    "appends": ("what was found stands at the end where no `{}` does", '-x: {until: [";"], open: true, braces: true, appends: true}'),
    "direction": ("of a contacted host: fetch, send or listen", "--upload: {value: url, direction: send}"),
    "port": ("the port if the value names none", "--host: {value: host, port: 5432}"),
    "scheme": ("the scheme of an address that names none", "--url: {value: url, scheme: https}"),
    "via": ("what verdicts call the way to a command that is handed on", "-c: {value: shell, via: x -c}"),
    "dash": ("`-` is a file of this name, not standard input or output", "-f: {value: path, does: read, dash: true}"),
    "split": ("the value is split as `env -S` does; its words are read from the start, in front of what follows", "-S: {value: text, split: true}"),
    "keep": ("the value is kept for a function of `special`", "-e: {value: text, keep: true}"),
    "git_setting": ("the value is a setting of git", "-c: {value: text, git_setting: true}"),
}  # fmt: skip
SLOT: Keys = {
    "kind": ("what the word is; see below. `text` if missing", "{kind: path, does: read}"),
    "does": ("its effects; of a path without a target of their own on the word", "{kind: path, does: [read, write]}"),
    "tree": ("the path is meant with all below it; or the options with which it is", "{kind: path, does: read, tree: [-r]}"),
    "rest": ("as many words as there are, between the others", "{kind: path, does: read, rest: true}"),
    "optional": ("the word may be missing", "{kind: path, does: read, rest: true, optional: true}"),
    "default": ("what is meant if it is missing", '{kind: path, does: read, tree: true, rest: true, default: "."}'),
    "default_when": ("the default is meant only with one of these options", '{kind: path, rest: true, default: ".", default_when: [-r]}'),
    "when": ("the operand is there only with one of these options or marks", "{kind: path, does: write, when: [-o]}"),
    "unless": ("the operand is there only without them", "{kind: text, unless: [-e, pattern]}"),
    "into": ("a folder as destination receives the names of the words before", "{kind: path, does: write, into: true}"),
    "direction": ("of a contacted host: fetch, send or listen", "{kind: url, direction: send}"),
    "port": ("the port if the word names none", "{kind: host, port: 22}"),
    "scheme": ("the scheme of an address that names none", "{kind: url, scheme: http, rest: true}"),
    "via": ("what verdicts call the way to a command that is handed on", "{kind: shell, via: x run, rest: true}"),
    "adds": ("what is read from standard input stands behind the command's words", "{kind: command, rest: true, adds: true}"),
    "elsewhere": ("the command runs in a container or on another machine: its paths are not this machine's. Say `code` beside it",
                  "{kind: command, rest: true, elsewhere: true}"),
    "dash": ("`-` is a file of this name, not standard input or output", "{kind: path, does: read, dash: true}"),
}  # fmt: skip
EFFECT: Keys = {
    "do": ("effects as texts", "{do: [write . tree]}"),
    "when": ("only with one of these options or marks", "{do: [write . tree], when: [-w]}"),
    "unless": ("only without them", "{do: [write . tree], unless: [--check]}"),
    "there": (
        (
            "`true`: what its code loads by itself, if the path is there, which may hold `*`. The sandbox hides what policy forbids, so that the"
            " program would do something else there: a confined call is judged by it before, an unconfined one by its `code`."
            " With `code`, for what starts git: only where a hook lies, or settings name a program that git starts in a work tree"
        ),
        "{do: [read .env], there: true}",
    ),
}
