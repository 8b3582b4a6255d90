"""Runs as frozen specs, and the grids of YAML that they come from.

A run is one generator on one fold of one data set. Everything that its figures depend on is in
its spec, and nothing else: two runs with the same spec give the same figures, a run keeps its
name when the grid around it changes, and seeds come from the axes' own names (see ``Run.rng``),
so that all generators get the same folds and nobody's numbers change when another one joins.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.evaluation.comparison import TASKS, Profile
from copula_shirley.evaluation.metrics.registry import known_metrics
from copula_shirley.experiments.datasets import list_datasets
from copula_shirley.files.atomic import read_text
from copula_shirley.files.strict_yaml import LARGEST_YAML, load_yaml
from copula_shirley.privacy.ledger import check_epsilon

#: Whose presence is hidden: a person with all rows, or each row by itself.
Unit = Literal["person", "row"]
#: Whether a grid is run as it is, or with what it names under ``quick``.
Size = Literal["quick", "full"]
#: Grids that ship with the project, by name.
GRIDS = Path(__file__).parent / "grids"
#: What YAML may say for a fit without noise; the thesis writes epsilon = 0 for it.
OFF = ("off", "none", False, None)
#: Runs of a grid, before those that an entry leaves out; each takes at least a second.
MOST_RUNS = 1_000_000
#: The metrics of a grid that names none.
DEFAULT_METRICS = (
    "ks",
    "spearman_drift",
    "tvd1",
    "tvd2",
    "tvd3",
    "mcc_binary",
    "mcc_multiclass",
    "rmse",
    "membership_hamming",
    "membership_hamming_max",
    "membership_hamming_all",
    "validity",
)


class GridError(ShirleyError):
    """A grid's YAML has a key or a value that it cannot have."""


@dataclass(frozen=True)
class Run:
    """One generator on one fold of one data set.

    Parameters
    ----------
    dataset : str
    generator : str
        Its label in tables.
    use : str
        An installed generator, ``module:Class``, or a peer with an environment of its own.
    settings : tuple of (name, value)
        ``$binary``, ``$multiclass`` and ``$regression`` stand for the data set's targets.
    variant : str
        Which of the varied settings this is, in words.
    epsilon : float or None
        None is a fit without noise.
    fold, folds : int
    seed : int
    rows : int or None
        Only so many rows of the data set, chosen once for all generators.
    unit : {"person", "row"}
    metrics : tuple of str
    profile : {"light", "thesis"}
        Size of the classifiers that score.
    threads : int
    keep_table : bool
        Whether the synthetic table is kept beside the figures.
    """

    dataset: str
    generator: str
    use: str
    settings: tuple[tuple[str, Any], ...] = ()
    variant: str = ""
    epsilon: float | None = 1.0
    fold: int = 0
    folds: int = 5
    seed: int = 0
    rows: int | None = None
    unit: Unit = "person"
    metrics: tuple[str, ...] = DEFAULT_METRICS
    profile: Profile = "light"
    threads: int = 1
    keep_table: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in a result file."""
        return {**asdict(self), "settings": dict(self.settings), "metrics": list(self.metrics)}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Run:
        """Take back what ``to_dict`` gave."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in entry.items() if name in known}
        values |= {"settings": frozen(entry["settings"]), "metrics": tuple(entry["metrics"])}
        return cls(**values)

    @cached_property
    def id(self) -> str:
        """A name that follows from the spec: readable, then a hash of all of it."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        words = (self.dataset, self.generator, self.variant, f"e{self.epsilon_text}")
        where = "-".join([*filter(None, words), f"f{self.fold}", f"s{self.seed}"])
        readable = re.sub(r"[^a-z0-9.]+", "-", where.lower())[:80].strip("-.")
        return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def epsilon_text(self) -> str:
        """Epsilon as people write it."""
        return "off" if self.epsilon is None else f"{self.epsilon:g}"

    def __str__(self) -> str:
        name = f"{self.generator} {self.variant}".strip()
        return f"{self.dataset} · {name} · epsilon {self.epsilon_text} · fold {self.fold}" + (
            f" · seed {self.seed}" if self.seed else ""
        )

    def rng(self, purpose: str) -> np.random.Generator:
        """A stream for one purpose.

        "rows" and "folds" depend on the data set alone, so that all generators get the same
        rows; "score" on data set, fold and seed; "fit" and "sample" on all that is fitted.
        """
        data: list[Any] = [self.dataset, self.folds, self.rows, self.unit]
        axes: dict[str, list[Any]] = {"rows": data, "folds": data}
        score = [*data, self.fold, self.seed]
        axes["score"] = score
        own = [*score, self.use, dict(self.settings), self.epsilon]
        key = json.dumps([purpose, axes.get(purpose, own)], sort_keys=True)
        return np.random.default_rng(list(hashlib.sha256(key.encode()).digest()))


def frozen(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Settings that can be hashed, in the order of their names."""
    return tuple((name, _frozen(settings[name])) for name in sorted(settings))


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        raise GridError(f"setting value ({value!r}) must be a number, a text or a list")
    if isinstance(value, str) and value.startswith("$") and value[1:] not in TASKS:
        names = ", ".join(f"${task}" for task in TASKS)
        raise GridError(f"setting value ({value!r}) must be one of {names}, or not begin with $")
    if isinstance(value, float) and not isfinite(value):
        raise GridError(f"setting value ({value!r}) must be a finite number")
    return value


