"""Model files from strangers: what loads draws, everything else is one error, in little memory."""

from __future__ import annotations

import copy
import io
import json
import random
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import memory_of

from copula_shirley import ArtefactError, CopulaShirley, PrivateVine, Schema, load
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes, Uniform
from copula_shirley.files import archive
from copula_shirley.files.digest import BLANK, write_digest
from copula_shirley.files.model_file import HEADER
from copula_shirley.files.plain_json import parse_json

QUICK: dict[str, Any] = {"families": ["indep", "gaussian", "tll"], "threads": 1}
GENERATORS: dict[str, Callable[[], Any]] = {
    "thesis": lambda: CopulaShirley(target="rich", random_state=0, **QUICK),
    "onehot": lambda: CopulaShirley(encoder="onehot", random_state=0, families=["gaussian"]),
    "honest": lambda: CopulaShirley(
        accounting="honest", encoder="ordinal", discrete=True, random_state=0, **QUICK
    ),
    "private-vine": lambda: PrivateVine(random_state=0),
    "private-domain": lambda: PrivateVine(epsilon=8.0, domain="measured", random_state=0),
    "dp-copula": lambda: DPCopula(random_state=0),
    "dp-histogram": lambda: DPHistogram(random_state=0),
    "privbayes": lambda: PrivBayes(random_state=0),
    "uniform": lambda: Uniform(random_state=0),
}
#: What is put in the place of each value of a header.
ODD: list[Any] = [None, True, -1, 0, 3, 2**53 + 1, 2**64, 1e308, -0.5, "", "x", "1", "\ud800"]
ODD += ["[red]", "a\nb\x00", "../../etc/passwd", [], [[]], [None], ["x", 1], {}, {"": None}]
ODD_ARRAYS: list[Any] = [
    np.array([]),
    np.array(1.0),
    np.zeros((3, 3)),
    np.array([np.nan] * 4),
    np.array([np.inf, -np.inf]),
    np.array([2**62, -(2**63)]),
    np.array(["text"]),
    np.array([True, False]),
    np.array([1 + 1j]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
]

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Saved models by name, each fitted once."""
    made: dict[str, Path] = {}
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 30, 150),
            "job": rng.choice(["arts", "law"], 150),
            "pay": np.where(rng.random(150) < 0.2, np.nan, rng.random(150).round(2)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, 150), unit="D"),
            "rich": rng.random(150) < 0.4,
        }
    )
    schema = Schema.draft(table)
    drafted = schema.to_dict()
    known = [replace(c, provenance="declared", source="the test") for c in schema]
    declared = Schema(tuple(known)).to_dict()

    def model(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("models") / f"{name}.shirley"
            wanted = drafted if name == "private-domain" else declared
            GENERATORS[name]().fit(table, Schema.from_dict(wanted)).save(made[name])
        return made[name]

    return model


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write_zip(path: Path, members: Members, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    """A model file as one would forge it, with a fresh digest."""
    with zipfile.ZipFile(path, "w", packing) as file:
        file.comment = BLANK
        for name, content in members.items():
            file.writestr(name, content)
    write_digest(path)
    return path


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every position of a JSON value, inner ones too."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))
        else:
            yield (*path, key)


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def put(header: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(header)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def use(path: Path) -> None:
    """Do all that one does with a model; only the load may refuse.

    But for a card of another model, which a model that is saved again would have to carry.
    """
    try:
        model, line = load(path), None
    except ArtefactError as error:
        model, line = None, str(error)
    if model is None:
        assert line and "\n" not in line and repr(str(path)) in line
        assert "digest" not in line  # the digest was made anew, so it hides no other check
        return
    assert list(model.sample(300, random_state=1)) == model.columns_
    assert all(isinstance(frame, pd.DataFrame) for frame in model.tables().values())
    assert model.ledger_.to_json() and str(model.ledger_)
    with suppress(ArtefactError):
        model.save(path.with_suffix(".again"))


def changed_headers(header: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """One place of the header, or of the vine in it, changed at a time."""
    for path in places(header):
        for odd in chance.sample(ODD, 3):
            yield put(header, path, odd)
        if isinstance(at(header, path[:-1]), dict):  # without it
            without = copy.deepcopy(header)
            del at(without, path[:-1])[path[-1]]
            yield without
    vine = json.loads(header["model"].get("vine", "null"))
    for path in places(vine) if vine else ():
        for odd in chance.sample(ODD, 2):
            yield put(header, ("model", "vine"), json.dumps(put(vine, path, odd)))


def tried(models: Callable[[str], Path], name: str, folder: Path, most: int) -> None:
    whole = members_of(models(name))
    chance = random.Random(11)
    changes = list(changed_headers(json.loads(whole[HEADER]), chance))
    for header in chance.sample(changes, min(most, len(changes))):
        write_zip(folder / "m", {**whole, HEADER: json.dumps(header).encode()})
        use(folder / "m")
    arrays = [member for member in whole if member.endswith(".npy")]
    for member in chance.sample(arrays, min(len(arrays), max(2, most // 50))):
        original = np.load(io.BytesIO(whole[member]))
        none = np.zeros_like(original)
        others = [*ODD_ARRAYS, original[::-1], original[1:], none, original.astype("f4")]
        others += [-original, np.asfortranarray(original), original[None], original + 1]
        for other in chance.sample(others, min(len(others), most)):
            write_zip(folder / "m", {**whole, member: npy(other)})
            use(folder / "m")
        write_zip(folder / "m", {k: v for k, v in whole.items() if k != member})
        with pytest.raises(ArtefactError):
            load(folder / "m")


@pytest.mark.parametrize("name", ["honest", "dp-copula", "privbayes"])
def test_a_changed_model_draws_or_is_refused(
    models: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    use(models(name))
    tried(models, name, tmp_path, most=60)


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_a_model_changed_anywhere_draws_or_is_refused(
    models: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    use(models(name))
    tried(models, name, tmp_path, most=700)


# -- bytes -----------------------------------------------------------------------------


def twice(path: Path, members: Members) -> None:
    content = write_zip(path, {**members, "model.jsoN": members[HEADER]}).read_bytes()
    path.write_bytes(content.replace(b"model.jsoN", b"model.json"))


def encrypted(path: Path, members: Members) -> None:
    content = bytearray(write_zip(path, members).read_bytes())
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def linked(path: Path, members: Members) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(info, content)


def named(name: str) -> Callable[[Path, Members], None]:
    return lambda path, members: write_zip(path, {**members, name: npy(np.arange(3.0))}) and None


def header_text(text: bytes) -> Callable[[Path, Members], None]:
    return lambda path, members: write_zip(path, {**members, HEADER: text}) and None


def swapped(path: Path, members: Members) -> None:
    first, second = (name for name in members if name.endswith(("_0.npy", "_1.npy")))
    write_zip(path, {**members, first: members[second], second: members[first]})


def flipped(path: Path, members: Members) -> None:
    sum_ = struct.pack("<L", zlib.crc32(members[HEADER]))
    path.write_bytes(write_zip(path, members).read_bytes().replace(sum_, b"\0\0\0\0"))


STRANGE: dict[str, Callable[[Path, Members], None]] = {
    "bzip2, which unpacks without a bound": lambda path, members: (
        write_zip(path, members, zipfile.ZIP_BZIP2) and None
    ),
    "a member twice": twice,
    "encrypted": encrypted,
    "links": linked,
    "a name that climbs": named("../../../tmp/evil.npy"),
    "another kind of member": named("run.py"),
    "arrays swapped": swapped,
    "a flipped checksum": flipped,
    "no UTF-8": header_text(b'{"format": 1, "generator": "\xff"}'),
    "a byte order mark": header_text(b'\xef\xbb\xbf{"format": 1}'),
    "empty": header_text(b""),
    "format true": header_text(b'{"format": true}'),
    "a newer format": header_text(b'{"format": 2}'),
}


@pytest.mark.parametrize("bend", STRANGE.values(), ids=STRANGE)
def test_strange_zip_files_are_refused(
    models: Callable[[str], Path], tmp_path: Path, bend: Callable[..., None]
) -> None:
    path = tmp_path / "inner" / "strange"
    path.parent.mkdir()
    bend(path, members_of(models("dp-histogram")))
    with pytest.raises(ArtefactError, match="strange"):
        load(path)
    assert list(tmp_path.rglob("*")) == [path.parent, path]


@pytest.mark.parametrize(
    "text",
    [
        *('{"x": NaN}', "1e999", "-Infinity", "9" * 5000, str(2**65), '{"a": 1, "a": 1}'),
        *("[" * 60 + "]" * 60, "[" * 100_000, '{"a": ["\\ud800"]}', '{"a\\u001b": 1}'),
    ],
)
def test_json_that_no_model_needs_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse_json(text.encode())


# -- sizes -----------------------------------------------------------------------------

#: Megabytes that a refusal may take; the bombs below want hundreds to thousands.
LITTLE = 48


def bomb_of_zeros(path: Path, members: Members) -> None:
    write_zip(path, {**members, "x.npy": npy(np.zeros(2**26))})  # 512 MB in 0.5 MB


def bomb_that_lies(path: Path, members: Members) -> None:
    """The directory says 10 bytes, the member unpacks to 512 MB."""
    bomb_of_zeros(path, members)
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.rfind(b"x.npy") if mark == b"PK\x01\x02" else content.find(b"x.npy")
        start = content.rfind(mark, 0, place)
        struct.pack_into("<L", content, start + offset, 10)
    path.write_bytes(content)


def bomb_of_members(path: Path, _: Members) -> None:
    """A directory of 300,000 members, each of them the same empty one."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", b"")
    content = path.read_bytes()
    start = content.find(b"PK\x01\x02")
    entry = content[start : content.find(b"PK\x05\x06")]
    size = len(entry) * 300_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, size, start, 0)
    path.write_bytes(content[:start] + entry * 300_000 + end)


