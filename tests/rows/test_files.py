"""Files that are read in pieces: the same whole numbers as in memory, in private and bounded."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import JOBS, PEOPLE, STAYS, jobs, people, stays

from copula_shirley import Column, PrivateVine, Schema, SchemaError, SettingError
from copula_shirley.generator import find_generator
from copula_shirley.measure.recorded_fits import recorded
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap
from copula_shirley.rows import engines, files, gathering, pieces, scratch
from copula_shirley.rows.admission import Admission
from copula_shirley.rows.engines import held_table
from copula_shirley.rows.memory import MemoryRows


@pytest.fixture(autouse=True)
def private_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any) -> Iterator[Path]:
    """Nothing is left in the place for temporary files."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


def written(table: pd.DataFrame, folder: Path, count: int, ending: str) -> Path:
    """A table in so many files, whose names are in the order of its rows."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, len(table), count + 1).astype(int)
    for i, (start, stop) in enumerate(pairwise(cuts)):
        part, path = table.iloc[start:stop], folder / f"{i:03}{ending}"
        if ending == ".parquet":
            part.to_parquet(path, index=False, row_group_size=150)
        else:
            part.to_csv(path, index=False)
    return folder


def transcript(model: PrivateVine) -> list[Any]:
    return [[one.tolist() for one in answer.values] for answer in model.transcript_.answers]  # noqa: PD011


def vine(**settings: Any) -> PrivateVine:
    return PrivateVine(8.0, random_state=5, **settings)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.concat([people()] * 4, ignore_index=True)


@pytest.fixture(scope="module")
def expected(table: pd.DataFrame) -> PrivateVine:
    return vine(target="rich").fit(table, PEOPLE)


@pytest.mark.parametrize(
    ("count", "ending"),
    [(1, ".csv"), (7, ".csv.gz"), (1, ".parquet"), (7, ".parquet"), (64, ".pq")],
)
def test_a_seeded_fit_is_the_same_from_files(
    table: pd.DataFrame, expected: PrivateVine, tmp_path: Path, count: int, ending: str
) -> None:
    ending = ending.replace(".pq", ".parquet")
    folder = written(table, tmp_path / "parts", count, ending)
    model = vine(target="rich").fit(folder, PEOPLE)
    assert transcript(model) == transcript(expected)
    assert model.ledger_.to_dict() == expected.ledger_.to_dict()
    assert (model.columns_, model.dtypes_) == (expected.columns_, expected.dtypes_)
    assert model.n_rows_ == expected.n_rows_
    pd.testing.assert_frame_equal(
        model.sample(50, random_state=1), expected.sample(50, random_state=1)
    )


def test_neither_the_order_of_files_nor_workers_matter(
    table: pd.DataFrame, expected: PrivateVine, tmp_path: Path
) -> None:
    folder = written(table, tmp_path / "parts", 3, ".parquet")
    paths = sorted(folder.iterdir(), reverse=True)
    source = files.FileSource(paths, PEOPLE, PEOPLE.file, workers=2)
    model = vine(target="rich").fit(source, PEOPLE)
    assert transcript(model) == transcript(expected)


def test_a_domain_is_measured_from_files(table: pd.DataFrame, tmp_path: Path) -> None:
    """Categories are tallied, and numbers counted, over all pieces."""
    schema = PrivateVine(domain="measured")._drafted(table)
    whole = vine(domain="measured").fit(table, schema)
    model = vine(domain="measured").fit(written(table, tmp_path / "parts", 5, ".parquet"), schema)
    assert transcript(model) == transcript(whole) and model.schema_ == whole.schema_


@pytest.mark.parametrize("on_broken", ["refuse", "repair", "drop"])
def test_rules_of_rows_are_kept_in_pieces(tmp_path: Path, on_broken: str) -> None:
    schema, table = replace(STAYS, on_broken=on_broken), stays(500)
    if on_broken != "refuse":
        table.loc[[3, 250, 499], "pregnant"] = "yes"
        table.loc[[3, 250, 499], "sex"] = "M"
    folder = written(table, tmp_path / "parts", 6, ".csv")
    whole = vine().fit(held_table(folder, schema, "memory"), schema)
    assert transcript(vine().fit(folder, schema)) == transcript(whole)


def test_a_function_is_learned_from_files(tmp_path: Path) -> None:
    entry = {**JOBS.to_dict(), "rules": [{"function": "rich", "of": "age", "table": "learned"}]}
    schema, table = Schema.from_dict(entry), jobs()
    whole = vine().fit(table, schema)
    model = vine().fit(written(table, tmp_path / "parts", 4, ".csv"), schema)
    assert transcript(model) == transcript(whole)


def test_all_that_is_wrong_is_said_at_once_and_nothing_spent(tmp_path: Path) -> None:
    table = jobs()
    table.loc[7, "age"], table.loc[290, "job"] = 17, "secret"
    folder, model = written(table, tmp_path / "parts", 5, ".csv"), vine()
    with pytest.raises(SchemaError) as refused:
        model.fit(folder, JOBS)
    text = str(refused.value)
    assert text.startswith(
        "column 'age': a value is outside [18, 90]; column 'job': a value is not"
    )
    assert "17" not in text and "secret" not in text and not hasattr(model, "ledger_")
    with pytest.raises(SchemaError, match=r"found 'secret'"):
        model.admit(held_table(folder, JOBS), JOBS, show_values=True)
    clipped = table.assign(age=table["age"].clip(lower=18))
    clipped = clipped[clipped["job"] != "secret"]
    folder = written(clipped.assign(age=clipped["age"].replace(18, 2)), tmp_path / "low", 5, ".csv")
    whole = vine().fit(clipped, JOBS)
    assert transcript(vine(on_unknown="clip").fit(folder, JOBS)) == transcript(whole)


def test_a_rule_that_breaks_in_one_piece_is_named(tmp_path: Path) -> None:
    table = stays(300)
    table.loc[299, ["age", "sex", "pregnant"]] = [20, "M", "yes"]
    folder = written(table, tmp_path / "parts", 3, ".csv")
    with pytest.raises(
        SchemaError, match=r"^the table breaks the rule '.*then pregnant = no'; 'shi"
    ):
        vine().fit(folder, STAYS)


def test_files_that_change_are_refused(tmp_path: Path) -> None:
    folder = written(jobs(), tmp_path / "parts", 2, ".csv")
    source = held_table(folder, JOBS)
    (folder / "001.csv").write_text((folder / "000.csv").read_text())
    with pytest.raises(SchemaError, match=r"001.csv' has changed since its rows were checked"):
        vine().fit(source, JOBS)


def test_files_need_the_same_columns(tmp_path: Path) -> None:
    folder = written(jobs(), tmp_path / "parts", 2, ".csv")
    jobs().drop(columns="rich").to_csv(folder / "009.csv", index=False)
    said = (
        r"009.csv' must have the same columns as .*000.csv': it lacks 'rich', and has none beyond"
    )
    with pytest.raises(SchemaError, match=said):
        held_table(folder, JOBS)


def test_an_empty_file_needs_the_same_columns_too(tmp_path: Path) -> None:
    written(jobs(), tmp_path, 1, ".parquet")
    empty = pa.schema([("age", pa.int64())])
    pq.ParquetWriter(tmp_path / "0.parquet", empty).close()  # it has no piece
    with pytest.raises(SchemaError, match=r"000.parquet' must have the same columns as .*0.parq"):
        held_table(tmp_path, JOBS)


@pytest.mark.parametrize("engine", ["memory", "files"])
def test_an_index_of_pandas_is_a_column_of_a_parquet_file(tmp_path: Path, engine: str) -> None:
    jobs().set_index("age").to_parquet(tmp_path / "jobs.parquet")
    model = vine()
    admitted = model.admit(held_table(tmp_path / "jobs.parquet", JOBS, engine), JOBS)
    assert transcript(model.fit(admitted, JOBS)) == transcript(vine().fit(jobs(), JOBS))
    jobs().set_index(np.full(300, 7)).to_parquet(tmp_path / "jobs.parquet")
    with pytest.raises(SchemaError, match=r"column '__index_level_0__' is in the table but not"):
        vine().admit(held_table(tmp_path / "jobs.parquet", JOBS, engine), JOBS)


def test_what_is_no_table_is_refused_and_hidden_files_are_not_read(tmp_path: Path) -> None:
    folder = written(jobs(), tmp_path / "parts", 2, ".csv")
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").touch()
    assert len(files.files_at(folder)) == len(files.files_at(f"{folder}/*.csv")) == 2
    (folder / "notes.json").touch()
    with pytest.raises(SchemaError, match=r"notes.json' must be a text file"):
        files.files_at(folder)
    with pytest.raises(SchemaError, match="holds no file"):
        files.files_at(tmp_path / "*.parquet")


def test_a_file_is_read_once_and_one_with_two_names_is_refused(tmp_path: Path) -> None:
    """Noise is for a row that counts once: neither a pattern nor a link lets it count twice."""
    folder = written(jobs(), tmp_path / "parts" / "in" / "side", 2, ".csv")
    assert files.files_at(tmp_path / "**" / "**" / "*.csv") == sorted(folder.iterdir())
    for link in (Path.symlink_to, Path.hardlink_to):
        link(tmp_path / "parts" / "latest.csv", folder / "000.csv")
        for place in (tmp_path / "parts", tmp_path / "parts" / "**" / "*.csv"):
            with pytest.raises(SchemaError, match=r"latest.csv' must be another file than .*000"):
                held_table(place, JOBS, "memory")
        (tmp_path / "parts" / "latest.csv").unlink()


def test_links_to_folders_and_to_nothing_are_not_left_out_silently(tmp_path: Path) -> None:
    folder = written(jobs(), tmp_path / "parts", 2, ".csv")
    link = folder / "more"
    link.symlink_to(written(jobs(), tmp_path / "others", 1, ".csv"))
    with pytest.raises(SchemaError, match=r"more' must be a text file"):
        files.files_at(folder)
    link.unlink()
    (folder / "lost.csv").symlink_to(tmp_path / "nothing.csv")
    with pytest.raises(SchemaError, match=r"lost.csv' does not exist"):
        held_table(folder, JOBS)


def test_engines_are_chosen_and_refused_in_words(tmp_path: Path, monkeypatch: Any) -> None:
    folder = written(jobs(), tmp_path / "parts", 2, ".csv")
    one = folder / "000.csv"
    assert isinstance(held_table(one, JOBS), pd.DataFrame)
    assert isinstance(held_table(one, JOBS, "files"), files.FileSource)
    pd.testing.assert_frame_equal(
        held_table(folder, JOBS, "memory"), held_table(folder, JOBS, "memory")
    )
    monkeypatch.setitem(engines.LARGE, "csv", 10)
    assert isinstance(held_table(one, JOBS), files.FileSource)
    assert isinstance(held_table(one, JOBS, counts_pieces=False), pd.DataFrame)
    with pytest.raises(SettingError, match=r"engine \('cloud'\) must be one of memory, files"):
        held_table(one, JOBS, "cloud")
    with pytest.raises(SettingError, match=r"model \('privbayes'\) learns from a table in memory"):
        find_generator("privbayes")().fit(folder, JOBS)


VISITS = Schema.from_yaml("""
person: {column: who, max_rows: 3}
columns:
  sex: {kind: categorical, categories: [F, M], per: person}
  age: {kind: integer, minimum: 0, maximum: 110}
