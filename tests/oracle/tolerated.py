"""What programs do that no prediction names, each with its reason. Nothing else is let pass.

`~` is the home folder. A name ends with `/` where all below it is meant.
"""

from __future__ import annotations

# The system view: what is there is the machine's, and nobody's data.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/sys", "/proc")
# Below it, what is secret after all.
NOT_SYSTEM = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host", "/etc/ssl/private")
# Streams and sources of bytes: nothing is kept behind these names.
STREAMS = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin", "/dev/stdout",
    "/dev/stderr", "/dev/pts/", "/dev/ptmx", "/dev/fd/", "/dev/shm/", "/proc/self/",
)  # fmt: skip
# A process' own settings below /proc: the name of its thread, what a crash would write.
OWN_PROCESS = ("/comm", "/coredump_filter", "/oom_score_adj")

# Sockets of the machine's services that tell who a number or a host is, and the log.
SOCKETS = (
    "/var/run/nscd/", "/run/nscd/", "/run/systemd/", "/var/run/dbus/", "/run/dbus/", "/dev/log", "/run/systemd/userdb/",
)  # fmt: skip
# A program's own service, which is what asking it for its state means.
SERVICES = {
    "docker": ("/var/run/docker.sock", "/run/docker.sock"),
    "tmux": ("/tmp/tmux-",),
    "black": ("/tmp/pymp-",),
    "kubectl": ("127.0.0.1 8080",),  # the cluster, where no other one is set up
    "fuser": ("",),  # it tries whether a port speaks one protocol or the other, on this machine
    # The display of this machine, by each of its ways.
    **dict.fromkeys(
        ("xprop", "xwininfo", "xdpyinfo", "xlsclients", "xlsfonts", "xvinfo", "xev", "xset", "xrandr"),
        ("/tmp/.X11-unix/", "@/tmp/.X11-unix/", "127.0.0.1 60"),
    ),
}

