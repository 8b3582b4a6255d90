"""Noise that a transcript states but does not carry is found; true noise is not suspected."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from card_models import SCHEMA, fitted, rows

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.evidence import noise_faults
from copula_shirley.measure.queries import Query, Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.noise import Integers
from copula_shirley.private_vine.cell_maps import Axis, GroupMap
from copula_shirley.publish.verify import verify_file

Noisy = Callable[[Curator, Integers, float], Integers]
TRUE = Curator._noisy
#: Cells of the columns.
WIDE, NARROW = (60, 80, 3, 2, 1000), (9, 3, 2)


def smaller(times: float) -> Noisy:
    """Noise that is so many times smaller than stated."""
    return lambda self, counts, scale: TRUE(self, counts, scale / times)


def noise_of_the_total(self: Curator, counts: Integers, scale: float) -> int:
    return int(TRUE(self, np.zeros(counts.size, dtype=np.int64), scale).sum())


def in_one_cell(self: Curator, counts: Integers, scale: float) -> Integers:
    """Exact cells but for one, which carries the noise that the total should have."""
    found = counts.copy()
    found.reshape(-1)[0] += noise_of_the_total(self, counts, scale)
    return found


def spread_evenly(self: Curator, counts: Integers, scale: float) -> Integers:
    """Exact cells, shifted together so that the total is as noisy as it should be."""
    found = counts.copy()
    whole, rest = divmod(noise_of_the_total(self, counts, scale), counts.size)
    found.reshape(-1)[:] += whole
    found.reshape(-1)[:rest] += 1
    return found


def made(
    columns: int, n: int, seed: int, sizes: tuple[int, ...] = WIDE
) -> tuple[pd.DataFrame, Schema]:
    """Columns that depend on each other, of several kinds and sizes."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=n)
    table, listed = {}, []
    for j in range(columns):
        share = (shared + rng.normal(size=n)).argsort().argsort() / n
        size = sizes[j % len(sizes)]
        name = f"c{j}"
        if size == 3:
            table[name] = np.array(["a", "b", "c"])[(share * 3).astype(int)]
            listed.append(Column(name, "categorical", categories=("a", "b", "c")))
        elif size == 2:
            table[name] = share > 0.6
            listed.append(Column(name, "boolean"))
        else:
            table[name] = (share**2 * size).astype(int)
            listed.append(Column(name, "integer", minimum=0, maximum=size - 1))
    return pd.DataFrame(table), Schema(tuple(listed))


def verified(
    how: Noisy,
    columns: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...] = WIDE,
    **settings: Any,
) -> list[str]:
    """Faults of a model whose answers were made with another noise than its ledger says."""
    table, schema = made(columns, 2000, 1, sizes)
    monkeypatch.setattr(Curator, "_noisy", how)
    PrivateVine(1.0, random_state=0, **settings).fit(table, schema).save(folder / "m")
    monkeypatch.setattr(Curator, "_noisy", TRUE)
    return verify_file(folder / "m").faults


@pytest.mark.parametrize(
    ("how", "columns", "sizes"),
    [
        (in_one_cell, 2, WIDE),
        (in_one_cell, 3, WIDE),
        (in_one_cell, 6, NARROW),
        (spread_evenly, 3, WIDE),
        (spread_evenly, 3, NARROW),
        (spread_evenly, 6, NARROW),
        (smaller(20), 2, WIDE),
        (smaller(20), 3, NARROW),
        (smaller(3), 6, NARROW),
    ],
)
def test_noise_that_is_missing_in_the_cells_is_found(
    how: Noisy,
    columns: int,
    sizes: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults = verified(how, columns, tmp_path, monkeypatch, sizes)
    assert len(faults) == 1 and "times the noise that the transcript states" in faults[0]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"delta": 0.0}, {"target": "c2"}, {"truncation": 2}])
