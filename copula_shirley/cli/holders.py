"""Several holders of rows: ``shirley holder`` for each of them, ``shirley coordinate`` for one."""

from __future__ import annotations

import secrets
import socket
import ssl
from pathlib import Path
from typing import Annotated, Any

import typer

from copula_shirley.cli.options import (
    DATA,
    OUTPUT,
    PRIVACY,
    Neighbours,
    option,
    takes,
    unfitted,
    vine_of,
)
from copula_shirley.cli.terminal import messages, note, plain, progress_told
from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.generator import Generator
from copula_shirley.holders import folders
from copula_shirley.holders.rows import Terms
from copula_shirley.publish.outputs import Output
from copula_shirley.schema.schema import Schema

holder = typer.Typer(no_args_is_help=True, help="One of several holders of rows.")
coordinate = typer.Typer(no_args_is_help=True, help="Fit one model with several holders.")
Folder = Annotated[
    Path, typer.Argument(help="Folder of this session: files arrive in 'in' and leave from 'out'.")
]
TOKEN = "token"


@holder.command("init")
def new_holder(
    folder: Folder,
    data: Annotated[Path, typer.Argument(help="Table with this holder's rows.")],
    schema_file: Annotated[Path, typer.Argument(help="Declared domain (YAML), the same for all.")],
    name: Annotated[str, option(DATA, "Name of this holder: letters, digits, single hyphens.")],
    epsilon: Annotated[float, option(PRIVACY, "Largest epsilon that this holder agrees to.")] = 1.0,
    delta: Annotated[float, option(PRIVACY, "Largest delta that it agrees to.")] = 1e-9,
    neighbours: Neighbours = None,
    colluding: Annotated[
        int, option(PRIVACY, "Least number of colluding holders that noise must withstand.", min=0)
    ] = 1,
) -> None:
    """Make keys for one session, and say on which terms rows may be counted."""
    schema = Schema.read(schema_file).to_dict()
    terms = Terms(epsilon, delta, neighbours or "add-remove", colluding, schema)
    _written(folders.new_holder(folder, name, data, terms), "to the coordinator")


@holder.command()
def join(
    folder: Folder,
    fingerprint: Annotated[
        str | None, option(PRIVACY, "Fingerprint of the agreement, as the others read it.")
    ] = None,
) -> None:
    """Show the agreement that arrived, and sign it once its fingerprint was compared by voice."""
    if fingerprint is not None:
        _written(folders.join(folder, fingerprint), "to the coordinator")
        return
    agreement = folders.offered(folder)
    known = {k: v for k, v in agreement.settings.items() if v is not None}
    settings = ", ".join(f"{name} {value}" for name, value in known.items())
    roster = ", ".join(f"{one.name} {one.sign[:16]}" for one in agreement.roster)
    messages.print(plain(f"Holders: {roster}"), soft_wrap=True)
    messages.print(f"Holders that may collude: at most {agreement.colluding}", soft_wrap=True)
    messages.print(plain(f"Settings: {settings}"), soft_wrap=True)
    person = agreement.schema.get("person")
    if person:
        messages.print(
            f"A person's rows at all holders together: at most {person['max_rows']}", soft_wrap=True
        )
    messages.print(
        f"Fingerprint: {folders.fingerprint(agreement)}. Read it to the other holders by voice; if "
        "it is theirs, sign with --fingerprint.",
        soft_wrap=True,
    )


@holder.command()
def answer(folder: Folder) -> None:
    """Answer what arrived; this holder's ledger is charged and saved before anything leaves."""
    _done(folders.answer(folder), "to the coordinator")