# What a program starts as a part of what it does.
_SHELL = ("sh", "bash", "dash")  # hands on a text which the analysis reads as a command of its own
# Git is partly made of scripts, and speaks to other machines by ssh.
_GIT = (
    "git", "sh", "ssh", "basename", "sed", "uname", "tr", "expr", "cat", "rm", "mkdir", "mv", "test", "dirname",
    "gettext", "envsubst", "git-sh-i18n--envsubst", "man",
    # Of the scripts that it starts by its name and theirs, and of those that list tools.
    "awk", "bash", "chmod", "clear", "column", "comm", "cut", "date", "du", "egrep", "env", "file", "gawk", "getopt",
    "gpg", "grep", "head", "ls", "mktemp", "nproc", "perl", "python3", "readlink", "seq", "sleep", "sort", "stat",
    "tail", "tee", "touch", "tput", "uniq", "wc", "which", "xargs",
)  # fmt: skip
_COMPILER = ("cc1", "cc1plus", "as", "collect2", "ld", "lto-wrapper", "gcc", "g++", "gcc-nm", "gcc-ar")
_COMPRESSION = ("sh", "gzip", "bzip2", "xz", "zstd", "compress", "lzip", "lzma", "lzop")
# A script that asks where it is and what machine it runs on.
_SCRIPT = (
    "python3", "readlink", "dirname", "basename", "uname", "getopt", "tput", "which", "sed", "cut", "cat",
    "ldconfig", "gcc", "ld", "lsb_release", "dpkg-architecture", "perl", "file", "locale", "git", "tr", "ls", "expr",
)  # fmt: skip
PARTS_OF: dict[str, tuple[str, ...]] = {
    "tar": _COMPRESSION,
    "gpg": ("gpg-agent", "keyboxd", "scdaemon", "dirmngr"),  # holds keys for it
    **dict.fromkeys(
        (
            "gunzip",
            "zcat",
            "zless",
            "zmore",
            "zgrep",
            "zdiff",
            "zcmp",
            "bzcmp",
            "xzcmp",
            "xzgrep",
            "xzcat",
            "xzdiff",
            "xzless",
            "bzgrep",
            "bzdiff",
            "zstdgrep",
            "zforce",
            "gzexe",
            "lzgrep",
        ),
        (*_COMPRESSION, "grep", "diff", "cmp", "sed", "rm", "mktemp", "less", "expr", "cat", "zdiff"),
    ),
    "zipgrep": ("egrep", "expr", "grep", "sed", "unzip"),
    "routel": ("python3", "ip"),
    "convmv": ("pwd",),
    **dict.fromkeys(("rgrep", "egrep", "fgrep"), ("grep",)),
    **dict.fromkeys(
        (
            "awk",
            "gawk",
            "mawk",
            "sed",
            "watch",
            "flock",
            "script",
            "split",
            "sqlite3",
            "hyperfine",
            "node",
            "perl",
            "ruby",
            "python3",
            "php",
            "parallel",
            "make",
            "gdb",
            "m4",
            "su",
            "entr",
        ),
        _SHELL,
    ),
    **dict.fromkeys(
        ("git", "git-submodule", "git-bisect", "git-receive-pack", "git-upload-pack", "git-filter-branch"), _GIT
    ),
    **dict.fromkeys(("gcc", "cc", "g++", "c++", "collect2", "clang"), _COMPILER),
    **dict.fromkeys(("scp", "sftp", "rsync", "docker"), ("ssh",)),  # docker: to a daemon at `ssh://`
    **dict.fromkeys(
        ("gcloud", "gsutil", "bq", "pip", "pip3", "meson", "mvn", "lsb_release", "dpkg-architecture"), _SCRIPT
    ),
    **dict.fromkeys(
        ("apt", "apt-get", "apt-mark", "apt-cache", "apt-config", "apt-file"), ("dpkg", "lsb_release", "sh")
    ),
    **dict.fromkeys(("npm", "npx"), ("node",)),
    "gem": ("ruby",),
    **dict.fromkeys(("pod2html", "ptar"), ("pwd",)),
    "debconf-show": ("locale",),
    "dpkg-realpath": ("basename", "readlink"),
    # Without root it starts itself again in a namespace of users, and asks what it would run containers with.
    **dict.fromkeys(
        ("podman", "buildah"),
        ("podman", "buildah", "buildah-in-a-user-namespace", "newuidmap", "newgidmap", "conmon", "crun", "runc"),
    ),
    "yq": ("jq",),
    "man": (
        "apropos",
        "whatis",
        "tbl",
        "nroff",
        "groff",
        "troff",
        "grotty",
        "preconv",
        "locale",
        "eqn",
        "col",
        "gzip",
        "sh",
        "less",
        "rm",
    ),
    "gdb": ("iconv", "sh"),
    "valgrind": ("valgrind.bin",),
    "valgrind.bin": ("valgrind.bin",),
    # Its tools are programs beside it, and it asks the compiler which options that takes.
    "go": ("go", "doc", "cover", "asm", "gcc", *_COMPILER),
    "doc": ("go", "doc"),
    "dpkg": ("dpkg-query", "dpkg-deb"),
    "ssh-copy-id": (
        "sed",
        "grep",
        "head",
        "mktemp",
        "chmod",
        "cat",
        "rm",
        "ssh",
        "ls",
        "tr",
        "uname",
        "expr",
        "sh",
        "ssh-add",
        "basename",
        "dirname",
    ),
    "bash": ("id",),  # the machine's own start-up file of a login shell
    "xargs": ("echo",),  # what it runs when it is given no command
    "mvn": (*_SCRIPT, "java"),
    "gradle": (*_SCRIPT, "java", "sh"),
}

