"""RAPPOR on a person's device (Erlingsson, Pihur and Korolova 2014). Standard library only.

A text sets ``hashes`` bits of a Bloom filter, by hash functions of the person's cohort. Each bit is
turned with the chance f/2, once for good: the *permanent* response B', kept on the device. What is
reported are bits drawn from B', anew each time: 1 with the chance q where B' is 1, else p.

Privacy. Two texts differ in 2 ``hashes`` bits at the most. B' costs eps_inf = 2 h ln((1 - f/2) /
(f/2)), and all reports drawn from it together cost no more: they are post-processing of B'. One
report alone costs eps_1 = h ln(q* (1 - p*) / (p* (1 - q*))) with p*, q* the chances of a reported 1
where the true bit is 0 and 1; two reports share B', so their cost is eps_inf and not 2 eps_1.

Values that change. A B' for each value would show *that* the value changed. So there is one B' for
each period (a month, say), drawn anew whatever the value, of one value that stands for it. Each
period costs eps_inf; after ``most_periods`` the device is silent.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from copula_shirley.errors import ReportError
from copula_shirley.local.coins import ONE, check_whole, coin, epsilon_of
from copula_shirley.local.ledger_file import held, save

FORMAT = "shirley rappor memo 1"


@dataclass(frozen=True)
class Scheme:
    """The public parameters; f/2, p and q are whole numbers of 2^32, nearest to what is asked.

    Examples
    --------
    >>> known = Scheme()
    >>> round(known.eps_one, 3), round(known.eps_inf, 3)
    (1.074, 4.394)
    """

    bits: int = 128
    hashes: int = 2
    cohorts: int = 16
    f: float = 0.5
    p: float = 0.5
    q: float = 0.75

    def __post_init__(self) -> None:
        check_whole("bits", self.bits, 2, 2**16)
        check_whole("hashes", self.hashes, 1, 16)
        check_whole("cohorts", self.cohorts, 1, 2**16)
        for name, least, most in (("f", 0, 1), ("p", 0, 1), ("q", 0, 1)):
            value = getattr(self, name)
            known = isinstance(value, int | float) and not isinstance(value, bool)
            if not known or not least <= value <= most:
                raise ReportError(f"{name} ({value!r}) must be from {least} to {most}")
        if self.f == 1 or self.p == self.q:
            raise ReportError(
                f"f ({self.f!r}) must be below 1, and p ({self.p!r}) other than q ({self.q!r}): "
                "else reports tell nothing"
            )

    @property
    def turned(self) -> int:
        """The chance out of 2^32 that a bit of B' is not the true one."""
        return round(self.f * ONE / 2)

    @property
    def ones(self) -> tuple[int, int]:
        """The chances out of 2^32 of a reported 1 where B' is 0, and where it is 1."""
        return round(self.p * ONE), round(self.q * ONE)

    @property
    def stars(self) -> tuple[Fraction, Fraction]:
        """p* and q*: the chances of a reported 1 where the true bit is 0, and where it is 1."""
        turned, (p, q) = Fraction(self.turned, ONE), (Fraction(c, ONE) for c in self.ones)
        return p + turned * (q - p), q - turned * (q - p)

    @property
    def eps_inf(self) -> float:
        """What all reports of one period cost together; rounded up."""
        if self.turned == 0:
            return math.inf
        return 2 * self.hashes * epsilon_of(Fraction(ONE - self.turned, self.turned))

    @property
    def eps_one(self) -> float:
        """What one report costs alone; rounded up."""
        p, q = self.stars
        if min(p, q, 1 - p, 1 - q) <= 0:
            return math.inf
        ratio = q * (1 - p) / (p * (1 - q))
        return self.hashes * epsilon_of(max(ratio, 1 / ratio))

    def places(self, text: str, cohort: int) -> list[int]:
        """The bits that a text sets, by the hash functions of a cohort."""
        digest = hashlib.blake2b(f"{cohort}|{text}".encode(), digest_size=4 * self.hashes).digest()
        parts = (digest[4 * i : 4 * i + 4] for i in range(self.hashes))
        return sorted({int.from_bytes(part, "little") % self.bits for part in parts})

    def permanent(self, text: str, cohort: int) -> list[int]:
        """B' of a text: places of its ones."""
        true = set(self.places(text, cohort))
        return [i for i in range(self.bits) if (i in true) != coin(self.turned)]

    def instantaneous(self, permanent: list[int]) -> list[int]:
        """Places of the ones of a report drawn from B'."""
        kept, (p, q) = set(permanent), self.ones
        return [i for i in range(self.bits) if coin(q if i in kept else p)]


class Memo:
    """The device's ledger of permanent responses.

    Parameters
    ----------
    path : path of the ledger, made by the first report
    scheme : Scheme
    most_periods : int
        Periods about which it says something; each costs ``scheme.eps_inf``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     memo = Memo(Path(folder) / "memo.json", Scheme(f=0.25), most_periods=1)
    ...     said = memo.report("2026-11", "Lyon")
    ...     round(memo.spent, 3)
    ...     memo.report("2026-12", "Lyon")
    Traceback (most recent call last):
        ...
    copula_shirley.errors.ReportError: period ('2026-12') must be one of 2026-11: this device has \
said all that most_periods (1) allows
    """

    def __init__(self, path: str | Path, scheme: Scheme, most_periods: int = 1) -> None:
        self.path, self.scheme = Path(path), scheme
        self.most_periods = check_whole("most_periods", most_periods, 1, 10**6)

    def report(self, period: str, text: str) -> dict[str, Any]:
        """Cohort and bits of one report about a period; the first text of a period stands for it.

        The permanent response is on the disk before anything is said of it.
        """
        empty = {"scheme": asdict(self.scheme), "cohort": 0, "periods": {}, "said": {}}
        with held(self.path, FORMAT, empty) as ledger:
            periods, said = ledger["periods"], ledger["said"]
            if ledger["scheme"] != asdict(self.scheme):
                raise ReportError(f"ledger ({str(self.path)!r}) is of another scheme")
            if period not in periods:
                if len(periods) >= self.most_periods:
                    raise ReportError(
                        f"period ({period!r}) must be one of {', '.join(periods)}: this device has "
                        f"said all that most_periods ({self.most_periods}) allows"
                    )
                if not periods:
                    ledger["cohort"] = secrets.randbelow(self.scheme.cohorts)
                periods[period] = self.scheme.permanent(text, ledger["cohort"])
            said[period] = said.get(period, 0) + 1
            save(self.path, ledger)
            return {
                "cohort": ledger["cohort"],
                "ones": self.scheme.instantaneous(periods[period]),
            }

    @property
    def spent(self) -> float:
        """Epsilon of all that was said: one report of a period costs less than several."""
        with held(self.path, FORMAT, {"said": {}}) as ledger:
            once, ever = self.scheme.eps_one, self.scheme.eps_inf
            return math.fsum(min(once, ever) if n == 1 else ever for n in ledger["said"].values())
