"""Fit dpmm's PrivBayes, MST or AIM and sample it; runs in dpmm's own environment.

Called as ``python run_dpmm.py FOLDER``. The folder has ``train.csv`` and ``spec.json``; it gets
``synthetic.csv`` and ``seconds.json``. All bounds and categories are declared. With ``cells`` in
the spec the table holds cells of the declared domain as whole numbers and dpmm's own binning is
left out, so that no budget goes to preprocessing.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
from dpmm.pipelines import (  # type: ignore[import-not-found, unused-ignore]
    AIMPipeline,
    MSTPipeline,
    PrivBayesPipeline,
)

PIPELINES = {"privbayes": PrivBayesPipeline, "mst": MSTPipeline, "aim": AIMPipeline}


def pipeline_of(spec: dict[str, Any]) -> Any:
    """The pipeline with the settings of a spec."""
    settings: dict[str, Any] = {"epsilon": spec["epsilon"], "delta": spec["delta"], "n_jobs": 1}
    if "degree" in spec:  # dpmm's degree is the size of a clique: the child counts
        settings["gen_kwargs"] = {"degree": spec["degree"] + 1}
    if "max_model_size" in spec:
        settings["max_model_size"] = spec["max_model_size"]
    if "cells" in spec:
        settings["disable_processing"] = True
    elif spec.get("binner") == "priv-tree":  # its epsilon is part of the budget, not on top
        own = spec["epsilon"] * spec["binner_share"]
        settings |= {"epsilon": spec["epsilon"] - own, "proc_epsilon": own}
        settings |= {"binner_type": "priv-tree", "n_bins": spec["bins"]}
    else:
        settings |= {"binner_type": "uniform", "proc_epsilon": None, "n_bins": spec["bins"]}
    return PIPELINES[spec.get("model", "privbayes")](**settings)


def main(folder: Path) -> None:
    """Do one run."""
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    table = pd.read_csv(folder / "train.csv", keep_default_na="cells" in spec)
    domain = spec.get("cells") or spec["domain"]
    if "cells" not in spec:
        for name, column in domain.items():
            if "categories" in column:
                table[name] = table[name].astype(pd.CategoricalDtype(column["categories"]))
    pipeline = pipeline_of(spec)
    start, cpu = time.perf_counter(), time.process_time()
    pipeline.fit(table, domain=domain, random_state=spec["seed"])
    fitted, busy = time.perf_counter(), time.process_time()
    # another seed than the fit's: rows must not repeat its randomness
    synthetic = pipeline.generate(n_records=spec["rows"], random_state=spec["seed"] + 1_000_000)
    drawn = time.perf_counter()
    synthetic.to_csv(folder / "synthetic.csv", index=False)
    seconds = {"fit": fitted - start, "sample": drawn - fitted, "fit_cpu": busy - cpu}
    (folder / "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
