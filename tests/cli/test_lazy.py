"""Commands are listed without an import and loaded when asked for; the start imports little."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from commands import run
from typer.testing import CliRunner

from copula_shirley.cli import commands
from copula_shirley.errors import SettingError

GROUP = commands.ENTRY_POINTS
SOURCES = {
    "good": 'def hello(name: str) -> None:\n    print(f"hello {name}")\n',
    "apps": 'import typer\napp = typer.Typer(help="Many things.", no_args_is_help=True)\n'
    '@app.command()\ndef one() -> None:\n    """The first."""\n    print("one")\n'
    '@app.command()\ndef two() -> None:\n    """The second."""\n',
    "broken": "import no_such_module_anywhere\n",
}
#: None of these is needed to show a help or to name a class.
SLOW = {"xgboost", "sklearn", "pyvinecopulib", "matplotlib", "diffprivlib", "scipy.stats"}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """Our commands and three of installed packages, of which one is broken."""
    for name, text in SOURCES.items():
        (tmp_path / f"outside_{name}.py").write_text(text, encoding="utf-8")
        sys.modules.pop(f"outside_{name}", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {
        "hello": EntryPoint("hello", "outside_good:hello", GROUP),
        "broken": EntryPoint("broken", "outside_broken:hello", GROUP),
        "many": EntryPoint("many", "outside_apps:app", GROUP),
    }
    monkeypatch.setattr(commands, "installed_commands", lambda: found)
    made = typer.Typer(cls=commands.LazyGroup)
    made.callback()(lambda: None)
    return made


def loaded() -> list[str]:
    return [name for name in sys.modules if name.startswith("outside_")]


def test_the_help_lists_all_and_imports_nobody(app: typer.Typer) -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    assert all(name in shown for name in [*commands.COMMANDS, "hello", "many", "broken"])
    assert "A command of outside_good." in shown and loaded() == []


def test_a_command_of_a_package_is_loaded_when_asked_for(app: typer.Typer) -> None:
    assert "NAME" in CliRunner().invoke(app, ["hello", "--help"]).output.upper()
    assert CliRunner().invoke(app, ["hello", "you"]).output == "hello you\n"
    assert loaded() == ["outside_good"]
    many = CliRunner().invoke(app, ["many", "--help"]).output
    assert "The first." in many and "The second." in many
    assert CliRunner().invoke(app, ["many", "one"]).output == "one\n"


def test_a_broken_package_stops_nobody_else(app: typer.Typer) -> None:
    failed = CliRunner().invoke(app, ["broken"]).exception
    assert isinstance(failed, SettingError)
    assert str(failed) == (
        "command ('broken') cannot be loaded from outside_broken:hello: "
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    )


def test_what_an_extra_adds_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copula_shirley.evaluation.cli", None)  # cannot be imported
    assert "pip install 'copula-shirley[evaluate]' adds it" in run("evaluate x").refusal()


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_has_a_help(name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0 and f"shirley {name}" in done.out


@pytest.mark.parametrize(
    ("script", "more"),
    [
        ("from copula_shirley import PrivateVine, Schema, read_table", set()),
        ("from copula_shirley.cli import main; main.app(['--help'])", {"numpy", "pandas"}),
        ("from copula_shirley.cli import main; main.app(['draft', 'a.csv'])", set()),
    ],
)
def test_what_takes_long_is_not_imported(tmp_path: Path, script: str, more: set[str]) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,x\n2,y\n", encoding="ascii")
    check = f"\nimport sys\nprint({SLOW | more} & set(sys.modules), file=sys.stderr)"
    script = f"try:\n    {script}\nexcept SystemExit:\n    pass{check}"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stderr.endswith("set()\n")


def test_the_shell_completes_names_of_commands() -> None:
    words = {"_SHIRLEY_COMPLETE": "complete_bash", "COMP_WORDS": "shirley syn", "COMP_CWORD": "1"}
    program = Path(sys.executable).with_name("shirley")
    done = subprocess.run(
        [program], env={**os.environ, **words}, check=False, capture_output=True, text=True
    )
    assert done.stdout.split() == ["synthesize"]


def test_every_public_name_is_there() -> None:
    import copula_shirley  # noqa: PLC0415

    for name in copula_shirley.__all__:
        assert getattr(copula_shirley, name).__name__.startswith(name)
    assert set(copula_shirley.__all__) <= set(dir(copula_shirley))
    with pytest.raises(AttributeError, match="has no attribute 'nonesuch'"):
        copula_shirley.nonesuch  # noqa: B018
