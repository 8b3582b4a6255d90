"""Many fits on both tables of a pair: seeds, processes, and files from which to go on.

Run i on table s has a seed of its own, derived from (seed of the audit, s, i): a longer audit has
the runs of a shorter one, and none of them depends on how many processes work. Runs are stored in
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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from copula_shirley.errors import ArtefactError
from copula_shirley.evaluation.audit.canaries import likelihoods
from copula_shirley.evaluation.audit.claim import Statement, statement_of
from copula_shirley.evaluation.audit.neighbours import Canaries, Pair, Questions
from copula_shirley.evaluation.audit.noise_check import NoiseSums, noise_of, scales
from copula_shirley.evaluation.audit.observation import (
    BOXES,
    Observation,
    black_box,
    number,
    white_box,
)
from copula_shirley.files.atomic import atomic_path
from copula_shirley.files.versions import code_digest
from copula_shirley.fitted import Progress, silent
from copula_shirley.generator import Generator
from copula_shirley.measure.recorded_fits import recorded
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
    """What was seen of one fit."""

    #: An observation for each box.
    boxes: dict[str, Observation] = field(default_factory=dict)
    #: What its ledger states.
    stated: Statement | None = None
    error: str | None = None
    #: Canaries that were guessed right.
    right: int | None = None
    #: Of the noise of its answers, where the rows are known.
    noise: NoiseSums | None = None


@dataclass(frozen=True)
class Setup:
    """How a generator is made and looked at in every run of an audit."""

    make: Factory
    boxes: tuple[str, ...] = BOXES
    #: Of the audit; None for the noise of a release.
    seed: int | None = 0
    #: Drawn from each fit, for the black box.
    rows: int = SAMPLE_ROWS

    def state(self, pair: Pair, side: int, index: int) -> int | None:
        if self.seed is None:
            return None
        name = zlib.crc32(pair.name.encode())
        words = np.random.SeedSequence([self.seed, name, side, index]).generate_state(2)
        return int(words[0]) << 31 | int(words[1]) >> 1


def run_once(setup: Setup, pair: Pair, side: int, state: int | None) -> Fit:
    """Fit a fresh generator to one table of a pair, and keep what the pair is for."""
    run = _recorded_run if isinstance(pair, Canaries | Questions) else fit_once
    with prepared(state):
        return run(setup, pair, side, state)


def fit_once(setup: Setup, pair: Pair, side: int, state: int | None) -> Fit:
    """Keep what an attacker would see."""
    fit, unseen = Fit(), setup.boxes
    try:
        generator = setup.make(state)
        _fit(generator, pair.tables[side], pair.schema)
        white = white_box(generator) if "white" in setup.boxes else None
        if white is not None:
            fit.boxes["white"] = white
        fit.stated, unseen = statement_of(generator), ("black",)
        if "black" in setup.boxes:
            seen = black_box(generator.sample(setup.rows), pair.schema, pair.differing)
            if hasattr(generator, "n_rows_"):  # the size of a sample that nobody asked a size for
                number(seen, "rows by default", generator.n_rows_)
            fit.boxes["black"] = seen
    except Exception as error:
        fit.error = f"{type(error).__name__}: {error}"
        fit.boxes |= {box: Observation(raised=fit.error) for box in unseen}
    return fit


def _recorded_run(setup: Setup, pair: Pair, side: int, state: int | None) -> Fit:
    """Keep the noise of the answers; of canaries by coins, count the right guesses, too.

    Without a transcript there are none. A fit that raises leaves all guesses at "out".
    """
    inside = np.zeros(0, dtype=bool)
    table, fit = pair.tables[side], Fit()
    if isinstance(pair, Canaries):
        rng = np.random.default_rng(None if state is None else [0xCA9A21E5, state])
        inside = rng.random(pair.count) < 0.5
        table = pair.drawn(inside)
    try:
        generator = setup.make(state)
        with recorded(generator) as record:
            _fit(generator, table, pair.schema)
        fit.stated = statement_of(generator)
        if fit.stated is None or not fit.stated.transcript:
            return fit
        fit.noise = noise_of(generator, record.questions, table, pair.schema, state)
        if isinstance(pair, Canaries):
            queries = [question.query for question in record.questions]
            answers = list(generator.transcript_.answers)
            implied = scales(generator, queries)
            if implied is not None and len(implied) == len(answers):
                # not what the transcript states, which could mislead the attacker
                answers = [replace(a, sigma=s) for a, (_, s) in zip(answers, implied, strict=True)]
            guessed = likelihoods(pair, inside, queries, answers, fit.stated.zcdp) > 0
            fit.right = int(np.sum(guessed == inside))
    except Exception as error:
        fit.error = f"{type(error).__name__}: {error}"
        fit.right = int(np.sum(~inside))
    return fit


def _fit(generator: Any, table: pd.DataFrame, schema: Schema) -> None:
    table = table.copy()
    if not isinstance(generator, Generator):
        table = schema.without_left_out(table)
        if schema.person is not None:
            table = table.drop(columns=schema.person)  # whose row it is is no attribute
    generator.fit(*((table, schema) if takes(generator.fit, "schema") else (table,)))


@contextmanager
def prepared(state: int | None) -> Iterator[None]:
    """What a fit runs in: no warnings, and the global states, from which many draw, seeded."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    if state is not None:
        random.seed(state)
        np.random.seed(state % 2**32)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a warning says stands in the ledger
            yield
    finally:
        if state is not None:  # else each fit draws on where the last one stopped
            random.setstate(before[0])
            np.random.set_state(before[1])  # noqa: NPY002


