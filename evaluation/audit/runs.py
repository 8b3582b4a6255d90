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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pandas as pd
from joblib import Parallel, delayed

from copula_shirley.evaluation.audit.canaries import likelihoods
from copula_shirley.evaluation.audit.claim import Statement, statement_of
from copula_shirley.evaluation.audit.neighbours import Canaries, Pair, Questions
from copula_shirley.evaluation.audit.noise_check import NoiseSums, noise_of, scales
from copula_shirley.evaluation.audit.observation import (
    BOXES,
    Observation,
    black_box,
    has_white_box,
    white_box,
)
from copula_shirley.files.model_file import atomic_path
from copula_shirley.generator import Generator
from copula_shirley.measure.watched import recorded
from copula_shirley.registry import takes
from copula_shirley.schema.schema import Schema

#: Given the random state, an unfitted generator.
Factory = Callable[[int | None], Any]
#: Runs in a file.
CHUNK = 20
#: Rows that are drawn from each fit.
SAMPLE_ROWS = 1_000


@dataclass
class Fit:
    """What was seen of one fit.

    Attributes
    ----------
    boxes : dict
        An observation for each box.
    stated : Statement or None
        What its ledger states.
    right : int or None
        Canaries that were guessed right.
    noise : NoiseSums or None
        Of the noise of its answers, where the rows are known.
    """

    boxes: dict[str, Observation] = field(default_factory=dict)
    stated: Statement | None = None
    error: str | None = None
    right: int | None = None
    noise: NoiseSums | None = None


@dataclass(frozen=True)
class Setup:
    """How a generator is made and looked at in every run of an audit.

    Parameters
    ----------
    make : callable
        From the random state to an unfitted generator.
    boxes : tuple of {"white", "black"}
    seed : int or None
        Of the audit; None for the noise of a release.
    rows : int
        Drawn from each fit, for the black box.
    """

    make: Factory
    boxes: tuple[str, ...] = BOXES
    seed: int | None = 0
    rows: int = SAMPLE_ROWS

    def state(self, pair: Pair, side: int, index: int) -> int | None:
        """The random state of one run."""
        if self.seed is None:
            return None
        name = zlib.crc32(pair.name.encode())
        words = numpy.random.SeedSequence([self.seed, name, side, index]).generate_state(2)
        return int(words[0]) << 31 | int(words[1]) >> 1


def fit_once(setup: Setup, pair: Pair, side: int, state: int | None) -> Fit:
    """Fit a fresh generator to one table of a pair and keep what an attacker would see."""
    with _prepared(state):
        seen: dict[str, Observation] = {}
        try:
            generator = setup.make(state)
            _fit(generator, pair.tables[side].copy(), pair.schema)
            if "white" in setup.boxes and has_white_box(generator):
                seen["white"] = white_box(generator)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            return Fit(dict.fromkeys(setup.boxes, Observation.of_error(text)), error=text)
        fit = Fit(seen, statement_of(generator))
        if "black" in setup.boxes:
            try:
                drawn = generator.sample(setup.rows)
                seen["black"] = black_box(drawn, pair.schema, pair.differing)
                size = getattr(generator, "n_rows_", None)
                if size is not None:  # the size of a sample that nobody asked a size for
                    seen["black"].number("rows by default", size)
            except Exception as error:
                fit.error = f"{type(error).__name__}: {error}"
                seen["black"] = Observation.of_error(fit.error)
        return fit


def guess_once(setup: Setup, pair: Canaries, _: int, state: int | None) -> Fit:
    """Fit a fresh generator to canaries by coins, and count the right guesses.

    Without a transcript there are none. A fit that raises leaves all guesses at "out".
    """
    rng = numpy.random.default_rng(None if state is None else [0xCA9A21E5, state])
    inside = rng.random(pair.count) < 0.5
    fit = Fit(right=int(numpy.sum(~inside)))
    table = pair.drawn(inside)
    try:
        generator, questions = _recorded(setup, table, pair.schema, state)
        fit.stated = statement_of(generator)
        if fit.stated is None or not fit.stated.transcript:
            return replace(fit, right=None)
        answers = list(generator.transcript_.answers)
        queries = [question.query for question in questions]
        implied = scales(generator.ledger_, queries)
        if implied is not None and len(implied) == len(answers):
            # not what the transcript states, which could mislead the attacker
            answers = [replace(a, sigma=s) for a, (_, s) in zip(answers, implied, strict=True)]
        fit.noise = noise_of(generator, questions, table, pair.schema, state)
        guessed = likelihoods(pair, inside, queries, answers, fit.stated.zcdp) > 0
        fit.right = int(numpy.sum(guessed == inside))
    except Exception as caught:
        fit.error = f"{type(caught).__name__}: {caught}"
    return fit


