"""Options that several commands share, each with one meaning, and what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from copula_shirley import tasks
from copula_shirley.cli.commands import OPTION_PANELS
from copula_shirley.cli.terminal import agreed, asks, note
from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.files.plain_json import parse_json
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.generator import Generator
from copula_shirley.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, check_epsilon
from copula_shirley.publish.outputs import Output
from copula_shirley.registry import make_generator
from copula_shirley.rows.databases import Query
from copula_shirley.rows.files import MOST_WORKERS
from copula_shirley.rows.formats import place_of

if TYPE_CHECKING:
    from copula_shirley.local.generator import LocalVine

DATA, PRIVACY, METHOD, OUTPUT = OPTION_PANELS


def option(panel: str, help: str, *names: str, **more: Any) -> Any:  # noqa: A002  (typer's word)
    """An option in a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Data = Annotated[
    str,
    typer.Argument(
        help="Table: .csv, .parquet, .xlsx, .dta, .sav, ...; a folder of them or 'parts/*.parquet' "
        "(fit, synthesize, check); - is standard input; or a database, sqlite:FILE or "
        "postgresql://HOST/NAME."
    ),
]
Sheet = Annotated[str | None, option(DATA, "Sheet of a workbook, if it has several.", "--sheet")]
AskedOf = Annotated[
    str | None, option(DATA, "SELECT whose rows are read from a database.", "--query")
]
ModelFile = Annotated[Path, typer.Argument(help="Model file that 'shirley fit' wrote.")]
Json = Annotated[bool, option(OUTPUT, "Print JSON.", "--json")]
Missing = Annotated[
    list[str] | None, option(DATA, "Text that stands for a missing value; repeatable.")
]
OnUnknown = Annotated[
    Literal["refuse", "clip"] | None, option(DATA, "What to do with values off the schema.")
]
Neighbours = Annotated[
    Literal["add-remove", "replace-one"] | None,
    option(PRIVACY, "How neighbouring tables differ; by default as the model has it."),
]
AcceptUnproved = Annotated[
    bool, option(PRIVACY, "Write even if nothing is proved about privacy.", "--accept-unproved")
]
AcceptPoor = Annotated[
    bool, option(PRIVACY, "Fit even if noise will leave nothing useful.", "--accept-poor")
]
RowsAbout = Annotated[
    int | None,
    option(DATA, "About how many rows there are, if that is public; see docs/privacy.md.", min=1),
]
Engine = Annotated[
    Literal["memory", "files", "dask", "spark"] | None,
    option(
        DATA,
        "Where rows are held: memory, or files that are read in pieces (folders, patterns, large "
        "files; private-vine only), here or by the workers of a Dask or Spark cluster.",
        "--engine",
    ),
]
Cluster = Annotated[
    str | None,
    option(
        DATA,
        "Dask scheduler (tcp://HOST:8786) or Spark master (spark://HOST:7077; else local[*]).",
        "--cluster",
    ),
]
Workers = Annotated[
    int, option(DATA, "Processes that read files in pieces.", "--workers", min=1, max=MOST_WORKERS)
]
Seed = Annotated[
    int | None, option(PRIVACY, "Repeatable noise and rows: experiments only, no release.", min=0)
]
Settings = Annotated[
    list[str] | None,
    option(METHOD, "Any setting of the model, name=value; repeatable.", "--set"),
]
Form = Literal["adaptive", "two", "one"]
Waves = Annotated[
    Form, option(METHOD, "With --trust local: ask stage by stage, in two waves, or all at once.")
]
Rows = Annotated[
    int | None, option(OUTPUT, "Rows to draw; as many as were fitted.", "--rows", "-n")
]
Given = Annotated[
    list[str] | None,
    option(
        OUTPUT,
        "Only rows with name=value, name=low..high, name=a,b or a comparison such as 'name>=30'; "
        "nothing after = is missing. Repeatable.",
    ),
]
Quiet = Annotated[bool, option(OUTPUT, "No progress and no summary.", "--quiet", "-q")]


