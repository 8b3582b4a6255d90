"""Workbooks: every cell is read by itself, texts are never formulas, and a bomb is refused."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xlsxwriter
from commands import memory_of, run

from copula_shirley import Column, Schema, SchemaError, SettingError, read_table
from copula_shirley.rows import excel
from copula_shirley.rows.recognising import recognised
from copula_shirley.rows.tables import check_written
from copula_shirley.rows.writing import write_table
from copula_shirley.schema.file_format import FileFormat

SCHEMA = Schema.from_yaml("""
file: {sheet: Stays, missing: [k.A., "-9"]}
columns:
  code: {kind: categorical, categories: ["007", "7", =1+1]}
  age: {kind: integer, minimum: 0, maximum: 99, missing: true}
  pay: {kind: continuous, minimum: 0, maximum: 9, missing: true}
  flag: {kind: boolean}
  day: {kind: datetime, minimum: 1890-01-01, maximum: 2020-12-31, resolution: 1D, missing: true}
  stay: {kind: duration, minimum: 0s, maximum: 4 days, resolution: 1min}
""")
HEAD = ("code", "age", "pay", "flag", "day", "stay")
DAY = dt.datetime(2020, 1, 31)
#: Cells as somebody types them, and what they are.
ROWS: list[tuple[Any, ...]] = [
    ("007", 5, 2.5, True, DAY, dt.timedelta(hours=51, minutes=30)),
    ("7", 12.0, "1.25", "FALSE", "k.A.", dt.time(9, 5)),
    (7, -9, None, 0, None, "0:30:00"),
    ("=1+1", "8", "k.A.", 1, DAY, "PT1H"),
]
READ = {
    "code": ["007", "7", "7", "=1+1"],
    "age": [5, 12, None, 8],
    "pay": [2.5, 1.25, None, None],
    "flag": [True, False, False, True],
    "day": [DAY, None, None, DAY],
    "stay": [
        *(dt.timedelta(hours=51, minutes=30), dt.timedelta(hours=9, minutes=5)),
        *(dt.timedelta(minutes=30), dt.timedelta(hours=1)),
    ],
}


def workbook(path: Path, *sheets: tuple[str, Sequence[Sequence[Any]]]) -> Path:
    """A workbook with these cells; None leaves one empty."""
    with xlsxwriter.Workbook(str(path), {"strings_to_formulas": False}) as book:
        formats = {
            kind: book.add_format({"num_format": text})
            for kind, text in (
                (dt.datetime, "dd.mm.yyyy"), (dt.timedelta, "[hh]:mm:ss"), (dt.time, "hh:mm")
            )
        }  # fmt: skip
        for name, rows in sheets:
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    if value is not None:
                        sheet.write(i, j, value, formats.get(type(value)))
    return path


def values_of(table: pd.DataFrame, schema: Schema) -> dict[str, list[Any]]:
    """The values of a table by what they mean in its schema."""
    numbers = {c.name: c.domain.from_numbers(c.domain.to_numbers(table[c.name])) for c in schema}
    return {n: v.astype(object).where(v.notna(), None).tolist() for n, v in numbers.items()}


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    return workbook(tmp_path / "t.xlsx", ("Notes", [["x"]]), ("Stays", [HEAD, *ROWS]))


def test_a_sheet_by_hand(stays: Path) -> None:
    table = SCHEMA.validate(read_table(stays, SCHEMA))
    assert values_of(table, SCHEMA) == READ
    assert table["code"].tolist() == READ["code"]


@pytest.mark.parametrize("odd", [ROWS[0], ROWS[2], ("?", "?", "?", "?", "?", "?")])
def test_no_cell_changes_how_another_is_read(tmp_path: Path, odd: tuple[Any, ...]) -> None:
    alone, more = (
        read_table(workbook(tmp_path / f"{i}.xlsx", ("Stays", [HEAD, *rows])), SCHEMA)
        for i, rows in enumerate(([ROWS[1], ROWS[3]], [ROWS[1], odd, ROWS[3]]))
    )
    kept = more.drop(index=1).reset_index(drop=True)
    assert alone.dtypes.equals(more.dtypes)
    assert alone.astype(object).equals(kept.astype(object))


def test_numbers_are_none_of_texts_with_a_decimal_comma(tmp_path: Path) -> None:
    """A cell 1.234 is a number; only a text 1.234 has thousands."""
    path = workbook(tmp_path / "t.xlsx", ("S", [["pay"], [1.234], ["1.234"], ["1,5"]]))
    german = FileFormat(decimal=",", thousands=".")
    pay = Column("pay", "continuous", minimum=0, maximum=10_000)
    assert read_table(path, Schema((pay,), file=german))["pay"].tolist() == [1.234, 1234, 1.5]


def test_a_draft_names_the_sheet_and_reads_it_again(tmp_path: Path) -> None:
    rows = [[f"{i},5" if i % 3 else "k.A.", i / 4, DAY + dt.timedelta(i), i % 2] for i in range(60)]
    sheets = (("Notes", [["x"]]), ("Stays", [["weight", "dose", "day", "smokes"], *rows]))
    path = workbook(tmp_path / "t.xlsx", *sheets)
    said = run("draft", "t.xlsx", folder=tmp_path).refusal()
    assert "sheets 'Notes', 'Stays': name one of them with --sheet" in said
    done = run("draft", "t.xlsx", "--sheet", "Stays", "-o", "s.yaml", folder=tmp_path)
    assert done.code == 0, done.err
    schema = Schema.read(tmp_path / "s.yaml")
    assert schema.file == FileFormat(
        decimal=",", missing=("k.A.",), sheet="Stays", provenance="drafted"
    )
    kinds = {column.name: column.kind for column in schema}
    assert kinds == {
        "weight": "continuous", "dose": "continuous", "day": "datetime", "smokes": "integer"
    }  # fmt: skip
    table = schema.validate(read_table(path, schema))
    assert table["dose"].tolist() == [i / 4 for i in range(60)]
    assert table["weight"].tolist()[:3] == [None, 1.5, 2.5]
    found = recognised(path, sheet="Stays")
    for column in schema:
        again = column.domain.to_numbers(table[column.name])
        assert (again == column.domain.to_numbers(found.table[column.name])).all()


# -- writing -----------------------------------------------------------------------------


def test_chunks_are_written_and_read_again_and_no_text_is_a_formula(tmp_path: Path) -> None:
    table = pd.DataFrame(READ).astype({"age": "Int64"})
    table.loc[1, "day"] = pd.Timestamp("1890-05-04")  # before the first day of Excel
    path = tmp_path / "out.xlsx"
    write_table(path, [table[:3], table[3:]], "excel", how=SCHEMA.file)
    schema = Schema((*SCHEMA.columns[:4], SCHEMA["stay"]), file=SCHEMA.file)
    again = read_table(path, schema)
    wanted = {name: READ[name] for name in schema.names}
    assert values_of(schema.validate(again[list(schema.names)]), schema) == wanted
    assert again["day"].tolist()[1] == "1890-05-04T00:00:00"
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "=1+1" in sheet and "<f>" not in sheet
    first = path.read_bytes()
    write_table(path, [table], "excel", how=SCHEMA.file)
    assert path.read_bytes() == first  # no clock is in it


def test_what_no_sheet_holds_is_refused_before_a_row_is_drawn(tmp_path: Path) -> None:
    ages = Schema((Column("age", "integer", minimum=0, maximum=99),))
    check_written(Path("t.xlsx"), ages, 1_048_575)
    check_written(Path("t.csv"), ages, 1_048_576)
    with pytest.raises(SchemaError, match=r"'t.xlsx'.*rows \(1,048,576\) must be at most 1,0"):
        check_written(Path("t.xlsx"), ages, 1_048_576)
    long = Column("x", "categorical", categories=("a" * 40_000,))
    with pytest.raises(SchemaError, match="column 'x': a category has more than 32,767 letters"):
        check_written(Path("t.xlsx"), Schema((long,)), 1)
    fine = Column("x", "datetime", minimum="2020-01-01", maximum="2021-01-01", resolution="1us")
    with pytest.raises(SchemaError, match=r"column 'x': resolution \(1us\) is finer than 1ms"):
        check_written(Path("t.xlsx"), Schema((fine,)), 1)
    ages.write(tmp_path / "s.yaml")
    pd.DataFrame({"age": [30, 40] * 20}).to_csv(tmp_path / "t.csv", index=False)
    made = "synthesize t.csv --schema s.yaml --model uniform"
    said = run(f"{made} -o o.xlsx -n 2000000", folder=tmp_path).refusal()
    assert "--output ('o.xlsx') cannot be written: rows (2,000,000)" in said and "choose" in said
    assert run(f"{made} -o o.xlsx -n 20", folder=tmp_path).code == 0
    assert len(read_table(tmp_path / "o.xlsx", ages)) == 20
    assert run("verify", "o.xlsx", folder=tmp_path).code == 0


# -- sizes -------------------------------------------------------------------------------


def parts(path: Path, cells: str, texts: str = "", more: dict[str, str] | None = None) -> None:
    """A workbook with the cells of one sheet and shared texts as they are written in XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    about = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kinds = "http://schemas.openxmlformats.org/package/2006"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{kinds}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{kinds}/relationships"><Relationship Id="r1" '
        f'Type="{about}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{about}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{kinds}/relationships">'
        f'<Relationship Id="r1" Type="{about}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{about}/sharedStrings" Target="sharedStrings.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData>'
        "</worksheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">{texts}</sst>',
        **(more or {}),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def shared(count: int, letters: int) -> dict[str, str]:
    """Cells that all point to one long text."""
    cells = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, count))
    return {"cells": cells, "texts": f"<si><t>{'x' * letters}</t></si>"}


