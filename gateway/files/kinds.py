"""What a file is by its first bytes: names end in anything, and a picture is one whatever it is called. Pure."""

from __future__ import annotations

IMAGES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
PDF = "application/pdf"

# First bytes, and what they begin. A kind with a slash is one that Read can show; others are words for a sentence.
_FIRST = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
    (b"\x7fELF", "an executable (ELF)"),
    (b"\xfe\xed\xfa\xce", "an executable (Mach-O)"),
    (b"\xfe\xed\xfa\xcf", "an executable (Mach-O)"),
    (b"\xce\xfa\xed\xfe", "an executable (Mach-O)"),
    (b"\xcf\xfa\xed\xfe", "an executable (Mach-O)"),
    (b"\xca\xfe\xba\xbe", "a Java class or an executable (Mach-O)"),
    (b"\0asm", "WebAssembly"),
    (b"PK\x03\x04", "a ZIP archive or a document stored as one"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\0", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"!<arch>\n", "an ar archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PACK\0\0\0", "a git pack"),
    (b"DIRC\0\0\0", "a git index"),
    (b"PAR1", "a Parquet file"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\x01\0", "an icon"),
    (b"\0\0\x02\0", "a cursor"),
    (b"8BPS", "a Photoshop image"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"\0\x01\0\0\0", "a TrueType font"),
    (b"OTTO\0", "an OpenType font"),
    (b"wOFF", "a web font"),
    (b"wOF2", "a web font"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
)
# The same for bytes that a text could begin with: they count only where a NUL follows soon.
_DOUBTFUL = ((b"MZ", "an executable (Windows)"), (b"BM", "a bitmap image"))
_BOXES = {b"avif": "an AVIF image", b"heic": "a HEIC image", b"mif1": "a HEIC image", b"qt  ": "QuickTime video"}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "WAV audio", b"AVI ": "AVI video"}
_LATE_PDF = 1024


def kind_of(head: bytes) -> str:
    """The kind of a file with this head: a media type that can be shown, words for what cannot, "" for neither."""
    for first, kind in _FIRST:
        if head.startswith(first) and not (len(first) < 5 and first.isascii() and _is_text(head)):
            return kind
    if head[:4] == b"RIFF" and head[8:12] in _RIFF:
        return _RIFF[head[8:12]]
    if head[4:8] == b"ftyp":
        return _BOXES.get(head[8:12], "MPEG-4 audio or video")
    if head[257:262] == b"ustar":
        return "a tar archive"
    for first, kind in _DOUBTFUL:
        if head.startswith(first) and b"\0" in head[:512]:
            return kind
    if head[2:4] == b"\r\n" and b"\0" in head[4:16]:
        return "compiled Python"
    if b"\0" in head[:_LATE_PDF] and b"%PDF-" in head[:_LATE_PDF]:
        return PDF
    return ""


def _is_text(head: bytes) -> bool:
    """Whether what begins with letters goes on as text: a word such as `OggS` begins no sound."""
    start = head[:256]
    return b"\0" not in start and all(sign >= 32 or sign in b"\t\n\r\f" for sign in start)
