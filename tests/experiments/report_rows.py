"""Result rows by hand, as ``copula_shirley.experiments.run.execute`` makes them."""

from __future__ import annotations

from typing import Any

COLUMNS = ("age", "sex", "job")
METRICS = {
    "ks": (0.1, "lower", "columns"),
    "tvd1": (0.1, "lower", "columns"),
    "tvd2": (0.2, "lower", "pairs"),
    "mcc_binary": (0.5, "higher", ""),
    "membership_hamming_all": (0.52, "0.5", ""),
    "k_anonymity": (3.0, "none", ""),
}
PAIRS = [f"{a} | {b}" for i, a in enumerate(COLUMNS) for b in COLUMNS[i + 1 :]]
PROVENANCE = {
    "commit": "0123abcd",
    "dirty": False,
    "time": "2026-01-02T03:04:05+00:00",
    "python": "3.12.1",
    "system": "Linux x86_64",
    "processor": "An Honest Processor",
    "cores": 2,
    "versions": {"numpy": "2.4.6"},
}


def row(generator: str = "Vine", **changes: Any) -> dict[str, Any]:
    """A finished run; keywords change the spec, ``figures`` the values of metrics."""
    figures = {name: value for name, (value, _, _) in METRICS.items()} | changes.pop("figures", {})
    claimed, proved = changes.pop("claimed", "epsilon 1"), changes.pop("proved", "epsilon 1")
    run = {
        **{"dataset": "made", "generator": generator, "use": generator.lower(), "settings": {}},
        **{"variant": "", "epsilon": 1.0, "fold": 0, "folds": 3, "seed": 0, "rows": None},
        **{"unit": "person", "profile": "light"},
        **changes,
    }
    margin = {"labels": ["low", "high"], "real": [0.25, 0.75], "synthetic": [0.5, 0.5]}
    head = ["stage", "what", "mechanism", "epsilon", "delta", "rows"]
    spends = [["histogram", name, "laplace", "0.25", "0", "all rows"] for name in "abcdefgh"]
    return {
        "run": run,
        "id": f"{run['dataset']}-{generator}-{run['epsilon']}-{run['fold']}-{run['seed']}",
        "status": "done",
        "seconds": {"fit": 1.0, "sample": 0.5, "evaluate": 2.0, "total": 3.5},
        "memory": {"fit": 2**20, "sample": 2**21},
        "figures": {name: figure(name, value) for name, value in figures.items()},
        "margins": dict.fromkeys(COLUMNS, margin),
        "complaints": [],
        "privacy": {
            "claimed": claimed,
            "proved": proved,
            "summary": [["claimed", claimed], ["proved", proved], ["spent", "epsilon 1"]],
            "spends": [head, *spends],
            "unprotected": [["vine", "ranks", "all rows", "they are raw"]] * (proved == "nothing"),
        },
        "provenance": dict(PROVENANCE),
    }


def figure(name: str, value: float) -> dict[str, Any]:
    _, better, part = METRICS[name]
    keys = {"columns": COLUMNS, "pairs": PAIRS}.get(part, ())
    detail = {part: dict.fromkeys(keys, value)} if part else {}
    return {"value": value, "better": better, "bounds": [0, 1], "detail": detail, "verdict": ""}


def ended(status: str, reason: str, generator: str = "Vine", **changes: Any) -> dict[str, Any]:
    """A run without figures."""
    done = row(generator, **changes)
    kept = {key: done[key] for key in ("run", "id", "provenance")}
    trace = {"traceback": f"Traceback of {reason}"} if status == "failed" else {}
    return {**kept, "status": status, "reason": reason, **trace}


def benchmark() -> list[dict[str, Any]]:
    """Two data sets, two epsilons, three folds, references, and one of each trouble."""
    rows = []
    nothing = {"epsilon": None, "claimed": "nothing", "proved": "nothing"}
    for fold in range(3):
        for dataset in ("made", "other"):
            where: dict[str, Any] = {"dataset": dataset, "fold": fold}
            good = {"ks": 0.1 + 0.01 * fold}
            worse = {"ks": 0.3 + 0.01 * fold, "mcc_binary": 0.2 + 0.1 * fold}
            for epsilon in (0.1, 1.0):
                where["epsilon"] = epsilon
                rows.append(row("Vine", figures=good, **where))
                rows.append(row("Shirley", figures=worse, proved="nothing", **where))
                rows.append(ended("failed", "ValueError: bad", "Broken", **where))
            best = {"ks": 0.01, "membership_hamming_all": 0.9}
            rows.append(row("real", figures=best, **where | nothing))
            rows.append(row("uniform", figures={"ks": 0.9}, **where | nothing))
    rows.append(ended("timeout", "stopped after 60 minutes", "Slow"))
    rows.append(ended("skipped", "too many columns", "Vine", variant="encoder onehot"))
    return rows
