"""Classes of generators, ours and other people's: where they are, and what they can be given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from inspect import Parameter, signature
from pkgutil import resolve_name
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
        found = resolve_name(use) if name else None
    except AttributeError:
        found = None
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
    parameters = _parameters(function)
    return name in parameters and parameters[name].kind is not Parameter.VAR_KEYWORD


def check_settings(use: str, settings: Iterable[str]) -> None:
    """Refuse settings that a generator does not have, as far as its constructor tells."""
    parameters = _parameters(find_class(use))
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    for name in [name for name in settings if name not in parameters]:
        other = who_has(name)
        hint = f"; {name} is one of {other!r}" if other else ""
        known = ", ".join(parameters) or "none"
        raise SettingError(f"{name} is no setting of {use!r}; it has {known}{hint}")


def who_has(setting: str) -> str | None:
    """An installed generator that has a setting; those that cannot be imported are left out."""
    for name in generators():
        with suppress(ImportError):
            if takes(find_class(name), setting):
                return name
    return None


def _parameters(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    try:
        return signature(function).parameters
    except (TypeError, ValueError):  # some that are not written in Python do not tell: anything
        return {"settings": Parameter("settings", Parameter.VAR_KEYWORD)}
