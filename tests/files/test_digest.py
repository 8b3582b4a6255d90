"""A model file that was changed anywhere is not read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from card_models import fitted

from copula_shirley import ArtefactError, load
from copula_shirley.files.digest import digest_fits, file_sha256


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("digest") / "m.shirley"
    fitted("dp-histogram").save(path)
    return path


def test_a_file_with_a_digest_is_a_zip_and_an_npz(model: Path, tmp_path: Path) -> None:
    assert digest_fits(model)
    with zipfile.ZipFile(model) as file:
        assert file.comment.startswith(b"sha256:") and file.testzip() is None
    with np.load(model) as arrays:
        assert "cumulative_0" in arrays
    # a file from which it was taken is refused
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(tmp_path / "bare", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ArtefactError, match="its digest does not fit"):
        load(tmp_path / "bare")


def test_no_byte_can_be_changed_cut_off_or_put_in(model: Path, tmp_path: Path) -> None:
    whole, changed = model.read_bytes(), tmp_path / "changed"
    middle = len(whole) // 2
    for place in range(len(whole)):
        bit = 1 << place % 8
        changed.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        assert not digest_fits(changed), place
        if place % 97 == 0 or place > len(whole) - 100:
            with pytest.raises(ArtefactError):
                load(changed)
    for content in (
        whole + b"\0",
        b"\0" + whole,
        whole[:middle] + b"\0" + whole[middle:],
        *(whole[:size] for size in (0, 1, 30, middle, len(whole) - 71, len(whole) - 1)),
    ):
        changed.write_bytes(content)
        with pytest.raises(ArtefactError, match="changed"):
            load(changed)


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_sha256(tmp_path / "abc") == expected