@holder.command()
def serve(
    folder: Folder,
    certificate: Annotated[Path, option(DATA, "Certificate of this service (PEM).")],
    key: Annotated[Path, option(DATA, "Its private key (PEM).")],
    host: Annotated[str, option(OUTPUT, "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option(OUTPUT, "Port; 0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Answer over HTTPS until it is stopped; the token in the folder is for the coordinator."""
    import uvicorn  # noqa: PLC0415  (an extra)

    from copula_shirley.holders.service import service  # noqa: PLC0415  (an extra)

    place = folder / TOKEN
    if not place.exists():
        folders.write_secret(place, secrets.token_urlsafe(32).encode())
    app = service(folder, place.read_text().strip(), note)
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        bound = socket.create_server((host, port))
    except (OSError, ssl.SSLError) as error:
        raise SettingError(f"certificate, key or address cannot be used: {error}") from None
    messages.print(
        f"Listening on {host}:{bound.getsockname()[1]}; the token is in {plain(place)}",
        soft_wrap=True,
    )
    how: Any = {"log_config": None, "access_log": False, "server_header": False, "log_level": 100}
    config = uvicorn.Config(
        app, ssl_certfile=certificate, ssl_keyfile=key, ws="none", proxy_headers=False, **how
    )
    config.load()
    assert config.ssl is not None
    config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
    uvicorn.Server(config).run(sockets=[bound])


@coordinate.command("new")
@takes(unfitted)
def new_session(
    generator: Generator,
    folder: Folder,
    schema_file: Annotated[Path, typer.Argument(help="Declared domain (YAML), the same for all.")],
    holders: Annotated[list[Path], typer.Argument(help="Key files of all holders.")],
    colluding: Annotated[int, option(PRIVACY, "So many holders may collude.", min=0)] = 1,
    spare: Annotated[
        float, option(PRIVACY, "Part of the budget kept for attempts that fail.", min=0, max=0.9)
    ] = 0.0,
) -> None:
    """Make the agreement that all holders sign."""
    vine = vine_of(generator, "several holders")
    schema = Schema.read(schema_file)
    agreement, path = folders.new_session(folder, vine, schema, holders, colluding, spare=spare)
    _written(path, "to all holders")
    messages.print(f"Fingerprint: {folders.fingerprint(agreement)}", soft_wrap=True)


@coordinate.command("next")
def next_step(
    folder: Folder,
    restart: Annotated[
        bool,
        option(PRIVACY, "Give up the attempt: another one may be charged again.", "--restart"),
    ] = False,
    hosts: Annotated[
        Path | None,
        option(DATA, "JSON file of the holders' services: go on over HTTPS until all is answered."),
    ] = None,
) -> None:
    """Take what arrived and write what is sent next."""
    if restart:
        folders.restart(folder)
    if hosts is not None:
        from copula_shirley.holders.client import Session  # noqa: PLC0415  (few need it)

        with progress_told(quiet=False) as progress:
            Session.of(folder, hosts).run(progress)
        done, complete = folders.Done([], []), True
    else:
        done, model = folders.advance(folder)
        complete = model is not None
    _done(done, "to all holders")
    if complete:
        messages.print("All is answered: 'shirley coordinate finish' writes the model")


@coordinate.command()
def finish(
    folder: Folder,
    output: Annotated[Path, option(OUTPUT, "Model to write.", "--output", "-o")],
    sign: Annotated[
        Path | None, option(OUTPUT, "Sign file and card with this private key.")
    ] = None,
) -> None:
    """Write the model of all answers, and its card."""
    done, model = folders.advance(folder)
    if model is None:
        raise ShirleyError(f"the session is not complete: {done.waiting}")
    with Output(output, sign=sign).written([]) as files:
        card = model.card()
        model.save(files.at[output], card)
        files.add_cards(card)
    messages.print(plain(f"Model written to {output}"), soft_wrap=True)


def _written(path: Path, whom: str) -> None:
    messages.print(plain(f"Send {path} {whom}"), soft_wrap=True)


def _done(done: folders.Done, whom: str) -> None:
    """What to send, and an error if something that arrived was refused."""
    for path in done.written:
        _written(path, whom)
    if done.waiting:
        messages.print(plain(f"Then wait: {done.waiting}"), soft_wrap=True)
    if done.faults:
        raise ShirleyError("; ".join(done.faults))
    if not (done.written or done.waiting):
        messages.print("Nothing to answer")
