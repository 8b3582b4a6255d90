"""What the walks with messy tables share: how a file is written badly, and the README's steps.

A walk takes a raw file to a published table as a newcomer would: every command is a process of its
own, and the schema is reviewed by a script in place of a curator. What comes out is counted in
pandas, and not by the package.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.schema.schema import Schema

#: What a missing value is written as, here and there.
ABSENT = ("N/A", "-", "")
#: Of the raw file, and so of the published one.
ENCODING = "cp1252"
#: What the command ``shirley`` runs.
SHIRLEY = "from copula_shirley.cli.main import main; main()"
#: The share of texts with a space behind them.
SPACES = 0.03
SYLLABLES = ("an", "ber", "do", "el", "fa", "gri", "hol", "ir", "ka", "lo", "mi", "nor", "os", "ta")


def options(about: str | None, **numbers: int) -> argparse.Namespace:
    """Seeds and epsilon from the command line, and whole numbers with these defaults."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    for name, default in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    return parser.parse_args()


def names(n: int, rng: np.random.Generator) -> list[str]:
    """Names of people that no other file has."""
    parts = rng.choice(SYLLABLES, (n, 5))
    return [f"{a}{b} {c}{d}{e}".title() for a, b, c, d, e in parts]


def badly_written(
    table: pd.DataFrame, path: Path, rng: np.random.Generator, dates: Mapping[str, str]
) -> None:
    """Write a table as offices do: semicolons, decimal commas, thousands with dots, an index.

    Dates have the format that is named, missing values several words, and some texts have a space
    behind them.
    """
    written = {}
    for name, values in table.items():
        absent = values.isna().to_numpy()
        if name in dates:
            texts = values.dt.strftime(dates[str(name)]).to_numpy(dtype=object)
        elif values.dtype.kind == "f":
            shown = values.fillna(0).map("{:,.2f}".format)
            texts = shown.str.translate(str.maketrans(",.", ".,")).to_numpy(dtype=object)
        elif values.dtype.kind == "b":
            texts = np.where(values, "yes", "no").astype(object)
        else:
            texts = np.array(
                ["" if pd.isna(value) else str(value) for value in values], dtype=object
            )
            if values.dtype.kind not in "iu":
                texts = np.where(rng.random(len(texts)) < SPACES, texts + " ", texts)
        texts[absent] = rng.choice(ABSENT, int(absent.sum()))
        written[name] = texts
    pd.DataFrame(written).to_csv(path, sep=";", encoding=ENCODING, index_label="")


@dataclass(frozen=True)
class Review:
    """What a curator knows of a table, and does with a draft of its schema."""

    #: Of columns that are learned, what no draft can know: it is public.
    declared: Mapping[str, Mapping[str, Any]]
    #: Of the others, what stands in their place.
    replaced: Mapping[str, Any]
    rules: Sequence[Mapping[str, Any]]
    #: The column that says whose row it is, and how many rows a person has at the most.
    person: tuple[str, int] | None = None

    def of(self, draft: Mapping[str, Any]) -> dict[str, Any]:
        """The schema that she leaves."""
        known = {"provenance": "declared", "source": "handbook"}
        columns: dict[str, Any] = {}
        for name, about in self.declared.items():
            own = draft["columns"].get(name, {})
            alike = about.get("kind", own.get("kind")) == own.get("kind")
            columns[name] = {"other": None, **(own if alike else {}), **about, **known}
        kept = {"replace": "drop", "provenance": "declared"}
        left = {name: kept for name in draft["left_out"] if name not in columns}
        # in the order of the file, which is that of the published table
        found: dict[str, Any] = {
            "format": draft["format"],
            "columns": columns | dict(self.replaced),
        }
        found["left_out"] = {n: about for n, about in left.items() if n not in self.replaced}
        if self.person is not None:
            found["person"] = {"column": self.person[0], "max_rows": self.person[1]}
            found["left_out"].pop(self.person[0], None)
        found["file"] = {**draft["file"], "provenance": "declared"}
        return {**found, "rules": list(self.rules)}


@dataclass
class Walk:
    """The README's steps in a folder, and what each took."""

    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def shirley(self, *words: object) -> str:
        """Run a command; a refusal ends the walk with its message."""
        start = time.perf_counter()
        command = [sys.executable, "-c", SHIRLEY, *map(str, words)]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, encoding="utf-8", check=False
        )
        name = str(words[0])
        self.seconds[name] = round(time.perf_counter() - start, 1)
        self.said[name] = done.stdout + done.stderr
        if done.returncode:
            raise RuntimeError(
                f"shirley {name} ended with {done.returncode}: {done.stderr[-2000:]}"
            )
        return done.stdout

    def go(
        self, review: Review, rows: int, epsilon: float, evaluate: Sequence[str] = ()
    ) -> pd.DataFrame:
        """From raw.csv to synthetic.csv, which is given back as the texts that it holds."""
        self.shirley("draft", "raw.csv", "-o", "schema.yaml")
        place = self.folder / "schema.yaml"
        drafted = load_yaml(place.read_text(encoding="utf-8"))
        Schema.from_dict(review.of(drafted)).write(place)
        schema, fit = ("--schema", "schema.yaml"), ("--epsilon", epsilon)
        self.shirley("check", "raw.csv", *schema)
        self.shirley("plan", "schema.yaml", "-n", rows, *fit)
        self.shirley("synthesize", "raw.csv", *schema, *fit, "-o", "synthetic.csv")
        self.shirley("verify", "synthetic.csv")
        self.shirley("evaluate", "raw.csv", *schema, *fit, *evaluate, "-o", "report.html")
        return as_texts(self.folder / "synthetic.csv")


def as_texts(path: Path) -> pd.DataFrame:
    """The texts of a file that is written so, without spaces around them."""
    found = pd.read_csv(path, sep=";", encoding=ENCODING, dtype=str, keep_default_na=False)
    stripped = pd.DataFrame({str(name): texts.str.strip() for name, texts in found.items()})
    return stripped.where(~stripped.isin(ABSENT), "")


def as_numbers(values: pd.Series) -> pd.Series:
    """Numbers as they are written here: 1.234,50."""
    plain = values.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    return pd.to_numeric(plain.where(plain != ""))


def as_days(table: pd.DataFrame, dates: Mapping[str, str]) -> dict[str, pd.Series]:
    """Columns of dates as days; an empty field is none."""
    return {name: pd.to_datetime(table[name], format=how) for name, how in dates.items()}


def leaked(secrets: pd.DataFrame, published: Path) -> dict[str, int]:
    """How many values of the input's names and ids stand anywhere in the published file."""
    text = published.read_text(encoding=ENCODING)
    cells = {cell.strip().strip('"') for line in text.splitlines() for cell in line.split(";")}
    return {
        str(name): len({*values.dropna().astype(str)} & cells) for name, values in secrets.items()
    }


def by_real(real: pd.Series, drawn: pd.Series) -> dict[str, float]:
    """Mean and 99th percentile of synthetic values, by those of the real ones."""
    return {
        "mean": round(float(drawn.mean() / real.mean()), 4),
        "q99": round(float(drawn.quantile(0.99) / real.quantile(0.99)), 4),
    }