on_broken: repair
""")


def visits(most: int) -> pd.DataFrame:
    """Rows of people far apart; some have no sex in a row but their first, or another one."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(120), rng.integers(1, most + 1, 120))
    table = pd.DataFrame({"who": who, "age": rng.integers(0, 100, len(who))})
    table["sex"] = rng.choice(["F", "M"], len(who))
    return table.sample(frac=1, random_state=2, ignore_index=True)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_people_are_whole_though_their_rows_are_apart(tmp_path: Path, ending: str) -> None:
    """The first rows of a person by the order of files stay, with her first value."""
    table = visits(5)
    folder = written(table, tmp_path / "parts", 4, ending)
    with pytest.raises(SchemaError, match=r"a person has more rows than max_rows \(3\)"):
        vine().fit(folder, VISITS)
    whole = vine(on_unknown="clip").fit(table, VISITS)
    source = files.FileSource(sorted(folder.iterdir(), reverse=True), VISITS, VISITS.file)
    source.size = 5 * gathering.BUCKET
    model = vine(on_unknown="clip").fit(source, VISITS)
    assert transcript(model) == transcript(whole)
    assert model.sample(20, random_state=0).equals(whole.sample(20, random_state=0))


@pytest.mark.parametrize("engine", ["memory", "files"])
def test_a_person_is_one_though_files_store_her_number_in_other_ways(
    tmp_path: Path, engine: str
) -> None:
    """Two people in five files, as 7, "7" and 7.0; of each at most three rows may be counted."""
    table = pd.DataFrame({"who": [7, 7, 8], "age": [1, 2, 3], "sex": ["F", "F", "M"]})
    for name, kind in (("a", int), ("b", str), ("c", float)):
        table.astype({"who": kind}).to_parquet(tmp_path / f"{name}.parquet", index=False)
        table.astype({"who": kind}).to_csv(tmp_path / f"{name}.csv", index=False)
    admitted = vine(on_unknown="clip").admit(held_table(tmp_path, VISITS, engine), VISITS)
    assert (admitted.before, admitted.rows) == (18, 6)
    admitted.close()


