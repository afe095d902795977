"""Which server a file is one for."""

from __future__ import annotations

import pytest

from gateway.lsp.file_types import language_of, server_for

SERVERS = {
    "first": {"extensions": {".py": "python", ".d.ts": "types"}},
    "second": {"extensions": {".ts": "typescript", ".py": "snake", "Dockerfile": "dockerfile"}},
}
FILES = {
    "of two servers the first": ("/a/b.py", "first"),
    "the longest ending": ("/a/b.d.ts", "first"),
    "an ending": ("/a/b.ts", "second"),
    "a whole name": ("/a/Dockerfile", "second"),
    "a name that ends like a whole one": ("/a/xDockerfile", ""),
    "an ending in a folder's name": ("/a.py/b", ""),
    "another case": ("/a/b.PY", ""),
    "no ending": ("/a/py", ""),
    "a name that is nothing but the ending": ("/a/.py", "first"),
}


@pytest.mark.parametrize(("path", "server"), FILES.values(), ids=FILES)
def test_a_file_has_a_server_by_its_name(path: str, server: str) -> None:
    assert server_for(path, SERVERS) == server


def test_a_file_has_a_language_by_its_name() -> None:
    extensions = {".ts": "typescript", ".d.ts": "types"}
    assert [language_of(path, extensions) for path in ("/a.ts", "/a.d.ts", "/a.x")] == ["typescript", "types", ""]
