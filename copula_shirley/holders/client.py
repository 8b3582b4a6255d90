"""The coordinator's side of HTTPS: every message to every holder, until all is answered.

What is sent again after a fault is the same file, to which a holder gives the same reply.
"""

from __future__ import annotations

import http.client
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.files.atomic import atomic_path, read_bytes
from copula_shirley.fitted import Progress, silent
from copula_shirley.holders.folders import IN, advance, outstanding
from copula_shirley.holders.messages import ENDING
from copula_shirley.measure.trust import Name
from copula_shirley.private_vine.generator import PrivateVine

#: The path of a service, seconds that a holder may take, and bytes of a reply.
PATH, PATIENCE, LARGEST = "/messages", 600, 2**28


class Host(Struct, forbid_unknown_fields=True):
    """Where a holder's service is."""

    host: str
    port: Annotated[int, Meta(ge=1, le=65535)]
    token: str
    #: PEM file with its certificate, or that of who signed it; else those of the system.
    certificate: str | None = None


@dataclass
class Session:
    """A coordinator's folder, and where its holders are."""

    folder: Path
    hosts: dict[str, Host]
    patience: float = PATIENCE
    faults: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path, hosts: Path) -> Session:
        """The session with the holders of a JSON file: name, then host, port, token."""
        try:
            content = read_bytes(hosts, 2**22, SettingError, "hosts")
            return cls(folder, msgspec.json.decode(content, type=dict[Name, Host]))
        except msgspec.DecodeError as error:
            raise SettingError(f"hosts ({str(hosts)!r}) is not readable: {error}") from None

    def run(self, progress: Progress = silent) -> PrivateVine:
        """The model, or one error that names the holders that did not answer."""
        while True:
            done, model = advance(self.folder, progress)
            if model is not None:
                return model
            lacking, self.faults = outstanding(self.folder), []
            if lacking is None:
                raise ShirleyError(done.waiting)
            message, names = lacking
            for name in names:
                self._exchange(name, message)
            if self.faults:
                raise ShirleyError(f"{'; '.join(self.faults)}; run this again")

    def _exchange(self, name: str, message: Path) -> None:
        """Send a file to one holder, and put its reply among what arrived."""
        if name not in self.hosts:
            self.faults.append(f"{name}: no host is named for it")
            return
        try:
            reply = self._posted(self.hosts[name], message.read_bytes())
        except (OSError, http.client.HTTPException) as error:
            self.faults.append(f"{name}: {error or type(error).__name__}")
            return
        except ShirleyError as error:
            self.faults.append(f"{name}: {error}")
            return
        place = self.folder / IN / f"{message.name.removesuffix(ENDING)}-reply.{name}{ENDING}"
        with atomic_path(place) as partial:
            partial.write_bytes(reply)

    def _posted(self, host: Host, content: bytes) -> bytes:
        known = ssl.create_default_context(cafile=host.certificate)
        known.minimum_version = ssl.TLSVersion.TLSv1_3
        link = http.client.HTTPSConnection(
            host.host, host.port, timeout=self.patience, context=known
        )
        try:
            link.request("POST", PATH, content, {"Authorization": f"Bearer {host.token}"})
            found = link.getresponse()
            reply = found.read(LARGEST + 1)
        finally:
            link.close()
        if found.status != 200:
            raise ShirleyError(reply[:200].decode("ascii", "replace").strip())
        if len(reply) > LARGEST:
            raise ShirleyError("the reply is too large")
        return reply
