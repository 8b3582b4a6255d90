"""What every generator gives under a seed, pinned: a move of code must change none of it.

``golden.json`` holds, for each case, the ledger, the transcript (PrivateVine), the bought schema,
the first synthetic rows with a digest of all, and what stands in the header of the saved model.
``python tests/golden/test_golden.py`` writes it anew: only where a change of them is meant. Where
a fit of PrivateVine changes, ``copula_shirley.private_vine.stages.REVISION`` must, too.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, CopulaShirley, PrivacyWarning, PrivateVine, Schema, load
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes, Real, Uniform

GOLDEN = Path(__file__).with_name("golden.json")
SEED, ROWS, MANY, SHOWN = 11, 50, 1000, 5
#: Members of the record of a case, in the order in which differences are told.
PARTS = ("schema", "ledger", "transcript", "tables", "rows", "many", "given", "file")
#: Differences that are told.
MOST_TOLD = 40
#: In the zip file of a model.
HEADER = "model.json"
#: Before the place of a text that is written once.
MARK = "@"
#: Longer texts are written once.
SHORT = 8
KINDS = {
    "age": "integer",
    "job": "categorical",
    "income": "continuous",
    "active": "boolean",
    "joined": "datetime",
    "grade": "categorical",
    "rich": "integer",
}
COLUMNS = (
    Column("age", "integer", minimum=18, maximum=90),
    Column("job", "categorical", categories=("arts", "farm", "law", "none")),
    Column("income", "continuous", minimum=0, maximum=1000, resolution=0.01, missing=True),
    Column("active", "boolean"),
    Column("joined", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"),
    Column("grade", "categorical", categories=("low", "mid", "high"), ordered=True),
    Column("rich", "integer", minimum=0, maximum=1),
)
FEW = tuple(column for column in COLUMNS if column.name in ("age", "job", "income", "rich"))
ROW, PERSON = Schema(COLUMNS), Schema(COLUMNS, person="who", max_rows=3)
FOUR = Schema(FEW)
LEFT_OUT = {"who": {"replace": "id", "provenance": "declared"}}


@cache
def people() -> pd.DataFrame:
    """360 rows of 150 people with every kind of column; whole numbers only go into the draws."""
    rng = np.random.default_rng(7)
    n = 360
    age = rng.integers(18, 91, n)
    rich = (age + rng.integers(-20, 21, n) > 55).astype(np.int64)
    jobs = np.where(rich == 1, rng.integers(1, 6, n) // 2, rng.integers(0, 2, n))
    cents = 1000 + 40_000 * rich + 300 * age + rng.integers(0, 20_000, n)
    income = np.where(rng.integers(0, 5, n) == 0, np.nan, cents / 100)
    days = pd.to_timedelta(np.minimum(rng.integers(0, 366, n), 4 * age), unit="D")
    return pd.DataFrame(
        {
            "age": age,
            "job": np.array(["farm", "arts", "law"], dtype=object)[jobs],
            "income": income,
            "active": rng.integers(0, 2, n) == 1,
            "joined": pd.Timestamp("2020-01-01") + days,
            "grade": np.array(["low", "mid", "high"], dtype=object)[rng.integers(0, 3, n)],
            "rich": rich,
            "who": np.arange(n) % 150,
        }
    )


@dataclass(frozen=True)
class Case:
    """A generator, the domain that it is fitted to, and conditions to draw under."""

    generator: Callable[..., Any]
    settings: dict[str, Any] = field(default_factory=dict)
    #: None: it is drafted from the table.
    schema: Schema | None = ROW
    given: dict[str, Any] | None = None

    def fitted(self) -> Any:
        schema = self.schema or FOUR
        person = [] if schema.person is None else [schema.person]
        table = people()[[*schema.names, *person, *(left.name for left in schema.left_out)]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            return self.generator(random_state=SEED, **self.settings).fit(table, self.schema)


def vine(schema: Schema | None = ROW, given: dict[str, Any] | None = None, **settings: Any) -> Case:
    return Case(PrivateVine, settings, schema, given)


def shirley(schema: Schema | None = FOUR, **settings: Any) -> Case:
    quick = {"families": ["indep", "gaussian"], "threads": 1, "target": "rich"}
    return Case(CopulaShirley, {**quick, **settings}, schema)


CASES: dict[str, Case] = {
    # PrivateVine
    "vine": vine(given={"job": "law", "age": (30, 60)}),
    "vine target": vine(target="rich", epsilon=20.0, given={"rich": 1}),
    "vine pure": vine(delta=0, epsilon=8.0),
    "vine person": vine(PERSON, epsilon=20.0),
    "vine person pure target": vine(PERSON, epsilon=6.0, delta=0, target="rich"),
    "vine replace-one": vine(neighbours="replace-one", epsilon=8.0),
    "vine replace-one person": vine(PERSON, neighbours="replace-one", epsilon=8.0),
    "vine noise off": vine(epsilon=None),
    "vine truncation 2": vine(truncation=2, epsilon=20.0),
    "vine all trees": vine(truncation=None, epsilon=20.0),
    "vine no families no tilt": vine(families=False, reweight=False, epsilon=20.0),
    "vine private domain": vine(
        Schema.of_kinds(KINDS), domain="measured", epsilon=8.0, delta=1e-3, given={"active": True}
    ),
    "vine private domain person target": vine(
        Schema.of_kinds(KINDS, person="who", max_rows=3),
        domain="measured",
        epsilon=8.0,
        delta=1e-3,
        target="rich",
    ),
    "vine private domain pure": vine(
        Schema((*FEW[:2], Column("income", "continuous", provenance="private"), FEW[3])),
        domain="measured",
        epsilon=4.0,
        delta=0,
    ),
    "vine private domain without schema": vine(None, domain="measured", epsilon=8.0, delta=1e-3),
    "vine left out": vine(Schema.from_dict({**FOUR.to_dict(), "left_out": LEFT_OUT})),
    # CopulaShirley
    **{
        f"shirley {encoder} {accounting}": shirley(encoder=encoder, accounting=accounting)
        for encoder in ("woe", "glmm", "ordinal", "onehot")
        for accounting in ("honest", "thesis")
    },
    **{
        f"shirley {mechanism} {accounting}": shirley(
            mechanism=mechanism, accounting=accounting, encoder="ordinal", delta=1e-2
        )
        for mechanism in ("geometric", "gaussian")
        for accounting in ("honest", "thesis")
    },
    "shirley noise off": shirley(epsilon=None),
    "shirley every column": shirley(ROW, truncation=None, epsilon=5.0),
    "shirley discrete": shirley(discrete=True, encoder="ordinal"),
    "shirley all families": shirley(
        Schema(FEW[:3]), families="all", target=None, encoder="ordinal"
    ),
    "shirley person add-remove": shirley(
        Schema(FEW, person="who", max_rows=3), accounting="honest", neighbours="add-remove"
    ),
    "shirley drafted": shirley(None),
    # baselines
    **{
        f"histogram {mechanism} {accounting}": Case(
            DPHistogram, {"mechanism": mechanism, "accounting": accounting}
        )
        for mechanism in ("laplace", "geometric", "gaussian")
        for accounting in ("honest", "thesis")
    },
    "histogram add-remove": Case(DPHistogram, {"neighbours": "add-remove"}),
    "histogram person": Case(DPHistogram, {}, PERSON),
    "histogram noise off": Case(DPHistogram, {"epsilon": None}),
    **{
        f"copula {variant} {margins}": Case(DPCopula, {"variant": variant, "margins": margins})
        for variant in ("kendall", "mle")
        for margins in ("plain", "efpa")
    },
    "copula geometric add-remove": Case(
        DPCopula, {"mechanism": "geometric", "neighbours": "add-remove"}
    ),
    "copula mle person": Case(DPCopula, {"variant": "mle", "blocks": 6}, PERSON),
    "copula noise off": Case(DPCopula, {"epsilon": None}),
    **{
        f"privbayes {degree} {neighbours}": Case(
            PrivBayes, {"degree": degree, "neighbours": neighbours}
        )
        for degree in (1, 2)
        for neighbours in ("add-remove", "replace-one")
    },
    "privbayes person": Case(PrivBayes, {"degree": 2}, PERSON),
    "privbayes theta mutual-information": Case(
        PrivBayes,
        {"degree": None, "score": "mutual-information", "mechanism": "laplace", "epsilon": 9.0},
    ),
    "privbayes noise off": Case(PrivBayes, {"degree": 1, "epsilon": None}, FOUR),
    "uniform": Case(Uniform),
    "real": Case(Real),
}


# -- the record of a case --------------------------------------------------------------


def record_of(case: Case) -> dict[str, Any]:
    """Everything that is pinned, as it comes out of JSON."""
    model = case.fitted()
    rows = model.sample(ROWS, random_state=1)
    found: dict[str, Any] = {"ledger": model.ledger_.to_dict(), "rows": pinned_rows(rows)}
    if case.schema is None or any(c.provenance == "private" for c in case.schema):
        found["schema"] = model.schema_.to_dict()
    many = model.sample(MANY, random_state=2)
    found["many"] = pinned_rows(many)["sha256"]
    learnt = {name: table for name, table in model.tables().items() if name != "Measured"}
    if learnt:
        found["tables"] = {name: lines_of(table) for name, table in learnt.items()}
    if isinstance(model, PrivateVine):
        found["transcript"] = transcript_of(model)
    if case.given is not None:
        found["given"] = pinned_rows(model.sample(ROWS, random_state=1, given=case.given))
    if model.publishable:
        found["file"] = file_of(model, many)
    return {part: json.loads(json.dumps(found[part])) for part in PARTS if part in found}


def transcript_of(model: PrivateVine) -> list[dict[str, Any]]:
    transcript = model.transcript_
    return [
        {
            **{key: query[key] for key in ("kind", "stage", "share", "sigma")},
            "what": [" x ".join(names) for names in query["what"]],
            **({"labels": query["labels"]} if query["labels"] else {}),
            "answers": [sha256(integers(array))[:12] for array in answer.values],  # noqa: PD011
        }
        for query, answer in zip(transcript.queries, transcript.answers, strict=True)
    ]


def integers(array: np.ndarray) -> bytes:
    """An array as bytes of int64, whatever whole numbers it has."""
    assert array.dtype.kind in "iu", array.dtype
    return array.astype("<i8").tobytes() + repr(array.shape).encode()


def pinned_rows(rows: pd.DataFrame) -> dict[str, Any]:
    lines = lines_of(rows)
    whole = "\n".join([",".join(map(str, rows.columns)), *lines])
    return {
        "columns": " ".join(rows.columns),
        "kinds": " ".join(dtype.kind for dtype in rows.dtypes),
        "first": lines[:SHOWN],
        "sha256": sha256(whole.encode()),
    }


def lines_of(table: pd.DataFrame) -> list[str]:
    return [",".join(map(text_of, row)) for row in table.itertuples(index=False)]


def text_of(value: Any) -> str:
    """A value alike with every pandas, and on every processor."""
    if pd.isna(value):
        return ""
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def file_of(model: Any, many: pd.DataFrame) -> dict[str, Any]:
    """What the saved model is made of, and whether it draws the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.shirley"
        model.save(path)
        with zipfile.ZipFile(path) as file:
            header, members = json.loads(file.read(HEADER)), sorted(set(file.namelist()))
            learnt = [name for name in members if name.endswith(".npy")]
            # the answers of PrivateVine are in its transcript
            learnt = [] if isinstance(model, PrivateVine) else learnt
            arrays = {name[:-4]: digest_of(file.read(name)) for name in learnt}
        again = load(path).sample(MANY, random_state=2)
    return {
        "header": " ".join(header),
        "settings": " ".join(header["settings"]),
        "model": " ".join(header["model"]),
        "card": " ".join(header["card"]),
        "rows": header["rows"],
        "dtypes of": " ".join(header["dtypes"]),
        "members": len(members),
        "names": sha256("\n".join(members).encode())[:12],
        "arrays": arrays,
        "loaded draws the same": bool(again.equals(many)),
    }


