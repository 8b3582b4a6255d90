"""A table against the model that it is said to be drawn from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from card_models import edited, fitted, rows
from commands import run

from copula_shirley import ArtefactError, Column, Generator, PrivateVine, Schema, SettingError, load
from copula_shirley.files.digest import file_sha256
from copula_shirley.generator import find_generator
from copula_shirley.privacy.card_page import page_of
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import write_page
from copula_shirley.publish.table_check import log_chance
from copula_shirley.publish.verify import Verdict, verify_file
from copula_shirley.rows.writing import write_table
from copula_shirley.schema.conditions import given_from_texts
from copula_shirley.schema.schema import LeftOut

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=18, maximum=90),
        Column("job", "categorical", categories=("=arts", "farm, small", "law"), missing=True),
        Column("rich", "boolean"),
        Column("rate", "continuous", minimum=0, maximum=1, resolution=0.05),
        Column("when", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"),
    )
)
N = 10_000


def private(n: int = 6000, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    job = rng.choice(np.array(["=arts", "farm, small", "law", None], dtype=object), n)
    rate = np.round(rng.integers(0, 21, n) * 0.05, 2)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    return pd.DataFrame({"age": age, "job": job, "rich": age > 60, "rate": rate, "when": when})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("m") / "m.shirley"
    PrivateVine(1.0, random_state=5).fit(private(), SCHEMA).save(path)
    return path


@pytest.fixture(scope="module")
def histogram(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is quick to verify."""
    path = tmp_path_factory.mktemp("h") / "h.shirley"
    find_generator("dp-histogram")(epsilon=1.0, random_state=5).fit(private(), SCHEMA).save(path)
    return path


@pytest.fixture(scope="module")
def independent(histogram: Path) -> pd.DataFrame:
    return load(histogram).sample(N, random_state=9)


@pytest.fixture(scope="module")
def drawn(model: Path) -> pd.DataFrame:
    return load(model).sample(3000, random_state=9)


def published(
    table: pd.DataFrame, model: Path, path: Path, given: list[str] | None = None, **options: bool
) -> Path:
    """A table with a card of the model, as a curator writes it or somebody forges it."""
    kind = {".parquet": "parquet", ".xlsx": "excel"}.get(path.suffix, "csv")
    write_table(path, [table], kind, **options)
    write_page(card_path(path), load(model).card(), path.name, path, given)
    return path


def against(table: pd.DataFrame, model: Path, path: Path, **more: list[str]) -> Verdict:
    return verify_file(published(table, model, path, **more), model=model)


# -- tables of the model -------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_rows_of_the_model_fit(model: Path, drawn: pd.DataFrame, tmp_path: Path, name: str) -> None:
    verdict = against(drawn, model, tmp_path / name)
    assert verdict.faults == [] and verdict.compared_with == "m.shirley"
    assert "5 margins and 10 pairs are those of the model" in verdict.passed[-1]
    assert ("dtypes" in " ".join(verdict.passed)) == name.endswith("parquet")
    assert (
        "Nothing speaks against" in verdict.conclusion
        and "real rows can look" in verdict.conclusion
    )
    assert any(text.startswith("that no rows were put in") for text in verdict.not_shown)
    # whole rows in another order, and any number of them
    assert against(drawn[::-1].head(7), model, tmp_path / "few.csv").faults == []
    assert against(drawn.head(0), model, tmp_path / "none.csv").faults == []


def test_a_workbook_may_hold_more_than_its_rows(
    histogram: Path, independent: pd.DataFrame, tmp_path: Path
) -> None:
    """A second sheet with real rows, hidden, is no fault of the first one."""
    book = published(independent, histogram, tmp_path / "t.xlsx")
    plain = published(independent, histogram, tmp_path / "t.csv")
    said = [verify_file(path, model=histogram).not_shown for path in (book, plain)]
    assert ["what t.xlsx holds beside these rows" in str(texts) for texts in said] == [True, False]


@pytest.mark.parametrize("name", ["copula-shirley", "dp-copula", "dp-histogram", "privbayes"])
def test_rows_of_other_models_fit(name: str, tmp_path: Path) -> None:
    fitted(name).save(tmp_path / "m")
    table = load(tmp_path / "m").sample(2000, random_state=4)
    assert against(table, tmp_path / "m", tmp_path / "a.parquet").faults == []
    table["rich"] = True
    assert against(table, tmp_path / "m", tmp_path / "a.parquet").faults != []


def test_escaped_formulas_are_read_as_what_they_stand_for(
    model: Path, drawn: pd.DataFrame, tmp_path: Path
) -> None:
    path = published(drawn, model, tmp_path / "a.csv", escape_formulas=True)
    assert "'=arts" in path.read_text()
    assert verify_file(path, model=model).faults == []


