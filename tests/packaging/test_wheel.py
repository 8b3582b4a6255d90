"""What the wheel holds, and that it works alone in an empty environment outside the checkout."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tables import declared

from copula_shirley import Schema, read_table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the unpacked source archive, as an installer builds it."""
    folder = tmp_path_factory.mktemp("built")
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run([*hatchling, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz")
    subprocess.run([*hatchling, "-t", "wheel"], cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_installs_one_name(built: Path) -> None:
    with zipfile.ZipFile(built) as wheel:
        names = set(wheel.namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {re.sub(r"-.*", "", top) for top in tops} == {"copula_shirley"} and len(tops) == 2
    for folder in ("copula_shirley", "baselines", "evaluation", "experiments"):
        base = ROOT / folder
        place = "copula_shirley" if folder == "copula_shirley" else f"copula_shirley/{folder}"
        tracked = subprocess.run(
            ["git", "ls-files"], cwd=base, check=True, capture_output=True, text=True
        ).stdout.split("\n")
        expected = {f"{place}/{name}" for name in tracked if name and (base / name).is_file()}
        left_out = {name for name in expected if "/experiments/results/" in name}
        assert expected - left_out <= names and not left_out & names
    assert "copula_shirley/experiments/datasets.yaml" in names


@pytest.mark.slow
def test_the_commands_of_the_readme_run_from_the_wheel_alone(built: Path, tmp_path: Path) -> None:
    """A curator who installs no extra drafts, plans, synthesises and verifies."""
    subprocess.run([sys.executable, "-m", "venv", "own"], cwd=tmp_path, check=True)
    programs = tmp_path / "own" / "bin"
    pip = [programs / "python", "-m", "pip", "install", "-q", str(built)]
    subprocess.run(pip, cwd=tmp_path, check=True)
    (packages,) = tmp_path.glob("own/lib/python*/site-packages")
    assert not {"baselines", "evaluation", "experiments"} & {p.name for p in packages.iterdir()}
    lines = ["age,job,rich", *(f"{20 + i % 50},{'ab'[i % 3 == 0]},{i % 2}" for i in range(600))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(*words: str, program: str = "shirley") -> subprocess.CompletedProcess[str]:
        command = [str(programs / program), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("--version", program="copula-shirley").stdout.split()[-1] in built.name
    assert run("draft", "data.csv", "-o", "draft.yaml").returncode == 0
    drafted = Schema.read(tmp_path / "draft.yaml")
    declared(read_table(tmp_path / "data.csv", drafted)).write(tmp_path / "schema.yaml")
    for words in (
        "plan schema.yaml -n 600 --epsilon 1",
        "synthesize data.csv --schema schema.yaml --epsilon 1 -o new.csv",
        "fit data.csv --schema schema.yaml -o model.shirley --model privbayes",
        "sample model.shirley -n 10 -o more.parquet",
        "verify new.csv",
        "inspect model.shirley",
    ):
        done = run(*words.split())
        assert done.returncode == 0, (words, done.stderr)
    scored = "--train data.csv --test data.csv --synthetic new.csv --schema schema.yaml"
    thesis = "fit data.csv --schema schema.yaml -o t --model copula-shirley --accept-unproved"
    for extra, words in (
        ("evaluate", f"evaluate {scored}"),
        ("thesis", thesis),
        ("experiments", "experiments list models"),
        ("page", "page"),
    ):
        missing = run(*words.split())
        assert missing.returncode == 2
        assert f"pip install 'copula-shirley[{extra}]'" in " ".join(missing.stderr.split())
