"""Where a table that is named by a path is held: in memory, or in files that are read in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.rows.databases import Query
from copula_shirley.rows.files import FileSource, files_at, is_several
from copula_shirley.rows.formats import check_format, file_of
from copula_shirley.rows.pieces import Source, Workers
from copula_shirley.rows.tables import read_table, told
from copula_shirley.schema.schema import Schema

ENGINES = ("memory", "files", "dask", "spark")
#: Bytes of a file, as it is packed, from which it is read in pieces.
LARGE = {"parquet": 2**27, "csv": 2**29}


def held_table(
    place: str | Path | Query,
    schema: Schema,
    engine: str | None = None,
    *,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    workers: int = 1,
    cluster: str | None = None,
    counts_pieces: bool = True,
) -> pd.DataFrame | Source:
    """The table at a place: read, or as pieces for a generator that counts them.

    By default one file is read into memory unless it is large, and a folder or a pattern is not.
    """
    _check_cluster(engine, cluster, workers)
    if engine not in (None, *ENGINES):
        raise SettingError(f"engine ({engine!r}) must be one of {', '.join(ENGINES)}")
    chosen = engine or chosen_engine(place, counts_pieces=counts_pieces)
    if chosen != "memory":
        if isinstance(place, Query) or file_of(place) is None:
            raise SettingError(f"engine ({chosen!r}) must read files, not {str(place)!r}")
        paths = files_at(place)
        how = told(paths[0], schema.file, missing, sheet)
        if chosen != "files":
            paths = [path.absolute() for path in paths]
        return FileSource(paths, schema, how, _workers(chosen, cluster) or workers)
    if workers != 1:
        raise SettingError(f"workers ({workers}) must be left out: one process reads into memory")
    if isinstance(place, Query) or not is_several(place):
        return read_table(place, schema, missing, sheet=sheet)
    tables = [read_table(path, schema, missing, sheet=sheet) for path in files_at(place)]
    return pd.concat(tables, ignore_index=True)


def _check_cluster(engine: str | None, cluster: str | None, workers: int) -> None:
    """Refuse a cluster without an engine that has one, and processes beside it."""
    if engine not in ("dask", "spark"):
        if cluster is not None:
            raise SettingError(f"cluster ({cluster!r}) must be left out: engine dask or spark only")
        return
    if workers != 1:
        raise SettingError(f"workers ({workers}) must be left out: the cluster has its own")
    if engine == "dask" and not re.match(r"\w+://", cluster or ""):
        raise SettingError(
            f"cluster ({cluster!r}) must be the address of a Dask scheduler, such as "
            "tcp://127.0.0.1:8786; on this machine alone, engine 'files' with workers is faster"
        )
    if engine == "spark" and not re.match(r"(local\b|yarn$|\w+://)", cluster or "local"):
        raise SettingError(
            f"cluster ({cluster!r}) must be the master of a Spark cluster, such as local[4] or "
            "spark://host:7077"
        )


def _workers(engine: str, cluster: str | None) -> Workers | None:
    """The workers of a cluster; None where there is none. Their packages are extras."""
    if engine == "dask":
        from copula_shirley.rows.dask_rows import DaskWorkers  # noqa: PLC0415

        return DaskWorkers(cluster)
    if engine == "spark":
        from copula_shirley.rows.spark_rows import SparkWorkers  # noqa: PLC0415

        return SparkWorkers(cluster or "local[*]")
    return None


def source_of(table: Any) -> Any:
    """A frame of Dask or Spark as a source; whatever else is given as it is."""
    module = type(table).__module__
    if module.startswith("dask.") and hasattr(table, "to_delayed") and hasattr(table, "columns"):
        from copula_shirley.rows.dask_rows import partitions_of  # noqa: PLC0415

        return partitions_of(table)
    if module.startswith("pyspark.") and hasattr(table, "mapInArrow"):
        from copula_shirley.rows.spark_rows import SparkSource  # noqa: PLC0415

        return SparkSource(table)
    return table


def engine_notes(table: Any, engine: str | None) -> list[str]:
    """What was chosen where nobody said what is wanted and files are read in pieces."""
    if engine is not None or not isinstance(table, FileSource):
        return []
    count = table.files
    named = "1 large file" if count == 1 else f"{count:,} files"
    return [
        f"{named} are read in pieces, which are kept as numbers in a private folder until the fit "
        "ends (--engine files; --engine memory reads all rows into memory)"
    ]


def check_whole(place: Any, engine: str | None) -> None:
    """Refuse pieces where a schema is to be drafted, which takes all rows together."""
    several = isinstance(place, Path) and is_several(place)
    if engine not in (None, "memory") or several or isinstance(place, Source):
        raise SettingError(
            "schema (None) must be named to read files in pieces; 'shirley draft' writes one "
            "from a single file"
        )


def chosen_engine(place: Any, *, counts_pieces: bool = True) -> str:
    """The engine for a table that says nothing else."""
    if isinstance(place, Query) or file_of(place) is None:
        return "memory"
    path = Path(place)
    if is_several(path):
        return "files"
    large = LARGE.get(check_format(path).name)
    if large is None or not counts_pieces or not path.exists():
        return "memory"
    return "files" if path.stat().st_size >= large else "memory"
