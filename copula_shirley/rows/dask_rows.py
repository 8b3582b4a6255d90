"""Rows on a Dask cluster: the partitions of a Dask frame, or files that all workers can read.

Each piece is one task. It gives back what its work made, sums in whole numbers, or an error as a
value: an error that a task raises is written to the worker's log with the task's arguments, which
may be rows. A worker that dies takes its tasks with it; Dask gives them to another one, and a piece
that is done twice counts once (``rows.pieces.once_each``). Workers need this project installed.
What they spill to their disks is as private as the rows.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.lazy import needed
from copula_shirley.rows.files import Pool
from copula_shirley.rows.gathering import BUCKET
from copula_shirley.rows.pieces import Parts, Piece, T, Work, not_failed, tried

#: Seconds to wait for a scheduler.
PATIENCE = 20


@dataclass(frozen=True)
class Partition:
    """A part of a Dask frame."""

    #: What Dask computes it from.
    delayed: Any

    def frames(self) -> Iterator[pd.DataFrame]:
        yield self.delayed.compute(scheduler="synchronous")


def partitions_of(frame: Any) -> Parts:
    """The rows of a Dask frame, on the cluster of its current client; without one, here."""
    pieces = [Partition(one) for one in frame.to_delayed()]
    names = [str(name) for name in frame.columns]
    client = _current_client()
    workers = Pool(1) if client is None else DaskWorkers(client)
    return Parts(names, pieces, workers, BUCKET * len(pieces))


class DaskWorkers:
    """The workers of a Dask cluster; see ``rows.pieces.Workers``.

    ``cluster`` is the address of its scheduler, or a client, which stays open.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster, self._client = cluster, None
        self.may_keep = _share_files(self.client)

    @property
    def client(self) -> Any:
        """A client; one of ours is opened again after ``close``."""
        if not isinstance(self._cluster, str):
            return self._cluster
        if self._client is None:
            distributed = needed("distributed", "dask", "engine ('dask')")
            try:
                self._client = distributed.Client(
                    self._cluster, timeout=PATIENCE, set_as_default=False
                )
            except (OSError, TimeoutError, ValueError) as error:
                raise SettingError(
                    f"cluster ({self._cluster!r}) must be the address of a Dask scheduler, such as "
                    f"tcp://127.0.0.1:8786: {type(error).__name__}"
                ) from None
        return self._client

    def each(self, pieces: Sequence[Piece], work: Work[T]) -> Iterator[tuple[int, T]]:
        distributed: Any = needed("distributed", "dask", "engine ('dask')")
        client, run = self.client, secrets.token_hex(8)
        # made by a task, so that it is made again if its worker dies
        shared = client.submit(_itself, work, key=f"shirley-work-{run}")
        futures = {
            _submitted(client, shared, number, piece, f"shirley-{run}-{number}"): number
            for number, piece in enumerate(pieces)
        }
        for future in distributed.as_completed(list(futures), loop=client.loop):
            number = futures.pop(future)
            try:
                found = future.result()
            except Exception as error:  # of Dask, or of the frame; its words may quote a value
                failed = type(error).__name__
            else:
                yield number, not_failed(found)
                continue
            raise SchemaError(
                f"piece {number + 1} of the rows cannot be had from the cluster ({failed}); its "
                "logs say more, and may quote values"
            )

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _submitted(client: Any, shared: Any, number: int, piece: Piece, key: str) -> Any:
    """The task of a piece."""
    if not isinstance(piece, Partition):
        return client.submit(_of_piece, shared, number, piece, key=key)
    delayed: Any = needed("dask", "dask", "engine ('dask')").delayed
    return client.compute(
        delayed(_of_frame, pure=False)(shared, number, piece.delayed, dask_key_name=key)
    )


def _itself(work: Work[T]) -> Work[T]:
    return work


def _of_piece(work: Work[T], number: int, piece: Piece) -> Any:
    return tried(work, number, piece.frames())


def _of_frame(work: Work[T], number: int, frame: pd.DataFrame) -> Any:
    return tried(work, number, [frame])


def _current_client() -> Any:
    """The client that Dask would use; None if it would use threads of this process."""
    try:
        return needed("distributed", "dask", "engine ('dask')").get_client()
    except ValueError:  # there is none
        return None


def _share_files(client: Any) -> bool:
    """Whether all workers can read a private file of this machine."""
    secret = secrets.token_hex(16)
    with tempfile.NamedTemporaryFile("w", prefix="shirley-") as file:  # mode 0600
        file.write(secret)
        file.flush()
        found = client.run(_content, file.name)
    return bool(found) and set(found.values()) == {secret}


def _content(name: str) -> str | None:
    try:
        return Path(name).read_text()
    except OSError:
        return None
