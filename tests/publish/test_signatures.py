"""A signature holds for one file with one card by one key, and for nothing else."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from card_models import SCHEMA, rows
from commands import run

from copula_shirley import ArtefactError, SettingError
from copula_shirley.publish.signatures import new_key, read_private_key, read_public_key
from copula_shirley.publish.verify import verify_file

FIT = "data.csv --schema schema.yaml --model dp-histogram -q --sign key.pem"


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a signed model, and two signed tables of it."""
    folder = tmp_path_factory.mktemp("signed")
    rows().to_csv(folder / "data.csv", index=False)
    (folder / "schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    for words in (
        "keys new key.pem",
        "keys new other.pem",
        f"synthesize {FIT} -n 9 -o a.csv --save-model m.shirley",
        "sample m.shirley -n 9 -q --sign key.pem -o b.csv",
    ):
        assert run(words, folder=folder).code == 0
    return folder


@pytest.fixture
def here(signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(signed, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def faults(name: str, key: str = "key.pem.pub") -> list[str]:
    verdict = verify_file(name, public_key=key)
    assert (verdict.signed_with == key) == (not any(".sig" in text for text in verdict.faults))
    return verdict.faults


@pytest.mark.usefixtures("here")
def test_what_was_signed_fits() -> None:
    for name in ("a.csv", "b.csv", "m.shirley"):
        assert Path(f"{name}.sig").exists() and faults(name) == []
    said = json.loads(run("verify a.csv --public-key key.pem.pub --json").out)
    assert said["signed_with"] == "key.pem.pub" and "signed with the key" in said["conclusion"]
    assert "signature says only who signed" in " ".join(said["not_shown"])
    words = "verify a.csv --from m.shirley --public-key key.pem.pub"
    assert run(words).code == 0
    Path("m.shirley.sig").unlink()  # the key is asked of both
    assert "model m.shirley: there is no signature" in run(words).out


@pytest.mark.usefixtures("here")
def test_what_was_not_signed_does_not_fit() -> None:
    assert faults("a.csv", "other.pem.pub") == [
        "a.csv.sig was not made with this key, or was changed"
    ]
    shutil.copy("b.csv.sig", "a.csv.sig")
    assert faults("a.csv") == [
        "a.csv.sig is the signature of another file",
        "a.csv.sig is the signature of another card",
    ]
    Path("a.csv.sig").unlink()
    assert faults("a.csv") == ["there is no signature a.csv.sig beside the file"]
    text = Path("b.csv").read_text()
    Path("b.csv").write_text(text + "\n")
    assert "b.csv.sig is the signature of another file" in faults("b.csv")
    Path("b.csv").write_text(text)
    with open("b.csv.card.html", "ab") as page:
        page.write(b" ")
    assert "b.csv.sig is the signature of another card" in faults("b.csv")
    Path("m.shirley.card.html").unlink()  # a model has a card inside, but this one was signed, too
    assert faults("m.shirley") == ["m.shirley.sig is the signature of another card"]
    # a new file over a signed one, without a key
    assert run("sample m.shirley -n 9 -q -o b.csv").code == 0
    assert "b.csv.sig is the signature of another file" in faults("b.csv")


@pytest.mark.usefixtures("here")
def test_the_kind_of_a_file_is_signed() -> None:
    shutil.copy("m.shirley", "m.csv")
    shutil.copy("m.shirley.card.html", "m.csv.card.html")
    shutil.copy("m.shirley.sig", "m.csv.sig")
    assert "m.csv.sig is the signature of another kind of file" in faults("m.csv")


BENT = ["", "hello", "[]", '{"signature": 3}', '{"signature": "YQ=="}']
# nesting that can be read and not written again, and a kind that is no text
DEEP = ['"x": ' + "[" * 978 + "]" * 978, '"kind": [], "file": "", "card": ""']
BENT += ['{"signature": "' + "A" * 88 + '", ' + more + "}" for more in DEEP]


@pytest.mark.usefixtures("here")
def test_bent_and_changed_signatures_do_not_fit() -> None:
    beside = Path("a.csv.sig")
    said = json.loads(beside.read_text())
    for part in ("kind", "file", "card"):
        beside.write_text(json.dumps({**said, part: "model"}))
        assert faults("a.csv") == ["a.csv.sig was not made with this key, or was changed"]
    for content in BENT:
        beside.write_text(content)
        assert faults("a.csv") == ["a.csv.sig is no signature of this project"]


@pytest.mark.usefixtures("here")
def test_nothing_is_written_with_a_key_that_cannot_be_read() -> None:
    before = set(os.listdir())
    for key, said in {"absent": "does not exist", "a.csv": "private Ed25519"}.items():
        assert said in run(f"fit {FIT} -o new.shirley".replace("key.pem", key)).refusal()
    assert run("sample m.shirley -q --sign key.pem -o key.pem.csv -n 3").code == 0
    assert run(f"fit {FIT} -o key.pem").code == 2  # the key itself
    assert set(os.listdir()) - before == {f"key.pem.csv{end}" for end in ("", ".card.html", ".sig")}


def test_a_new_key_is_its_owners_and_is_never_written_over(tmp_path: Path) -> None:
    public = new_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert b"PUBLIC" in public.read_bytes() and public.name == "key.pub"
    with pytest.raises(SettingError, match="never written over"):
        new_key(tmp_path / "key")
    with pytest.raises(SettingError, match="public Ed25519 key"):
        read_public_key(tmp_path / "key")
    with pytest.raises(SettingError, match="private Ed25519 key"):
        read_private_key(public)
    with pytest.raises(ArtefactError, match="cannot be written"):
        new_key(tmp_path / "absent" / "key")
    assert sorted(os.listdir(tmp_path)) == ["key", "key.pub"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_keys_of_openssl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True)

    openssl("genpkey", "-algorithm", "ed25519", "-out", "plain")
    openssl("pkey", "-in", "plain", "-pubout", "-out", "public")
    openssl("pkey", "-in", "plain", "-aes256", "-passout", "pass:word", "-out", "locked")
    openssl("genpkey", "-algorithm", "x25519", "-out", "exchange")
    raw = read_public_key(tmp_path / "public").public_bytes_raw()
    assert read_private_key(tmp_path / "plain").public_key().public_bytes_raw() == raw
    monkeypatch.delenv("SHIRLEY_KEY_PASSPHRASE", raising=False)
    with pytest.raises(SettingError, match="SHIRLEY_KEY_PASSPHRASE"):
        read_private_key(tmp_path / "locked")
    monkeypatch.setenv("SHIRLEY_KEY_PASSPHRASE", "word")
    assert read_private_key(tmp_path / "locked").public_key().public_bytes_raw() == raw
    assert read_private_key(tmp_path / "plain")
    monkeypatch.setenv("SHIRLEY_KEY_PASSPHRASE", "wrong")
    with pytest.raises(SettingError, match="the right one"):
        read_private_key(tmp_path / "locked")
    with pytest.raises(SettingError, match="of another kind"):
        read_private_key(tmp_path / "exchange")
