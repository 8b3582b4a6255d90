"""Commands that the tutorials show: their options exist, and those in blocks and in full run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from commands import run

from copula_shirley.cli.commands import COMMANDS, loaded
from copula_shirley.cli.demo import SCHEMA, made
from copula_shirley.publish.releases import ReleaseLedger

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"
TEXTS = {page.stem: page.read_text(encoding="utf-8") for page in sorted(TUTORIALS.glob("*.md"))}
#: Takes hours, or tables and packages from elsewhere: its options are looked at, it is not run.
TOO_LONG = ("reproduce", "--peers", "--dataset adult")
#: What a command says with another exit code than 0.
CODES = {"check wrong.csv --schema schema.yaml": 1}


def in_blocks(text: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.startswith("shirley ")]


def in_sentences(text: str) -> list[str]:
    """Commands inside sentences, of which some are cut short."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`(shirley [a-z][^`]+)`", prose)]


SHOWN = {
    (page, line.removeprefix("shirley "), how is in_blocks)
    for page, text in TEXTS.items()
    for how in (in_blocks, in_sentences)
    for line in how(text)
}


def test_every_option_that_a_tutorial_names_exists() -> None:
    assert len(SHOWN) > 12
    for page, line, _ in SHOWN:
        words = shlex.split(line)
        command = loaded(COMMANDS[words[0]].entry)
        if hasattr(command, "commands"):
            command = command.commands[words[1]]
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        named = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert named <= known, (page, line)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Every file that a tutorial names."""
    stays = made().head(1500)
    stays.to_csv(tmp_path / "stays.csv", index=False)
    stays.assign(age=500).to_csv(tmp_path / "wrong.csv", index=False)
    for role, rows in (
        ("train", slice(700)),
        ("test", slice(700, 1400)),
        ("synthetic", slice(700)),
    ):
        stays.iloc[rows].to_csv(tmp_path / f"{role}.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    fields = '{"fields": [{"name": "age", "type": "integer"}]}'
    (tmp_path / "codebook.json").write_text(fields)
    stays[["age", "sex"]].astype({"sex": "category"}).to_stata(tmp_path / "survey.dta")
    code = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", TEXTS["your_own_generator"], re.DOTALL)
    (tmp_path / "mine.py").write_text(
        "\n".join(c.partition("\n\n\nprint(")[0] for c in code if "class Shuffle" in c)
    )
    return tmp_path


def with_days(folder: Path) -> None:
    """The stays of the tutorial on sums, which count days."""
    stays = pd.read_csv(folder / "stays.csv", parse_dates=["admitted", "discharged"])
    days = (stays["discharged"] - stays["admitted"]).dt.days.clip(0, 30)
    ward = stays["ward"].where(stays["ward"] == "surgery", "medicine")
    rows = pd.DataFrame({"days": days, "age": stays["age"], "ward": ward, "cost": stays["cost"]})
    rows.to_csv(folder / "stays.csv", index=False)
    schema = re.findall(r'from_yaml\("""\n(.*?)"""', TEXTS["sums"], re.DOTALL)[0]
    (folder / "schema.yaml").write_text(schema.replace("18", "0").replace("20000", "200000"))


def runs(line: str, whole: bool) -> bool:
    """Whether a command stands there in full; in sentences it begins with a file then."""
    words = shlex.split(line)
    full = whole or (len(words) > 2 and "." in words[1] + words[2] and not words[1].startswith("-"))
    full |= "--train" in words
    return full and not any(mark in line for mark in TOO_LONG)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "line"), sorted((p, line) for p, line, whole in SHOWN if runs(line, whole))
)
def test_the_commands_of_tutorials_run(
    page: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    if line.startswith("verify"):
        earlier = [one for one in in_blocks(TEXTS[page]) if "synthesize" in one]
        assert run(earlier[0].removeprefix("shirley "), folder=folder).code == 0
    words = shlex.split(line)
    for option in ("-o", "--output"):
        if option in words:
            (folder / words[words.index(option) + 1]).unlink(missing_ok=True)
    if page == "sums":
        with_days(folder)
    done = run(line, folder=folder)
    assert done.code == CODES.get(line, 0), (line, done.err)
    if "-o" in words:
        assert (folder / words[words.index("-o") + 1]).stat().st_size > 0
    if words[:2] == ["releases", "new"]:
        assert ReleaseLedger.open(folder / words[2]).cap.epsilon == 1.5
    if words[0] == "synthesize":
        assert len(pd.read_csv(folder / "synthetic.csv")) > 0
