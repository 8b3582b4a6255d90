"""Walk with the sales of a shop from a messy file to a published table, and measure it.

200,000 made sales: names, ids, e-mail addresses, a product from a long list whose category follows,
a total that is price times quantity less discount, a currency that follows from the country, a
delivery after the order, a day of return if and only if the sale was returned, remarks. The file is
badly written (see ``messy``). Protected is a customer with all rows (``--most-rows``; 1 protects a
row). Measured of the published rows: those that break a rule, names and ids of the input, mean and
99th percentile of price and total, and the seconds of each command.

    python -m copula_shirley.experiments.benchmarks.messy_shop --seeds 3 --epsilon 1
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.experiments.benchmarks.messy import (
    Review,
    Walk,
    as_days,
    as_numbers,
    badly_written,
    by_real,
    leaked,
    names,
    options,
)

ROWS = 200_000
#: Sales of a customer at the most.
MOST_ROWS = 4
CATEGORIES = ("books", "garden", "kitchen", "music", "sports", "tools", "toys", "clothing")
PRODUCTS = {f"{category}-{i:02}": category for category in CATEGORIES for i in range(15)}
MONEY = {"DE": "EUR", "FR": "EUR", "AT": "EUR", "CH": "CHF", "GB": "GBP", "US": "USD"}
DATES = {"ordered": "%d.%m.%Y", "delivered": "%d.%m.%Y", "returned_on": "%d.%m.%Y"}
SECRETS = ("customer", "sale", "name", "email", "remark")
#: What a curator knows of the columns, and the draft cannot: it is public.
DECLARED: dict[str, dict[str, Any]] = {
    "ordered": {"minimum": "2022-01-01", "maximum": "2023-12-31"},
    "delivered": {"minimum": "2022-01-01", "maximum": "2024-12-31"},
    "returned_on": {"minimum": "2022-01-01", "maximum": "2024-12-31", "missing": True},
    "product": {"categories": [*PRODUCTS], "other": None},
    "category": {"categories": [*CATEGORIES]},
    "price": {"minimum": 0, "maximum": 2000, "resolution": 0.01, "scale": "log"},
    "quantity": {"minimum": 1, "maximum": 20},
    "discount": {"minimum": 0, "maximum": 1000, "resolution": 0.01, "scale": "log"},
    "total": {"kind": "continuous", "minimum": -1000, "maximum": 40000, "resolution": 0.01},
    "country": {"categories": [*MONEY]},
    "currency": {"categories": [*dict.fromkeys(MONEY.values())]},
    "payment": {"categories": ["card", "invoice", "paypal", "cash"], "missing": True},
    "returned": {"categories": ["no", "yes"]},
}
REPLACED = {
    "sale": {"kind": "id", "pattern": "T-{n:07}"},
    "name": {"kind": "fake", "fake": "name"},
    "email": {"kind": "fake", "fake": "email"},
    "remark": "drop",
}
RULES: list[dict[str, Any]] = [
    {"computed": "total", "as": "price * quantity - discount"},
    {"function": "category", "of": "product", "table": PRODUCTS},
    {"function": "currency", "of": "country", "table": MONEY},
    {"order": ["ordered", "delivered", "returned_on"]},
    {"when": {"returned": "no"}, "then": {"returned_on": "missing"}},
    {"when": {"returned": "yes"}, "then": {"returned_on": "present"}},
]


def shop(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Made sales that keep all rules."""
    rng = np.random.default_rng([19, 7, seed])
    customers = max(n * 2 // 5, 1)
    whose = rng.permutation(np.repeat(np.arange(customers), MOST_ROWS))[:n]
    called = names(customers, rng)
    product = rng.choice([*PRODUCTS], n, p=rng.dirichlet(np.full(len(PRODUCTS), 2.0)))
    level = dict(zip(PRODUCTS, rng.normal(3.2, 0.9, len(PRODUCTS)), strict=True))
    price = np.exp(np.array([level[p] for p in product]) + rng.normal(0, 0.25, n))
    price = np.clip(price, 0.5, 1999).round(2)
    quantity = np.minimum(rng.geometric(0.55, n), 20)
    share = np.where(rng.random(n) < 0.7, 0, rng.choice([0.05, 0.1, 0.2], n))
    discount = np.minimum(price * quantity * share, 1000).round(2)
    ordered = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D")
    delivered = pd.Series(ordered + pd.to_timedelta(1 + rng.poisson(3, n), unit="D"))
    back = rng.random(n) < np.where(np.char.startswith(product.astype(str), "clothing"), 0.3, 0.04)
    later = delivered + pd.to_timedelta(rng.integers(1, 30, n), unit="D")
    country = rng.choice([*MONEY], n, p=[0.6, 0.12, 0.1, 0.08, 0.06, 0.04])
    words = rng.choice(["please", "ring", "twice", "leave", "with", "neighbour", "fragile"], (n, 6))
    return pd.DataFrame(
        {
            "customer": [f"C{900_000 + i}" for i in whose],
            "sale": [f"S{i:08}" for i in rng.permutation(n)],
            "name": [called[i] for i in whose],
            "email": [f"{called[i].replace(' ', '.').lower()}{i}@mail.example" for i in whose],
            "ordered": ordered,
            "product": product,
            "category": [PRODUCTS[p] for p in product],
            "price": price,
            "quantity": quantity,
            "discount": discount,
            "total": (price * quantity - discount).round(2),
            "country": country,
            "currency": [MONEY[c] for c in country],
            "payment": pd.Series(rng.choice(["card", "invoice", "paypal", "cash"], n)).mask(
                rng.random(n) < 0.05
            ),
            "delivered": delivered,
            "returned": np.where(back, "yes", "no"),
            "returned_on": later.where(back),
            "remark": [f"{' '.join(w)} {i}" for i, w in enumerate(words)],
        }
    )


def broken(table: pd.DataFrame) -> dict[str, int]:
    """Rows of the published file that break each rule, in words of pandas."""
    cents = {
        name: (as_numbers(table[name]) * 100).round() for name in ("price", "discount", "total")
    }
    days = as_days(table, DATES)
    whole = cents["price"] * as_numbers(table["quantity"]) - cents["discount"]
    back = table["returned"] == "yes"
    wrong = {
        "total": cents["total"] != whole,
        "category": table["product"].map(PRODUCTS) != table["category"],
        "currency": table["country"].map(MONEY) != table["currency"],
        "delivered before the order": days["delivered"] < days["ordered"],
        "returned before the delivery": days["returned_on"] < days["delivered"],
        "day of return without a return": ~back & days["returned_on"].notna(),
        "return without a day": back & days["returned_on"].isna(),
    }
    return {name: int(rows.sum()) for name, rows in wrong.items()}


def walked(
    walk: Walk, rows: int, seed: int, epsilon: float, most_rows: int, evaluate: Sequence[str] = ()
) -> dict[str, Any]:
    """One walk, and what came of it."""
    real = shop(rows, seed)
    badly_written(real, walk.folder / "raw.csv", np.random.default_rng(seed), DATES)
    person = ("customer", most_rows) if most_rows > 1 else None
    replaced = REPLACED if person else {**REPLACED, "customer": {"kind": "id"}}
    drawn = walk.go(Review(DECLARED, replaced, RULES, person), rows, epsilon, evaluate)
    found: dict[str, Any] = {"seed": seed, "rows": len(drawn), "protected": person or "a row"}
    found["seconds"] = walk.seconds
    found["columns that the published table lacks"] = sorted({*real} - {*drawn})
    found["rows that break a rule"] = broken(drawn)
    found["names and ids of the input"] = leaked(real[list(SECRETS)], walk.folder / "synthetic.csv")
    for name in ("price", "total"):
        found[f"{name}, synthetic by real"] = by_real(real[name], as_numbers(drawn[name]))
    return found


def main() -> None:
    given = options(__doc__, rows=ROWS, most_rows=MOST_ROWS)
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory() as folder:
            found = walked(Walk(Path(folder)), given.rows, seed, given.epsilon, given.most_rows)
        print(json.dumps(found, indent=1), flush=True)


if __name__ == "__main__":
    main()