def bomb_that_overlaps(path: Path, members: Members) -> None:
    """Many names for one large member (Fifield's bomb): each looks harmless."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(HEADER, members[HEADER])
        noise = np.random.default_rng(0).integers(0, 9, 2**20).astype(np.int64)
        file.writestr("a000.npy", npy(noise))
    content = path.read_bytes()
    start, end = content.find(b"PK\x01\x02"), content.find(b"PK\x05\x06")
    last = content.rfind(b"PK\x01\x02")
    entry = content[last:end]
    more = b"".join(entry.replace(b"a000", b"%04d" % i) for i in range(100))
    directory = content[start:end] + more
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 102, 102, len(directory), start, 0)
    path.write_bytes(content[:start] + directory + tail)


def bomb_of_shape(path: Path, members: Members) -> None:
    """An npy header that asks for 8 TB."""
    content = npy(np.zeros(4)).replace(b"(4,), }" + b" " * 12, b"(1000000000000,), }", 1)
    assert b"1000000000000" in content
    write_zip(path, {**members, "x.npy": content})


def bomb_of_json(path: Path, members: Members) -> None:
    """Lists in 36 MB of JSON, which would be 800 MB in memory."""
    write_zip(path, {**members, HEADER: b'{"format": 1, "x": [' + b"[]," * 12_000_000 + b"[]]}"})


BOMBS = {
    "zeros": (bomb_of_zeros, "times"),
    "a size that lies": (bomb_that_lies, "truncated"),
    "members": (bomb_of_members, "at most 8,388,608"),
    "overlapping members": (bomb_that_overlaps, "overlap"),
    "a shape": (bomb_of_shape, "array"),
    "JSON": (bomb_of_json, "at most 33,554,432"),
}


@pytest.mark.parametrize(("make", "message"), BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused_before_memory_is_taken(
    models: Callable[[str], Path],
    tmp_path: Path,
    make: Callable[[Path, Members], None],
    message: str,
) -> None:
    path = tmp_path / "bomb"
    make(path, members_of(models("dp-histogram")))
    megabytes, text = memory_of(lambda: load(path))
    assert message in text
    assert megabytes < LITTLE


def test_what_packs_too_well_is_stored_as_it_is_and_loads(tmp_path: Path) -> None:
    """The reader's limit refuses no model that the writer writes."""
    content = b"\x00" * (2 * archive.HARMLESS)
    path = tmp_path / "zeros"
    with zipfile.ZipFile(path, "w") as file:
        archive.pack(file, zipfile.ZipInfo(HEADER), b"{}")
        archive.pack(file, zipfile.ZipInfo("x.npy"), content)
        archive.pack(file, zipfile.ZipInfo("y.npy"), bytes(range(256)) * 4)
    assert [i.compress_type for i in zipfile.ZipFile(path).infolist()] == [8, 0, 8]
    assert archive.unpack(path, HEADER)["x.npy"] == content