def test_people_of_a_measured_domain_are_refused(tmp_path: Path) -> None:
    schema = replace(
        VISITS, columns=(VISITS["sex"], Column("age", "integer", provenance="private"))
    )
    folder = written(visits(3), tmp_path / "parts", 2, ".csv")
    with pytest.raises(SchemaError, match=r"while the domain of 'age' is measured; declare it"):
        vine(domain="measured").fit(folder, schema)


def test_people_that_were_admitted_once_are_fitted_twice(tmp_path: Path) -> None:
    folder = written(visits(3), tmp_path / "parts", 2, ".csv")
    admitted = vine().admit(held_table(folder, VISITS), VISITS)
    first, second = (vine().fit(admitted, VISITS) for _ in range(2))
    assert transcript(first) == transcript(second)


# -- what is kept in private files ------------------------------------------------------


def test_rows_are_kept_for_their_owner_alone(tmp_path: Path, monkeypatch: Any) -> None:
    """While a fit goes on: nobody else may read, and files are read once."""
    folder, seen, read = written(people(), tmp_path / "parts", 3, ".csv"), [], []
    right, frames = pieces.rows_in, files.declared_frames

    def looked(path: Path, schema: Schema) -> Any:
        seen.append([oct(stat.S_IMODE(p.stat().st_mode)) for p in (path, *path.parents[:2])])
        return right(path, schema)

    monkeypatch.setattr(pieces, "rows_in", looked)
    monkeypatch.setattr(files, "declared_frames", lambda *a: (read.append(a), frames(*a))[1])
    vine().fit(folder, PEOPLE)
    assert len(read) == 3 and seen
    assert {mode for one in seen for mode in one} == {"0o600", "0o700"}


