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
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.evaluation.comparison import TASKS, Profile
from copula_shirley.evaluation.metrics.registry import known_metrics
from copula_shirley.experiments.datasets import list_datasets
from copula_shirley.experiments.own_tables import OwnTable
from copula_shirley.files.atomic import read_text
from copula_shirley.files.strict_yaml import LARGEST_YAML, load_yaml
from copula_shirley.files.texts import shown
from copula_shirley.privacy.ledger import check_epsilon

#: Whose presence is hidden: a person with all rows, or each row by itself.
Unit = Literal["person", "row"]
#: Whether a grid is run as it is, or with what it names under ``quick``.
Size = Literal["quick", "full"]
#: Grids that ship with the project, by name.
GRIDS = Path(__file__).parent / "grids"
#: Runs of a grid, before those that an entry leaves out; each takes at least a second.
MOST_RUNS = 1_000_000
#: What msgspec says, in plain words.
WORDS = {
    "Expected": "must be",
    "`int`": "a whole number",
    "`float`": "a number",
    "`str`": "a text",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "a mapping",
}
#: The metrics of a grid that names none.
DEFAULT_METRICS = (
    *("ks", "spearman_drift", "tvd1", "tvd2", "tvd3", "mcc_binary", "mcc_multiclass", "rmse"),
    *("membership_hamming", "membership_hamming_max", "membership_hamming_all", "validity"),
)
T = TypeVar("T")


class GridError(ShirleyError):
    """A grid's YAML has a key or a value that it cannot have."""


@dataclass(frozen=True)
class Run:
    """One generator on one fold of one data set.

    ``generator`` is its label in tables, ``use`` what it is: an installed generator,
    ``module:Class``, or a peer. In ``settings`` ``$binary``, ``$multiclass`` and ``$regression``
    stand for the data set's targets; ``variant`` says in words which of the varied settings these
    are. Without ``epsilon`` there is no noise. ``rows`` are chosen once for all generators.
    ``profile`` is the size of the classifiers that score. ``keep_table`` keeps the synthetic table
    beside the figures. ``own`` says where a table lies that is no data set of ours.
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
    own: OwnTable | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in a result file."""
        found = {**asdict(self), "settings": dict(self.settings), "metrics": list(self.metrics)}
        if self.own is None:
            del found["own"]
        return found

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Run:
        """Take back what ``to_dict`` gave."""
        values = {field.name: entry[field.name] for field in fields(cls) if field.name in entry}
        values |= {"settings": frozen(entry["settings"]), "metrics": tuple(entry["metrics"])}
        if own := entry.get("own"):
            values["own"] = OwnTable(**{**own, "missing": tuple(own["missing"])})
        return cls(**values)

    @cached_property
    def id(self) -> str:
        """A name that follows from the spec: readable, then a hash of all of it."""
        # a table of one's own is named after its content: where it lies does not matter
        spec = {name: value for name, value in self.to_dict().items() if name != "own"}
        text = json.dumps(spec, sort_keys=True)
        words = (self.dataset, self.generator, self.variant, f"e{epsilon_text(self.epsilon)}")
        where = "-".join([*filter(None, words), f"f{self.fold}", f"s{self.seed}"])
        readable = re.sub(r"[^a-z0-9.]+", "-", where.lower())[:80].strip("-.")
        return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def name(self) -> str:
        """Generator and variant."""
        return f"{self.generator} {self.variant}".strip()

    def __str__(self) -> str:
        words = (
            self.dataset,
            self.name,
            f"epsilon {epsilon_text(self.epsilon)}",
            f"fold {self.fold}",
        )
        return " · ".join([*words, *([f"seed {self.seed}"] if self.seed else [])])

    def rng(self, purpose: str) -> np.random.Generator:
        """A stream for one purpose.

        "rows" and "folds" depend on the data set alone, so that all generators get the same
        rows; "score" on data set, fold and seed; "fit" and "sample" on all that is fitted.
        """
        data = [self.dataset, self.folds, self.rows, self.unit]
        score = [*data, self.fold, self.seed]
        own = [*score, self.use, dict(self.settings), self.epsilon]
        axes = {"rows": data, "folds": data, "score": score}.get(purpose, own)
        key = json.dumps([purpose, axes], sort_keys=True)
        return np.random.default_rng(list(hashlib.sha256(key.encode()).digest()))


