"""Modules that take long to import, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from copula_shirley.errors import SettingError


def needed(module: str, extra: str, what: str) -> ModuleType:
    """A module that an extra installs, or one error that says so.

    Examples
    --------
    >>> needed("no_such_module", "stats", "'a.sav'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    copula_shirley.errors.SettingError: 'a.sav' needs a package ... 'copula-shirley[stats]' adds it
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise
        raise SettingError(
            f"{what} needs a package that is not installed: "
            f"pip install 'copula-shirley[{extra}]' adds it"
        ) from None


class LazyModule(ModuleType):
    """Stands for a module; it is imported when something of it is first asked for.

    Examples
    --------
    >>> numbers = LazyModule("fractions")
    >>> numbers.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(import_module(self.__name__), name)
        return found
