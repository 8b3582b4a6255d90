"""Data sets and experiments of the thesis, run by the generators of this project."""

from experiments.datasets import Dataset, DatasetError, list_datasets, load_dataset

__all__ = ["Dataset", "DatasetError", "list_datasets", "load_dataset"]
