"""Fit dpmm's PrivBayes and sample it; runs in dpmm's own environment.

Called as ``python run_dpmm.py FOLDER``. The folder has ``train.csv`` and ``spec.json``; it gets
``synthetic.csv`` and ``seconds.json``. All bounds and categories are declared, so that no budget
goes to preprocessing.
"""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from dpmm.pipelines import PrivBayesPipeline  # type: ignore[import-not-found, unused-ignore]


def main(folder: Path) -> None:
    """Do one run."""
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    table = pd.read_csv(folder / "train.csv", keep_default_na=False)
    domain = spec["domain"]
    for name, column in domain.items():
        if "categories" in column:
            table[name] = table[name].astype(pd.CategoricalDtype(column["categories"]))
    pipeline = PrivBayesPipeline(
        epsilon=spec["epsilon"],
        delta=spec["delta"],
        binner_type="uniform",
        proc_epsilon=None,
        n_bins=spec["bins"],
        n_jobs=1,
        # dpmm's degree is the size of a clique: the child counts
        gen_kwargs={"degree": spec["degree"] + 1},
    )
    start = time.perf_counter()
    pipeline.fit(table, domain=domain, random_state=spec["seed"])
    fitted = time.perf_counter()
    # another seed than the fit's: rows must not repeat its randomness
    synthetic = pipeline.generate(n_records=spec["rows"], random_state=spec["seed"] + 1_000_000)
    drawn = time.perf_counter()
    synthetic.to_csv(folder / "synthetic.csv", index=False)
    seconds = {"fit": fitted - start, "sample": drawn - fitted}
    (folder / "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
