"""Classes of generators, ours and other people's: where they are, and what they can be given."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any

from copula_shirley.errors import SettingError
from copula_shirley.generator import Generator, find_generator, generators


@cache
def find_class(use: str) -> Callable[..., Any]:
    """The class of an installed generator, or what stands behind ``module:Class``."""
    if ":" not in use:
        return find_generator(use)
    module, _, name = use.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError) as error:
        raise SettingError(f"generator ({use!r}): {module} cannot be imported: {error}") from error
    if not callable(found):
        raise SettingError(f"generator ({use!r}): {module} has no class {name!r}")
    return found  # type: ignore[no-any-return]


def make_generator(name: str, settings: Mapping[str, Any]) -> Generator:
    """An unfitted generator of this package's kind, whose rows may be published.

    An epsilon is left out for a generator that has none.
    """
    kind = find_generator(name)
    if not kind.publishable:
        raise SettingError(
            f"model ({name!r}) holds the rows themselves; nothing is published of it"
        )
    given = {k: v for k, v in settings.items() if k != "epsilon" or k in kind.setting_names()}
    check_settings(name, kind.modern(given))
    return kind(**given)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a parameter of that name can be given."""
    parameters = _parameters(function) or {}
    return name in parameters and parameters[name].kind is not Parameter.VAR_KEYWORD


def check_settings(use: str, settings: Iterable[str]) -> None:
    """Refuse settings that a generator does not have, as far as its constructor tells."""
    parameters = _parameters(find_class(use))
    if parameters is None or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    for name in settings:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise SettingError(
                f"{name} is no setting of {use!r}; it has {known}{_who_has(name, use)}"
            )


def _who_has(setting: str, but: str) -> str:
    """Which other generator has a setting, in words; those that cannot be imported are left out."""
    for name in generators():
        try:
            if name != but and takes(find_class(name), setting):
                return f"; {setting} is one of {name!r}"
        except ImportError:
            continue
    return ""


def _parameters(function: Callable[..., Any]) -> Mapping[str, Parameter] | None:
    try:
        return signature(function).parameters
    except (TypeError, ValueError):  # some that are not written in Python do not tell
        return None
