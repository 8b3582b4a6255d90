"""The members of a model file, read with limits: a file from a stranger cannot take the memory.

Every size is checked before memory is taken for it: the directory of the zip file before it is
read, what the members say they hold before they are unpacked, the shape of an array before it is
made. Members are then unpacked up to what they say and no further.
"""

from __future__ import annotations

import io
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from copula_shirley.errors import ArtefactError
from copula_shirley.files.atomic import check_regular

#: Bytes of all members unpacked; the largest models that we fitted have some 10 MB.
LARGEST_MODEL = 2**30
#: Bytes of the JSON member; Python needs up to 20 times as many for what it says.
LARGEST_HEADER = 2**25
#: An array per table that was measured: 100 columns have 4,950 pairs.
MOST_MEMBERS = 50_000
#: Bytes of the zip file's list of members, 160 for each.
LARGEST_DIRECTORY = 2**23
#: Deflate packs zeros 1,000 times; what packs better than this is stored as it is by ``pack``.
LARGEST_RATIO = 100
#: Up to so many bytes in all the ratio does not matter.
HARMLESS = 2**24
ARRAY = re.compile(r"[A-Za-z0-9_-]{1,200}\.npy")
#: Kinds of dtype that a model may hold: truth values, whole numbers, floats.
KINDS = "biuf"

_END = struct.Struct("<4s4H2LH")


def unpack(path: str | Path, header: str) -> dict[str, bytes]:
    """Every member of the zip file, the JSON ``header`` among them.

    Raises
    ------
    ArtefactError
        If the file is absent, no zip file, not whole, too large or not like ours.
    """
    where = repr(str(path))
    check_regular(path, ArtefactError)
    try:
        with open(path, "rb") as raw:
            _check_directory(raw, where)
            with zipfile.ZipFile(raw) as file:
                infos = file.infolist()
                _check_members(infos, os.fstat(raw.fileno()).st_size, header, where)
                return {info.filename: _content(file, info) for info in infos}
    except ArtefactError:
        raise
    except FileNotFoundError:
        raise ArtefactError(f"{where} does not exist") from None
    except OSError as error:
        raise ArtefactError(f"{where} cannot be read: {error.strerror or error}") from None
    except Exception:  # zipfile and zlib have a dozen kinds for what is cut or bent
        raise ArtefactError(f"{where} is not a whole model file; it may be truncated") from None


def _check_directory(raw: io.BufferedReader, where: str) -> None:
    """Refuse a list of members that is too long, before zipfile reads it."""
    size = raw.seek(0, os.SEEK_END)
    start = max(size - _END.size - 2**16, 0)
    raw.seek(start)
    tail = raw.read(size - start)
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise ArtefactError(f"{where} is not a whole model file; it may be truncated")
    *_, directory, _, _ = _END.unpack_from(tail, place)
    if directory > LARGEST_DIRECTORY:
        raise ArtefactError(
            f"{where}: its list of members ({directory:,} bytes) must have at most "
            f"{LARGEST_DIRECTORY:,} bytes"
        )
    if tail[max(place - 20, 0) : place].startswith(b"PK\x06\x07"):
        raise ArtefactError(f"{where} is a zip file but not a model of this project")
    raw.seek(0)


def _check_members(infos: list[zipfile.ZipInfo], size: int, header: str, where: str) -> None:
    """Refuse what ``pack`` does not write, and sizes that cannot be."""
    names = [info.filename for info in infos]
    kinds = [stat.S_IFMT(info.external_attr >> 16) for info in infos]
    plain = all(
        (info.filename == header or ARRAY.fullmatch(info.filename))
        and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        and kind in (0, stat.S_IFREG)
        and not info.flag_bits & 0x41
        for info, kind in zip(infos, kinds, strict=True)
    )
    text = sum(info.file_size for info in infos if info.filename == header)
    total = sum(info.file_size for info in infos)
    faults = {
        " is a zip file but not a model of this project": header not in names,
        f": members ({len(infos):,}) must be at most {MOST_MEMBERS:,}": len(infos) > MOST_MEMBERS,
        " is damaged: a member stands twice in it": len(set(names)) < len(names),
        " is damaged: it has a member that is no array of ours": not plain,
        " is damaged: its members overlap": sum(info.compress_size for info in infos) > size,
        f": {header} ({text:,} bytes) must have at most {LARGEST_HEADER:,} bytes": text
        > LARGEST_HEADER,
        f" unpacks to {total:,} bytes; a model must have at most {LARGEST_MODEL:,}": total
        > LARGEST_MODEL,
        f" unpacks to {total // max(size, 1)} times its size; models beyond {HARMLESS:,} bytes "
        f"must stay within {LARGEST_RATIO} times": total > max(HARMLESS, LARGEST_RATIO * size),
    }
    for fault, found in faults.items():
        if found:
            raise ArtefactError(where + fault)


def _content(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member, unpacked up to the size that it says; another size or sum is an error."""
    with file.open(info) as member:
        content = member.read(info.file_size)
        if len(content) != info.file_size or member.read(1):
            raise zipfile.BadZipFile
    return content


def pack(file: zipfile.ZipFile, info: zipfile.ZipInfo, content: bytes) -> None:
    """Add a member, packed unless it packs so well that ``unpack`` would take it for a bomb."""
    bomb = len(content) > LARGEST_RATIO * len(zlib.compress(content))
    file.writestr(info, content, zipfile.ZIP_STORED if bomb else zipfile.ZIP_DEFLATED)


def parse_array(content: bytes) -> np.ndarray:
    """An npy member of plain numbers whose size is what its shape says; else a ValueError."""
    buffer = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(buffer)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(buffer)
        sizes_fit = all(type(n) is int and n >= 0 for n in shape)
        if dtype.kind not in KINDS or dtype.hasobject or not sizes_fit:
            raise ValueError
        if math.prod(shape) * dtype.itemsize != len(content) - buffer.tell():
            raise ValueError
        buffer.seek(0)
        array: np.ndarray = np.load(buffer, allow_pickle=False)
    except Exception:  # numpy parses the header as Python, with all errors of Python
        raise ValueError("an array cannot be read") from None
    return array
