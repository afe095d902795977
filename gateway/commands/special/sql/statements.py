"""SQL text: its statements, and whether one only reads. The part that all database clients share."""

from __future__ import annotations

from gateway.commands.special.wordlists import words
from gateway.core.value import Value
from gateway.model.effect import HOLE

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789.@#") | {HOLE}
_READING = frozenset(("select", "values", "explain", "show", "describe", "desc", "table", "with", "begin", "commit",
                      "end", "rollback", "start", "use", "summarize", "from", "pivot"))  # fmt: skip
_CHANGING = words(
    "insert update delete replace create drop alter truncate into merge call do execute prepare grant revoke "
    "set lock copy load vacuum reindex analyze analyse attach detach comment notify listen import export "
    "install outfile dumpfile handler rename refresh cluster security checkpoint discard force kill shutdown "
    "purge reset flush"
)
# Functions that only compute.
FUNCTIONS = words(
    "abs array_agg array_length array_to_string avg bool_and bool_or cast ceil ceiling changes char "
    "char_length character_length coalesce concat concat_ws convert count count_if cume_dist curdate "
    "current_database current_date current_schema current_setting current_time current_timestamp current_user "
    "database date date_add date_diff date_format date_part date_sub date_trunc datetime datediff day "
    "dayofweek dense_rank exp extract first first_value floor format format_type from_unixtime "
    "generate_series glob greatest group_concat hex hour if ifnull iif instr isnull json json_agg json_array "
    "json_array_length json_build_object json_each json_extract json_extract_path_text json_group_array "
    "json_group_object json_object json_quote json_tree json_type json_valid jsonb_agg jsonb_array_elements "
    "jsonb_build_object jsonb_each jsonb_object_keys jsonb_pretty julianday lag last last_insert_rowid "
    "last_value lead least left length like likelihood list ln locate log log10 lower lpad ltrim max md5 "
    "median min minute mod month now nth_value ntile nullif obj_description octet_length percent_rank "
    "percentile_cont percentile_disc pg_database_size pg_get_constraintdef pg_get_indexdef pg_get_viewdef "
    "pg_indexes_size pg_relation_size pg_size_pretty pg_table_size pg_total_relation_size pg_encoding_to_char "
    "pi position pow power printf quarter quote random rank regexp_matches regexp_replace "
    "regexp_split_to_array repeat replace reverse right round row_number row_to_json rpad rtrim second sha256 "
    "sign sqlite_version split_part sqrt stddev strftime string_agg string_split strpos substr substring sum "
    "time timediff timestampdiff to_char to_date to_json to_jsonb to_number to_timestamp total total_changes "
    "trim trunc typeof unhex unicode unistr unixepoch unix_timestamp unnest upper user uuid variance version "
    "week weekday width_bucket year zeroblob pragma_table_info pragma_index_list pragma_index_info "
    "pragma_foreign_key_list pragma_database_list in and or not as on using values exists over partition from "
    "where by then else when join any all some filter within select order between interval is union except "
    "intersect limit offset having distinct case end with materialized recursive lateral row array varchar "
    "decimal numeric int integer float text nvarchar real date key explain table_info index_list index_info "
    "table_xinfo foreign_key_list analyze verbose"
)


class Token(Value):
    """A piece of a statement. `kind`: word, string (its text without quotes), name (a quoted one) or sign."""

    kind: str
    text: str


class SqlError(Exception):
    """The text is not understood."""


class Dialect(Value):
    """Where databases read their texts differently."""

    backslash: bool = False
    hash_comment: bool = False
    dollar: bool = False
    brackets: bool = False


