"""SmartNoise's MST and AIM, on cells: its transformers learn nothing from the rows.

Settings: ``model`` (mst, aim), and those of ``AIMSynthesizer``, such as ``max_model_size`` and
``rounds``. Torch, which both do without, is left out of the pins.
"""

from typing import Any

import pandas as pd
from snsynth.aim.aim import AIMSynthesizer
from snsynth.mst.mst import MSTSynthesizer
from snsynth.transform import LabelTransformer, TableTransformer

MODELS = {"mst": MSTSynthesizer, "aim": AIMSynthesizer}


class Generator:
    """One of SmartNoise's synthesizers with labels for the declared cells."""

    def __init__(
        self,
        epsilon: float,
        delta: float,
        seed: int,  # the driver seeds the global states, from which it draws
        domain: dict[str, int],
        model: str,
        **settings: Any,
    ) -> None:
        self.names = list(domain)
        self.transformer = TableTransformer([labels(size) for size in domain.values()])
        self.model = MODELS[model](epsilon=epsilon, delta=delta, **settings)

    def fit(self, table: pd.DataFrame) -> None:
        """Fit it."""
        self.model.fit(table, transformer=self.transformer)

    def sample(self, n: int) -> pd.DataFrame:
        """Draw rows."""
        return pd.DataFrame(self.model.sample(n)).set_axis(self.names, axis=1)


def labels(size: int) -> Any:
    """A transformer that knows the cells of a column, whatever the rows hold."""
    transformer = LabelTransformer(nullable=False)
    for cell in range(size):
        transformer._fit(cell)
    transformer._fit_finish()
    return transformer
