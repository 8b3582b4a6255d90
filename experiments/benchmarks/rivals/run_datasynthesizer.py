"""Fit DataSynthesizer's PrivBayes and sample it; runs in DataSynthesizer's own environment.

Called as ``python run_datasynthesizer.py FOLDER``. The folder has ``train.csv`` and
``spec.json``; it gets ``synthetic.csv`` and ``seconds.json``.
"""

import json
import sys
import time
from pathlib import Path

from DataSynthesizer.DataDescriber import (  # type: ignore[import-not-found, unused-ignore]
    DataDescriber,
)
from DataSynthesizer.DataGenerator import (  # type: ignore[import-not-found, unused-ignore]
    DataGenerator,
)


def main(folder: Path) -> None:
    """Do one run."""
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    domain = spec["domain"]
    listed = {name: c["categories"] for name, c in domain.items() if "categories" in c}
    (folder / "categories.json").write_text(json.dumps(listed), encoding="utf-8")
    describer = DataDescriber(histogram_bins=spec["bins"])
    start = time.perf_counter()
    describer.describe_dataset_in_correlated_attribute_mode(
        dataset_file=str(folder / "train.csv"),
        epsilon=spec["epsilon"],
        k=spec["degree"],
        attribute_to_is_categorical={name: name in listed for name in domain},
        attribute_to_is_candidate_key=dict.fromkeys(domain, False),
        categorical_attribute_domain_file=str(folder / "categories.json"),
        numerical_attribute_ranges={
            name: [c["lower"], c["upper"]] for name, c in domain.items() if "lower" in c
        },
        seed=spec["seed"],
    )
    fitted = time.perf_counter()
    description = str(folder / "description.json")
    describer.save_dataset_description_to_file(description)
    generator = DataGenerator()
    # another seed than the fit's: rows must not repeat its randomness
    generator.generate_dataset_in_correlated_attribute_mode(
        spec["rows"], description, seed=spec["seed"] + 1_000_000
    )
    drawn = time.perf_counter()
    generator.save_synthetic_data(str(folder / "synthetic.csv"))
    seconds = {"fit": fitted - start, "sample": drawn - fitted}
    (folder / "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