def run_all(
    setup: Setup,
    pairs: Sequence[Pair],
    runs: int,
    *,
    jobs: int = 1,
    folder: Path | None = None,
    identity: str = "",
    progress: Progress = silent,
) -> dict[tuple[int, int], list[Fit]]:
    """All runs, by number of the pair and side, in order of their index."""
    places, chunks = [], []
    for i, pair in enumerate(pairs):
        stem = None if folder is None else _stem(folder, identity, setup, pair)
        for start in range(0, CHUNK if isinstance(pair, Questions) else runs, CHUNK):
            for side in (0, 1):
                some = range(start, min(start + CHUNK, runs))
                file = stem and stem.with_name(f"{stem.name}-{side}-{start:06d}-{some.stop:06d}.gz")
                places.append((i, side))
                chunks.append(delayed(_chunk)(setup, pair, side, some, file))
    total = sum(len(some) for _, (*_, some, _), _ in chunks)
    result: dict[tuple[int, int], list[Fit]] = {place: [] for place in places}
    done = Parallel(n_jobs=min(jobs, len(chunks)), return_as="generator")(chunks)
    progress(f"0 of {total:,} fits", 0.0)
    for place, fits in zip(places, done, strict=True):
        result[place] += fits
        count = sum(map(len, result.values()))
        progress(f"{count:,} of {total:,} fits", count / total)
    return result


def _chunk(setup: Setup, pair: Pair, side: int, some: range, file: Path | None) -> list[Fit]:
    """The runs of a file that can be read, or else new ones, which are stored in it."""
    with suppress(OSError, EOFError, zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
        if file is not None:
            return msgspec.json.decode(gzip.decompress(file.read_bytes()), type=list[Fit])
    fits = [run_once(setup, pair, side, setup.state(pair, side, index)) for index in some]
    if file is not None:
        with atomic_path(file) as partial:
            partial.write_bytes(gzip.compress(msgspec.json.encode(fits), compresslevel=3))
    return fits


def _stem(folder: Path, identity: str, setup: Setup, pair: Pair) -> Path:
    """How files of runs on a pair begin: by all that the runs depend on, an edited pair too."""
    words = [identity, str(setup.seed), ",".join(sorted(setup.boxes)), str(setup.rows)]
    words += [code_digest(), json.dumps(pair.schema.to_dict(), default=str), pair.relation]
    words += [pair.unit, *(f"{dict(t.dtypes)}\n{t.to_csv(index=False)}" for t in pair.tables)]
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(
            f"folder ({str(folder)!r}) must be a folder: {error.strerror}"
        ) from None
    return folder / f"{pair.name}-{digest[:16]}"
