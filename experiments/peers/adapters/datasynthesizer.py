"""DataSynthesizer's PrivBayes (correlated attribute mode), with all bounds and lists declared.

Settings: ``degree`` (parents), ``bins`` (equal bins of a number; whole numbers with fewer values
have one each). Categories go in as codes, since it reads its own CSV, in which a text such as NA
would be a missing value.
"""

import json
import os
import tempfile
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from DataSynthesizer.lib import PrivBayes

# it would take every core of the machine
PrivBayes.Pool = partial(Pool, int(os.environ.get("OMP_NUM_THREADS", "1")))


class Generator:
    """Describe a data set with noise, then draw from the description."""

    def __init__(
        self,
        epsilon: float,
        delta: float,  # it has none
        seed: int,
        domain: dict[str, dict[str, Any]],
        degree: int = 2,
        bins: int = 20,
    ) -> None:
        self.epsilon, self.seed, self.domain = epsilon, seed, domain
        self.degree, self.bins = degree, bins
        self.listed = {name: listed(about, bins) for name, about in domain.items()}
        for name, about in domain.items():
            if not about["is_listed"] and not about["is_number"]:
                raise ValueError(f"column {name!r}: this adapter supports no {about['kind']}")
        self.description: dict[str, Any] = {}

    def fit(self, table: pd.DataFrame) -> None:
        """Describe the table."""
        coded = {
            name: table[name] if some is None else table[name].map(codes(some))
            for name, some in self.listed.items()
        }
        describer = DataDescriber(histogram_bins=self.bins)
        with tempfile.TemporaryDirectory() as name:
            rows, lists = Path(name) / "rows.csv", Path(name) / "lists.json"
            pd.DataFrame(coded).to_csv(rows, index=False)
            some = {name: list(codes(s).values()) for name, s in self.listed.items() if s}
            lists.write_text(json.dumps(some), encoding="utf-8")
            describer.describe_dataset_in_correlated_attribute_mode(
                dataset_file=str(rows),
                epsilon=self.epsilon,
                k=self.degree,
                attribute_to_is_categorical={name: name in some for name in self.domain},
                attribute_to_is_candidate_key=dict.fromkeys(self.domain, False),
                categorical_attribute_domain_file=str(lists),
                numerical_attribute_ranges={
                    name: [about["minimum"], about["maximum"]]
                    for name, about in self.domain.items()
                    if name not in some
                },
                seed=self.seed,
            )
        self.description = describer.data_description

    def sample(self, n: int) -> pd.DataFrame:
        """Draw rows, with another seed than the fit's: they must not repeat its randomness."""
        generator = DataGenerator()
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "description.json"
            file.write_text(json.dumps(self.description), encoding="utf-8")
            generator.generate_dataset_in_correlated_attribute_mode(
                n, str(file), seed=self.seed + 1_000_000
            )
        drawn = generator.synthetic_dataset
        found = {}
        for name, some in self.listed.items():
            if some is None:
                about = self.domain[name]
                found[name] = drawn[name].astype(float).clip(about["minimum"], about["maximum"])
            else:
                found[name] = drawn[name].map({code: value for value, code in codes(some).items()})
        return pd.DataFrame(found)


def listed(about: dict[str, Any], bins: int) -> list[Any] | None:
    """The closed list of a column's values, or None if it is to be binned."""
    if "categories" in about:
        return list(about["categories"])
    if about["is_whole"] and about["maximum"] - about["minimum"] < bins:
        return list(range(int(about["minimum"]), int(about["maximum"]) + 1))
    return None


def codes(values: list[Any]) -> dict[Any, str]:
    """A text for each value, in the order of the list."""
    return {value: f"c{i:05d}" for i, value in enumerate(values)}