def test_rows_of_a_killed_process_are_removed_by_the_next(private_folder: Path) -> None:
    code = (
        "import os, tempfile; from copula_shirley.rows.scratch import Scratch; "
        f"tempfile.tempdir = {str(private_folder)!r}; s = Scratch(); "
        "(s.folder() / 'rows').touch(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = private_folder.iterdir()
    own = scratch.Scratch()
    assert not left.exists() and own.path.exists()
    again = scratch.Scratch()  # that of a process that lives stays
    assert own.path.exists()
    own.close()
    again.close()


def test_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    """Whole numbers as one, two or four bytes, others as they are, and missing values."""
    rows = MemoryRows.of(people(), PEOPLE)
    path = tmp_path / "rows"
    assert [len(one) for one in scratch.kept_in(path, [rows, rows], PEOPLE)] == [400, 400]
    found = [*scratch.rows_in(path, PEOPLE)]
    assert len(found) == 2 and os.stat(path).st_size < 2 * 400 * 8 * len(PEOPLE) / 2 + 4000
    for again in found:
        for name, numbers in rows.numbers.items():
            assert np.array_equal(again.numbers[name], numbers), name


def test_a_full_disk_is_said_to_be_one(tmp_path: Path, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise OSError("100 requested and 0 written")

    folder = written(visits(3), tmp_path / "parts", 2, ".csv")
    for module, name in ((np, "save"), (gathering.pa.ipc, "new_file")):
        monkeypatch.setattr(module, name, full)
        with pytest.raises(SettingError, match=r"TMPDIR \(.*must have room for the rows"):
            vine().fit(folder, VISITS)


def test_rows_of_people_that_are_written_twice_are_whole_meanwhile(tmp_path: Path) -> None:
    """A worker that is thought dead may write while buckets are read that another one wrote."""
    model, table = vine(on_unknown="clip"), visits(2)
    admission = Admission(VISITS, model.coordinates(VISITS), "clip", False, VISITS.names)
    work = gathering.Sorting(admission, tmp_path, 1, bytes(32))
    places = work(0, [table, table]).places[0]
    bucket = gathering.Bucket(VISITS, tmp_path, ((0, tuple(places)),))

    def twice() -> Iterator[pd.DataFrame]:
        yield table
        (found,) = bucket.frames()
        assert len(found) == 2 * len(table)

    work(0, twice())
    assert [path.name for path in tmp_path.iterdir()] == ["0.arrow"]


# -- how often files are read -----------------------------------------------------------


def test_three_passes_and_one_for_each_round(table: pd.DataFrame, tmp_path: Path) -> None:
    """The check, the groups and all pairs; and each round of parts, and of tables beyond."""
    folder, model = written(table, tmp_path / "parts", 2, ".csv"), vine(target="rich")
    with recorded(model) as recording:
        model.fit(folder, PEOPLE)
    rows = recording.questions[-1].rows
    asked = [question.query.stage for question in recording.questions]
    rounds = asked.count("parts of cells") + asked.count("tables beyond the vine")
    assert rows.passes + 1 <= 3 + rounds < len(asked) - 2
    assert {"size", "margins", "target", "coarse pairs", "tree 1"} <= set(asked)


def test_tables_are_sums_of_finer_ones() -> None:
    """By hand: fewer columns, merged groups, axes in another order; and what is no sum."""
    fine, coarse = np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1])
    a, b, c = Axis("a", fine), Axis("b", np.array([0, 1])), Axis("c", np.array([0, 1, 1]))
    counts = np.arange(12).reshape(3, 2, 2)
    whole = GroupMap((a, b, c))
    asked = GroupMap((c, Axis("a", coarse)))
    sums = asked.summing(whole)
    assert sums is not None
    # c = 0: a in {0, 1} has 0 + 2 + 4 + 6, a = 2 has 8 + 10; c = 1: one more in each cell
    assert sums(counts).tolist() == [[12, 18], [16, 20]]
    assert AllRows().summing(whole)(counts).tolist() == [66]
    assert GroupMap((Axis("a", np.array([0, 1, 2, 3])),)).summing(whole) is None
    assert GroupMap((Axis("d", fine),)).summing(whole) is None


def test_progress_tells_passes_and_rows(tmp_path: Path) -> None:
    told: list[str] = []
    folder = written(jobs(300), tmp_path / "parts", 3, ".csv")
    vine().fit(folder, JOBS, progress=lambda stage, _: told.append(stage))
    first = [f"check, pass 1: {rows} rows" for rows in (100, 200, 300)]
    assert told[:4] == ["validate", *first] and told[-1] == "done"
    second = [text for text in told if ", pass 2: " in text]
    stage = second[0].partition(",")[0]
    assert second == [f"{stage}, pass 2: {rows} of 300 rows" for rows in (100, 200, 300)]
    assert stage in ("margins", "target", "tree 1")