@pytest.mark.parametrize("how", [smaller(5), spread_evenly], ids=["a fifth", "spread"])
def test_so_it_is_with_other_settings(
    how: Noisy, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verified(TRUE, 6, tmp_path, monkeypatch, **settings) == []
    assert verified(how, 6, tmp_path, monkeypatch, **settings) != []


@pytest.mark.parametrize("name", ["copula-shirley", "dp-histogram", "privbayes", "uniform"])
def test_a_file_that_shows_nothing_of_its_noise_is_said_to(name: str, tmp_path: Path) -> None:
    fitted(name).save(tmp_path / "m")
    said = " ".join(verify_file(tmp_path / "m").not_shown)
    assert "nothing in this file shows its noise" in said


def test_how_small_a_noise_shows_is_said(tmp_path: Path) -> None:
    PrivateVine(1.0).fit(rows(900), SCHEMA).save(tmp_path / "m")
    said = " ".join(verify_file(tmp_path / "m").not_shown)
    assert "would show in the answers" in said and "shows its noise" not in said
    # two columns with two cells each do not have enough numbers in common
    few = Schema((Column("a", "boolean"), Column("b", "boolean")))
    table = pd.DataFrame({"a": [True, False] * 50, "b": [True] * 100})
    PrivateVine(1.0).fit(table, few).save(tmp_path / "few")
    assert "shows its noise" in " ".join(verify_file(tmp_path / "few").not_shown)


def made_answers(stated: float, seed: int, tables: int = 8) -> list[tuple[Query, Answer]]:
    """Tables of 20 cells and 1,000 rows with noise of 30, said to be ``stated``.

    All are of other columns, so that they have nothing in common but the number of rows.
    """
    rng = np.random.default_rng(seed)
    asked: list[tuple[Query, Answer]] = []
    for i in range(tables):
        counts = rng.multinomial(1000, np.full(20, 0.05)) + np.rint(rng.normal(0, 30, 20))
        query = Tables("margins", [GroupMap((Axis(f"c{i}", np.arange(20)),))], 0.1)
        asked.append((query, Answer([counts.astype(np.int64)], stated)))
    return asked


def test_a_column_of_many_cells_takes_memory_in_proportion() -> None:
    """It took the square: 377 GB for the cells of one column at epsilon 8."""
    counts = np.random.default_rng(0).integers(0, 50, 3000)
    asked: list[tuple[Query, Answer]] = [
        (Tables("margins", [GroupMap((Axis("x", groups),))], 0.1), Answer([counted], 9.0))
        for groups, counted in (
            (np.arange(3000), counts),
            (np.arange(3000) // 2, counts.reshape(-1, 2).sum(axis=1)),
        )
    ]
    tracemalloc.start()
    noise_faults(asked, gaussian=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5e6


def test_the_noise_of_totals() -> None:
    """Each of 300 true transcripts is suspected with a chance of 1e-9."""
    for seed in range(300):
        assert noise_faults(made_answers(30.0, seed), gaussian=True)[0] == []
    for seed in range(30):
        assert noise_faults(made_answers(1500.0, seed), gaussian=True)[0] != []
        assert noise_faults(made_answers(2.0, seed), gaussian=True)[0] != []
        assert noise_faults(made_answers(600.0, seed, tables=16), gaussian=True)[0] != []


@pytest.mark.slow
def test_true_models_are_not_suspected() -> None:
    """None of 200 fits is suspected; in more than 150 noise of a tenth would have shown."""
    rng = np.random.default_rng(16)
    shown = []
    for seed in range(200):
        table, schema = made(int(rng.integers(2, 9)), int(rng.choice([40, 500, 3000, 20000])), seed)
        settings: dict[str, Any] = {
            "epsilon": float(rng.choice([0.05, 0.3, 1, 3, 10])),
            "delta": float(rng.choice([0, 1e-9])),
            "target": "c2" if len(schema) > 2 and rng.random() < 0.4 else None,
            "reweight": bool(rng.random() < 0.8),
            "neighbours": str(rng.choice(["add-remove", "replace-one"])),
            "random_state": seed,
        }
        declared: Schema | None = schema
        if rng.random() < 0.15:
            settings |= {"domain": "measured", "delta": 1e-6}
            declared = None
        elif rng.random() < 0.2:
            declared = Schema(schema.columns, person="who", max_rows=4)
            table["who"] = np.arange(len(table)) // 3
        model = PrivateVine(**settings).fit(table, declared)
        again = model.rebuilt()
        assert again.noise_faults == [], (seed, settings)
        assert again.ledger.to_dict() == model.ledger_.to_dict(), (seed, settings)
        shown.append(again.noise_shown or 0.0)
    assert sum(least > 0.1 for least in shown) > 150
    assert math.isfinite(max(shown)) and max(shown) < 1