def epsilon_text(epsilon: float | None) -> str:
    """Epsilon as people write it; none, infinite or not a number is a fit without noise.

    Examples
    --------
    >>> epsilon_text(None), epsilon_text(0.1), epsilon_text(8.0)
    ('off', '0.1', '8')
    """
    return "off" if epsilon is None or not isfinite(epsilon) else f"{epsilon:g}"


def frozen(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Settings that can be hashed, sorted by name."""
    return tuple((name, _frozen(name, settings[name])) for name in sorted(settings))


def _frozen(name: str, value: Any) -> Any:
    what = f"settings {name!r} ({shown(value)})"
    if isinstance(value, list | tuple):
        return tuple(_frozen(name, each) for each in value)
    if isinstance(value, dict):
        raise GridError(f"{what} must be a number, a text or a list")
    if isinstance(value, str) and value.startswith("$") and value[1:] not in TASKS:
        names = ", ".join(f"${task}" for task in TASKS)
        raise GridError(f"{what} must be one of {names}, or not begin with $")
    if isinstance(value, float) and not isfinite(value):
        raise GridError(f"{what} must be a finite number")
    return value


# -- grids -----------------------------------------------------------------------

_Count = Annotated[int, Meta(ge=1)]
_Index = Annotated[int, Meta(ge=0)]
_Positive = Annotated[float, Meta(gt=0)]
_SOME = Meta(min_length=1)


@dataclass(frozen=True)
class Entry:
    """A generator of a grid."""

    use: Annotated[str, _SOME]
    settings: dict[str, Any] = field(default_factory=dict)
    vary: dict[str, Annotated[list[Any], _SOME]] = field(default_factory=dict)
    epsilons: Annotated[tuple[float | None, ...], _SOME] | None = None
    datasets: Annotated[tuple[str, ...], _SOME] | None = None

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
    datasets: Annotated[tuple[str, ...], _SOME]
    generators: Annotated[dict[str, Entry], _SOME]
    epsilons: Annotated[tuple[float | None, ...], _SOME] = (1.0,)
    folds: Annotated[int, Meta(ge=2)] = 5
    only_folds: Annotated[tuple[_Index, ...], _SOME] | None = None
    seeds: Annotated[tuple[_Index, ...], _SOME] = (0,)
    rows: _Count | None = None
    unit: Unit = "person"
    metrics: Annotated[tuple[str, ...], _SOME] = DEFAULT_METRICS
    profile: Profile = "light"
    threads: _Count = 1
    keep_table: bool = False
    minutes: _Positive = 60.0
    gigabytes: _Positive = 8.0
    #: Tables of one's own, by the names that ``datasets`` may use.
    tables: dict[str, OwnTable] = field(default_factory=dict)

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
        entry = dict(_mapping("a grid", entry))
        quick = _mapping("quick", entry.pop("quick", None) or {})
        if size == "quick":
            entry |= quick
        elif quick:
            cls.from_dict({**entry, **quick}, name)  # what is wrong with it shows now
        entries = {}
        for label, about in _mapping("generators", entry.get("generators")).items():
            what = f"generator {label!r}"
            whole = {"use": label, **_mapping(what, about or {})}
            entries[str(label)] = converted(Entry, whole, f"{what}: ")
        entry["generators"] = entries
        grid = converted(cls, {"name": name, "title": name, **entry}, "", "quick")
        grid._check()
        return grid

    def _check(self) -> None:
        entries = self.generators.values()
        sets = [*self.datasets, *(name for entry in entries for name in entry.datasets or ())]
        for key, values, known in (
            ("datasets", sets, [*list_datasets(), *self.tables]),
            ("metrics", self.metrics, known_metrics()),
        ):
            for value in values:
                if value not in known:
                    raise GridError(f"{key} ({value!r}) must be among {', '.join(sorted(known))}")
        for label, entry in self.generators.items():
            if "epsilon" in {*entry.settings, *entry.vary}:
                raise GridError(
                    f"generator {label!r}: epsilon is no setting here; name it in epsilons"
                )
        if self.rows is not None and self.rows < 2 * self.folds:
            raise GridError(f"rows ({self.rows}) must be a whole number, {2 * self.folds} or more")
        for fold in self.only_folds or ():
            if fold >= self.folds:
                raise GridError(f"only_folds ({fold}) must be below folds ({self.folds})")
        variants = sum(math.prod(map(len, entry.vary.values())) for entry in entries)
        folds = self.folds if self.only_folds is None else len(self.only_folds)
        lists = (self.seeds, self.datasets, self._all_epsilons())
        runs = folds * variants * math.prod(map(len, lists))
        if runs > MOST_RUNS:
            raise GridError(
                f"runs ({runs:,}: folds, seeds, datasets, epsilons and settings that vary, "
                f"multiplied) must be at most {MOST_RUNS:,}"
            )

    def runs(self) -> list[Run]:
        """Every run, fold by fold, so that an early look shows all generators.

        A generator without epsilon of its own, such as ``real``, stands once: its entry says
        ``epsilons: [off]``.
        """
        alike = ("folds", "rows", "unit", "metrics", "profile", "threads", "keep_table")
        shared = {name: getattr(self, name) for name in alike}
        folds = range(self.folds) if self.only_folds is None else self.only_folds
        axes = product(
            self.seeds, folds, self.datasets, self._all_epsilons(), self.generators.items()
        )
        places = {dataset: self.tables.get(dataset) for dataset in self.datasets}
        names = {label: own.name if own else label for label, own in places.items()}
        found = [
            Run(
                names[dataset],
                label,
                entry.use,
                settings,
                variant,
                epsilon,
                fold,
                seed=seed,
                own=places[dataset],
                **shared,
            )
            for seed, fold, dataset, epsilon, (label, entry) in axes
            if epsilon in (entry.epsilons or self.epsilons)
            and dataset in (entry.datasets or self.datasets)
            for variant, settings in entry.variants()
        ]
        return list(dict.fromkeys(found))

    def _all_epsilons(self) -> list[float | None]:
        own = (epsilon for entry in self.generators.values() for epsilon in entry.epsilons or ())
        return list(dict.fromkeys([*self.epsilons, *own]))


def _mapping(what: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        said = "nothing" if value is None else shown(value)
        raise GridError(f"{what} ({said}) must be a mapping of names")
    return value


def converted(
    kind: type[T],
    entry: dict[str, Any],
    what: str,
    *also: str,
    kind_of_error: type[ShirleyError] = GridError,
) -> T:
    """An object from what YAML says of it; an error names the key and its value."""
    hints = get_type_hints(kind)
    for key, value in entry.items():
        if key not in (*hints, *also):
            known = ", ".join((*hints, *also))
            raise kind_of_error(f"{what}key ({shown(key)}) must be one of {known}")
        allowed = get_args(hints.get(key))
        if get_origin(hints.get(key)) is Literal and value not in allowed:
            raise kind_of_error(f"{what}{key} ({shown(value)}) must be {' or '.join(allowed)}")
    if isinstance(entry.get("epsilons"), list):
        entry = {**entry, "epsilons": list(map(_epsilon, entry["epsilons"]))}
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$.")
        key = path.partition("[")[0].rstrip("`")
        for word, plain in WORDS.items():
            said = said.replace(word, plain)
        raise kind_of_error(f"{what}{key} ({shown(entry.get(key))}) {said}") from None


def _epsilon(value: Any) -> float | None:
    """An epsilon of YAML, or None for no noise, for which the thesis writes epsilon = 0."""
    if value is None or value is False or value in ("off", "none"):
        return None
    try:
        check_epsilon(value)
    except SettingError as error:
        raise GridError(f"epsilons: {error}, or 'off' for no noise") from None
    return float(value)


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
