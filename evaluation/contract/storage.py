"""Rules about what stays behind: files, models, messages."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import struct
import types
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.evaluation.contract.report import Broken, NotApplicable
from copula_shirley.evaluation.contract.subject import DRAWN, Subject, excuse, takes
from copula_shirley.evaluation.contract.tables import Case
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import Chunk

#: Shorter numbers and names are found by chance.
DIGITS = 5
#: How a pickle of protocol 2 to 5 begins, and one of the oldest.
PICKLES = (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")
OLD_PICKLES = (b"(dp0", b"(lp0", b"ccopy_reg")
NUMPY = b"\x93NUMPY"


def no_row_in_file(subject: Subject) -> None:
    """The saved file holds no value of a single row and nothing as long as the table."""
    for model, ledger, case in _tried(subject):
        members = unpacked(subject.saved(model))
        for what, pattern in canaries(case):
            if any(pattern in member for member in members.values()):
                excuse(ledger, f"{what} stands in the file")
        for name, member in members.items():
            array = _array(member)
            if array is not None and _as_long(array, case):
                excuse(ledger, f"{name} in the file has as many entries as the table has rows")


def no_row_in_model(subject: Subject) -> None:
    """The fitted model holds on to no table, no array of rows and no name of a person."""
    for model, ledger, case in _tried(subject):
        names = [pattern.decode() for _, pattern in _names(case)]
        for one in reachable(vars(model)):
            found = None
            if isinstance(one, pd.DataFrame | pd.Series | pd.Index | MemoryRows | Chunk):
                found = len(one) >= len(case.rows) and f"a {type(one).__name__} of the rows"
            elif isinstance(one, np.ndarray):
                found = _as_long(one, case) and f"an array of shape {one.shape}"
            elif isinstance(one, list | tuple):
                long = len(one) == len(case.rows) > DRAWN
                found = long and f"a {type(one).__name__} as long as the table"
            elif isinstance(one, str):
                found = any(name in one for name in names) and "the name of a person"
            if found:
                excuse(ledger, f"the model holds {found}")


def _tried(subject: Subject) -> Iterator[tuple[Any, Any, Case]]:
    subject.ledger(subject.fitted())
    for label, case in subject.cases():
        model = subject.fitted(0, case, again=label)
        yield model, subject.ledger(model), case


def _as_long(array: np.ndarray[Any, Any], case: Case) -> bool:
    n = len(case.rows)
    public = {c.size + extra for c in case.schema for extra in (-1, 0, 1)} | set(range(DRAWN))
    return n not in public and (n in array.shape or (array.size > 0 and array.size % n == 0))


def _names(case: Case) -> Iterator[tuple[str, bytes]]:
    if case.schema.person is not None:
        names = dict.fromkeys(str(row[case.schema.person]) for row in case.rows)
        for name in [name for name in names if len(name) >= DIGITS][:10]:
            yield "the name of a person", name.encode()


def canaries(case: Case) -> Iterator[tuple[str, bytes]]:
    """Values that one row alone has, as bytes in which they might be stored."""
    yield from _names(case)
    for column in case.schema:
        if not column.is_number:
            continue
        values = pd.Series([row[column.name] for row in case.rows], dtype=float)
        public = [*column.special, column.minimum, column.maximum]
        for value in values[~values.duplicated(keep=False) & values.notna() & ~values.isin(public)]:
            if len(_digits(value)) >= DIGITS:
                for pattern in _encoded(value):
                    yield f"a value of column {column.name!r}", pattern


def _digits(value: float) -> str:
    """The figures of a number, without point and without zeros at its ends."""
    return np.format_float_positional(abs(value)).replace(".", "").strip("0")


def _encoded(value: float) -> list[bytes]:
    """A number as text, as floats of both lengths and orders, and as a whole number."""
    plain = repr(int(value)) if value.is_integer() else repr(value)
    packed = [struct.pack(form, value) for form in ("<d", ">d", "<f", ">f")]
    whole = struct.pack("<q", int(_digits(value)) % 2**63)  # in units of its last digit
    return [plain.encode(), *packed, whole]


def unpacked(content: bytes, name: str = "the file", depth: int = 3) -> dict[str, bytes]:
    members = {name: content}
    if depth == 0:
        return members
    if content.startswith(b"PK"):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as file:
            for member in file.namelist():
                members |= unpacked(file.read(member), member, depth - 1)
        return members
    for unpack in (gzip.decompress, zlib.decompress, bz2.decompress, lzma.decompress):
        with suppress(OSError, EOFError, zlib.error, lzma.LZMAError, ValueError):
            return members | unpacked(unpack(content), f"{name} unpacked", depth - 1)
    return members


def _array(content: bytes) -> np.ndarray[Any, Any] | None:
    if content.startswith(NUMPY):
        with suppress(ValueError):
            array: np.ndarray[Any, Any] = np.load(io.BytesIO(content), allow_pickle=False)
            return array
    return None


def reachable(root: Any) -> list[Any]:
    """Every object that an object holds on to, modules and classes aside."""
    seen: dict[int, Any] = {}
    todo = [root]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType):
            continue
        seen[id(one)] = one
        if isinstance(one, types.FunctionType):  # what it closes over, not its module
            todo += [*(one.__closure__ or ()), *(one.__defaults__ or ())]
        elif isinstance(one, np.ndarray):
            todo += [one.base] if one.base is not None else []
            todo += one.ravel().tolist() if one.dtype == object else []
        else:
            todo += gc.get_referents(one)
    return list(seen.values())


def save_and_load(subject: Subject) -> None:
    """A saved model is read back the same, and a cut file is refused."""
    model = subject.fitted()
    try:
        content = subject.saved(model, refusing=False)
    except ValueError as error:
        raise Broken(f"the model cannot be saved: {error}") from None
    again = subject.loaded(model, content)
    if type(again) is not type(model):
        raise Broken(f"a {type(again).__name__} is read back")
    if takes(model.sample, "random_state"):
        here, there = (subject.sample(m, seed=1) for m in (model, again))
        if not here.equals(there):
            raise Broken("the model that is read back draws other rows")
    if hasattr(model, "ledger_") and again.ledger_.to_dict() != model.ledger_.to_dict():
        raise Broken("the ledger that is read back differs")
    try:
        subject.loaded(model, content[: len(content) // 2])
    except ValueError:
        return
    except Exception as error:
        raise Broken(f"a cut file gives {type(error).__name__} and not a ValueError") from None
    raise Broken("half of a file is read as a model")


def no_pickle(subject: Subject) -> None:
    """A saved file is no pickle, which could run code when it is read."""
    for name, member in unpacked(subject.saved(subject.fitted())).items():
        pickled = member.startswith(PICKLES) and member.endswith(b".")
        if pickled or member.startswith(OLD_PICKLES):
            raise Broken(f"{name} is a pickle")
        if member.startswith(NUMPY) and _array(member) is None:
            raise Broken(f"{name} is an array of pickled objects")


def messages_are_quiet(subject: Subject) -> None:
    """No error and no warning quotes a value of a row."""
    heard = 0
    for bad, attempt in subject.bad_attempts():
        heard += len(attempt.texts)
        if any(value in text for text in attempt.texts for value in bad.quoted):
            raise Broken(f"{bad.what}: a message quotes the value")
    told = [*subject.attempt(subject.make(), refused=0).texts, *subject.warned]
    for what, pattern in canaries(subject.case):
        value = pattern.decode("ascii", "ignore")
        whole = len(value) == len(pattern) >= DIGITS and value.isprintable()
        if whole and any(value in text for text in told):
            raise Broken(f"a message quotes {what}")
    if not heard and not told:
        raise NotApplicable("nothing was refused and nothing was said")
