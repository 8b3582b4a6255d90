"""Schemas as other standards have them: written, and read back without a loss that is not told.

What is written was read by the standards' own libraries: frictionless 5.21 and the profiles of
Data Package 2.0, csvw 4.1 (validation of rows, too), mlcroissant 1.1 (rows read).
"""

from __future__ import annotations

import contextlib
import copy
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from tables import PEOPLE, STAYS, people

from copula_shirley import Column, Schema, SchemaError, SettingError
from copula_shirley.files.digest import file_sha256
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.croissant import to_croissant
from copula_shirley.schema.csvw import OURS_URL, to_csvw
from copula_shirley.schema.table_schema import to_data_package

ODD = Schema.from_yaml(
    """
file: {separator: ;, encoding: cp1252, decimal: ",", thousands: ".", symbols: [€], missing: [k.A.]}
person: {column: who, max_rows: 3, source: book}
columns:
  a: {kind: integer, minimum: 0, maximum: 9, special: [0], missing: true, source: code 1}
  b: {kind: continuous, minimum: 0.5, maximum: 900000, scale: log, resolution: 0.5}
  c: {kind: categorical, categories: [1, x, "1"]}
  d: {kind: categorical, categories: [1, 2.5]}
  e: {kind: categorical, categories: [3, 1, 2], ordered: true, other: 2}
  f: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D, format: "%d.%m.%Y"}
  g: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31 23:00:00, resolution: 1h}
  h: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1ms}
  i: {kind: duration, minimum: 0s, maximum: 30 days, format: ISO}
  j: {kind: duration, minimum: 0s, maximum: 30 days, resolution: 1min, format: HH:MM:SS}
  k: {kind: categorical, provenance: private}
  m: {kind: boolean, provenance: drafted}
  remarks: drop
  name: {kind: fake, fake: name, locale: de_DE}
  who: {kind: id, pattern: "P-{n:04}"}
rules: [{when: {m: true}, then: {a: missing}}]
on_broken: repair
"""
)
SCHEMAS = {
    "people": PEOPLE,
    "stays": STAYS,
    "odd": ODD,
    "least": Schema(tuple(Column(kind, kind, **cls.least) for kind, cls in KINDS.items())),
    "open": Schema.of_kinds({kind: kind for kind in KINDS}),
    "drafted": Schema.draft(people()),
}
#: As somebody else has written it.
FOREIGN: dict[str, Any] = {
    "fields": [
        {"name": "id", "type": "integer", "title": "Number"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "exclusiveMaximum": 121}},
        {
            "name": "price",
            "type": "number",
            "decimalChar": ",",
            "constraints": {"minimum": "0,5", "maximum": 100, "required": True},
        },
        {"name": "sex", "constraints": {"enum": ["F", "M"]}},
        {
            "name": "fruit",
            "type": "integer",
            "categories": [{"value": 2, "label": "apple"}, {"value": 1, "label": "pear"}],
            "categoriesOrdered": True,
        },
        {"name": "yes", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
        {"name": "no", "type": "boolean"},
        {
            "name": "day",
            "type": "date",
            "format": "fmt:%d.%m.%Y",
            "constraints": {"minimum": "01.02.2020", "maximum": "2020-03-31"},
        },
        {"name": "took", "type": "duration", "constraints": {"minimum": "PT0S", "maximum": "P2D"}},
        {"name": "at", "type": "time"},
        {"name": "text", "constraints": {"pattern": "a.*"}},
        {"name": "low", "type": "number", "constraints": {"minimum": 0}},
        {"name": "where", "type": "geopoint"},
        {"name": "mail", "type": "string", "format": "email"},
    ],
    "primaryKey": "id",
    "missingValues": ["", "NA", "-9"],
    "foreignKeys": [],
}
PACKAGE = {
    "resources": [
        {
            "name": "shop",
            "schema": FOREIGN,
            "encoding": "latin-1",
            "dialect": {"delimiter": ";", "header": True, "commentChar": "#"},
        }
    ]
}


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def read(descriptor: Any, **more: Any) -> tuple[Schema, str]:
    """The schema of a descriptor, and what was told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Schema.from_table_schema(as_json(descriptor), **more)
    return found, " ".join(str(warning.message) for warning in caught)


# -- the round trip ------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_round_trip_loses_nothing_and_tells_nothing(name: str) -> None:
    schema = SCHEMAS[name]
    for descriptor in (schema.to_table_schema(), to_data_package(schema, "data.csv")):
        assert read(descriptor) == (schema, "")


def test_an_edited_standard_part_counts() -> None:
    descriptor = PEOPLE.to_table_schema()
    by_name = {field["name"]: field for field in descriptor["fields"]}
    by_name["age"]["constraints"]["maximum"] = 70
    by_name["job"]["categories"] = by_name["job"]["constraints"]["enum"] = ["arts", "none"]
    by_name["joined"]["constraints"]["minimum"] = "2020-06-01"
    found, _ = read(descriptor)
    assert (found["age"].maximum, found["job"].categories) == (70, ("arts", "none"))
    assert str(found["joined"].minimum.date()) == "2020-06-01"


def test_a_table_schema_by_hand() -> None:
    said = ODD.to_table_schema()
    fields = {field["name"]: field for field in said["fields"]}
    assert said["missingValues"] == ["", "k.A."]
    assert fields["a"]["constraints"] == {"required": False, "minimum": 0, "maximum": 9}
    assert (fields["b"]["decimalChar"], fields["b"]["groupChar"]) == (",", ".")
    assert fields["e"]["categories"] == fields["e"]["constraints"]["enum"] == [3, 1, 2]
    assert fields["e"]["categoriesOrdered"] is True
    assert (fields["f"]["type"], fields["f"]["format"]) == ("date", "%d.%m.%Y")
    assert fields["f"]["constraints"]["maximum"] == "31.12.2020"
    assert fields["g"]["constraints"]["maximum"] == "2020-12-31 23:00:00"
    assert [fields[name]["type"] for name in "cdijkm"] == [
        *("string", "number", "duration", "string", "string", "boolean")
    ]
    assert "remarks" not in fields and fields["name"] == {"name": "name", "type": "string"}
    package = to_data_package(ODD, "https://example.org/Data set.csv")["resources"][0]
    assert (package["name"], package["dialect"]) == ("data-set", {"delimiter": ";"})
    assert package["encoding"] == "cp1252"


# -- what others wrote -----------------------------------------------------------------------


def test_a_foreign_package_by_hand() -> None:
    schema, told = read(PACKAGE)
    found = {column.name: column.to_dict() for column in schema}
    bare = {
        name: {k: v for k, v in entry.items() if k not in ("provenance", "draft")}
        for name, entry in found.items()
    }
    assert bare == {
        "age": {"kind": "integer", "minimum": 0, "maximum": 120, "missing": True},
        "price": {"kind": "continuous", "minimum": 0.5, "maximum": 100},
        "sex": {"kind": "categorical", "categories": ["F", "M"], "missing": True},
        "fruit": {"kind": "categorical", "categories": [2, 1], "ordered": True, "missing": True},
        "yes": {"kind": "categorical", "categories": ["nein", "ja"], "missing": True},
        "no": {"kind": "boolean", "missing": True},
        "day": {
            **{"kind": "datetime", "minimum": "2020-02-01", "maximum": "2020-03-31"},
            **{"resolution": "1D", "format": "%d.%m.%Y", "missing": True},
        },
        "took": {
            **{"kind": "duration", "minimum": "0 days 00:00:00", "maximum": "2 days 00:00:00"},
            **{"format": "ISO", "missing": True},
        },
        "at": {
            **{"kind": "duration", "minimum": "0 days 00:00:00", "maximum": "0 days 23:59:59"},
            **{"resolution": "1s", "format": "HH:MM:SS", "missing": True},
        },
        "text": {"kind": "categorical", "missing": True},
        "low": {"kind": "continuous", "missing": True},
    }
    assert {left.name: left.replace for left in schema.left_out} == {
        **{"id": "id", "where": "drop", "mail": "drop"}
    }
    assert schema.file.to_dict() == {
        **{"separator": ";", "encoding": "latin-1", "decimal": ",", "missing": ["NA", "-9"]},
        "provenance": "drafted",
    }
    assert schema.drafted == schema.names
    for lost in (
        *("'foreignKeys' is not kept", "'title' of 1 fields is not kept", "commentChar"),
        *("'fruit': labels of categories", "'at': a time of the day", "'text': pattern"),
        *("'low': minimum (0) is not kept", "'geopoint'"),
        "no bounds or categories are given for 'text', 'low'",
    ):
        assert lost in told


def test_only_with_a_source_it_is_declared() -> None:
    schema, _ = read(PACKAGE, source="codebook 2019")
    kinds = {column.name: column.provenance for column in schema}
    assert kinds.pop("text") == kinds.pop("low") == "private"
    assert set(kinds.values()) == {"declared"} == {left.provenance for left in schema.left_out}
    assert schema["age"].source == "codebook 2019" and schema.file.provenance == "declared"
    draft = Schema.draft(people())
    again, told = read(draft.to_table_schema(), source="codebook 2019")
    assert again == draft and "'age': was drafted from rows" in told


def test_numbers_that_others_exclude_and_keys_of_several_fields() -> None:
    fields = [
        {"name": "x", "type": "number", "constraints": {"exclusiveMinimum": 0, "maximum": 1}},
        {"name": "d", "type": "datetime", "format": "any"},
        {"name": "e", "type": "string", "categories": ["a", "b"], "constraints": {"enum": ["b"]}},
        {"name": "y", "type": "year", "constraints": {"minimum": "1990", "maximum": "2020"}},
        {"name": "m", "type": "yearmonth", "missingValues": ["?"]},
        {
            **{"name": "t", "type": "time", "format": "%H:%M"},
            "constraints": {"minimum": "08:00", "maximum": "20:30"},
        },
    ]
    schema, told = read({"fields": fields, "primaryKey": ["x", "e"], "missingValues": []})
    assert (schema["x"].minimum, schema["x"].maximum) == (0, 1)
    assert schema["e"].categories == ("b",) and schema["y"].minimum == 1990
    assert schema["t"].to_dict()["maximum"] == "1900-01-01 20:30:00"
    assert schema["m"].format == "%Y-%m" and schema.file.missing == ("?",)
    for lost in (
        *("exclusiveMinimum (0) counts as included", "format any is read as ISO", "several fields"),
        *("an empty text counts as a missing value", "missingValues count in every column"),
    ):
        assert lost in told


X = {"name": "x", "type": "integer"}


@pytest.mark.parametrize(
    ("descriptor", "said"),
    [
        ([], "must be a mapping"),
        ({"name": "x"}, "must have the entry fields"),
        ({"@context": "http://www.w3.org/ns/csvw"}, "written only"),
        ({"fields": 3}, "fields must be a list"),
        ({"fields": []}, "no field is left"),
        ({"fields": ["x"]}, "must be a mapping with a name"),
        ({"fields": [X, X]}, "'x' stands twice"),
        ({"fields": [{**X, "constraints": 3}]}, r"'x': constraints \(3\) must be a mapping"),
        ({"fields": [{**X, "constraints": {"minimum": "low"}}]}, r"'x': minimum \('low'\)"),
        ({"fields": [{**X, "constraints": {"enum": "a"}}]}, r"enum \('a'\) must be a list"),
        ({"fields": [{**X, "categories": [[1]]}]}, r"categories \(\[1\]\) must be"),
        ({"fields": [{**X, "constraints": {"minimum": 2, "maximum": 1}}]}, "must not exceed"),
        ({"fields": [{**X, "copula-shirley": 1}]}, r"copula-shirley \(1\) must be a mapping"),
        ({"fields": [X], "missingValues": [1]}, "missingValues"),
        ({"fields": [X], "primaryKey": [1]}, "must be a list of fields"),
        ({"fields": [{**X, "type": "geojson"}]}, "no field is left: 'x'"),
        ({"resources": [{"name": "a", "schema": "http://a.b/c"}]}, "path of one beside"),
    ],
)
def test_what_cannot_be_read_is_one_error(descriptor: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        read(descriptor)


def test_one_of_several_tables_is_named() -> None:
    two = {"resources": [{"name": n, "schema": {"fields": [{**X, "name": n}]}} for n in "ab"]}
    assert read(two, resource="b")[0].names == ("b",)
    for wanted in (None, "c"):
        with pytest.raises(SettingError, match="must name one with a schema: 'a', 'b'"):
            read(two, resource=wanted)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(st.data())
def test_any_descriptor_is_a_schema_or_one_error(data: st.DataObject) -> None:
    descriptor: Any = copy.deepcopy(data.draw(st.sampled_from([PACKAGE, ODD.to_table_schema()])))
    place: Any = descriptor
    while True:  # down to some part, in whose place stands something else
        key = data.draw(st.sampled_from([*place] if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JUNK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with contextlib.suppress(SchemaError, SettingError):
            Schema.from_table_schema(descriptor)


# -- standards that are written only -----------------------------------------------------------


def test_csvw_by_hand() -> None:
    notes: list[str] = []
    said = as_json(to_csvw(ODD, "data.csv", notes.append))
    columns = {column["titles"]: column for column in said["tableSchema"]["columns"]}
    assert (said["url"], said["null"]) == ("data.csv", ["", "k.A."])
    assert said["dialect"] == {"delimiter": ";", "encoding": "cp1252"}
    assert columns["c"]["datatype"] == {"base": "string", "format": "^(1|x)$"}
    assert columns["f"]["datatype"] == {"base": "date", "format": "dd.MM.yyyy"}
    assert columns["f"][OURS_URL]["minimum"] == "01.01.2020"
    assert columns["g"]["datatype"] == {"base": "dateTime", "format": "yyyy-MM-dd HH:mm:ss"}
    assert columns["m"]["datatype"] == {"base": "boolean", "format": "True|False"}
    assert columns["a"]["required"] is False and columns["b"]["required"] is True
    assert columns["a"]["datatype"] == {"base": "string"}  # 3 € is no number by CSVW
    assert columns["a"][OURS_URL]["maximum"] == 9
    assert said[OURS_URL]["rules"] == [rule.to_dict() for rule in ODD.rules]
    plain = to_csvw(PEOPLE, "x.csv", notes.append)["tableSchema"]["columns"]
    assert plain[0]["datatype"] == {"base": "integer", "minimum": 18, "maximum": 90}
    assert plain[4]["datatype"]["minimum"] == "2020-01-01"
    assert notes == []
    months = Column("d", "datetime", minimum="2020-01-01", maximum="2021-01-01", format="%d %b %Y")
    short = Column("s", "categorical", categories=("a.b", "c|d", "e/f"))
    columns_ = to_csvw(Schema((months, short)), "x.csv", notes.append)["tableSchema"]["columns"]
    assert columns_[0]["datatype"] == {"base": "string"} and "no dates such as %d %b" in notes[0]
    assert columns_[1]["datatype"]["format"] == r"^(a\.b|c\|d|e\/f)$"


def test_croissant_by_hand() -> None:
    notes: list[str] = []
    odd = Column("a b/ü", "categorical", categories=("x", "y"))
    schema = Schema((*PEOPLE.columns, odd))
    said = as_json(to_croissant(schema, "out/rows 1.csv", "0" * 64, notes.append))
    file, (rows, *lists) = said["distribution"][0], said["recordSet"]
    assert (file["@id"], file["contentUrl"]) == ("rows%201.csv", "out/rows 1.csv")
    assert file["sha256"] == "0" * 64
    fields = {field["name"]: field for field in rows["field"]}
    assert fields["age"]["dataType"] == "sc:Integer"
    assert fields["age"]["copula-shirley"] == {
        **{"required": True, "minimum": 18, "maximum": 90, "provenance": "declared"}
    }
    assert fields["joined"]["dataType"] == "sc:Date"
    assert fields["age"]["source"] == {
        **{"fileObject": {"@id": file["@id"]}, "extract": {"column": "age"}}
    }
    assert fields["a b/ü"]["@id"] == "rows/a%20b%2F%C3%BC"  # an IRI
    (reference,) = [field["@id"] for part in lists[-1:] for field in part["field"]]
    assert fields["a b/ü"]["references"] == {"field": {"@id": reference}}
    assert lists[-1]["data"] == [{reference: "x"}, {reference: "y"}]
    assert len(notes) == 1
    to_croissant(ODD, "x.csv", "0" * 64, notes.append)
    assert "separators , and decimal points only" in notes[-1]


# -- the command line --------------------------------------------------------------------------


def test_shirley_convert(tmp_path: Path) -> None:
    ODD.write(tmp_path / "s.yaml")
    assert run("convert s.yaml -o ts.json", folder=tmp_path).code == 0
    assert run("convert ts.json -o back.yaml", folder=tmp_path).code == 0
    assert Schema.read(tmp_path / "back.yaml") == ODD
    assert Schema.from_yaml(run("convert ts.json", folder=tmp_path).out) == ODD
    (tmp_path / "syn.csv").write_text("a\n1\n", encoding="utf-8")
    done = run("convert s.yaml --to croissant --data syn.csv", folder=tmp_path)
    assert file_sha256(tmp_path / "syn.csv") in done.out and "license, creator" in done.said
    done = run("convert s.yaml --to csvw -o m.json", folder=tmp_path)
    assert (
        "1 of the schema's entries were drafted" in done.said
        and "the table is called s.csv" in done.said
    )
    assert json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["url"] == "s.csv"
    (tmp_path / "p.json").write_text(
        json.dumps({"resources": [{"name": "x", "schema": "f.json"}]}), encoding="utf-8"
    )
    (tmp_path / "f.json").write_text(json.dumps(FOREIGN), encoding="utf-8")
    done = run("convert p.json -o d.yaml --declared --source book", folder=tmp_path)
    assert done.code == 0 and "note: 'title' of 1 fields" in done.err
    schema = Schema.read(tmp_path / "d.yaml")
    assert schema["age"].provenance == "declared" and schema["text"].provenance == "private"


def test_who_gives_a_schema_away_hears_of_all_that_was_drafted(tmp_path: Path) -> None:
    """A rule, the most rows of a person, and what is left out tell of the rows, too."""
    (tmp_path / "s.yaml").write_text(
        "person: {column: who, max_rows: 3, provenance: drafted}\n"
        "left_out: {note: {provenance: drafted}}\n"
        "columns: {a: {kind: boolean}, b: {kind: boolean}}\n"
        "rules: [{when: {a: true}, then: {b: true}, provenance: drafted}]\n",
        encoding="utf-8",
    )
    assert "3 of the schema's entries were drafted" in run("convert s.yaml", folder=tmp_path).said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("absent.json", "file 'absent.json' does not exist"),
        ("broken.json", "'broken.json' is not readable as JSON"),
        ("list.json", "'list.json': a table schema or data package must be a mapping"),
        ("s.yaml -o there.json", "--output ('there.json') exists; --force replaces it"),
        ("s.yaml -o s.yaml --force", "--output"),
        ("s.yaml --to croissant", "--data (not given) must name the published table"),
        ("s.yaml --to croissant --data no.csv", "--data ('no.csv') must name"),
        ("s.yaml --to xml", "--to"),
        ("ts.json --declared", "--source (not given) must be given with --declared"),
        ("ts.json --source book", "--source ('book') must be given with --declared"),
        ("two.json", "--resource (not given) must name one with a schema: 'a', 'b'"),
        ("csvw.json", "'csvw.json': @context"),
        ("away.json", "does not exist"),
    ],
)
def test_wrong_words_are_one_line(tmp_path: Path, line: str, said: str) -> None:
    PEOPLE.write(tmp_path / "s.yaml")
    two = {"resources": [{"name": name, "schema": FOREIGN} for name in "ab"]}
    away = {"resources": [{"name": "a", "schema": "gone.json"}]}
    for name, text in {
        "broken.json": "{",
        "list.json": "[]",
        "there.json": "kept",
        "ts.json": json.dumps(FOREIGN),
        "two.json": json.dumps(two),
        "csvw.json": json.dumps({"@context": "x"}),
        "away.json": json.dumps(away),
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert said in run(f"convert {line}", folder=tmp_path).refusal()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
