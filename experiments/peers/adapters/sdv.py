"""SDV's Gaussian copula: the field's usual yardstick. It is NOT private.

Settings: those of ``GaussianCopulaSynthesizer``, such as ``default_distribution``, and ``few``:
whole numbers with at most so many declared values are categories, as SDV's own detection would say.
Left as numbers, an indicator of 0 and 1 would get a beta distribution and come out all 1.
"""

import warnings
from typing import Any

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer

SDTYPES = {
    "categorical": "categorical",
    "boolean": "boolean",
    "integer": "numerical",
    "continuous": "numerical",
    "datetime": "datetime",
}


class Generator:
    """The synthesizer with the declared kinds of columns; epsilon is not used."""

    def __init__(
        self,
        epsilon: float | None,
        delta: float,
        seed: int,  # the driver seeds the global states, from which SDV draws
        domain: dict[str, dict[str, Any]],
        few: int = 10,
        **settings: Any,
    ) -> None:
        columns = {}
        for name, about in domain.items():
            if about["kind"] not in SDTYPES:
                raise ValueError(f"column {name!r}: this adapter supports no {about['kind']}")
            columns[name] = {"sdtype": SDTYPES[about["kind"]]}
            if about["is_whole"] and about["maximum"] - about["minimum"] < few:
                columns[name] = {"sdtype": "categorical"}
            if about.get("format"):
                columns[name]["datetime_format"] = about["format"]
        metadata = Metadata.load_from_dict({"tables": {"rows": {"columns": columns}}})
        self.model = GaussianCopulaSynthesizer(metadata, **settings)

    def fit(self, table: pd.DataFrame) -> None:
        """Fit it."""
        warnings.simplefilter("ignore")
        self.model.fit({"rows": table})

    def sample(self, n: int) -> pd.DataFrame:
        """Draw rows."""
        drawn = self.model.sample(n)
        table: pd.DataFrame = drawn["rows"] if isinstance(drawn, dict) else drawn
        return table
