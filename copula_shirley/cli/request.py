"""What commands that fit are asked for: their options, and the generator that these describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copula_shirley.cli.terminal import assignment
from copula_shirley.errors import SettingError
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.schema.schema import Schema

if TYPE_CHECKING:
    from copula_shirley.generator import Generator

DEFAULT_MODEL = "private-vine"
#: Settings that have an option of their own, which --set would be lost to.
OWN_OPTIONS = {"epsilon": "--epsilon", "random_state": "--seed", "random-state": "--seed"}

Data = Annotated[Path, typer.Argument(help="Table to learn from, .csv or .parquet.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="Declared domain (YAML); see 'shirley schema'.")
]
Model = Annotated[
    str, typer.Option("--model", help="private-vine, copula-shirley, privbayes, dp-copula ...")
]
Epsilon = Annotated[str, typer.Option(help="Privacy parameter, or 'none' for no noise.")]
Delta = Annotated[
    float | None, typer.Option(help="Delta, default 1e-9; 0 for pure epsilon-DP (private-vine).")
]
Encoder = Annotated[
    str | None, typer.Option(help="Of copula-shirley: ordinal, onehot, woe (needs --target), glmm.")
]
Target = Annotated[str | None, typer.Option(help="Column with few classes that matters most.")]
Domain = Annotated[
    str | None, typer.Option(help="declared, or private: buy what the schema does not declare.")
]
MechanismName = Annotated[str | None, typer.Option(help="laplace, geometric or gaussian.")]
Split = Annotated[float | None, typer.Option(help="Share of the histogram rows, in (0, 1).")]
TruncationText = Annotated[str | None, typer.Option(help="Number of trees, 'auto' or 'none'.")]
Accounting = Annotated[str | None, typer.Option(help="thesis or honest.")]
Families = Annotated[str | None, typer.Option(help="all, parametric, ... or names with commas.")]
Discrete = Annotated[bool | None, typer.Option(help="Tell the vine which columns are discrete.")]
NeighbourNames = Annotated[str | None, typer.Option(help="replace-one or add-remove.")]
Threads = Annotated[int | None, typer.Option(help="Threads; one per core by default.")]
Seed = Annotated[int | None, typer.Option(help="Repeatable noise and rows: experiments only.")]
OnUnknownText = Annotated[str | None, typer.Option(help="Values off the schema: refuse or clip.")]
ShowValues = Annotated[bool, typer.Option(help="Quote private values in error messages.")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any setting of the model, e.g. --set degree=2; repeatable."),
]
Missing = Annotated[
    list[str] | None, typer.Option(help="Text that stands for a missing value; repeatable.")
]
Rows = Annotated[
    int | None, typer.Option("--rows", "-n", help="Rows to draw; as many as were fitted.")
]
Given = Annotated[
    list[str] | None,
    typer.Option(help="Only rows with name=value or name=low..high; nothing after = is missing."),
]
NoCard = Annotated[bool, typer.Option("--no-card", help="Write no privacy card beside the file.")]
Sign = Annotated[
    Path | None,
    typer.Option(help="Sign file and card with this private key; see 'shirley keys'."),
]
Releases = Annotated[
    Path | None,
    typer.Option(help="Release ledger that this fit counts in; see 'shirley releases'."),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="CSV: a single quote before texts that a spreadsheet would run as a formula.",
    ),
]
AcceptUnproved = Annotated[
    bool,
    typer.Option("--accept-unproved", help="Write even if nothing is proved about privacy."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


@dataclass(frozen=True)
class Request:
    """What fit and synthesize are asked for: a generator and what it learns from."""

    generator: Generator
    data: Path
    schema_file: Path | None
    declared: Schema | None
    missing: tuple[str, ...]
    show_values: bool
    quiet: bool
    releases: Path | None = None
    no_card: bool = False
    accept_unproved: bool = False
    sign: Path | None = None


def request(
    data: Data,
    schema_file: SchemaFile = None,
    model: Model = DEFAULT_MODEL,
    epsilon: Epsilon = "1",
    delta: Delta = None,
    encoder: Encoder = None,
    target: Target = None,
    domain: Domain = None,
    mechanism: MechanismName = None,
    split: Split = None,
    truncation: TruncationText = None,
    accounting: Accounting = None,
    families: Families = None,
    discrete: Discrete = None,
    neighbours: NeighbourNames = None,
    threads: Threads = None,
    seed: Seed = None,
    on_unknown: OnUnknownText = None,
    show_values: ShowValues = False,
    missing: Missing = None,
    extra: Setting = None,
    releases: Releases = None,
    no_card: NoCard = False,
    accept_unproved: AcceptUnproved = False,
    sign: Sign = None,
    quiet: Quiet = False,
) -> Request:
    """The options that fit and synthesize share."""
    settings = {
        "delta": delta,
        "encoder": encoder,
        "target": target,
        "domain": domain,
        "mechanism": mechanism,
        "split": split,
        "truncation": truncation,
        "accounting": accounting,
        "families": families,
        "discrete": discrete,
        "neighbours": neighbours,
        "threads": threads,
        "on_unknown": on_unknown,
        **dict(_setting(text) for text in extra or ()),
    }
    generator = generator_from(model, epsilon, seed, settings)
    declared = None if schema_file is None else Schema.read(schema_file)
    return Request(
        generator,
        data,
        schema_file,
        declared,
        tuple(missing or ()),
        show_values,
        quiet,
        releases,
        no_card,
        accept_unproved,
        sign,
    )


def shares_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``request`` in place of its first parameter."""
    options = signature(request, eval_str=True).parameters
    own = list(signature(command, eval_str=True).parameters.values())[1:]

    def run(**given: Any) -> None:
        asked = request(**{name: given.pop(name) for name in options})
        command(asked, **given)

    parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in [*options.values(), *own]]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _setting(text: str) -> tuple[str, Any]:
    name, value = assignment("--set", text)
    if name in OWN_OPTIONS:
        raise SettingError(f"--set ({text!r}) must be given as {OWN_OPTIONS[name]}")
    return name.replace("-", "_"), load_yaml(value)