#: What is in a workbook, and what is said of it; each wants gigabytes.
BOMBS: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a far corner": (
        lambda: {"cells": '<row r="1"><c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c></row>'},
        "reaches to row 1,048,576 and column 16,384",
    ),
    "a far row": (
        lambda: {"cells": "<row r='1048576'><c><v>1</v></c><c r='ABC9'><v>1</v></c></row>"},
        "reaches to row 1,048,576 and column 731",
    ),
    "one long text": (lambda: shared(10_000, 30_000), "more than 134,217,728 bytes"),
    "zeros": (lambda: {"cells": "", "more": {"x.xml": "0>" * 100_000_000}}, "bytes, the most"),
    "an element without end": (
        lambda: {"cells": "<row a='" + "x" * 60_000_000},
        "not a readable workbook: it is no .xlsx, or is damaged (BadZipFile)",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_workbook_that_says_a_lot_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "HARMLESS", 2**27)
    make, said = BOMBS[name]
    path = tmp_path / "bomb.xlsx"
    parts(path, **make())
    assert path.stat().st_size < 500_000
    megabytes, line = memory_of(lambda: read_table(path))
    assert line.startswith("SchemaError") and said in line and "\n" not in line, line
    assert megabytes < 64


def sheet_of(*rows: Sequence[Any], name: str = "S") -> Callable[[Path], object]:
    return lambda path: workbook(path, (name, rows))


