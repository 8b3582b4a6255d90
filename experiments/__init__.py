"""Data sets and experiments of the thesis, run by the generators of this project."""

from copula_shirley.experiments.datasets import Dataset, DatasetError, list_datasets, load_dataset

if __name__ != "copula_shirley.experiments":  # else its modules would be loaded twice
    raise ImportError("import copula_shirley.experiments, not experiments")

__all__ = ["Dataset", "DatasetError", "list_datasets", "load_dataset"]