def statements(text: str, dialect: Dialect) -> list[tuple[Token, ...]]:
    """The statements of a text, each as its tokens. SqlError if a quote or comment has no end."""
    found: list[tuple[Token, ...]] = []
    tokens: list[Token] = []
    at = 0
    size = len(text)
    if "\r" in text and ("--" in text or "#" in text):
        raise SqlError  # for some databases it ends a comment
    while at < size:
        sign = text[at]
        if sign.isspace():
            at += 1
        elif (sign == "-" and text[at : at + 2] == "--") or (sign == "#" and dialect.hash_comment):
            end = text.find("\n", at)
            at = size if end < 0 else end
        elif text[at : at + 2] == "/*":
            end = text.find("*/", at + 2)
            # Some databases run what stands in a comment, some let comments nest.
            if end < 0 or text[at + 2 : at + 3] in ("!", "+", "M") or "/*" in text[at + 2 : end]:
                raise SqlError
            at = end + 2
        elif sign in "'\"`" or (sign == "[" and dialect.brackets):
            value, at = _quoted(text, at, dialect)
            tokens.append(Token("string" if sign == "'" else "name", value))
        elif (sign == "$" and dialect.dollar and text[at + 1 : at + 2] in ("$", "_")) or _dollar_tag(text, at, dialect):
            tag_end = text.find("$", at + 1)
            end = text.find(text[at : tag_end + 1], tag_end + 1) if tag_end > 0 else -1
            if end < 0:
                raise SqlError
            tokens.append(Token("string", text[tag_end + 1 : end]))
            at = end + tag_end + 1 - at
        elif sign in _LETTERS:
            end = at
            while end < size and text[end] in _LETTERS:
                end += 1
            tokens.append(Token("word", text[at:end]))
            at = end
        elif sign == ";":
            if tokens:
                found.append(tuple(tokens))
            tokens = []
            at += 1
        else:
            tokens.append(Token("sign", sign))
            at += 1
    if tokens:
        found.append(tuple(tokens))
    return found


def _dollar_tag(text: str, at: int, dialect: Dialect) -> bool:
    return dialect.dollar and text[at] == "$" and text[at + 1 : at + 2].isalpha()


def _quoted(text: str, at: int, dialect: Dialect) -> tuple[str, int]:
    quote = "]" if text[at] == "[" else text[at]
    escapes = dialect.backslash and quote in "'\""
    # What a letter before the quote says of backslashes is not followed.
    if not escapes and quote == "'" and text[at - 1 : at] in ("e", "E") and "\\" in text[at:]:
        raise SqlError
    value: list[str] = []
    at += 1
    while at < len(text):
        sign = text[at]
        if sign == "\\" and escapes:
            value.append(text[at + 1 : at + 2])
            at += 2
            continue
        if sign == quote:
            if text[at + 1 : at + 2] != quote or quote == "]":
                return "".join(value), at + 1
            at += 1
        value.append(sign)
        at += 1
    raise SqlError


def only_reads(statement: tuple[Token, ...], judged: tuple[str, ...] = ()) -> bool:
    """Whether a statement surely changes nothing and calls nothing but functions that compute. `judged`: starts of the
    names of functions that the caller judges."""
    first = statement[0]
    if first.kind != "word" or first.text.lower() not in _READING:
        return False
    for at, token in enumerate(statement):
        if token.kind != "word":
            if token.kind == "sign" and token.text in "\\:" and not _cast(statement, at):
                return False
            if token.kind == "name" and _called(statement, at):
                return False
            continue
        word = token.text.lower()
        if HOLE in word or (word in _CHANGING and not (word in FUNCTIONS and _called(statement, at))):
            return False
        if _called(statement, at) and word not in FUNCTIONS and not (judged and word.startswith(judged)):
            return False
    return True


def _called(statement: tuple[Token, ...], at: int) -> bool:
    return at + 1 < len(statement) and statement[at + 1].text == "(" and statement[at + 1].kind == "sign"


def _cast(statement: tuple[Token, ...], at: int) -> bool:
    """`::` casts; a single colon is a variable that the client fills in."""
    near = [statement[i].text for i in (at - 1, at + 1) if 0 <= i < len(statement) and statement[i].kind == "sign"]
    return statement[at].text == ":" and ":" in near
