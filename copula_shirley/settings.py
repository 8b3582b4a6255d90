"""Settings of a class as scikit-learn keeps them, without its import, which takes a second.

Settings are the keyword arguments of ``__init__``, stored untouched under their names. So
``sklearn.base.clone``, ``get_params`` and ``set_params`` work as with every estimator.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from copula_shirley.errors import SettingError

Kind = TypeVar("Kind", bound="Settings")


class Settings:
    """Base of what has settings; its ``repr`` shows those that are not the defaults.

    Attributes
    ----------
    RENAMED : dict
        Old names of settings and their new ones. Old names are still taken, with a
        DeprecationWarning, for one version. A saved model may use them for good.
    RENAMED_VALUES : dict
        The same for values: ``{("domain", "private"): "measured"}``. See ``taking_old_names``.

    Examples
    --------
    >>> class Model(Settings):
    ...     def __init__(self, depth: int = 1, name: str = "oak") -> None:
    ...         self.depth, self.name = depth, name
    >>> Model(depth=2)
    Model(depth=2)
    >>> Model().set_params(name="elm").get_params()
    {'depth': 1, 'name': 'elm'}
    """

    RENAMED: ClassVar[Mapping[str, str]] = {}
    RENAMED_VALUES: ClassVar[Mapping[tuple[str, Any], Any]] = {}

    @classmethod
    def modern(cls, settings: Mapping[str, Any], *, warn: bool = False) -> dict[str, Any]:
        """Settings with new names and values in place of old ones."""
        found = {}
        for name, value in settings.items():
            new = cls.RENAMED.get(name, name)
            said = value
            if isinstance(value, str):
                said = cls.RENAMED_VALUES.get((new, value), value)
            if warn and new != name:
                _warn(name, new)
            if warn and said is not value:
                _warn(f"{new}={value!r}", f"{new}={said!r}")
            found[new] = said
        return found

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Default of each setting, in the order of ``__init__``."""
        found = inspect.signature(cls).parameters.values()
        return {p.name: p.default for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}

    @classmethod
    def setting_names(cls) -> list[str]:
        """Names of all settings, in the order of ``__init__``."""
        return list(cls._defaults())

    #: As scikit-learn asks for them.
    _get_param_names = setting_names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name."""
        return {name: getattr(self, name) for name in sorted(self._defaults())}

    def set_params(self, **settings: Any) -> Self:
        """Change some settings; the next fit uses them."""
        known = self.setting_names()
        for name, value in self.modern(settings, warn=True).items():
            if name not in known:
                raise SettingError(
                    f"{name} is no setting of {type(self).__name__}; it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        """Another object with the same settings, and nothing else."""
        return type(self)(**deepcopy(self.get_params()))

    def __repr__(self) -> str:
        said = {name: (repr(getattr(self, name)), u) for name, u in self._defaults().items()}
        changed = [f"{name}={own}" for name, (own, usual) in said.items() if own != repr(usual)]
        return f"{type(self).__name__}({', '.join(changed)})"


def taking_old_names(cls: type[Kind]) -> type[Kind]:
    """Let a class take the old names of its settings, with a warning; it decorates the class."""
    init = cls.__init__

    @wraps(init)  # signatures are read off the wrapped one
    def wrapped(self: Settings, *args: Any, **settings: Any) -> None:
        init(self, *args, **self.modern(settings, warn=True))

    cls.__init__ = wrapped  # type: ignore[assignment, method-assign]
    for old, new in cls.RENAMED.items():
        setattr(cls, old, property(_old_attribute(old, new)))
    return cls


def _old_attribute(old: str, new: str) -> Callable[[Settings], Any]:
    def read(self: Settings) -> Any:
        _warn(old, new)
        return getattr(self, new)

    return read


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=4)


def check_choices(settings: Settings) -> None:
    """Refuse a setting whose annotation lists its values (``Literal``), if it has another one."""
    for name, kind in get_type_hints(type(settings)).items():
        if get_origin(kind) is Literal:
            check_one_of(name, getattr(settings, name), get_args(kind))


def check_one_of(setting: str, value: Any, allowed: Sequence[Any]) -> None:
    """Refuse a value that is none of those allowed."""
    truth = isinstance(value, bool) == isinstance(allowed[0], bool)  # True equals 1
    if not truth or value not in allowed:
        raise SettingError(f"{setting} ({value!r}) must be one of {', '.join(map(str, allowed))}")


def check_share(setting: str, value: Any) -> None:
    """Refuse what is no share, above 0 and below 1."""
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise SettingError(f"{setting} ({value!r}) must be in (0, 1)")


def check_positive_whole(setting: str, value: Any) -> None:
    """Refuse anything but 1, 2, 3, ..."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise SettingError(f"{setting} ({value!r}) must be a positive whole number")
