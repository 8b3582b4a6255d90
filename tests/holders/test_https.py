"""Holders as real processes behind HTTPS: killed, asked twice, late, asked other questions."""

from __future__ import annotations

import datetime
import ipaddress
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from copula_shirley import Column, PrivateVine, Schema, ShirleyError, verify_file
from copula_shirley.holders import folders
from copula_shirley.holders.client import Host, Session
from copula_shirley.holders.coordinator import Coordinator
from copula_shirley.holders.holder import COORDINATOR, spent_of
from copula_shirley.holders.messages import Message, content_digest, query_label
from copula_shirley.holders.query_data import to_data
from copula_shirley.holders.rows import Terms
from copula_shirley.measure.queries import Tables
from copula_shirley.private_vine.cell_maps import AllRows

pytestmark = pytest.mark.slow
pytest.importorskip("uvicorn")

SCHEMA = Schema(tuple(Column(name, "integer", minimum=0, maximum=3) for name in "ab"))
NAMES = ("h1", "h2", "h3")
SERVE = "import sys; from copula_shirley.cli.main import main; main()"


def certificate(place: Path) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(1))
        .not_valid_after(now + datetime.timedelta(1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    (place / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (place / "key.pem").write_bytes(plain)
    return place / "cert.pem", place / "key.pem"


def signed(own: Coordinator, kind: str, body: Any, arrays: Any = None) -> Message:
    """Something that the coordinator says, in any words."""
    said = Message(kind, own.agreement.session, COORDINATOR, body, arrays or {})
    return said.signed(own.key)


class Town:
    """Three holders, each a process of its own, and a coordinator's folder."""

    def __init__(self, place: Path) -> None:
        self.place, self.running = place, {}
        self.certificate, self.key = certificate(place)
        keys = []
        for i, name in enumerate(NAMES):
            rows = np.arange(300) % 4
            pd.DataFrame({"a": rows, "b": (rows + i) % 4}).to_csv(
                place / f"{name}.csv", index=False
            )
            terms = Terms(2.0, 1e-9, "add-remove", 1, SCHEMA.to_dict())
            keys.append(folders.new_holder(place / name, name, place / f"{name}.csv", terms))
        vine = PrivateVine(2.0)
        self.agreement, offer = folders.new_session(
            place / "middle", vine, SCHEMA, keys, 1, spare=0.3
        )
        for name in NAMES:
            (place / name / "in" / offer.name).write_bytes(offer.read_bytes())
            folders.join(place / name, folders.fingerprint(self.agreement))

    def start(self, name: str, port: int = 0) -> Host:
        self.running[name] = started = subprocess.Popen(
            [
                *(sys.executable, "-c", SERVE, "holder", "serve", name, "--port", str(port)),
                *("--certificate", str(self.certificate), "--key", str(self.key)),
            ],
            cwd=self.place,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert started.stderr is not None
        line = started.stderr.readline()
        assert "Listening on 127.0.0.1:" in line, line
        token = (self.place / name / "token").read_text()
        return Host(
            "127.0.0.1", int(line.split(":")[1].split(";")[0]), token, str(self.certificate)
        )

    def bytes(self, message: Message) -> bytes:
        """The file of a message."""
        message.write(self.place / "message.shirley")
        return (self.place / "message.shirley").read_bytes()

    def read(self, content: bytes) -> Message:
        (self.place / "reply.shirley").write_bytes(content)
        return Message.read(self.place / "reply.shirley")

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    found = Town(tmp_path)
    yield found
    for name in list(found.running):
        found.kill(name)


def test_a_session_over_https_with_a_holder_that_is_killed(town: Town) -> None:
    hosts = {name: town.start(name) for name in NAMES}
    session = Session(town.place / "middle", hosts, patience=60)
    post, posts = session._posted, []

    def counted(host: Host, content: bytes) -> bytes:
        posts.append(content)
        if len(posts) == 3 + 2 * 3 + 2:  # in the midst of the second question
            town.kill("h2")
        return post(host, content)

    session._posted = counted  # type: ignore[method-assign]
    with pytest.raises(ShirleyError, match=r"h2: .*run this again"):
        session.run()
    # late: it is there again, and is sent the same once more
    hosts["h2"] = town.start("h2")
    model = session.run()
    model.save(town.place / "model.shirley")
    assert not verify_file(town.place / "model.shirley").faults
    assert all(told.charged == 1 for told in model.trust_.rounds)  # type: ignore[union-attr]
    spent = {spent_of(folders.open_holder(town.place / name).ledger) for name in NAMES}
    assert len(spent) == 1
    # what is sent twice gets the same reply, byte by byte, and costs nothing
    last = (town.place / "middle" / "out").glob("commit-*")
    message = max(last).read_bytes()
    assert post(hosts["h1"], message) == post(hosts["h1"], message)
    assert {spent_of(folders.open_holder(town.place / "h1").ledger)} == spent


def test_what_a_service_refuses(town: Town) -> None:
    hosts = {name: town.start(name) for name in NAMES}
    session = Session(town.place / "middle", hosts, patience=60)
    wrong = Host(hosts["h1"].host, hosts["h1"].port, "guess", hosts["h1"].certificate)
    with pytest.raises(ShirleyError, match="token is not that of this holder"):
        session._posted(wrong, b"")
    unknown = Host(hosts["h1"].host, hosts["h1"].port, hosts["h1"].token, None)
    with pytest.raises(OSError, match="certificate verify failed"):
        session._posted(unknown, b"")
    with pytest.raises(ShirleyError, match="refused; the holder knows why"):
        session._posted(hosts["h1"], b"no message")
    old = ssl.create_default_context(cafile=str(town.certificate))
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    link = socket.create_connection(("127.0.0.1", hosts["h1"].port))
    with link, pytest.raises(OSError, match="SSL"):
        old.wrap_socket(link, server_hostname="127.0.0.1")
    # a question that was changed on the way, and one that differs from what the others get
    folders.advance(town.place / "middle")
    for name in NAMES:
        reply = session._posted(
            hosts[name], (town.place / "middle/out/agreement.shirley").read_bytes()
        )
        (town.place / "middle/in" / f"signature.{name}.shirley").write_bytes(reply)
    done, _ = folders.advance(town.place / "middle")
    (asked,) = done.written
    message = Message.read(asked)
    changed = Message(
        message.kind, message.session, message.sender, {**message.body, "attempt": 7},
        message.arrays, message.signature,
    )  # fmt: skip
    with pytest.raises(ShirleyError, match="refused; the holder knows why"):
        session._posted(hosts["h1"], town.bytes(changed))
    assert spent_of(folders.open_holder(town.place / "h1").ledger) < 1e-9
    # a coordinator that asks h1 for other tables gets no vector of anybody
    own = folders.open_session(town.place / "middle")
    said, arrays = to_data(Tables("other", [AllRows()], 0.1))
    label = query_label(own.head, content_digest(said, arrays), 1).hex()
    unequal = signed(own, "query", {**message.body, "label": label, "query": said}, arrays)
    ready = {}
    for name in NAMES:
        asked_of = town.bytes(unequal if name == "h1" else message)
        own_ready = town.read(session._posted(hosts[name], asked_of))
        ready[name] = [own_ready.body, own_ready.signature.hex()]
    for name, one in (("h1", label), ("h2", message.body["label"])):
        shown = signed(own, "commit", {"label": one, "ready": ready})
        with pytest.raises(ShirleyError, match="refused; the holder knows why"):
            session._posted(hosts[name], town.bytes(shown))
    for name in NAMES:
        assert spent_of(folders.open_holder(town.place / name).ledger) < 1e-9
