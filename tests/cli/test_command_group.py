"""Commands are listed without an import and loaded when asked for; old words still work."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint, version
from pathlib import Path

import pytest
import typer
from commands import run
from place import QUICK
from typer.testing import CliRunner

import copula_shirley
from copula_shirley.cli import commands
from copula_shirley.cli.renamed import modern
from copula_shirley.errors import SettingError

SOURCES = {
    "good": "import typer\ndef hello(name: str, n: int = typer.Option(1, rich_help_panel='Odd')):\n"
    '    print(f"hello {name}")\n',
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
    places = {"hello": "good:hello", "broken": "broken:hello", "many": "apps:app"}
    found = [EntryPoint(k, f"outside_{v}", commands.ENTRY_POINTS) for k, v in places.items()]
    monkeypatch.setattr(commands, "entry_points", lambda **_: found)
    made = typer.Typer(cls=commands.LazyGroup)
    made.callback()(lambda: None)
    return made


def test_commands_of_packages_are_listed_and_loaded_when_asked_for(app: typer.Typer) -> None:
    def loaded() -> list[str]:
        return [name for name in sys.modules if name.startswith("outside_")]

    shown = CliRunner().invoke(app, ["--help"]).output
    assert all(name in shown for name in [*commands.COMMANDS, "hello", "many", "broken"])
    assert "A command of outside_good." in shown and loaded() == []
    assert CliRunner().invoke(app, ["hello", "you"]).output == "hello you\n"
    assert loaded() == ["outside_good"]
    many = CliRunner().invoke(app, ["many", "--help"]).output
    assert "The first." in many and "The second." in many
    assert CliRunner().invoke(app, ["many", "one"]).output == "one\n"
    failed = CliRunner().invoke(app, ["broken"]).exception
    assert isinstance(failed, SettingError)
    assert str(failed) == (
        "command ('broken') cannot be loaded from outside_broken:hello: "
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    )


def test_what_an_extra_adds_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'diffprivlib'", name="diffprivlib.mechanisms")

    monkeypatch.setattr("copula_shirley.tasks.recognised", lacking)
    line = run("draft data.csv", folder=place).refusal()
    assert line == (
        "error: No module named 'diffprivlib'; pip install 'copula-shirley[thesis]' adds it"
    )


def test_help_and_version() -> None:
    for name in commands.COMMANDS:
        done = run(name, "--help")
        assert done.code == 0 and f"shirley {name}" in done.out
    assert run("--version").out == f"copula-shirley {version('copula-shirley')}\n"
    assert "Usage: shirley" in run().out
    panels = run("synthesize --help").out
    places = [panels.index(f"─ {panel} ─") for panel in ("Data", "Privacy", "Method", "Output")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("syn", ["synthesize"]),
        ("fit --neighbours ", ["add-remove", "replace-one"]),
        ("releases ", ["new", "show"]),
    ],
)
def test_the_shell_completes_commands_and_enumerations(line: str, words: list[str]) -> None:
    count = len(f"shirley {line}x".split()) - 1
    asked = {"COMP_WORDS": f"shirley {line}", "COMP_CWORD": f"{count}"}
    done = subprocess.run(
        [Path(sys.executable).with_name("shirley")],
        env={**os.environ, **asked, "_SHIRLEY_COMPLETE": "complete_bash"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema data.csv", "draft data.csv"),
        ("fit d --encoder woe", "fit d --set encoder=woe"),
        ("fit d --no-discrete -o m", "fit d --set discrete=false -o m"),
        ("plan s --families=frank,joe", "plan s --set families=[frank,joe]"),
        ("fit d --epsilon None --domain=private", "fit d --epsilon off --domain measured"),
        ("inspect m --card=c.html", "inspect m --output=c.html"),
        ("verify t.csv --model m", "verify t.csv --from m"),
        ("audit g --folder f --json j.json", "audit g --results f -o j.json"),
        ("reproduce -o f", "reproduce --folder f"),
    ],
)
def test_old_words_are_replaced_and_told(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert modern(old.split()) == new.split()
    assert capsys.readouterr().err.startswith("note: ")
    assert modern(new.split()) == new.split() and capsys.readouterr().err == ""


def test_an_old_command_line_still_works(place: Path) -> None:
    done = run("schema data.csv", folder=place)
    assert done.out == run("draft data.csv", folder=place).out
    assert "'schema' is now called 'draft'" in done.err
    done = run("plan schema.yaml -n 9 --set tilt=false --set domain=private", folder=place)
    assert "--set: tilt is now called reweight" in done.said
    assert "domain='private' is now called domain='measured'" in done.said
    old = QUICK.replace("--set encoder=ordinal", "--encoder ordinal")
    assert run(f"synthesize data.csv -n 5 -o out.csv {old}", folder=place).code == 0


@pytest.mark.parametrize(
    ("script", "more"),
    [
        ("import copula_shirley", {"typing", "numpy"}),
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


def test_baselines_fit_without_the_extra_of_the_thesis() -> None:
    """As in an installation of the core, where these cannot be imported."""
    script = f"""
import sys
sys.modules |= dict.fromkeys({commands.EXTRAS["thesis"]})
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from tables import fitted
assert [len(fitted(n).sample(3)) for n in ("privbayes", "dp-histogram")] == [3, 3]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_public_name_is_there() -> None:
    for name in copula_shirley.__all__:
        assert getattr(copula_shirley, name).__name__.startswith(name)
    assert set(copula_shirley.__all__) <= set(dir(copula_shirley))
    with pytest.raises(AttributeError, match="has no attribute 'nonesuch'"):
        copula_shirley.nonesuch  # noqa: B018
