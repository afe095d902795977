"""What Python's names do: the allowlist that `pythoncode` judges a program by.

A name that does not stand here is not understood, and then the program is code. Functions and values in `HARMLESS`
touch nothing and run nothing but what they are handed, so they may also be handed on; those in `EFFECTS` may only be
called by their full name. Names that another module brought along (`csv.io`) are never listed.
"""

from __future__ import annotations

from gateway.commands.special.wordlists import words

BUILTINS = words(
    "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float "
    "frozenset hash hex id int isinstance issubclass iter len list map max min next object oct ord pow print "
    "property range repr reversed round set slice sorted staticmethod classmethod str sum super tuple zip "
    "exit quit type open True False None NotImplemented Ellipsis __name__ ArithmeticError AssertionError "
    "AttributeError BaseException ConnectionError EOFError Exception FileExistsError FileNotFoundError "
    "ImportError IndexError IndentationError IOError IsADirectoryError KeyError KeyboardInterrupt LookupError "
    "ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError "
    "PermissionError RecursionError RuntimeError StopIteration SyntaxError SystemExit TimeoutError TypeError "
    "UnicodeDecodeError UnicodeEncodeError UnicodeError UserWarning ValueError Warning ZeroDivisionError"
)
# Copies or shows what it is given, and keeps no hold of it.
COPYING = words("len sorted print enumerate list set sum reversed zip tuple str repr min max any all join")

# Modules written in C whose every public name is harmless.
WHOLE = frozenset(("math", "cmath", "itertools", "binascii", "unicodedata", "keyword"))