def takes(*makers: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of functions in place of its first parameters, what they make."""
    options = [signature(maker, eval_str=True).parameters for maker in makers]

    def widened(command: Callable[..., Any]) -> Callable[..., Any]:
        def run(**given: Any) -> Any:
            wanted = [{name: given.pop(name) for name in names} for names in options]
            made = [maker(**own) for maker, own in zip(makers, wanted, strict=True)]
            return command(*made, **given)

        own = list(signature(command, eval_str=True).parameters.values())[len(makers) :]
        parameters = list(chain(*(names.values() for names in options), own))
        keywords = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return widened


def source(data: Data, query: AskedOf = None) -> Path | Query:
    """Where rows are read from."""
    return place_of(data, query)


def unfitted(
    epsilon: Annotated[str, option(PRIVACY, "Privacy budget, or 'off' for no noise.")] = "1",
    delta: Annotated[
        float | None, option(PRIVACY, "Delta, default 1e-9; 0 for pure epsilon-DP (private-vine).")
    ] = None,
    neighbours: Neighbours = None,
    domain: Annotated[
        Literal["declared", "measured"] | None,
        option(PRIVACY, "measured: buy bounds and categories that the schema marks as private."),
    ] = None,
    model: Annotated[
        str,
        option(
            METHOD,
            "private-vine, dp-histogram, dp-copula, privbayes, copula-shirley, uniform, or another "
            "that is installed.",
        ),
    ] = tasks.DEFAULT_MODEL,
    target: Annotated[
        str | None, option(METHOD, "Column with few classes that matters most, for some models.")
    ] = None,
    settings: Settings = None,
) -> Generator:
    """The generator that the options describe."""
    own = {"delta": delta, "neighbours": neighbours, "domain": domain, "target": target}
    given = {name: value for name, value in own.items() if value is not None}
    more = settings_of(settings)
    for name in given.keys() & more.keys():
        raise SettingError(f"--set {name} ({more[name]!r}) must be left out: --{name} is given")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        made = make_generator(model, {"epsilon": epsilon_of(epsilon), **given, **more})
    for old in caught:
        note(f"--set: {old.message}")
    return made


def reporting(generator: Generator, waves: Form = "adaptive") -> LocalVine:
    """The model of people's own reports with the settings of a vine."""
    from copula_shirley.local.generator import local_vine  # noqa: PLC0415  (slow)

    return local_vine(vine_of(generator, "--trust local"), waves=waves)


def vine_of(generator: Generator, asked: str) -> Any:
    """The generator, which must be a PrivateVine for what was asked."""
    from copula_shirley.private_vine.generator import PrivateVine  # noqa: PLC0415  (slow)

    if not isinstance(generator, PrivateVine):
        raise SettingError(f"model ({generator.name!r}) must be 'private-vine' with {asked}")
    return generator


@takes(unfitted, source)
def order(
    generator: Generator,
    data: Path | Query,
    schema_file: Annotated[
        Path | None, option(DATA, "Declared domain (YAML); see 'shirley draft'.", "--schema")
    ] = None,
    missing: Missing = None,
    sheet: Sheet = None,
    on_unknown: OnUnknown = None,
    show_values: Annotated[
        bool, option(DATA, "Quote private values in error messages.", "--show-values")
    ] = False,
    releases: Annotated[
        Path | None,
        option(PRIVACY, "Release ledger that this fit counts in; see 'shirley releases'."),
    ] = None,
    accept_unproved: AcceptUnproved = False,
    accept_poor: AcceptPoor = False,
    rows_about: RowsAbout = None,
    fresh: Annotated[
        bool,
        option(PRIVACY, "Start anew where a stopped fit could go on; spends again.", "--fresh"),
    ] = False,
    engine: Engine = None,
    workers: Workers = 1,
    cluster: Cluster = None,
    seed: Seed = None,
) -> tasks.Order:
    """What the options of fit and synthesize ask for."""
    own = {"on_unknown": on_unknown, "random_state": seed}
    generator.set_params(**{name: value for name, value in own.items() if value is not None})
    return tasks.Order(
        generator,
        data,
        schema_file,
        tuple(missing or ()),
        sheet,
        show_values,
        releases,
        accept_unproved,
        accept_poor,
        rows_about,
        fresh,
        engine=engine,
        workers=workers,
        cluster=cluster,
        ask=agreed if asks() else None,
    )


def file_output(
    output: Annotated[
        Path,
        option(
            OUTPUT, "Model, or table (.csv, .parquet, .xlsx, .dta), to write.", "--output", "-o"
        ),
    ],
    no_card: Annotated[
        bool, option(OUTPUT, "Write no privacy card beside the file.", "--no-card")
    ] = False,
    sign: Annotated[
        Path | None,
        option(OUTPUT, "Sign file and card with this private key; see 'shirley keys'."),
    ] = None,
) -> Output:
    """Where a model or drawn rows go."""
    return Output(output, None, not no_card, sign)


@takes(file_output)
def table_output(
    output: Output,
    escape_formulas: Annotated[
        bool,
        option(
            OUTPUT,
            "CSV: a quote before texts that a spreadsheet would run as a formula.",
            "--escape-formulas",
        ),
    ] = False,
) -> Output:
    """Where drawn rows go."""
    return replace(output, escape_formulas=escape_formulas)


def assignment(option: str, text: str) -> tuple[str, str]:
    """The two sides of ``name=value``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SettingError(f"{option} ({text!r}) must be name=value")
    return name.strip(), value


def settings_of(texts: Sequence[str] | None, seed: str = "--seed") -> dict[str, Any]:
    """Settings from ``--set name=value``, a value in JSON or YAML, in which 1e-6 is a text.

    Epsilon and the random state, which have options of their own, would be lost.

    Examples
    --------
    >>> settings_of(["delta=1e-6", "families=[frank, joe]", "truncation=none"])
    {'delta': 1e-06, 'families': ['frank', 'joe'], 'truncation': None}
    """
    found = {}
    for text in texts or ():
        given, value = assignment("--set", text)
        name = given.replace("-", "_")
        own = {"epsilon": "--epsilon", "random_state": seed}
        if name in own:
            raise SettingError(f"--set ({text!r}) must be given as {own[name]}")
        if name in found:
            raise SettingError(f"--set ({text!r}) must be the only one for {name}")
        try:
            found[name] = None if value.lower() == "none" else parse_json(value.encode())
        except (ValueError, RecursionError):
            try:
                found[name] = load_yaml(value)
            except ShirleyError as error:
                raise SettingError(f"--set ({text!r}) must be JSON or YAML: {error}") from None
    return found


def epsilon_of(text: str) -> float | None:
    """A budget, or None for ``off``."""
    if text.lower() == "off":
        return None
    try:
        check_epsilon(epsilon := float(text))
    except ValueError:
        least, most = f"{SMALLEST_EPSILON:g}", f"{LARGEST_EPSILON:g}"
        raise SettingError(
            f"epsilon ({text!r}) must be a positive number from {least} to {most}, or 'off'"
        ) from None
    return epsilon
