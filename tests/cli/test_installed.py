"""Commands of installed packages: listed without an import, loaded when asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from copula_shirley.cli import installed
from copula_shirley.errors import SettingError

GROUP = installed.ENTRY_POINTS
SOURCES = {
    "good": 'def hello(name: str) -> None:\n    """Greet somebody.\n\n    At length."""\n'
    '    print(f"hello {name}")\n',
    "apps": 'import typer\napp = typer.Typer(help="Many things.", no_args_is_help=True)\n'
    '@app.command()\ndef one() -> None:\n    """The first."""\n    print("one")\n'
    '@app.command()\ndef two() -> None:\n    """The second."""\n',
    "broken": "import no_such_module_anywhere\nhello = no_such_module_anywhere.hello\n",
}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """One command of its own and three of installed packages, of which one is broken."""
    for name, text in SOURCES.items():
        (tmp_path / f"outside_{name}.py").write_text(text, encoding="utf-8")
        sys.modules.pop(f"outside_{name}", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {
        "hello": EntryPoint("hello", "outside_good:hello", GROUP),
        "broken": EntryPoint("broken", "outside_broken:hello", GROUP),
        "many": EntryPoint("many", "outside_apps:app", GROUP),
    }
    monkeypatch.setattr(installed, "installed_commands", lambda: found)
    made = typer.Typer(cls=installed.LazyGroup, add_completion=False)

    @made.command()
    def own() -> None:
        """What is built in."""
        print("own")

    @made.command()
    def other() -> None:
        """Another one."""

    return made


def loaded() -> list[str]:
    return [name for name in sys.modules if name.startswith("outside_")]


def test_the_help_lists_all_and_imports_nobody_it_can_read(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for name, words in {
        "own": "What is built in.",
        "hello": "Greet somebody.",
        "many": "Many things.",
    }.items():
        assert any(name in line and words in line for line in result.output.splitlines())
    assert "At length" not in result.output
    assert loaded() == []


def test_a_broken_package_is_a_note_and_stops_nobody(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert "broken" in result.output and "Cannot be loaded." in result.output
    assert CliRunner().invoke(app, ["own"]).output == "own\n"
    assert CliRunner().invoke(app, ["hello", "you"]).output == "hello you\n"
    failed = CliRunner().invoke(app, ["broken"])
    assert isinstance(failed.exception, SettingError)
    assert str(failed.exception) == (
        "command ('broken') cannot be loaded from outside_broken:hello: "
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    )


def test_the_note_of_a_broken_package_is_one_line(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(installed, "note", told.append)
    CliRunner().invoke(app, ["--help"])
    assert len(told) == 1 and "\n" not in told[0] and "'broken'" in told[0]


def test_commands_have_their_own_help(app: typer.Typer) -> None:
    hello = CliRunner().invoke(app, ["hello", "--help"]).output
    assert "At length." in hello and "NAME" in hello.upper()
    assert loaded() == ["outside_good"]
    many = CliRunner().invoke(app, ["many", "--help"]).output
    assert "The first." in many and "The second." in many
    assert CliRunner().invoke(app, ["many", "one"]).output == "one\n"


def test_words_of_our_own_commands_are_those_of_their_functions() -> None:
    found = installed.installed_commands()
    assert {"benchmark", "evaluate", "experiments", "reproduce"} <= set(found)
    for entry in found.values():
        words, object_ = installed.words_of(entry), entry.load()
        said = object_.info.help if isinstance(object_, typer.Typer) else object_.__doc__
        assert words is not None and words.split() == str(said).split()


@pytest.mark.parametrize("words", [["--help"], ["schema", "--help"], ["plan", "--help"]])
def test_help_imports_no_package_above_and_nothing_slow(words: list[str]) -> None:
    script = (
        "import sys\nfrom copula_shirley.cli.main import main\n"
        f"sys.argv = ['shirley', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = {'experiments', 'evaluation', 'baselines', 'xgboost', 'sklearn', 'scipy',"
        " 'pyvinecopulib', 'matplotlib'}\n"
        "assert not slow & set(sys.modules), slow & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_draft_of_a_schema_needs_nothing_slow(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,x\n2,y\n", encoding="ascii")
    script = (
        "import sys\nfrom copula_shirley.cli.main import main\n"
        f"sys.argv = ['shirley', 'schema', {str(tmp_path / 'a.csv')!r}]\n"
        "main()\n"
        "slow = {'experiments', 'evaluation', 'baselines', 'xgboost', 'sklearn', 'scipy'}\n"
        "assert not slow & set(sys.modules), slow & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert "columns:" in done.stdout


def test_every_public_name_is_there() -> None:
    import copula_shirley  # noqa: PLC0415

    for name in copula_shirley.__all__:
        assert getattr(copula_shirley, name).__name__ == name
    assert set(copula_shirley.__all__) <= set(dir(copula_shirley))
    with pytest.raises(AttributeError, match="has no attribute 'nonesuch'"):
        copula_shirley.nonesuch  # noqa: B018