_HARMLESS = {
    "ast": "parse dump literal_eval walk unparse iter_child_nodes get_docstring AST Module FunctionDef "
    "AsyncFunctionDef ClassDef Import ImportFrom Call Name Attribute Assign Constant Expr",
    "base64": "b64encode b64decode b32encode b32decode b16encode b16decode a85encode a85decode b85encode b85decode "
    "urlsafe_b64encode urlsafe_b64decode standard_b64encode standard_b64decode encodebytes decodebytes",
    "bisect": "bisect bisect_left bisect_right insort",
    "bz2": "compress decompress",
    "calendar": "month calendar monthrange isleap leapdays weekday month_name month_abbr day_name day_abbr timegm "
    "monthcalendar TextCalendar prcal prmonth",
    "collections": "Counter OrderedDict defaultdict deque namedtuple ChainMap",
    "colorsys": "rgb_to_hsv hsv_to_rgb rgb_to_hls hls_to_rgb",
    "configparser": "ConfigParser RawConfigParser Error",
    "copy": "copy deepcopy",
    "csv": "reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC excel excel_tab "
    "field_size_limit Sniffer",
    "datetime": "datetime date time timedelta timezone UTC MINYEAR MAXYEAR datetime.now datetime.utcnow "
    "datetime.fromtimestamp datetime.utcfromtimestamp datetime.fromisoformat datetime.strptime datetime.today "
    "datetime.combine datetime.min datetime.max date.today date.fromisoformat date.fromtimestamp timezone.utc",
    "decimal": "Decimal getcontext ROUND_HALF_UP ROUND_DOWN ROUND_UP ROUND_HALF_EVEN",
    "difflib": "unified_diff context_diff ndiff get_close_matches SequenceMatcher",
    "email.utils": "parseaddr formatdate parsedate_to_datetime formataddr",
    "enum": "Enum IntEnum Flag IntFlag auto unique",
    "errno": "errorcode ENOENT EACCES EEXIST EPERM",
    "fnmatch": "fnmatch fnmatchcase filter translate",
    "fractions": "Fraction",
    "functools": "reduce lru_cache cache wraps cmp_to_key total_ordering partial",
    "getpass": "getuser",
    "glob": "escape has_magic",
    "gzip": "compress decompress",
    "hashlib": "md5 sha1 sha224 sha256 sha384 sha512 sha3_256 sha3_512 blake2b blake2s new file_digest "
    "algorithms_available algorithms_guaranteed pbkdf2_hmac",
    "heapq": "heappush heappop heapify nlargest nsmallest merge heappushpop heapreplace",
    "hmac": "new compare_digest digest",
    "html": "escape unescape",
    "importlib.metadata": "version metadata requires PackageNotFoundError",
    "io": "StringIO BytesIO TextIOWrapper SEEK_SET SEEK_END",
    "ipaddress": "ip_address ip_network ip_interface IPv4Address IPv4Network IPv6Address IPv6Network",
    "json": "dumps loads dump load JSONDecodeError JSONDecoder JSONEncoder decoder.JSONDecodeError",
    "lzma": "compress decompress",
    "operator": "itemgetter add sub mul truediv floordiv mod neg eq ne lt le gt ge and_ or_ xor not_",
    "os": "getcwd getpid getppid getuid geteuid getgid cpu_count uname sep linesep name curdir pardir pathsep fspath "
    "fsencode fsdecode urandom strerror get_terminal_size R_OK W_OK X_OK F_OK devnull extsep getloadavg PathLike "
    "error path.join path.basename path.dirname path.splitext path.split path.normpath path.isabs path.commonpath "
    "path.commonprefix path.sep path.relpath path.abspath path.expanduser path.normcase",
    "pathlib": "Path PurePath PosixPath PurePosixPath PureWindowsPath Path.home Path.cwd",
    "platform": "system machine release version python_version python_implementation node "
    "python_version_tuple python_compiler python_build freedesktop_os_release",
    "pprint": "pprint pformat pp",
    "random": "random randint choice choices shuffle sample seed uniform randrange gauss Random getrandbits",
    "re": "compile search match fullmatch findall finditer sub subn split escape IGNORECASE MULTILINE DOTALL VERBOSE "
    "I M S X A ASCII U UNICODE error Pattern Match",
    "secrets": "token_hex token_urlsafe token_bytes choice randbelow compare_digest",
    "shlex": "split quote join",
    "shutil": "which get_terminal_size",
    "site": "getsitepackages getusersitepackages getuserbase",
    "socket": "gethostname AF_INET AF_INET6 SOCK_STREAM SOCK_DGRAM timeout error",
    "ssl": "OPENSSL_VERSION OPENSSL_VERSION_INFO",
    "sqlite3": "sqlite_version version Error OperationalError Row",
    "stat": "S_ISDIR S_ISREG S_ISLNK S_IMODE filemode ST_MODE ST_SIZE ST_MTIME",
    "statistics": "mean median mode stdev variance pstdev pvariance quantiles fmean geometric_mean harmonic_mean "
    "multimode median_low median_high correlation linear_regression",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable "
    "whitespace capwords Template",
    "struct": "pack unpack calcsize iter_unpack unpack_from error",
    "subprocess": "PIPE DEVNULL STDOUT CalledProcessError TimeoutExpired CompletedProcess list2cmdline",
    "sys": "argv version version_info platform executable byteorder maxsize exit stdin stdout stderr stdin.buffer "
    "stdout.buffer getsizeof getdefaultencoding implementation prefix base_prefix exec_prefix flags float_info "
    "int_info hexversion getrecursionlimit setrecursionlimit intern stdlib_module_names builtin_module_names "
    "getfilesystemencoding maxunicode api_version copyright getrefcount set_int_max_str_digits exc_info",
    "sysconfig": "get_path get_paths get_config_var get_config_vars get_platform get_python_version",
    "tempfile": "gettempdir",
    "textwrap": "dedent fill wrap indent shorten TextWrapper",
    "time": "time sleep strftime strptime perf_counter monotonic process_time localtime gmtime mktime ctime asctime "
    "time_ns perf_counter_ns monotonic_ns timezone tzname",
    "toml": "loads dumps",
    "tomli": "loads load TOMLDecodeError",
    "tomllib": "loads load TOMLDecodeError",
    "traceback": "print_exc format_exc",
    "typing": "Any Optional List Dict Tuple Set Union Callable Iterable Iterator NamedTuple TypedDict",
    "urllib.error": "URLError HTTPError",
    "urllib.parse": "quote unquote quote_plus unquote_plus urlparse urlsplit urlunparse urlunsplit urlencode parse_qs "
    "parse_qsl urljoin urldefrag",
    "uuid": "uuid4 uuid3 uuid5 UUID NAMESPACE_DNS NAMESPACE_URL",
    "xml.etree.ElementTree": "fromstring tostring Element SubElement dump indent ParseError XML",
    "yaml": "safe_load safe_load_all safe_dump YAMLError SafeLoader CSafeLoader",
    "zlib": "compress decompress crc32 adler32 compressobj decompressobj",
    "zoneinfo": "ZoneInfo available_timezones",
}  # fmt: skip
HARMLESS = frozenset(f"{module}.{name}" for module, names in _HARMLESS.items() for name in names.split())

