"""Modules that take long to import, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module; it is imported when something of it is first asked for.

    Examples
    --------
    >>> numbers = LazyModule("fractions")
    >>> numbers.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
