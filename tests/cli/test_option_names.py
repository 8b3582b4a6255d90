"""Errors of the command line name options and arguments, those of Python parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from tables import PEOPLE, people

from copula_shirley import PrivateVine, Schema, ShirleyError, plan

FIT = "fit data.csv --schema schema.yaml -o m"
SAMPLE = "sample model.shirley -o out.csv --accept-unproved"
JUDGE = "evaluate data.csv --schema schema.yaml"

#: Wrong words, and how the error begins.
WRONG = {
    "draft data.csv -o data.csv": "--output ('data.csv') must be another file",
    "draft data.csv -o schema.yaml": "--output ('schema.yaml') exists",
    "draft data.csv --drop shoe": "--drop ('shoe') must be a column",
    "draft data.csv --person shoe": "--person ('shoe') must be a column",
    "draft data.csv --query x": "--query ('x') must be asked of a database",
    "check data.csv": "Missing option '--schema'",
    "plan schema.yaml": "Missing option '--rows'",
    "plan schema.yaml -n 0": "--rows (0) must be",
    "plan schema.yaml -n many": "--rows ('many') must be a whole number",
    "plan schema.yaml -n 9 --epsilon -1": "--epsilon ('-1') must be",
    "plan schema.yaml -n 9 --epsilon 1e-9": "--epsilon (1e-09) must be at least",
    "plan schema.yaml -n 9 --delta 2": "--delta (2.0) must be",
    "plan schema.yaml -n 9 --delta x": "--delta ('x') must be a number",
    "plan schema.yaml -n 9 --target shoe": "--target ('shoe') must be a column",
    "plan schema.yaml -n 9 --target age": "--target ('age') must have at most",
    "plan schema.yaml -n 9 --neighbours both": "--neighbours ('both') must be one of add-r",
    "plan schema.yaml -n 9 --domain bought": "--domain ('bought') must be one of",
    "plan schema.yaml -n 9 --model forest": "--model ('forest') must be one of",
    "plan schema.yaml -n 9 --model uniform": "--model ('uniform') cannot be planned",
    "plan schema.yaml -n 9 --set truncation=0": "--set truncation (0) must be",
    "plan schema.yaml -n 9 --set shoe=1": "--set shoe is no setting of 'private-vine'",
    "plan schema.yaml -n 9 --set shoe": "--set ('shoe') must be name=value",
    f"{FIT} --model dp-copula --delta 0.1": "--delta is no setting of 'dp-copula'",
    f"{FIT} --model privbayes --set degree=0": "--set degree (0) must be",
    f"{FIT} --set neighbours=both": "--neighbours ('both') must be one of",
    f"{FIT} --set on_unknown=drop": "--on-unknown ('drop') must be one of",
    f"{FIT} --on-unknown drop": "--on-unknown ('drop') must be one of refuse, clip",
    f"{FIT} --rows-about 0": "--rows-about (0) must be 1 or more",
    f"{FIT} --rows-about few": "--rows-about ('few') must be a whole number",
    f"{FIT} --seed -1": "--seed (-1) must be 0 or more",
    f"{FIT} --seed x": "--seed ('x') must be a whole number",
    f"{FIT} --model real": "--model ('real') holds the rows themselves",
    f"{FIT} --releases": "Option '--releases' requires an argument",
    f"{FIT} --shoe": "No such option: --shoe",
    "fit data.csv --schema schema.yaml -o schema.yaml": "--output ('schema.yaml') must be another",
    "fit data.csv --releases r.json -o m --accept-unproved": "--schema (not given) must be named",
    f"{SAMPLE} -n -1": "--rows (-1) must be",
    f"{SAMPLE} -n 99999999999999999": "--rows (99999999999999999) must be at most",
    f"{SAMPLE} --seed -1": "--seed (-1) must be",
    f"{SAMPLE} --given age": "--given ('age') must be name=value",
    f"{SAMPLE} --given shoe=1": "--given ('shoe') must be a column",
    f"{SAMPLE} --given 'job>law'": "--given 'job' (job>law) must be a category",
    "sample model.shirley -o out.xyz": "--output ('out.xyz') must end in",
    "synthesize data.csv --schema schema.yaml -o s.csv -n -5": "--rows (-5) must be 0 or more",
    "synthesize data.csv -o s.csv --save-model s.csv": "--save-model ('s.csv')",
    "inspect model.shirley --plot x.abc": "--plot ('x.abc') must end in",
    "inspect model.shirley -o model.shirley": "--output ('model.shirley') must be another file",
    "verify model.shirley --sha256 abc": "--sha256 ('abc') must be 64",
    "verify model.shirley --from model.shirley": "--from ('model.shirley') goes with a table",
    "releases new r.json --epsilon 0": "--epsilon (0.0) must be",
    "releases new r.json --epsilon 1 --delta 3": "--delta (3.0) must be",
    "releases new r.json --epsilon 1 --unit house": "--unit ('house') must be one of row, person",
    f"{JUDGE} --epsilon -1": "--epsilon ('-1') must be",
    f"{JUDGE} --task binary=shoe": "--task 'binary' ('shoe') must be a column",
    f"{JUDGE} --task shoe=age": "--task ('shoe') must be one of",
    f"{JUDGE} --metric shoe": "--metric ('shoe') must be one of",
    f"{JUDGE} --profile fast": "--profile ('fast') must be one of light, thesis",
    f"{JUDGE} --threads 0": "--threads (0) must be",
    f"{JUDGE} --sensitive shoe": "--sensitive ('shoe') must be a column",
    "audit private-vine --runs 1": "--runs (1) must be",
    "audit private-vine --pair shoe": "--pair ('shoe') must be one of",
    "audit private-vine --epsilon -1": "--epsilon (-1.0) must be",
    "benchmark --folds 0": "--folds (0) must be 2 or more",
    "benchmark --data data.csv": "--schema (not given) must name",
    "reproduce models --dataset shoe": "--dataset ('shoe') must be one of",
    "reproduce models --size huge": "--size ('huge') must be one of quick, full",
}


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(("words", "start"), WRONG.items())
def test_errors_of_commands_name_options(place: Path, words: str, start: str) -> None:
    assert run(words, folder=place).refusal().removeprefix("error: ").startswith(start)


@pytest.mark.parametrize(
    ("call", "start"),
    [
        (lambda: PrivateVine(-1).fit(people(), PEOPLE), "epsilon (-1) must be"),
        (lambda: PrivateVine(random_state="x").fit(people(), PEOPLE), "random_state ('x') must"),
        (lambda: plan(PEOPLE, 0), "n (0) must be"),
        (lambda: plan(PEOPLE, 9, truncation=0), "truncation (0) must be"),
        (lambda: PrivateVine(on_unknown="drop").fit(people(), PEOPLE), "on_unknown ('drop') must"),
        (lambda: Schema((), person="x"), "columns ([]) must"),
    ],
)
def test_errors_of_python_name_parameters(call: Callable[[], object], start: str) -> None:
    with pytest.raises(ShirleyError) as error:
        call()
    assert str(error.value).startswith(start)