# What a function does with its arguments: kind and number of the argument, a slash for everything below it, `into`
# where the target may be a folder. `open` and the others with a word alone have a reader of their own.
EFFECTS = {
    "builtins.open": "open", "io.open": "open", "codecs.open": "open", "gzip.open": "open rb", "bz2.open": "open rb",
    "lzma.open": "open rb", "tokenize.open": "read 0",
    "os.remove": "delete 0", "os.unlink": "delete 0", "os.rmdir": "delete 0",
    "os.rename": "delete/ 0, write/ 1", "os.replace": "delete/ 0, write/ 1",
    "os.mkdir": "write 0", "os.makedirs": "write 0", "os.stat": "list 0", "os.lstat": "list 0", "os.access": "list 0",
    "os.readlink": "list 0", "os.chmod": "write 0", "os.chown": "write 0", "os.utime": "write 0",
    "os.truncate": "write 0", "os.link": "read 0, write 0, write 1", "os.mkfifo": "write 0",
    "os.listdir": "list 0?", "os.scandir": "list 0?", "os.walk": "list/ 0", "os.statvfs": "list 0",
    "os.path.exists": "list 0", "os.path.lexists": "list 0", "os.path.isfile": "list 0", "os.path.isdir": "list 0",
    "os.path.islink": "list 0", "os.path.ismount": "list 0", "os.path.getsize": "list 0",
    "os.path.getmtime": "list 0", "os.path.getctime": "list 0", "os.path.getatime": "list 0",
    "os.path.realpath": "list 0", "os.path.samefile": "list 0, list 1", "os.path.expandvars": "environment",
    "shutil.copy": "read 0, into 1", "shutil.copy2": "read 0, into 1", "shutil.copyfile": "read 0, write 1",
    "shutil.copytree": "read/ 0, write/ 1", "shutil.move": "delete/ 0, into 1", "shutil.rmtree": "delete/ 0",
    "shutil.disk_usage": "list 0", "shutil.copymode": "list 0, write 1", "shutil.chown": "write 0",
    "glob.glob": "glob", "glob.iglob": "glob",
    "linecache.getline": "read 0", "linecache.getlines": "read 0",
    "zipfile.ZipFile": "archive", "tarfile.open": "archive", "zipfile.is_zipfile": "read 0",
    "tarfile.is_tarfile": "read 0", "toml.load": "read 0", "yaml.load": "yaml",
    "xml.etree.ElementTree.parse": "read 0", "xml.etree.ElementTree.iterparse": "read 0",
    "sqlite3.connect": "database", "importlib.util.find_spec": "specification",
    "platform.platform": "platform",
    "os.system": "shell", "os.popen": "shell", "subprocess.getoutput": "shell", "subprocess.getstatusoutput": "shell",
    "subprocess.run": "process", "subprocess.call": "process", "subprocess.check_call": "process",
    "subprocess.check_output": "process", "subprocess.Popen": "process",
    "os.getenv": "variable", "os.environ.get": "variable", "os.environ.pop": "set variable",
    "os.environ.setdefault": "set variable", "os.putenv": "set variable", "os.unsetenv": "set variable",
    "os.environ.items": "environment", "os.environ.keys": "environment", "os.environ.values": "environment",
    "os.environ.copy": "environment", "os.kill": "signal", "os.killpg": "signal",
    "urllib.request.urlopen": "fetch", "urllib.request.urlretrieve": "fetch, write 1",
    "urllib.request.Request": "fetch", "requests.get": "fetch", "requests.head": "fetch",
    "requests.post": "send", "requests.put": "send", "requests.delete": "send", "requests.patch": "send",
    "requests.request": "send 1", "httpx.get": "fetch", "httpx.post": "send",
    "http.client.HTTPConnection": "host 80", "http.client.HTTPSConnection": "host 443",
    "socket.create_connection": "address", "socket.gethostbyname": "host 53", "socket.getaddrinfo": "host 53",
    "socket.socket": "socket", "socket.getfqdn": "host 53", "smtplib.SMTP": "host 25", "ftplib.FTP": "host 21",
}  # fmt: skip
# Keywords that change nothing of what a call touches.
KEYWORDS = words(
    "encoding errors newline buffering exist_ok parents missing_ok ignore_errors mode follow_symlinks "
    "dirs_exist_ok recursive include_hidden topdown followlinks timeout indent sort_keys default key reverse "
    "compresslevel member filter_ ns_map times ns symlinks"
)