def digest_of(member: bytes) -> str:
    """Of the numbers of an array to 6 digits: the last ones differ between processors."""
    array = np.load(io.BytesIO(member), allow_pickle=False)
    numbers = " ".join(f"{number + 0.0:.6g}" for number in array.ravel().tolist())
    return sha256(f"{array.shape} {numbers}".encode())[:8]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- comparison ------------------------------------------------------------------------


def differences(golden: Any, now: Any, where: str) -> Iterator[str]:
    """Places at which two JSON values differ; floats may by a part in 1e9."""
    if isinstance(golden, dict) and isinstance(now, dict):
        for key in [*golden, *(key for key in now if key not in golden)]:
            here = f"{where}.{key}"
            if key not in now or key not in golden:
                yield f"{here}: {'is gone' if key in golden else 'is new'}"
            else:
                yield from differences(golden[key], now[key], here)
    elif isinstance(golden, list) and isinstance(now, list):
        if len(golden) != len(now):
            yield f"{where}: had {len(golden)} entries, has {len(now)}"
        for i, (one, other) in enumerate(zip(golden, now, strict=False)):
            yield from differences(one, other, f"{where}[{i}]")
    elif not same(golden, now):
        yield f"{where}: was {golden!r}, is {now!r}"


def same(golden: Any, now: Any) -> bool:
    if isinstance(golden, float) and isinstance(now, float):
        return math.isclose(golden, now, rel_tol=1e-9, abs_tol=0.0)
    return type(golden) is type(now) and bool(golden == now)


