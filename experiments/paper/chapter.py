"""What chapter V shows and prints, read from ``chapter.yaml``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

SHIRLEY, VINE, REAL = "COPULA-SHIRLEY", "PrivateVine", "real"
#: The largest set of the thesis may not be passed on; this one stands in for it.
LARGEST, STAND_IN = "texas", "diabetes130"
ATTACK = "membership_hamming"
HIGHEST_ATTACK = "membership_hamming_max"
STRONG_ATTACK = "membership_hamming_all"


class Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a generator or a data set is drawn, and what the thesis prints of it."""

    colour: str
    marker: str = "v"
    title: str = ""
    coefficients: tuple[float, ...] = ()
    minutes: dict[str, float] = {}


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A panel: its title, how far figures may be apart and count as alike, if more is better."""

    title: str
    margin: float
    upward: bool = False


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of the chapter: along the settings of an experiment, or over epsilon."""

    caption: str
    experiment: str = ""
    title: str = ""
    heading: str = ""
    ordered: bool = True
    datasets: tuple[str, ...] = ()


class Chapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of ``chapter.yaml``."""

    experiments: dict[str, str]
    generators: dict[str, Look]
    datasets: dict[str, Look]
    measures: dict[str, Measure]
    figures: dict[str, Figure]
    tables: dict[str, str]


_FILE = Path(__file__).with_name("chapter.yaml")
CHAPTER = msgspec.yaml.decode(_FILE.read_bytes(), type=Chapter)
#: Table 5.2: Spearman coefficients of rows drawn by each generator, and of the made set.
COEFFICIENTS = {n: look.coefficients for n, look in CHAPTER.generators.items() if look.coefficients}
REFERENCE = COEFFICIENTS.pop(REAL)


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Distinct names in the order of the chapter, unknown ones last."""
    places = {name: i for i, name in enumerate(known)}
    return sorted(dict.fromkeys(names), key=lambda name: places.get(name, len(places)))


def shown(generator: str) -> str:
    """A generator's name in figures and tables; ours is marked."""
    return f"{generator} (ours, not in the thesis)" if generator == VINE else generator


def title_of(dataset: str) -> str:
    """A data set's name in figures and tables."""
    return CHAPTER.datasets[dataset].title if dataset in CHAPTER.datasets else dataset