def merged(path: Path) -> None:
    """Names of two columns under one that spans both."""
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.merge_range("A1:B1", "stay")
        for i, row in enumerate((["from", "to"], [1, 2]), 1):
            sheet.write_row(i, 0, row)


def cut(path: Path, share: float) -> None:
    workbook(path, ("S", [HEAD, *ROWS]))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


SECRET = "quarry4711"
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + SECRET.encode() * 99
#: What makes a workbook, what is told of the sheet, and what is said.
WRONG: dict[str, tuple[Callable[[Path], object], str | None, str]] = {
    "no such sheet": (sheet_of(["a"], [1]), "T", "has no sheet 'T'; it has 'S'"),
    "an odd sheet": (
        sheet_of(["a"], [1]),
        "a/b",
        "file: sheet ('a/b') must be a name of a",
    ),
    "an empty sheet": (sheet_of(), None, "sheet 'S' is empty"),
    "merged names": (merged, None, "column 2 has no name; above the rows must stand one line"),
    "no name": (sheet_of(["a", None, "c"], [SECRET, 2, 3]), None, "column 2 has no name"),
    "a name of spaces": (sheet_of(["a", " "], [1, 2]), None, "column 2 has no name"),
    "a note beside": (sheet_of(["a"], [1, SECRET]), None, "column 2 has no name"),
    "twice": (sheet_of(["a", "b", " a"], [1, 2, 3]), None, "column 'a' stands twice"),
    "empty": (
        lambda path: path.write_bytes(b""),
        None,
        "not a readable workbook: it is no .xlsx, or is damaged (BadZipFile)",
    ),
    "text": (
        lambda path: path.write_text(SECRET * 9),
        None,
        "not a readable workbook: it is no .xlsx, or is damaged (BadZipFile)",
    ),
    "half": (
        lambda path: cut(path, 0.5),
        None,
        "not a readable workbook: it is no .xlsx, or is damaged (BadZipFile)",
    ),
    "nearly all": (
        lambda path: cut(path, 0.99),
        None,
        "not a readable workbook: it is no .xlsx, or is damaged (BadZipFile)",
    ),
    "a password": (lambda path: path.write_bytes(OLD), None, "has a password or is in the format"),
    "another archive": (
        lambda path: zipfile.ZipFile(path, "w").writestr("a.csv", SECRET),
        None,
        "not a readable workbook",
    ),
    "a folder": (lambda path: path.mkdir(), None, "it is a folder"),
    "absent": (str, None, "does not exist"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("declared", [True, False])
def test_a_wrong_workbook_is_one_error(name: str, declared: bool, tmp_path: Path) -> None:
    make, sheet, said = WRONG[name]
    path, ages = tmp_path / "t.xlsx", Schema((Column("a", "integer", minimum=0, maximum=9),))
    make(path)
    with pytest.raises(SchemaError) as caught:
        read_table(path, ages if declared else None, sheet=sheet)
    message = str(caught.value)
    assert said in message and SECRET not in message and "\n" not in message
    words = ["--sheet", sheet] if sheet else []
    assert said.partition("'")[0] in run("draft", path, *words).refusal()


def test_rows_of_a_workbook_are_drawn_from_its_model(tmp_path: Path) -> None:
    schema = Schema(SCHEMA.columns[1:4])
    schema.write(tmp_path / "s.yaml")
    rows = [[i % 90, i % 9 / 4, bool(i % 2)] for i in range(300)]
    workbook(tmp_path / "t.xlsx", ("S", [HEAD[1:4], *rows]))
    made = "synthesize t.xlsx --schema s.yaml --epsilon 4 --save-model m -o"
    for name in ("o.xlsx", "o.dta"):
        assert run(f"{made} {name}", folder=tmp_path).code == 0
        done = run(f"verify {name} --from m", folder=tmp_path)
        assert done.code == 0, done.out


def test_workbooks_by_hand_that_are_none_of_these_are_read(tmp_path: Path) -> None:
    """Cells without places, texts in two runs, and one text in many cells."""
    path = tmp_path / "t.xlsx"
    cells = '<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>b</t></is></c></row>' + (
        '<row><c t="s"><v>1</v></c><c><v>2</v></c></row>' * 3
    )
    parts(path, cells, "<si><t>a</t></si><si><r><t>x</t></r><r><t>y</t></r></si>")
    assert read_table(path).to_dict("list") == {"a": ["xy"] * 3, "b": [2] * 3}


def test_without_the_extra_one_line_says_what_to_install(
    stays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(SettingError, match=r"pip install 'copula-shirley\[excel\]' adds it"):
        read_table(stays, SCHEMA)
