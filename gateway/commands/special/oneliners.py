"""One-line programs of ruby, php and lua that compute and print, by a short list of words for each language.

There are no names of the program's own, no blocks and no texts with code in them: whoever writes more writes a program,
and a program is code.
"""

from __future__ import annotations

from gateway.commands.special.wordlists import words
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")


class Language(Value):
    """`words` stand for themselves, `methods` only behind a dot, `modules` only before a dot and a method; `signs`
    are what may stand between; `forbidden` is what no text may hold where quotes are double."""

    words: frozenset[str]
    methods: frozenset[str]
    modules: frozenset[str]
    signs: str
    forbidden: tuple[str, ...]
    called: frozenset[str] = frozenset()


_RUBY = Language(
    words=words("puts print p true false nil RUBY_VERSION RUBY_PLATFORM RUBY_ENGINE RUBY_PATCHLEVEL and or not"),
    methods=words(
        "upcase downcase capitalize reverse length size to_s to_i to_f to_a sum max min sort uniq first last "
        "strip chars bytes lines split join abs round floor ceil even odd include start_with end_with count tr "
        "squeeze rjust ljust center succ pred chomp hex oct ord chr digits gcd lcm now year month day sqrt cbrt "
        "sin cos log PI E keys values empty flatten compact rotate take drop zip tally minmax divmod fdiv pow "
        "bit_length inspect"
    ),
    modules=frozenset(("Math", "Time")),
    signs="+-*()[]{},;.=<>! \t\n&|",
    forbidden=("#",),
)
_PHP_WORDS = words(
    "echo print true false null PHP_VERSION PHP_OS PHP_EOL PHP_INT_MAX PHP_INT_SIZE PHP_OS_FAMILY PHP_BINARY "
    "M_PI and or PHP_MAJOR_VERSION PHP_MINOR_VERSION PHP_FLOAT_EPSILON PHP_SAPI PHP_FLOAT_MAX "
    "JSON_PRETTY_PRINT ENT_QUOTES"
)
_PHP_FUNCTIONS = words(
    "print_r var_dump phpversion json_encode json_decode strlen strtoupper strtolower ucfirst ucwords "
    "str_repeat implode explode count array_sum array_product md5 sha1 hash crc32 base64_encode base64_decode "
    "urlencode rawurlencode urldecode rawurldecode date time microtime mktime strtotime round floor ceil max "
    "min abs sqrt pow intdiv fmod number_format range array_keys array_values array_merge in_array "
    "array_reverse array_unique str_pad substr strpos str_replace trim ltrim rtrim sprintf printf strrev "
    "php_sapi_name extension_loaded function_exists get_loaded_extensions bin2hex hex2bin dechex hexdec "
    "bindec decbin ord chr nl2br htmlspecialchars html_entity_decode serialize var_export is_numeric intval "
    "floatval strval boolval gettype random_int rand mt_rand uniqid memory_get_usage php_uname str_contains "
    "str_starts_with mb_strlen mb_strtoupper mb_substr array array_slice array_flip array_combine array_fill "
    "ctype_digit"
)
_PHP = Language(
    words=_PHP_WORDS | _PHP_FUNCTIONS,
    methods=frozenset(),
    modules=frozenset(),
    signs="+-*%()[],;.=<>! \t\n&|:",
    forbidden=("$",),
    called=_PHP_FUNCTIONS,
)
_LUA = Language(
    words=words("print tostring tonumber type _VERSION nil true false and or not"),
    methods=words(
        "abs ceil floor max min sqrt pi huge random fmod exp log sin cos tan maxinteger mininteger tointeger "
        "format upper lower rep reverse len sub byte char find concat unpack"
    ),
    modules=frozenset(("math", "string", "table", "utf8")),
    signs="+*/%^#(){},;.=<>~ \t\n",
    forbidden=(),
)
LANGUAGES = {"ruby": _RUBY, "php": _PHP, "lua": _LUA}


def understood(text: str, language: Language) -> bool:
    """Whether a program only computes and prints."""
    at = 0
    size = len(text)
    before = ""
    while at < size:
        sign = text[at]
        if sign in "'\"":
            end = text.find(sign, at + 1)
            inside = text[at + 1 : end]
            if end < 0 or "\\" in inside or (sign == '"' and any(one in inside for one in language.forbidden)):
                return False
            at, before = end + 1, "text"
        elif sign in _LETTERS:
            end = at
            while end < size and (text[end] in _LETTERS or text[end] in _DIGITS):
                end += 1
            word, behind = text[at:end], text[end:].lstrip()[:1]
            if not _allowed(word, before, behind, language):
                return False
            at, before = end, word
        elif sign in _DIGITS:
            while at < size and (text[at] in _DIGITS or text[at] in "._xXabcdefABCDEF") and text[at : at + 2] != "..":
                if text[at] == "." and text[at + 1 : at + 2] not in _DIGITS:
                    break
                at += 1
            before = "number"
        elif (sign == "/" and language is _PHP and text[at + 1 : at + 2] not in ("/", "*")) or (
            sign == "-" and language is _LUA and text[at + 1 : at + 2] != "-"
        ):
            at, before = at + 1, sign
        elif sign not in language.signs or not _sign(text, at, before, language):
            return False
        else:
            at += 1
            before = before if sign in " \t\n" else sign
    return True


def _allowed(word: str, before: str, behind: str, language: Language) -> bool:
    if before == "." and language is not _PHP:
        return word in language.methods
    if word in language.modules:
        return behind == "."
    if language.called and word in language.called:
        return behind == "("
    return word in language.words


def _sign(text: str, at: int, before: str, language: Language) -> bool:
    """What two signs together may mean besides."""
    two = text[at : at + 2]
    if two in ("<<", "->", "::", "[[", "[=", "&:", "..", "?>") and language is not _LUA:
        return two == ".." and language is _RUBY
    if language is _LUA and two in ("[[", "[="):
        return False
    if text[at] == "(" and language is not _RUBY:
        # Only a name may be called, never a text or the value of an expression.
        return before not in ("text", ")", "]", "number", "}")
    return not (text[at] == "&" and two != "&&" and language is _RUBY)


def _oneliner(findings: Findings, run: Invocation) -> None:
    """The text of `-e` or `-r`; whatever else the program is given makes it code."""
    texts = [values[0] for option, values in run.values if "text" in option.get("sets", ())]
    if not texts:
        return
    language = LANGUAGES[run.name]
    plain = run.options == {"-r" if run.name == "php" else "-e"}
    if not plain or not all(word.literal and understood(word.text, language) for word in texts):
        findings.code(run, f"runs a {run.name} program that is not understood")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"oneliner": _oneliner}
