"""The ``shirley`` command.

Errors are one line on stderr and exit code 2; nothing is half-written.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer

from copula_shirley.cli.commands import LazyGroup, hint
from copula_shirley.cli.exits import clean_ending, drop_output, flush_output
from copula_shirley.cli.renamed import modern
from copula_shirley.cli.terminal import messages
from copula_shirley.errors import PoorTableWarning, ShirleyError
from copula_shirley.files.atomic import finished, resumable
from copula_shirley.files.texts import one_line

#: pydantic names the fault of a value; this says what the value must be.
MUST = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "{ge} or more",
}
app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with locals would print private values
)


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"copula-shirley {version('copula-shirley')}\n")
        raise typer.Exit


@app.callback()
def shirley(
    version_: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Synthetic tables from vine copulas, with a privacy label that is true."""


def main() -> None:
    """Run the command; every fault of the input is one line and exit code 2."""
    with clean_ending():
        try:
            _run()
        except SystemExit:
            raise
        except BrokenPipeError:  # nobody reads on, as in ``shirley draft data.csv | head -1``
            drop_output()
            raise SystemExit(1) from None
        except (KeyboardInterrupt, typer.Abort):
            kept = "what was written is whole" if finished else "nothing was written"
            if resumable:
                kept = (
                    f"the same command goes on from {str(resumable[0])!r} and spends nothing twice"
                )
            text = one_line(f"stopped; {kept}")
            messages.print(text, style="red", markup=False, soft_wrap=True)
            raise SystemExit(130) from None
        except Exception as error:
            _tell(error)


def _run() -> None:
    finished.clear()
    resumable.clear()
    # fits for release say it in their own words, and audits fit small tables on purpose
    warnings.simplefilter("ignore", PoorTableWarning)
    try:
        program = os.path.basename(sys.argv[0])
        code = app(modern(sys.argv[1:]), prog_name=program, standalone_mode=False)
    finally:
        flush_output()
    if code == 130:  # what typer makes of an interrupt
        raise KeyboardInterrupt
    if isinstance(code, int) and code:  # a command that says how it went
        raise SystemExit(code)


def _tell(error: Exception) -> None:
    """Say in one line what went wrong, and end."""
    if isinstance(error, ShirleyError):
        _fail(str(error))
    if isinstance(error, OSError):
        named = repr(str(error.filename))
        if error.filename is None:  # what was printed could not be written
            drop_output()
            named = "standard output"
        _fail(f"{named}: {error.strerror or error}")
    if isinstance(error, ImportError) and hint(error):
        _fail(f"{error}{hint(error)}")
    if isinstance(error, MemoryError):
        _fail("the memory does not suffice: fewer rows, columns or cells need less")
    if type(error).__name__ == "NoArgsIsHelpError":  # the help was shown
        raise SystemExit(2) from None
    if hasattr(error, "format_message"):  # wrong words on the command line
        _fail(_wrong_words(error))
    if os.environ.get("SHIRLEY_DEBUG"):
        raise error
    # the text of an unforeseen error may quote rows
    _fail(f"internal error ({type(error).__name__}); set SHIRLEY_DEBUG=1 to see it", code=3)


def _wrong_words(error: Any) -> str:
    """What typer says of wrong words; where pydantic says it, the value is named, too."""
    text: str = error.format_message()
    for fault in getattr(error.__cause__, "errors", list)():
        must = MUST.get(fault["type"], "").format(**fault.get("ctx", {}))
        if must:
            said = fault["input"] if "ctx" in fault else repr(fault["input"])
            return f"{error.param.opts[0]} ({said}) must be {must}"
    text = text.replace("Value error, ", "")
    choice = re.search(r"Invalid value for '(--[\w-]+)'.*?: ('.*') is not one of (.+)\.$", text)
    if choice:
        return f"{choice[1]} ({choice[2]}) must be one of {choice[3].replace(chr(39), '')}"
    return text


def _fail(text: str, code: int = 2) -> None:
    messages.print(f"error: {one_line(text)}", style="red", markup=False, soft_wrap=True)
    raise SystemExit(code)