# Files that a program reads when it starts: settings that steer it and that it does not show.
_GIT_SETTINGS = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes")
OWN_FILES: dict[str, tuple[str, ...]] = {
    "git": _GIT_SETTINGS,
    "rg": _GIT_SETTINGS[:1],  # it leaves out what git is told to leave out
    "bash": (
        "~/.profile",
        "~/.bash_profile",
        "~/.bash_login",
        "~/.bash_logout",
        "~/.bashrc",
    ),  # `-l`, `-i`: the user's own
    "kubectl": ("~/.kube/config",),  # which cluster there is; only `config view` shows it, and predicts that
    **dict.fromkeys(("npm", "npx", "node"), ("~/.npmrc", "~/.gitconfig")),
    **dict.fromkeys(("wget", "pip", "go"), ("~/.netrc",)),  # the login for the very host that is asked
    **dict.fromkeys(("su", "chage", "sudo", "expiry", "debconf-show"), ("/etc/shadow",)),  # the account's own line
    **dict.fromkeys(
        ("psql", "pg_dump", "pg_basebackup", "createdb", "dropdb"), ("/etc/shadow",)
    ),  # Perl's way to ask for an account tries it
}
# Settings of the project that a program takes from the folder it works in or one above.
OWN_NAMES: dict[str, tuple[str, ...]] = {
    "git": (".gitignore", ".gitattributes", ".mailmap", ".gitmodules"),
    "rg": (".gitignore", ".ignore", ".rgignore"),
    "black": ("pyproject.toml", ".gitignore"),
    **dict.fromkeys(("npm", "npx", "node"), (".npmrc", "package.json", "package-lock.json", "npm-shrinkwrap.json")),
}
# A folder of its own in which a program keeps what it was given; it is no file of the work tree.
OWN_STORE = {"git": "/.git/", "rg": "/.git/info/"}
# What programs make for themselves when they start: settings, caches and logs. The sandbox lets none of it be written.
OWN_STATE: dict[str, tuple[str, ...]] = {
    "svn": ("~/.subversion/",),
    **dict.fromkeys(
        ("gcloud", "gsutil", "bq", "python3"),
        ("~/.config/gcloud/", "~/.gsutil/", "/tmp/pymp-", "/usr/lib/google-cloud-sdk/"),
    ),
    **dict.fromkeys(("npm", "npx", "node"), ("~/.npm/",)),
    # Java takes the home from the list of users: that of whoever has none is /nonexistent.
    **dict.fromkeys(
        ("java", "jar", "javap", "javac", "mvn", "jps"), ("/tmp/hsperfdata_", "~/.gradle/", "/nonexistent")
    ),
    "black": ("~/.cache/", "~/.cache/black/", "/tmp/pymp-"),
    "go": ("~/.cache/", "~/.cache/go-build/", "~/.config/go/"),
    "gpg": ("~/.gnupg/",),
    "terraform": ("~/.terraform.d/",),
    **dict.fromkeys(("podman", "buildah"), ("~/.local/", "~/.config/", "/run/user/", "/proc/")),
    **dict.fromkeys(("gem", "ruby"), ("~/.local/", "~/.gem/", "~/.cache/")),
    "mount": ("/run/mount/",),
    "top": ("~/.config/", "~/.config/procps/"),
    **dict.fromkeys(("ssh-copy-id", "mktemp", "chmod"), ("~/.ssh/ssh-copy-id.",)),  # its own place to work
}

# Programs that look whether there is a newer one of them; the sandbox gives them no network.
ASKS_HOME = ("terraform", "node", "npm", "gcloud", "python3")
# Programs that compare the content of listed files with what they keep of them, and show only that it differs; and the
# files of their store that they renew then.
COMPARES = ("git",)
RENEWED = {"git": ("/.git/index", "/.git/index.lock")}
# Programs that keep what lies in their store in another form: objects and refs in packs. What nobody
# can reach any more goes once it is old.
PACKS = {"git": ("/.git/objects/", "/.git/refs/")}
# Programs that look for modules in the folder they start in: names only. What a file there does is predicted as code.
FINDS_MODULES = ("python3", "python", "perl", "ruby", "node")
# Programs that open a file to ask something about it, and read nothing of it.
OPENS_TO_ASK = ("lsattr",)
# Programs that look which file system lies on what they are told to mount; that they mount is predicted.
OPENS_WHAT_IT_MOUNTS = ("mount",)
# Programs that open a file for writing as well, before they know what they are asked for.
OPENS_FOR_BOTH = ("sqlite3",)
# Programs that replace the X of a name by something that nobody has.
FILLS_IN = ("mktemp",)
# The shell lists a folder to expand a pattern; the files that match are predicted one by one.
EXPANDS = ("bash", "sh", "dash")
# Programs that take away what they were to write when they fail.
TAKES_BACK = ("ld", "collect2", "strip", "objcopy")
# The file that a `credential` without a path stands for.
LOGIN = "~/.netrc"
# Folders that a program lists, and why: Java looks for what other Java programs say of themselves.
LISTS = {"java": ("/tmp",), "jps": ("/tmp",)}
# Programs that take a folder away with the last file in it: nothing is lost but the name.
TAKES_EMPTIED = ("git",)