@cache
def golden_records() -> dict[str, Any]:
    content = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return {name: unpacked(case, content["texts"]) for name, case in content["cases"].items()}


def test_every_case_has_a_golden_record() -> None:
    assert list(golden_records()) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_seeded_fit_gives_what_it_gave(name: str) -> None:
    found = list(differences(golden_records()[name], record_of(CASES[name]), name))
    if found:
        pytest.fail("\n  ".join([f"not as in {GOLDEN.name}", *found[:MOST_TOLD]]), pytrace=False)


def test_a_difference_is_told_by_its_place() -> None:
    golden = golden_records()["vine"]
    now = json.loads(json.dumps(golden))
    assert not list(differences(golden, now, "vine"))
    now["transcript"][2]["sigma"] *= 1.1
    del now["file"]["header"]
    places = [line.split(":")[0] for line in differences(golden, now, "vine")]
    assert places == ["vine.transcript[2].sigma", "vine.file.header"]


# -- the file --------------------------------------------------------------------------


def unpacked(value: Any, texts: list[str]) -> Any:
    """JSON in which long texts are their places in a list, and lists of like entries tables."""
    if isinstance(value, str):
        return texts[int(value[1:])] if value.startswith(MARK) else value
    if isinstance(value, list):
        return [unpacked(part, texts) for part in value]
    if not isinstance(value, dict):
        return value
    value = {key: unpacked(part, texts) for key, part in value.items()}
    if value.keys() != {"alike", "fields", "lines"}:
        return value
    lines = [dict(zip(value["fields"], line, strict=True)) for line in value["lines"]]
    return [{**value["alike"], **line} for line in lines]