# Methods that are harmless whatever of the understood values they are called on.
METHODS = words(
    "add append appendleft as_posix as_uri as_tuple absolute bit_length bit_count capitalize casefold center "
    "clear close closed count decode dedent difference digest discard elements encode end endswith expandtabs "
    "extend extendleft fileno find findall finditer findtext flush fromkeys fullmatch fromhex group groupdict "
    "groups get getbuffer getcode getheader getheaders getlist getroot getvalue getnames getmembers "
    "get_close_matches has_option has_section hex hexdigest index infolist info insert intersection "
    "is_absolute is_integer isalnum isalpha isascii isatty isdecimal isdigit isdisjoint isidentifier islower "
    "isnumeric isprintable isspace issubset issuperset istitle isupper is_relative_to isocalendar isoformat "
    "isoweekday items itertext iter join joinpath keys ljust lower lstrip maketrans match most_common "
    "move_to_end namelist options partition pop popitem popleft printdir quantize ratio quick_ratio read1 "
    "readable readline readlines relative_to remove removeprefix removesuffix reset resolve reverse rfind "
    "rindex rjust rotate rpartition rsplit rstrip search sections seek setdefault sort span split splitlines "
    "start startswith strftime strip sub subn substitute safe_substitute subtract swapcase "
    "symmetric_difference tell testzip timestamp timetuple title today to_bytes from_bytes toordinal tolist "
    "total_seconds translate truncate union update upper utcoffset values weekday with_name with_stem "
    "with_suffix writable writelines writerow writerows writeheader zfill date time expanduser communicate "
    "wait poll as_integer_ratio limit_denominator conjugate hosts subnets supernet overlaps with_traceback "
    "geturl fetchall fetchone fetchmany commit cursor getint getfloat getboolean as_string is_reserved total "
    "subgroups set_seq1 set_seq2 is_nan is_infinite normalize astimezone ctime reconfigure fill wrap readinto "
    "cache_info cache_clear"
)
# Methods of paths and of what else is not harmless, as in `EFFECTS`, where -1 is what the method is called on.
METHOD_EFFECTS = {
    "read_text": "read -1", "read_bytes": "read -1", "write_text": "write -1", "write_bytes": "write -1",
    "unlink": "delete -1", "rmdir": "delete -1", "mkdir": "write -1", "touch": "write -1", "chmod": "write -1",
    "rename": "delete/ -1, write/ 0", "hardlink_to": "read 0, write 0, write -1",
    "iterdir": "list -1", "glob": "list/ -1", "rglob": "list/ -1", "walk": "list/ -1", "exists": "list -1",
    "is_file": "list -1", "is_dir": "list -1", "is_symlink": "list -1", "stat": "list -1", "lstat": "list -1",
    "samefile": "list -1, list 0", "readlink": "list -1", "owner": "list -1",
    "is_mount": "list -1", "is_socket": "list -1", "is_fifo": "list -1",
    "is_block_device": "list -1", "is_char_device": "list -1", "lchmod": "write -1", "link_to": "read -1, write 0",
    "open": "open -1", "replace": "replace", "copy": "copy", "move": "delete/ -1, write/ 0",
    "copy_into": "read/ -1, write/ 0", "move_into": "delete/ -1, write/ 0", "extractall": "extract",
    "extract": "extract", "format": "format", "format_map": "format", "execute": "sql", "executescript": "sql",
    "executemany": "sql", "read": "read", "write": "write", "connect": "address", "kill": "", "terminate": "",
}  # fmt: skip
# Methods that reach further than the list above tells, on values that a program can make. One of the program's own
# may not have such a name, because nobody can tell which of them a call means.
RISKY = words(
    "load_extension enable_load_extension backup deserialize set_authorizer create_function create_module "
    "lchmod link_to makefile makedir makelink makefifo makedev makeunknown utime chown addfile writestr "
    "setpassword bind listen sendto sendall send request putrequest endheaders storbinary retrbinary sendmail "
    "login makefile detach read_file dump_stats send_signal chunked accept setsockopt share connect_ex"
)
# Starts of the names by which values lead to the frames and code behind them.
INNER = ("gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_")
# Attributes that are harmless to read.
ATTRIBUTES = words(
    "name stem suffix suffixes parent parents parts anchor path year month day hour minute second microsecond "
    "tzinfo days seconds microseconds real imag numerator denominator returncode stdout stderr stdin buffer "
    "st_size st_mtime st_mode st_ctime st_atime st_uid st_gid st_ino st_nlink major minor micro releaselevel "
    "serial args msg pos lineno colno doc errno strerror filename status code reason headers url netloc "
    "scheme query fragment hostname port username password pattern flags string lastindex lastgroup "
    "fieldnames line_num tag text tail attrib sysname nodename release version machine system processor "
    "maxlen default_factory start stop step value file_size compress_size date_time size mtime mode isreg "
    "columns lines version_info id body names module level func attr targets decorator_list end_lineno "
    "col_offset prec network_address broadcast_address num_addresses netmask prefixlen is_private is_global "
    "is_loopback pid total used free resolution max min __name__ __doc__ __version__ cache_tag hexversion"
)
# Loaded before the folder is searched, or part of the interpreter itself.
LOADED = words("builtins sys os posixpath genericpath stat codecs io abc time errno itertools math")