def generator_from(
    name: str, epsilon: str, seed: int | None, settings: dict[str, Any]
) -> Generator:
    """The unfitted generator that the options describe."""
    from copula_shirley.generator import find_generator  # noqa: PLC0415  (slow)

    kind = find_generator(name)
    if not kind.publishable:
        raise SettingError(
            f"model ({name!r}) holds the rows themselves; nothing is published of it"
        )
    known = kind.setting_names()
    given = {key: value for key, value in settings.items() if value is not None}
    given["random_state"] = seed
    if "epsilon" in known:
        given["epsilon"] = _number_or_none("epsilon", epsilon)
    if isinstance(given.get("truncation"), str) and given["truncation"] != "auto":
        given["truncation"] = _number_or_none("truncation", given["truncation"], whole=True)
    if isinstance(given.get("families"), str) and "," in given["families"]:
        given["families"] = [family.strip() for family in given["families"].split(",")]
    foreign = [key for key in given if key not in known]
    if foreign:
        raise SettingError(
            f"{foreign[0]} is no setting of model {name!r}; it has {', '.join(known)}"
            f"{_who_has(foreign[0])}"
        )
    return kind(**given)


def _who_has(setting: str) -> str:
    """Which models of this package have a setting, in words."""
    from copula_shirley.generator import generators  # noqa: PLC0415  (slow)

    having = [
        name
        for name, point in generators().items()
        if point.module.startswith("copula_shirley.") and setting in point.load().setting_names()
    ]
    return f"; {setting} belongs to --model {having[0]}" if having else ""


def _number_or_none(setting: str, text: str, *, whole: bool = False) -> float | int | None:
    if text.lower() == "none":
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        what = "a whole number, 'auto'" if whole else "a positive number"
        raise SettingError(f"{setting} ({text!r}) must be {what} or 'none'") from None
