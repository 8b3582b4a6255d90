"""The same work on many items by several processes, with the results in order."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from copula_shirley.errors import SettingError

S = TypeVar("S")
T = TypeVar("T")
#: Processes at the most.
MOST_JOBS = 256
#: What a process does, which is sent to it once.
_work: list[Callable[[Any], Any]] = []


def in_order(work: Callable[[S], T], items: Iterable[S], jobs: int) -> Iterator[T]:
    """What work gives of each item; in other processes if there are to be several.

    A few results wait at the most, so that memory is bounded. The first item is done here: what
    the work remembers of it goes along. Warnings are raised here, too.
    """
    check_jobs(jobs)
    ahead = iter(items)
    for item in islice(ahead, 1 if jobs > 1 else None):
        yield work(item)
    left = list(islice(ahead, jobs + 1))
    if not left:
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (work,)) as pool:
        try:
            waiting = deque(pool.submit(_done, item) for item in left)
            while waiting:
                found, told = waiting.popleft().result()
                waiting.extend(pool.submit(_done, item) for item in islice(ahead, 1))
                for warning in told:
                    warnings.warn(warning, stacklevel=2)
                yield found
        except BrokenProcessPool:
            raise SettingError(
                f"jobs ({jobs}): a process ended, perhaps for lack of memory; try fewer"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def check_jobs(jobs: int) -> None:
    """Refuse what is no number of processes."""
    if type(jobs) is not int or not 1 <= jobs <= MOST_JOBS:
        raise SettingError(f"jobs ({jobs!r}) must be a whole number from 1 to {MOST_JOBS}")


def _begin(work: Callable[[Any], Any]) -> None:
    _work[:] = [work]


def _done(item: Any) -> tuple[Any, list[Warning]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = _work[0](item)
    return found, [warning.message for warning in told if isinstance(warning.message, Warning)]