# -- grids -----------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A generator of a grid."""

    label: str
    use: str
    settings: Mapping[str, Any]
    vary: Mapping[str, Sequence[Any]]
    epsilons: tuple[float | None, ...] | None
    datasets: tuple[str, ...] | None

    def variants(self) -> Iterator[tuple[str, tuple[tuple[str, Any], ...]]]:
        """Each combination of the varied settings, in words and in full."""
        for values in product(*self.vary.values()):
            chosen = dict(zip(self.vary, values, strict=True))
            words = ", ".join(f"{name} {_word(value)}" for name, value in chosen.items())
            yield words, frozen({**self.settings, **chosen})


@dataclass(frozen=True)
class Grid:
    """What is to be run: every generator on every data set, epsilon, fold and seed.

    Examples
    --------
    >>> text = '''
    ... datasets: [compas]
    ... epsilons: [off, 1]
    ... folds: 2
    ... generators: {PrivateVine: {use: private-vine, settings: {target: $binary}}}
    ... '''
    >>> grid = Grid.from_dict(load_yaml(text), "mine")
    >>> [str(run) for run in grid.runs()][:2]
    ['compas · PrivateVine · epsilon off · fold 0', 'compas · PrivateVine · epsilon 1 · fold 0']
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    generators: tuple[Entry, ...]
    epsilons: tuple[float | None, ...] = (1.0,)
    folds: int = 5
    only_folds: tuple[int, ...] | None = None
    seeds: tuple[int, ...] = (0,)
    rows: int | None = None
    unit: Unit = "person"
    metrics: tuple[str, ...] = DEFAULT_METRICS
    profile: Profile = "light"
    threads: int = 1
    keep_table: bool = False
    minutes: float = 60.0
    gigabytes: float = 8.0

    @classmethod
    def read(cls, config: str | Path, size: Size = "full") -> Grid:
        """A grid from a YAML file, or by the name of one that ships with the project."""
        file = Path(config)
        if file.suffix not in (".yaml", ".yml"):
            file = GRIDS / f"{config}.yaml"
            if not file.is_file():
                known = ", ".join(sorted(path.stem for path in GRIDS.glob("*.yaml")))
                raise GridError(f"config ({str(config)!r}) must be a .yaml file or one of {known}")
        text = read_text(file, LARGEST_YAML, GridError, "config")
        try:
            return cls.from_dict(load_yaml(text), file.stem, size)
        except ShirleyError as error:
            raise GridError(f"config {str(config)!r}: {error}") from None

    @classmethod
    def from_dict(cls, entry: Any, name: str, size: Size = "full") -> Grid:
        """A grid from the content of its YAML; what stands under ``quick`` is for that size."""
        if not isinstance(entry, dict):
            raise GridError(f"a grid ({type(entry).__name__}) must be a mapping of settings")
        quick = _mapping(entry.get("quick") or {}, "quick")
        entry = {key: value for key, value in entry.items() if key != "quick"}
        if size == "quick":
            entry |= quick
        elif quick:
            cls.from_dict({**entry, **quick}, name)  # what is wrong with it shows now
        known = [field.name for field in fields(cls)]
        for key in entry:
            if key not in known:
                raise GridError(f"key ({key!r}) must be one of {', '.join([*known, 'quick'])}")
        values = {"name": name, "title": name, **entry}
        for key in ("datasets", "generators"):
            if not values.get(key):
                raise GridError(f"{key} must name at least one")
        values["datasets"] = _datasets(values["datasets"])
        values["generators"] = tuple(
            _entry(label, options) for label, options in _mapping(values["generators"]).items()
        )
        if "epsilons" in values:
            values["epsilons"] = _epsilons(values["epsilons"])
        if "metrics" in values:
            values["metrics"] = _metrics(values["metrics"])
        for key in ("seeds", "only_folds"):
            if values.get(key) is not None:
                values[key] = tuple(_whole(f"{key}", value, 0) for value in _list(key, values[key]))
        grid = cls(**values)
        grid._check()
        return grid

    def _check(self) -> None:
        _whole("folds", self.folds, 2)
        _whole("threads", self.threads, 1)
        if self.rows is not None:
            _whole("rows", self.rows, 2 * self.folds)
        for fold in self.only_folds or ():
            if fold >= self.folds:
                raise GridError(f"only_folds ({fold}) must be below folds ({self.folds})")
        folds = self.folds if self.only_folds is None else len(self.only_folds)
        lists = (self.seeds, self.datasets, self._all_epsilons())
        variants = sum(math.prod(map(len, entry.vary.values())) for entry in self.generators)
        runs = folds * variants * math.prod(map(len, lists))
        if runs > MOST_RUNS:
            raise GridError(
                f"runs ({runs:,}: folds, seeds, datasets, epsilons and settings that vary, "
                f"multiplied) must be at most {MOST_RUNS:,}"
            )
        for key, allowed in (("unit", get_args(Unit)), ("profile", get_args(Profile))):
            if getattr(self, key) not in allowed:
                raise GridError(f"{key} ({getattr(self, key)!r}) must be {' or '.join(allowed)}")
        for key in ("minutes", "gigabytes"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise GridError(f"{key} ({value!r}) must be a number above 0")

    def runs(self) -> list[Run]:
        """Every run, fold by fold, so that an early look shows all generators.

        A generator without epsilon of its own, such as ``real``, stands once: its entry says
        ``epsilons: [off]``.
        """
        found: dict[Run, None] = {}
        folds = range(self.folds) if self.only_folds is None else self.only_folds
        for seed, fold, dataset in product(self.seeds, folds, self.datasets):
            for epsilon in self._all_epsilons():
                for entry in self.generators:
                    if epsilon not in (entry.epsilons or self.epsilons):
                        continue
                    if entry.datasets is not None and dataset not in entry.datasets:
                        continue
                    for variant, settings in entry.variants():
                        run = Run(
                            dataset=dataset,
                            generator=entry.label,
                            use=entry.use,
                            settings=settings,
                            variant=variant,
                            epsilon=epsilon,
                            fold=fold,
                            folds=self.folds,
                            seed=seed,
                            rows=self.rows,
                            unit=self.unit,
                            metrics=self.metrics,
                            profile=self.profile,
                            threads=self.threads,
                            keep_table=self.keep_table,
                        )
                        found[run] = None
        return list(found)

    def _all_epsilons(self) -> list[float | None]:
        own = (epsilon for entry in self.generators for epsilon in entry.epsilons or ())
        return list(dict.fromkeys([*self.epsilons, *own]))


def _entry(label: Any, options: Any) -> Entry:
    if options is None:
        options = {}
    known = ("use", "settings", "vary", "epsilons", "datasets")
    for key in _mapping(options, f"generator {label!r}"):
        if key not in known:
            raise GridError(f"generator {label!r}: key ({key!r}) must be one of {', '.join(known)}")
    vary = _mapping(options.get("vary") or {}, f"generator {label!r}: vary")
    for name, values in vary.items():
        _list(f"generator {label!r}: vary {name}", values)
    settings = _mapping(options.get("settings") or {}, f"generator {label!r}: settings")
    if "epsilon" in settings or "epsilon" in vary:
        raise GridError(f"generator {label!r}: epsilon is no setting here; name it in epsilons")
    use = options.get("use", label)
    if not isinstance(use, str) or not use:
        raise GridError(f"generator {label!r}: use ({use!r}) must be the name of a generator")
    own, only = options.get("epsilons"), options.get("datasets")
    return Entry(
        label=str(label),
        use=use,
        settings=dict(frozen(settings)),
        vary={name: _frozen(values) for name, values in vary.items()},
        epsilons=None if own is None else _epsilons(own),
        datasets=None if only is None else _datasets(only),
    )


def _mapping(value: Any, what: str = "generators") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GridError(f"{what} ({value!r}) must be a mapping of names")
    return value


def _list(what: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise GridError(f"{what} ({value!r}) must be a list with at least one value")
    return value


def _datasets(value: Any) -> tuple[str, ...]:
    known = list_datasets()
    for name in _list("datasets", value):
        if name not in known:
            raise GridError(f"datasets ({name!r}) must be among {', '.join(sorted(known))}")
    return tuple(value)


def _epsilons(value: Any) -> tuple[float | None, ...]:
    found: list[float | None] = []
    for epsilon in _list("epsilons", value):
        if any(epsilon is off for off in OFF) or epsilon in ("off", "none"):
            found.append(None)
            continue
        try:
            check_epsilon(epsilon)
        except SettingError as error:
            raise GridError(f"epsilons: {error}; 'off' is without noise") from None
        found.append(float(epsilon))
    return tuple(found)


def _metrics(value: Any) -> tuple[str, ...]:
    known = known_metrics()
    for name in _list("metrics", value):
        if name not in known:
            raise GridError(f"metrics ({name!r}) must be among {', '.join(known)}")
    return tuple(value)


def _whole(what: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GridError(f"{what} ({value!r}) must be a whole number, {least} or more")
    return value


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
