"""dpmm's MST, AIM and PrivBayes, on cells: none of the budget goes to its own binning.

Settings: ``model`` (mst, aim, privbayes), ``degree`` (parents of PrivBayes), ``max_model_size``
(megabytes, of AIM), ``compress`` (its own merging of rare cells).
"""

from typing import Any

import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

PIPELINES = {"mst": MSTPipeline, "aim": AIMPipeline, "privbayes": PrivBayesPipeline}


class Generator:
    """One of dpmm's pipelines with its processing left out."""

    def __init__(
        self,
        epsilon: float,
        delta: float,
        seed: int,
        domain: dict[str, int],
        model: str,
        degree: int | None = None,
        **settings: Any,
    ) -> None:
        self.seed, self.domain = seed, domain
        if degree is not None:  # dpmm's degree is the size of a clique: the child counts
            settings["gen_kwargs"] = {"degree": degree + 1}
        self.pipeline = PIPELINES[model](
            epsilon=epsilon, delta=delta, n_jobs=1, disable_processing=True, **settings
        )

    def fit(self, table: pd.DataFrame) -> None:
        """Fit it."""
        self.pipeline.fit(table, domain=self.domain, random_state=self.seed)

    def sample(self, n: int) -> pd.DataFrame:
        """Draw rows, with another seed than the fit's: they must not repeat its randomness."""
        seed = self.seed + 1_000_000
        table: pd.DataFrame = self.pipeline.generate(n_records=n, random_state=seed)
        return table
