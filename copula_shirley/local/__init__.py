"""People's own reports: each person perturbs one answer on her device, and nobody is trusted."""

_NAMES = {"LocalVine": "generator", "simulate": "generator", "Survey": "survey"}


def __getattr__(name: str) -> object:
    """Names that need more than the standard library, which devices have alone."""
    from importlib import import_module  # noqa: PLC0415

    if name not in _NAMES:
        raise AttributeError(f"module 'copula_shirley.local' has no attribute {name!r}")
    return getattr(import_module(f"copula_shirley.local.{_NAMES[name]}"), name)
