"""Many fits on both tables of a pair: seeds, processes, and files from which to go on.

Run i on table s has a seed of its own, derived from (seed of the audit, s, i): a longer audit has
the runs of a shorter one, and none of them depends on how many processes work. Runs are kept in
small files, each written whole or not at all; a file is for one chunk of one table of one pair of
one identity (generator, settings, tables, seed, code: whatever the caller hashes). Of canaries,
both sides are runs by coins, so that they have twice as many.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import pandas as pd
from joblib import Parallel, delayed

from copula_shirley.evaluation.audit.answers import noise_of, scales
from copula_shirley.evaluation.audit.canaries import likelihoods
from copula_shirley.evaluation.audit.evidence import (
    Evidence,
    black_box,
    has_white_box,
    stated,
    white_box,
)
from copula_shirley.evaluation.audit.neighbours import Canaries, Pair, Questions
from copula_shirley.files.model_file import atomic_path
from copula_shirley.generator import Generator
from copula_shirley.privacy import recording as tape
from copula_shirley.registry import takes
from copula_shirley.schema.schema import Schema

#: Given the random state, an unfitted generator.
Factory = Callable[[int | None], Any]
#: Runs in a file.
CHUNK = 20
#: Rows that are drawn from each fit.
SAMPLE_ROWS = 1_000
#: Names of the evidence of a fit to canaries.
RIGHT, GUESSES = "right guesses", "guesses"


@dataclass
class Fit:
    """What was seen of one fit: evidence per box, and what its ledger states."""

    boxes: dict[str, Evidence]
    stated: dict[str, Any] | None
    error: str | None = None
    #: Sums over the noise of its answers (``evaluation.audit.answers``), where the rows are known.
    noise: dict[str, Any] | None = None


@dataclass(frozen=True)
class Job:
    """One chunk of runs on one table of a pair."""

    pair: Pair
    side: int
    start: int
    stop: int

    @property
    def file_name(self) -> str:
        """Where its runs are kept; content decides, so that an edited pair has files of its own."""
        digest = pair_digest(self.pair)[:12]
        return f"{self.pair.name}-{digest}-{self.side}-{self.start:06d}-{self.stop:06d}.json.gz"


def pair_digest(pair: Pair) -> str:
    """A hash of the tables, the schema and the relation of a pair."""
    digest = hashlib.sha256(json.dumps(pair.schema.to_dict(), default=str).encode())
    digest.update(f"{pair.relation} {pair.unit}".encode())
    for table in pair.tables:
        digest.update(str(dict(table.dtypes)).encode())
        digest.update(table.to_csv(index=False).encode())
    return digest.hexdigest()


def seed_of(seed: int, pair: Pair, side: int, index: int) -> int:
    """The random state of one run."""
    name = zlib.crc32(pair.name.encode())
    words = numpy.random.SeedSequence([seed, name, side, index]).generate_state(2)
    return int(words[0]) << 31 | int(words[1]) >> 1


def fit_once(
    factory: Factory,
    table: pd.DataFrame,
    schema: Schema,
    records: pd.DataFrame,
    seed: int | None,
    boxes: Sequence[str],
    rows: int = SAMPLE_ROWS,
) -> Fit:
    """Fit a fresh generator and keep what an attacker would see."""
    with prepared(seed):
        found: dict[str, Evidence] = {}
        try:
            generator = factory(seed)
            _fit(generator, table.copy(), schema)
            if "white" in boxes and has_white_box(generator):
                found["white"] = white_box(generator)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raised = Evidence(words={"raised": text})
            return Fit(dict.fromkeys(boxes, raised), None, text)
        error_text = None
        if "black" in boxes:
            try:
                found["black"] = black_box(generator.sample(rows), schema, records)
                size = getattr(generator, "n_rows_", None)
                if size is not None:  # the size of a sample that nobody asked a size for
                    found["black"].number("rows by default", size)
            except Exception as error:
                error_text = f"{type(error).__name__}: {error}"
                found["black"] = Evidence(words={"raised": error_text})
        return Fit(found, stated(generator), error_text)


def guess_once(factory: Factory, tested: Canaries, seed: int | None) -> Fit:
    """Fit a fresh generator to canaries by coins, and count the right guesses.

    Without a transcript there is no evidence. A fit that raises leaves the guess "out".
    """
    rng = numpy.random.default_rng(None if seed is None else [0xCA9A21E5, seed])
    inside = rng.random(tested.count) < 0.5
    guessed, ledger, error, noise = numpy.zeros(tested.count, dtype=bool), None, None, None
    table = tested.drawn(inside)
    try:
        with prepared(seed), tape.recording() as record:
            generator = factory(seed)
            _fit(generator, table.copy(), tested.schema)
        ledger = stated(generator)
        transcript = getattr(generator, "transcript_", None)
        if transcript is None or ledger is None:
            return Fit({}, ledger)
        queries = [question.query for question in record.questions]
        implied = scales(generator.ledger_, queries)
        answers = list(transcript.answers)
        if implied is not None and len(implied) == len(answers):
            # not what the transcript states, which could mislead the attacker
            answers = [replace(a, sigma=s) for a, (_, s) in zip(answers, implied, strict=True)]
        noise = noise_of(generator, queries, table, tested.schema, seed)
        guessed = likelihoods(tested, inside, queries, answers, ledger["zcdp"]) > 0
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    right = float(numpy.sum(guessed == inside))
    evidence = Evidence({RIGHT: right, GUESSES: float(tested.count)})
    return Fit({"white": evidence}, ledger, error, noise)


def noise_once(factory: Factory, table: pd.DataFrame, schema: Schema, seed: int | None) -> Fit:
    """Fit a fresh generator to a table that makes it ask, and keep the noise of its answers."""
    try:
        with prepared(seed), tape.recording() as record:
            generator = factory(seed)
            _fit(generator, table.copy(), schema)
        ledger = stated(generator)
        if ledger is None or not ledger["transcript"]:
            return Fit({}, ledger)
        queries = [question.query for question in record.questions]
        return Fit({}, ledger, None, noise_of(generator, queries, table, schema, seed))
    except Exception as caught:
        return Fit({}, None, f"{type(caught).__name__}: {caught}")


def _fit(generator: Any, table: pd.DataFrame, schema: Schema) -> None:
    if not isinstance(generator, Generator):
        table = schema.without_left_out(table)
        if schema.person is not None:
            table = table.drop(columns=schema.person)  # whose row it is is no attribute
    if takes(generator.fit, "schema"):
        generator.fit(table, schema)
    else:
        generator.fit(table)


@contextmanager
def prepared(seed: int | None) -> Iterator[None]:
    """What a fit of an audit runs in: no warnings, and global states of its own."""
    with warnings.catch_warnings(), _global_states(seed):
        warnings.simplefilter("ignore")  # what a warning says stands in the ledger
        yield


@contextmanager
def _global_states(seed: int | None) -> Iterator[None]:
    """Seed the global states, from which many generators of the field draw; then put them back."""
    if seed is None:
        yield
        return
    before = random.getstate(), numpy.random.get_state()  # noqa: NPY002
    random.seed(seed)
    numpy.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before[0])
        numpy.random.set_state(before[1])  # noqa: NPY002


def run_all(
    factory: Factory,
    pairs: Sequence[Pair],
    runs: int,
    boxes: Sequence[str],
    *,
    seed: int = 0,
    secure: bool = False,
    jobs: int = 1,
    rows: int = SAMPLE_ROWS,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[tuple[int, int], list[Fit]]:
    """All runs, by number of the pair and side, in order of their index."""
    todo = [
        (i, Job(pair, side, start, min(start + CHUNK, runs)))
        for start in range(0, runs, CHUNK)
        for i, pair in enumerate(pairs)
        for side in (0, 1)
        if start < CHUNK or not isinstance(pair, Questions)
    ]
    found: dict[tuple[int, int, int], list[Fit]] = {}
    total = sum(job.stop - job.start for _, job in todo)
    done = 0
    left = []
    for i, job in todo:
        kept = None if folder is None else _read(folder / job.file_name)
        if kept is None:
            left.append((i, job))
        else:
            found[i, job.side, job.start] = kept
            done += job.stop - job.start
    tell = progress or _silent
    tell(done, total)
    work = (
        delayed(_chunk)(factory, i, job, boxes, None if secure else seed, rows, folder)
        for i, job in left
    )
    workers = min(jobs, max(len(left), 1))
    stream = Parallel(n_jobs=workers, return_as="generator_unordered")(work)
    for i, side, start, fits in stream:
        found[i, side, start] = fits
        done += len(fits)
        tell(done, total)
    result: dict[tuple[int, int], list[Fit]] = {}
    for i, side, start in sorted(found):
        result.setdefault((i, side), []).extend(found[i, side, start])
    return result


def _chunk(
    factory: Factory,
    number: int,
    job: Job,
    boxes: Sequence[str],
    seed: int | None,
    rows: int,
    folder: Path | None,
) -> tuple[int, int, int, list[Fit]]:
    table, records = job.pair.tables[job.side], job.pair.differing()
    fits = []
    for index in range(job.start, job.stop):
        state = None if seed is None else seed_of(seed, job.pair, job.side, index)
        if isinstance(job.pair, Questions):
            fits.append(noise_once(factory, table, job.pair.schema, state))
        elif isinstance(job.pair, Canaries):
            fits.append(guess_once(factory, job.pair, state))
        else:
            fits.append(fit_once(factory, table, job.pair.schema, records, state, boxes, rows))
    if folder is not None:
        _write(folder / job.file_name, fits)
    return number, job.side, job.start, fits


def _write(path: Path, fits: Sequence[Fit]) -> None:
    content = [
        {
            "boxes": {box: [e.numbers, e.words] for box, e in fit.boxes.items()},
            "stated": fit.stated,
            "error": fit.error,
            "noise": fit.noise,
        }
        for fit in fits
    ]
    with atomic_path(path) as partial:
        partial.write_bytes(gzip.compress(json.dumps(content).encode(), compresslevel=3))


def _read(path: Path) -> list[Fit] | None:
    """The runs of a file, or None where there is none that can be read."""
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
        return [
            Fit(
                {box: Evidence(*parts) for box, parts in entry["boxes"].items()},
                entry["stated"],
                entry["error"],
                entry["noise"],
            )
            for entry in content
        ]
    except (OSError, ValueError, EOFError, KeyError, TypeError, zlib.error):
        return None


def _silent(done: int, total: int) -> None:
    """Report nothing."""
