"""Whoever can be scored: generators of this project, anybody's class, peers elsewhere.

A class from outside needs ``fit(table)`` and ``sample(n)``, no more. If its constructor has
parameters named ``epsilon`` or ``random_state`` (or ``seed``) it is given them, and a ``fit`` that
takes a ``schema`` gets the declared domain too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from copula_shirley import registry as classes
from copula_shirley.errors import PrivacyWarning, SettingError
from copula_shirley.experiments.folds import Fold
from copula_shirley.experiments.peers import Peer, find_peer, known_peers
from copula_shirley.experiments.run.stage import fit_and_sample, seed_globals
from copula_shirley.experiments.run.synthesis import Skip, Synthesis, by_its_word, resolved
from copula_shirley.experiments.specs import Run
from copula_shirley.generator import Generator, generators
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.registry import find_class, takes
from copula_shirley.schema.schema import Schema
from copula_shirley.thesis.generator import CopulaShirley

#: One-hot columns beyond which a vine is not tried: its pairs grow with their square.
MOST_ONE_HOT = 150


def find_candidate(use: str) -> Callable[..., Any] | Peer:
    """What has a name: an installed generator, ``module:Class``, a peer, an ``adapter.py``."""
    if use in generators() or (":" in use and not use.endswith(".py")):
        return find_class(use)
    if use in known_peers() or use.endswith(".py"):
        return find_peer(use)
    names = ", ".join(sorted({*generators(), *known_peers()}))
    raise SettingError(f"generator ({use!r}) must be module:Class, an adapter.py or one of {names}")


def check_settings(run: Run) -> None:
    """Refuse a run whose generator cannot be had or lacks a setting, before anything runs."""
    if not isinstance(find_candidate(run.use), Peer):
        classes.check_settings(run.use, dict(run.settings))


def code_of(use: str) -> str:
    """A short hash of the files behind a generator from outside; nothing for ours.

    Results are made again when it changes, as it does while somebody works on a generator.
    """
    files: list[Path] = []
    if use.endswith(".py"):
        files = [Path(use).with_suffix(ending) for ending in (".py", ".txt", ".yaml")]
    elif ":" in use:
        with suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(use.partition(":")[0])
            files = [Path(spec.origin)] if spec is not None and spec.origin else []
    content = b"".join(file.read_bytes() for file in files if file.is_file())
    return hashlib.sha256(content).hexdigest()[:16] if content else ""


def synthesize(fold: Fold, run: Run) -> Synthesis:
    """Fit and sample, timed apart."""
    make = find_candidate(run.use)
    if isinstance(make, Peer):
        return make.synthesize(fold, run)
    seed_globals(int(run.rng("globals").integers(2**32)))  # else those of the fork server
    generator = _made(make, fold, run)
    train = fold.train.copy()  # whoever changes it must not change the scores
    if not isinstance(generator, Generator) and fold.schema.person is not None:
        train = train.drop(columns=fold.schema.person)  # whose row it is is no attribute
    arguments = [fold.schema] if takes(generator.fit, "schema") else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the result says it
        table, seconds, memory = fit_and_sample(generator, fold.rows, train, *arguments)
    ledger = getattr(generator, "ledger_", None)
    if isinstance(ledger, Ledger) and type(generator).__module__.startswith("copula_shirley."):
        privacy = of_ledger(ledger)
    else:  # a ledger that somebody else wrote proves nothing to us
        privacy = by_its_word(run, takes(make, "epsilon"))
    return Synthesis(table, seconds, memory, privacy)


def _made(make: Callable[..., Any], fold: Fold, run: Run) -> Any:
    """A generator with the settings of a run, and what else its constructor asks for."""
    settings = resolved(run, fold)
    if make is CopulaShirley:
        check_one_hot(settings, fold.schema)
    offered: dict[str, Any] = {"epsilon": run.epsilon, "threads": run.threads}
    if not settings.keys() & {"random_state", "seed"}:
        name = "random_state" if takes(make, "random_state") else "seed"
        offered[name] = int(run.rng("fit").integers(2**31))
    return make(**{name: value for name, value in offered.items() if takes(make, name)} | settings)


def check_one_hot(settings: Mapping[str, Any], schema: Schema) -> None:
    """Leave out a vine over more one-hot columns than can be fitted."""
    if settings.get("encoder") != "onehot":
        return
    columns = sum(len(c.categories) or 1 for c in schema)
    if columns > MOST_ONE_HOT:
        raise Skip(
            f"one-hot codes make {columns} columns, {columns * (columns - 1) // 2:,} pairs for the "
            f"first tree alone; at most {MOST_ONE_HOT} columns are tried"
        )


def of_ledger(ledger: Ledger) -> dict[str, Any]:
    """What a ledger says, in words."""
    head, spends = ledger.spends_table()
    return {
        "claimed": str(ledger.claimed or "nothing"),
        "proved": str(ledger.proved or "nothing"),
        "summary": [list(line) for line in ledger.summary()],
        "spends": [list(head), *map(list, spends)],
        "unprotected": [list(line) for line in ledger.grouped_unprotected()],
    }
