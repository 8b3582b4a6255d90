"""What a file promises: ``shirley inspect`` and ``shirley verify``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from copula_shirley import tasks
from copula_shirley.cli.options import DATA, OUTPUT, Json, ModelFile, option
from copula_shirley.cli.terminal import messages, plain, print_json, print_table, screen
from copula_shirley.errors import SettingError
from copula_shirley.files.texts import one_line
from copula_shirley.generator import Generator
from copula_shirley.privacy.card import Card, domain_warnings, rules_of
from copula_shirley.privacy.card_words import RANDOMNESS, percent


def inspect(
    model: ModelFile,
    plot: Annotated[Path | None, option(OUTPUT, "Draw the vine's trees, e.g. tree.png.")] = None,
    output: Annotated[
        Path | None,
        option(OUTPUT, "Write the privacy card as a page, e.g. card.html.", "--output", "-o"),
    ] = None,
    json: Json = False,
) -> None:
    """Show a model's privacy card and ledger, and its vine."""
    if json and (plot or output):
        raise SettingError("--json and --plot or --output cannot be asked for at once")
    generator, card = tasks.inspect(model, plot, output)
    ledger = generator.ledger_
    if json:
        print_json(ledger.to_dict())
        return
    print_table("Privacy label", ("", ""), label_lines(generator))
    if ledger.spends:
        print_table("Spends", *ledger.spends_table())
    if ledger.unprotected:
        head = ("stage", "what", "rows", "why")
        print_table("Unprotected uses of rows", head, ledger.grouped_unprotected())
    print_table("Privacy card", ("", ""), _card_lines(card))
    for title, frame in generator.tables().items():
        print_table(title, frame.columns, frame.itertuples(index=False))
    for what, path in (("Drawn", plot), ("Card written", output)):
        if path is not None:
            messages.print(f"{what} to {plain(path)}")


def verify(
    file: Annotated[Path, typer.Argument(help="Model file, or a table with its card beside it.")],
    card: Annotated[Path | None, option(DATA, "The card, if it is not beside the file.")] = None,
    sha256: Annotated[
        str | None, option(DATA, "The file's sha256 as its maker published it.")
    ] = None,
    drawn_from: Annotated[
        Path | None,
        option(DATA, "Of a table: the model that it is said to be drawn from.", "--from"),
    ] = None,
    public_key: Annotated[
        Path | None, option(DATA, "Public key (PEM) of who is said to have signed.")
    ] = None,
    json: Json = False,
) -> int:
    """Add a card's costs up again and compare card, ledger, transcript and file.

    Exit code 0 if nothing that was compared contradicts, 1 if something does, 2 if the file cannot
    be read. Of a table without --from, 0 says only that card and file belong together: it does
    not show that the rows were drawn from a private model.
    """
    found = tasks.verify(file, card, sha256, drawn_from, public_key)
    if json:
        print_json(found.to_dict())
        return int(not found.fits)
    said = {"fits": found.passed, "FAULT": found.faults, "not shown": found.not_shown}
    lines = [f"{word}: {text}" for word, texts in said.items() for text in texts]
    for text in [*lines, found.conclusion]:
        screen.print(one_line(text), markup=False, soft_wrap=True)
    return int(not found.fits)


def label_lines(generator: Generator) -> Iterator[tuple[str, str]]:
    """What is promised of a model, in headings and texts."""
    schema = generator.table_schema_
    yield from generator.ledger_.summary()
    yield "cells", ", ".join(f"{c.name} {c.size:,}" for c in generator.schema_)
    for fact in rules_of(schema, generator.settings_, generator.ledger_):
        yield "rule", f"{fact.rule}, kept by {fact.kept_by}"
    bought = [c for c in schema if c.provenance == "private" and not c.categories]
    if bought:
        yield "bought", ", ".join(f"{c.name} {c.minimum} to {c.maximum}" for c in bought)
    for left in schema.left_out:
        yield "left out", f"{left.name}: {left.reason or 'no reason stated'}"
    for text in domain_warnings(schema, generator.n_rows_):
        yield "warning", text


def _card_lines(card: Card) -> Iterator[tuple[str, str]]:
    """What the label means for a person, and what the model was made of."""
    yield "verdict", card.words.headline
    for line in card.meaning or ():
        most = percent(100 * line.most_true_positives)
        alarms = f"at {line.false_positives:.0%} false alarms"
        yield alarms, f"no attacker finds more than {most}%"
    for text in card.trust.words if card.trust else ():
        yield "trust", text
    yield "randomness", RANDOMNESS[card.randomness]
    yield "settings", f"sha256 {card.settings_sha256[:16]}"
    yield "schema", f"sha256 {card.schema_sha256[:16]}"
    yield "made with", ", ".join(f"{name} {version}" for name, version in card.versions.items())