def check_once(setup: Setup, pair: Pair, side: int, state: int | None) -> Fit:
    """Fit a fresh generator to a table that makes it ask, and keep the noise of its answers."""
    table, fit = pair.tables[side], Fit()
    try:
        generator, questions = _recorded(setup, table, pair.schema, state)
        fit.stated = statement_of(generator)
        if fit.stated is not None and fit.stated.transcript:
            fit.noise = noise_of(generator, questions, table, pair.schema, state)
        return fit
    except Exception as caught:
        return Fit(error=f"{type(caught).__name__}: {caught}")


def run_once(setup: Setup, pair: Pair, side: int, state: int | None) -> Fit:
    """One run, in the way that the pair is for."""
    if isinstance(pair, Canaries):
        return guess_once(setup, pair, side, state)
    return (check_once if isinstance(pair, Questions) else fit_once)(setup, pair, side, state)


def _recorded(
    setup: Setup, table: pd.DataFrame, schema: Schema, state: int | None
) -> tuple[Any, list[Any]]:
    """A fitted generator, and what it asked."""
    with _prepared(state):
        generator = setup.make(state)
    with _prepared(state), recorded(generator) as record:
        _fit(generator, table.copy(), schema)
    return generator, record.questions


def _fit(generator: Any, table: pd.DataFrame, schema: Schema) -> None:
    if not isinstance(generator, Generator):
        table = schema.without_left_out(table)
        if schema.person is not None:
            table = table.drop(columns=schema.person)  # whose row it is is no attribute
    generator.fit(*((table, schema) if takes(generator.fit, "schema") else (table,)))


@contextmanager
def _prepared(state: int | None) -> Iterator[None]:
    """What a fit runs in: no warnings, and the global states, from which many draw, seeded."""
    before = random.getstate(), numpy.random.get_state()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a warning says stands in the ledger
        if state is None:
            yield
            return
        random.seed(state)
        numpy.random.seed(state % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(before[0])
            numpy.random.set_state(before[1])  # noqa: NPY002


# -- all runs ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunk:
    """Runs on one table of a pair that are kept in one file."""

    number: int
    pair: Pair
    side: int
    start: int
    stop: int

    def file(self, folder: Path) -> Path:
        """Where its runs are kept; content decides, so that an edited pair has files of its own."""
        digest = pair_digest(self.pair)[:12]
        span = f"{self.side}-{self.start:06d}-{self.stop:06d}"
        return folder / f"{self.pair.name}-{digest}-{span}.json.gz"

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place among all runs."""
        return self.number, self.side, self.start

    def run(self, setup: Setup, folder: Path | None) -> tuple[tuple[int, int, int], list[Fit]]:
        """Make its runs, and keep them; given back with their place."""
        fits = [
            run_once(setup, self.pair, self.side, setup.state(self.pair, self.side, index))
            for index in range(self.start, self.stop)
        ]
        if folder is not None:
            with atomic_path(self.file(folder)) as partial:
                partial.write_bytes(gzip.compress(msgspec.json.encode(fits), compresslevel=3))
        return self.place, fits

    def read(self, folder: Path | None) -> list[Fit] | None:
        """The runs of its file, or None where there is none that can be read."""
        if folder is None:
            return None
        try:
            content = gzip.decompress(self.file(folder).read_bytes())
            return msgspec.json.decode(content, type=list[Fit])
        except (OSError, EOFError, zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
            return None


def pair_digest(pair: Pair) -> str:
    """A hash of the tables, the schema and the relation of a pair."""
    digest = hashlib.sha256(json.dumps(pair.schema.to_dict(), default=str).encode())
    digest.update(f"{pair.relation} {pair.unit}".encode())
    for table in pair.tables:
        digest.update(str(dict(table.dtypes)).encode())
        digest.update(table.to_csv(index=False).encode())
    return digest.hexdigest()


def run_all(
    setup: Setup,
    pairs: Sequence[Pair],
    runs: int,
    *,
    jobs: int = 1,
    folder: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[tuple[int, int], list[Fit]]:
    """All runs, by number of the pair and side, in order of their index."""
    chunks = [
        Chunk(i, pair, side, start, min(start + CHUNK, runs))
        for start in range(0, runs, CHUNK)
        for i, pair in enumerate(pairs)
        for side in (0, 1)
        if start < CHUNK or not isinstance(pair, Questions)
    ]
    kept = {chunk.place: chunk.read(folder) for chunk in chunks}
    found = {place: fits for place, fits in kept.items() if fits is not None}
    left = [chunk for chunk in chunks if chunk.place not in found]
    total = sum(chunk.stop - chunk.start for chunk in chunks)

    def tell() -> None:
        if progress:
            progress(sum(map(len, found.values())), total)

    tell()
    work = (delayed(chunk.run)(setup, folder) for chunk in left)
    workers = min(jobs, max(len(left), 1))
    for place, fits in Parallel(n_jobs=workers, return_as="generator_unordered")(work):
        found[place] = fits
        tell()
    result: dict[tuple[int, int], list[Fit]] = {}
    for i, side, start in sorted(found):
        result.setdefault((i, side), []).extend(found[i, side, start])
    return result
