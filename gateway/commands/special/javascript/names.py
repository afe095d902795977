"""What the names of JavaScript and node do: the allowlist that `javascript` judges a program by."""

from __future__ import annotations

from gateway.commands.special.wordlists import words

KEYWORDS = words(
    "const let var function return if else for of in while do break continue typeof instanceof null true "
    "false undefined NaN Infinity switch case default throw try catch finally void delete"
)
GLOBALS = {
    "console": "log error info warn table dir debug",
    "JSON": "parse stringify",
    "Math": "abs ceil floor round max min pow sqrt random PI E log log2 log10 trunc sign hypot cbrt sin cos tan atan",
    "Object": "keys values entries fromEntries assign freeze",
    "Array": "isArray from of",
    "Number": "isInteger isNaN isFinite parseInt parseFloat MAX_SAFE_INTEGER EPSILON MAX_VALUE MIN_VALUE",
    "String": "fromCharCode fromCodePoint",
    "Date": "now parse UTC",
    "Buffer": "from byteLength concat",
    "process": "version versions platform arch argv pid uptime cwd memoryUsage exit exitCode release title",
    "Intl": "DateTimeFormat NumberFormat",
}
CALLED = words(
    "Number String Boolean Date parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent "
    "encodeURI decodeURI atob btoa structuredClone escape unescape BigInt Array"
)  # fmt: skip
HANDED = frozenset(("Number", "String", "Boolean", "parseFloat"))
MADE = words("Date Set Map Array RegExp Error URL URLSearchParams Object Intl")
FORBIDDEN = words(
    "constructor __proto__ prototype __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ call "
    "apply bind caller callee arguments getPrototypeOf setPrototypeOf mainModule binding prepareStackTrace "
    "getFunction getThis toString valueOf toJSON then get set flag Symbol inspect nodejs captureStackTrace "
    "captureRejections"
)
CALLED_METHODS = frozenset(("toString", "get", "set"))
# Functions that only look at their arguments, by what they belong to.
SHOWING = {
    "": words("String Number parseInt parseFloat"),
    "console": words("log error info warn"),
    "JSON": frozenset(("stringify",)),
    "Array": frozenset(("isArray",)),
    "Object": words("keys values entries"),
}
# Behind a value, these make a text, a number or a truth of it.
COUNTING = frozenset(
    ("+", "-", "*", "/", "%", "**", "++", "--", "+=", "-=", "*=", "/=", "%=", "==", "===", "!=", "!==", "<", ">", "<=",
     ">=", "<<", ">>")
)  # fmt: skip
FILES = {
    "readFileSync": "read", "existsSync": "list", "readdirSync": "list", "statSync": "list", "lstatSync": "list",
    "accessSync": "list", "realpathSync": "list", "readlinkSync": "list", "writeFileSync": "write",
    "appendFileSync": "write", "unlinkSync": "delete", "rmSync": "delete/", "rmdirSync": "delete/",
    "mkdirSync": "write", "truncateSync": "write", "chmodSync": "write", "utimesSync": "write",
    "renameSync": "delete/ write/", "copyFileSync": "read write", "cpSync": "read/ write/",
}  # fmt: skip
MODULES = {
    "fs": FILES,
    "path": dict.fromkeys(words("join resolve basename dirname extname relative normalize isAbsolute parse"), ""),
    "os": dict.fromkeys(words(
    "cpus totalmem freemem platform hostname type release arch uptime loadavg tmpdir homedir endianness"
), ""),
    "crypto": dict.fromkeys(words("createHash createHmac randomUUID randomBytes randomInt getHashes"), ""),
    "util": dict.fromkeys(words("format isDeepStrictEqual"), ""),
    "querystring": dict.fromkeys(words("parse stringify escape unescape"), ""),
    "child_process": {"execSync": "shell"},
}  # fmt: skip
PLAIN_PROPERTIES = {"os.EOL", "path.sep", "path.delimiter"}