def test_the_condition_of_the_card_counts(model: Path, tmp_path: Path) -> None:
    given = ["job=farm, small", "age=30..60"]
    generator = load(model)
    table = generator.sample(2000, random_state=1, given=given_from_texts(given, generator.schema_))
    verdict = against(table, model, tmp_path / "a.csv", given=given)
    assert verdict.faults == [] and "under the condition of the card" in verdict.passed[-1]
    # the same rows without the condition, and the condition on other rows
    assert any("not the model's" in t for t in against(table, model, tmp_path / "b.csv").faults)
    other = against(generator.sample(2000), model, tmp_path / "c.csv", given=given)
    assert any("rows do not fulfil the condition" in text for text in other.faults)


# -- tables that are not ---------------------------------------------------------------


def cell(column: str, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Another value in the fourth row."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        whole = table[column].astype("Int64") if value is None else table[column]
        return table.assign(**{column: whole.where(table.index != 3, value)})

    return change


def smuggled(table: pd.DataFrame) -> pd.DataFrame:
    """A twentieth of the rows are the private ones of very young lawyers."""
    rows = private(60_000)
    rows = rows[(rows["job"] == "law") & (rows["age"] < 22)]
    some = rows.sample(len(table) // 20, random_state=0)
    return pd.concat([table.iloc[len(some) :], some], ignore_index=True)


def tied(table: pd.DataFrame) -> pd.DataFrame:
    """The margins are right, a pair is not."""
    oldest = table["age"].rank(method="first") > (~table["rich"]).sum()
    return table.assign(rich=oldest)


FORGED: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "outlier": (cell("age", 91), r"column 'age': a value is outside \[18, 90\] \(1 rows\)"),
    "category": (cell("job", "king"), "column 'job': a value is not among"),
    "gap": (cell("age", None), "column 'age': a value is missing"),
    "finer": (cell("rate", 0.512), "column 'rate': 1 values are finer than the resolution 0.05"),
    "time": (cell("when", pd.Timestamp("2020-03-01 10:00")), "'when': a value is not a whole numb"),
    "order": (lambda t: t[["job", "age", "rich", "rate", "when"]], "in another order than the mod"),
    "less": (lambda t: t.drop(columns="rich"), "column 'rich' of the model is not in the table"),
    "more": (lambda t: t.assign(name="Ann"), "column 'name' of the table is not in the model"),
    "smuggled": (smuggled, "is not the model's"),
    "tied": (tied, "the pair of 'age' and 'rich' is not the model's"),
}


@pytest.mark.parametrize(("forge", "said"), FORGED.values(), ids=FORGED)
def test_a_forged_table_is_found(
    forge: Callable[[pd.DataFrame], pd.DataFrame],
    said: str,
    histogram: Path,
    independent: pd.DataFrame,
    tmp_path: Path,
) -> None:
    path = published(forge(independent), histogram, tmp_path / "a.csv")
    assert verify_file(path).faults == []  # card and file belong together, as in any forgery
    verdict = verify_file(path, model=histogram)
    assert any(re.search(said, text) for text in verdict.faults), verdict.faults
    assert "do not rely" in verdict.conclusion


def test_another_dtype_is_found(histogram: Path, independent: pd.DataFrame, tmp_path: Path) -> None:
    table = independent.assign(age=independent["age"].astype(float))
    faults = against(table, histogram, tmp_path / "a.parquet").faults
    assert faults == ["column 'age' is stored as float64, the model stores it as int64"]


def test_another_model_and_one_that_does_not_add_up(
    histogram: Path, independent: pd.DataFrame, tmp_path: Path
) -> None:
    path = published(independent, histogram, tmp_path / "a.csv")
    find_generator("dp-histogram")(epsilon=2.0).fit(private(), SCHEMA).save(tmp_path / "other")
    faults = verify_file(path, model=tmp_path / "other").faults
    assert faults[0] == "the table does not come from other: its card is another"
    assert faults[1] == "card.ledger.budget.epsilon is 1.0, and must be 2.0 in other"
    moved = path.with_name("moved.csv")  # the first fault whatever else is wrong
    moved.write_text(path.read_text() + "\n")
    faults = verify_file(moved, card=card_path(path), model=tmp_path / "other").faults
    assert "does not come from other" in faults[0] and "sha256 does not fit" in faults[1]

    def forge(header: dict[str, object], _: object) -> None:
        header["note"] = "more"

    forged = edited(histogram, tmp_path / "forged", forge)
    assert verify_file(path, model=forged).faults == ["model forged: file: 'note' is no part of it"]
    with pytest.raises(SettingError, match="goes with a table"):
        verify_file(histogram, model=histogram)
    with pytest.raises(SettingError, match="must be a model file"):
        verify_file(path, model=path)


def test_rows_that_hide_in_metadata_are_found(
    histogram: Path, independent: pd.DataFrame, tmp_path: Path
) -> None:
    path = published(independent, histogram, tmp_path / "a.parquet")
    table = pq.read_table(path)
    pandas = {**json.loads(table.schema.metadata[b"pandas"]), "real_rows": "Ann,1"}
    for more in ({b"real_rows": b"Ann,1"}, {b"pandas": json.dumps(pandas).encode()}):
        changed = table.replace_schema_metadata({**table.schema.metadata, **more})
        pq.write_table(changed, path)
        write_page(card_path(path), load(histogram).card(), path.name, path)
        assert "other metadata" in verify_file(path, model=histogram).faults[0]


def test_a_page_says_nothing_of_its_own(
    histogram: Path, independent: pd.DataFrame, tmp_path: Path
) -> None:
    path = published(independent, histogram, tmp_path / "a.csv")
    file = {"name": path.name, "sha256": file_sha256(path)}
    card, today = load(histogram).card(), "2026-01-01T00:00:00+00:00"
    for made, about, fits in (
        (today, file, True),
        ("epsilon 0.01 is the true one", file, False),
        (today, {**file, "given": "proved: 0.01"}, False),
        (today, {**file, "note": "proved"}, False),
    ):
        card_path(path).write_text(page_of(card, about, made), encoding="utf-8")
        with nullcontext() if fits else pytest.raises(ArtefactError, match="no privacy card"):
            assert verify_file(path).fits
    about = {**file, "name": "proved: 0.01 / a.csv"}
    card_path(path).write_text(page_of(card, about, today), encoding="utf-8")
    assert verify_file(path).faults == ["what the card calls its file is no name of a file"]


# -- words -----------------------------------------------------------------------------


def test_a_table_alone_is_not_said_to_be_synthetic(tmp_path: Path) -> None:
    """The private rows themselves, with a card that was written for them."""
    fitted("dp-histogram").save(tmp_path / "m")
    published(rows(), tmp_path / "m", tmp_path / "a.csv")
    for words in ("verify a.csv", "verify a.csv --json"):
        out = run(words, folder=tmp_path).out
        said = "does not show that the rows were drawn from a private model"
        assert said in " ".join(out.split()) and "adds up" not in out.splitlines()[-1]
    said = json.loads(out)
    assert said["compared_with"] is None and said["not_shown"] and said["fits"]


# -- the test of a margin ----------------------------------------------------------------


def test_the_bound_on_the_chance_holds_and_is_of_use() -> None:
    rng = np.random.default_rng(0)
    for k, n in ((2, 5), (2, 300), (6, 40), (20, 2000)):
        shares = rng.dirichlet(np.full(k, 0.5))
        found = np.array(
            [
                log_chance(
                    rng.multinomial(n, shares).astype(float),
                    [rng.multinomial(n, shares).astype(float) for _ in range(8)],
                )
                for _ in range(3000)
            ]
        )
        for level in (0.1, 0.01, 0.001):
            assert (found < np.log(level)).mean() <= level
    even = np.full(10, 1000.0)
    moved = even + np.append(400.0, np.full(9, -400 / 9))
    assert log_chance(moved, [even] * 8) < np.log(1e-9)
    # samples that differ from each other as much excuse it
    assert log_chance(moved, [np.roll(moved, i) for i in range(8)]) == 0


@pytest.mark.slow
def test_true_tables_are_not_suspected(tmp_path: Path) -> None:
    """None of 36 tables, of all sizes and with conditions, whatever the noise was."""
    rng = np.random.default_rng(2)
    for seed in range(12):
        name = ("private-vine", "dp-copula", "privbayes")[seed % 3]
        epsilon = [0.1, 1.0, 30.0, None][seed % 4]
        model: Generator
        if name == "private-vine":
            model = PrivateVine(epsilon).fit(private(int(rng.choice([60, 3000])), seed), SCHEMA)
        else:
            model = fitted(name, epsilon=epsilon)
        model.save(tmp_path / "m")
        for n in (3, 800, 60_000):
            given = ["rich=true"] if name == "private-vine" and n == 800 else None
            wanted = given_from_texts(given or [], model.schema_)
            table = model.sample(n, random_state=seed, given=wanted)
            more = {} if given is None else {"given": given}
            verdict = against(table, tmp_path / "m", tmp_path / "a.csv", **more)
            assert verdict.faults == [], (seed, name, epsilon, n)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_generated_ids_are_those_that_are_generated(name: str, tmp_path: Path) -> None:
    """A formula as a name, an escaped ``other``, and real ids in the place of generated ones."""
    job = Column("job", "categorical", categories=("=a", "b"), other="=a")
    schema = Schema((job,), left_out=(LeftOut("=id", replace="id"), LeftOut("mail")))
    table = pd.DataFrame({"=id": range(500), "job": ["=a", "b"] * 250, "mail": "x@y.org"})
    model = find_generator("dp-histogram")(epsilon=1.0, random_state=5).fit(table, schema)
    model.save(tmp_path / "m.shirley")
    for drawn, fits in ((model.sample(300), True), (model.sample(300).assign(**{"=id": 7}), False)):
        path = tmp_path / name
        write_table(path, [drawn], name[2:], escape_formulas=name == "t.csv")
        write_page(card_path(path), model.card(), path.name, path)
        found = verify_file(path, model=tmp_path / "m.shirley")
        assert found.fits == fits, found.faults
        assert fits or "must hold 1, 2, ... that are" in found.faults[0]