def packed(value: Any, texts: dict[str, int]) -> Any:
    """What ``unpacked`` takes; new texts are added to those that are known."""
    if isinstance(value, str) and len(value) > SHORT:
        return f"{MARK}{texts.setdefault(value, len(texts))}"
    if isinstance(value, dict):
        return {key: packed(part, texts) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) < 2 or not all(isinstance(one, dict) and one for one in value):
        return [packed(part, texts) for part in value]
    first = value[0]
    if any(one.keys() != first.keys() for one in value):
        return [packed(part, texts) for part in value]
    fields = [key for key in first if any(one[key] != first[key] for one in value)]
    alike = {key: packed(part, texts) for key, part in first.items() if key not in fields}
    lines = [[packed(one[key], texts) for key in fields] for one in value]
    return {"alike": alike, "fields": fields, "lines": lines}


def write_golden() -> None:
    """All records anew, a line a case."""
    cases = {name: record_of(case) for name, case in CASES.items()}
    texts: dict[str, int] = {}
    lines = [f"{json.dumps(n)}:{dumped(packed(case, texts))}" for n, case in cases.items()]
    body = ",\n".join(lines)
    found = f'{{"cases":{{\n{body}\n}},"texts":{dumped(list(texts))}}}\n'
    content = json.loads(found)
    assert unpacked(content["cases"], content["texts"]) == json.loads(json.dumps(cases))
    GOLDEN.write_text(found, encoding="utf-8")


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    write_golden()
