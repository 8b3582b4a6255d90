"""A fit that is stopped, by a kill or an error, goes on from its journal; and what is refused."""

from __future__ import annotations

import itertools
import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command, run
from tables import JOBS, jobs

from copula_shirley import ArtefactError, Budget, PrivateVine, ReleaseLedger, SettingError, load
from copula_shirley import tasks as all_tasks
from copula_shirley.baselines import DPHistogram
from copula_shirley.measure.journal import TITLE, Journal
from copula_shirley.measure.transcript import Transcript

NAME = "model.shirley.journal"
PLAIN = "fit data.csv --schema schema.yaml --epsilon 8 -o model.shirley"
FIT = f"{PLAIN} --seed 1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    jobs().to_csv(tmp_path / "data.csv", index=False)
    JOBS.write(tmp_path / "schema.yaml")
    return tmp_path


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a fit that nobody stops."""
    place = tmp_path_factory.mktemp("whole")
    jobs().to_csv(place / "data.csv", index=False)
    JOBS.write(place / "schema.yaml")
    assert run(FIT, folder=place).code == 0
    names = ["data.csv", "model.shirley", "model.shirley.card.html", "schema.yaml"]
    assert sorted(os.listdir(place)) == names
    return (place / "model.shirley").read_bytes()


class StoppedError(Exception):
    """Ends a fit."""


def stopped(folder: Path, at: int, moment: str = "after", words: str = FIT) -> Path:
    """Kill a process that fits: before, within or after the writing of an answer."""

    def deadly() -> None:
        write, numbers = Journal.append, itertools.count()

        def writing(self: Journal, one: Transcript, state: str) -> None:
            number = next(numbers)
            if number < at or moment != "before":
                write(self, one, state)
            if number == at:
                if moment == "within":
                    os.truncate(self.path, self.path.stat().st_size - 9)
                os.kill(os.getpid(), signal.SIGKILL)

        Journal.append = writing  # type: ignore[method-assign]

    assert Command(folder, words.split(), first=deadly).ended().code == -signal.SIGKILL
    assert not (folder / "model.shirley").exists()
    return folder / NAME


@pytest.mark.parametrize(
    ("at", "moment", "known"),
    [(0, "before", 0), (0, "after", 1), (3, "before", 3), (3, "within", 3), (5, "after", 6)],
)
def test_a_killed_fit_goes_on_to_the_same_model(
    at: int, moment: str, known: int, folder: Path, uninterrupted: bytes
) -> None:
    journal = stopped(folder, at, moment)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert journal.read_bytes().startswith(TITLE) and b"never publish" in TITLE
    done = run(FIT, folder=folder)
    assert done.code == 0, done.err
    assert f"going on from '{NAME}': {known} answers are known" in done.said
    assert (folder / "model.shirley").read_bytes() == uninterrupted
    assert not journal.exists() and not list(folder.glob(".*.lock"))
    assert run("verify model.shirley", folder=folder).code == 0


def test_who_interrupts_a_fit_is_told_how_it_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", interrupt)
        done = run(FIT, folder=folder)
    assert done.code == 130 and not (folder / "model.shirley").exists()
    assert f"stopped; the same command goes on from '{NAME}'" in done.said
    assert "nothing was written" not in done.said
    assert "going on from" in run(FIT, folder=folder).said


def test_a_fit_can_be_killed_again_and_again(folder: Path, uninterrupted: bytes) -> None:
    for at in (1, 0, 2):  # of the answers that the process asks for itself
        stopped(folder, at)
    assert "6 answers" in run(FIT, folder=folder).said
    assert (folder / "model.shirley").read_bytes() == uninterrupted


@contextmanager
def kept(path: Path) -> Iterator[Journal]:
    """A journal that stays."""
    with suppress(StoppedError), Journal(path) as journal:
        yield journal
        raise StoppedError


def answers(transcript: Transcript) -> list[list[list[int]]]:
    return [[table.tolist() for table in answer.values] for answer in transcript.answers]


def test_answers_that_were_written_down_are_not_drawn_again(folder: Path) -> None:
    """Without a seed two fits would get other noise."""
    stopped(folder, 3, words=PLAIN)
    with kept(folder / NAME) as journal:
        known, head = answers(journal.known), journal._head
    assert len(known) == 4 and head is not None
    assert run(PLAIN, folder=folder).code == 0
    model = load(folder / "model.shirley")
    assert isinstance(model, PrivateVine)
    assert answers(model.transcript_)[:4] == known and len(model.transcript_.answers) > 4
    assert model._pool_seed == head.pool_seed
    assert model.ledger_.spent.epsilon == pytest.approx(8.0) and len(model.ledger_.spends) == len(
        model.transcript_.answers
    )


# -- in Python -------------------------------------------------------------------------


def stopping(at: int, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the writing of an answer fail."""
    write, numbers = Journal.append, itertools.count()

    def writing(self: Journal, one: Transcript, state: str) -> None:
        if next(numbers) == at:
            raise error
        write(self, one, state)

    monkeypatch.setattr(Journal, "append", writing)


@pytest.mark.parametrize("at", [0, 1, 4])
@pytest.mark.parametrize("seed", [1, None])
def test_a_domain_that_is_measured_is_taken_from_the_journal(
    at: int, seed: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Categories are part of answers; texts, truth values and numbers come back as they were."""

    def fit(**more: Any) -> PrivateVine:
        return PrivateVine(20.0, domain="measured", random_state=seed).fit(jobs(), **more)

    stopping(at, StoppedError(), monkeypatch)
    with pytest.raises(StoppedError), Journal(tmp_path / NAME) as journal:
        fit(journal=journal)
    monkeypatch.undo()
    with Journal(tmp_path / NAME) as journal:
        assert len(journal.known.answers) == at
        known = answers(journal.known)
        model = fit(journal=journal)
    assert not (tmp_path / NAME).exists()
    assert answers(model.transcript_)[:at] == known
    model.save(tmp_path / "model.shirley")
    assert load(tmp_path / "model.shirley").sample(20, random_state=0).shape == (20, 3)
    if seed is not None:
        whole = fit()
        whole.save(tmp_path / "whole.shirley")
        files = [tmp_path / name for name in ("model.shirley", "whole.shirley")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_rows_in_pieces_are_known_again(
    folder: Path, uninterrupted: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "parts").mkdir()
    for number in range(3):
        part = jobs()[number * 100 : number * 100 + 100]
        part.to_csv(folder / "parts" / f"{number}.csv", index=False)

    def fit(place: str, error: type[Exception]) -> PrivateVine:
        model = PrivateVine(8.0, random_state=1)
        with suppress(error), Journal(folder / NAME) as journal:
            model.fit(folder / place, JOBS, journal=journal)
        return model

    stopping(3, StoppedError(), monkeypatch)
    fit("parts", StoppedError)
    monkeypatch.undo()
    (folder / "parts" / "1.csv").rename(folder / "other.csv")
    with pytest.raises(ArtefactError, match="belongs to a fit to other rows"):
        fit("parts", KeyError)
    (folder / "other.csv").rename(folder / "parts" / "1.csv")
    fit("parts", KeyError).save(folder / "model.shirley")
    assert (folder / "model.shirley").read_bytes() == uninterrupted


def test_an_answer_that_cannot_be_written_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails at the third answer."""
    model, calls = PrivateVine(8.0, random_state=1), itertools.count()

    def failing(_: int) -> None:
        if next(calls) == 4:  # after the head, its folder, and two answers
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    said = "cannot be written: Input/output error"
    with pytest.raises(ArtefactError, match=said), Journal(tmp_path / NAME) as journal:
        model.fit(jobs(), JOBS, journal=journal)
    assert len(model._written.answers) == 2 and not hasattr(model, "ledger_")


def test_who_cannot_go_on_takes_no_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / NAME) as journal:
        with pytest.raises(SettingError, match="'dp-histogram' cannot go on"):
            DPHistogram().fit(jobs(), JOBS, journal=journal)
        with pytest.raises(SettingError, match="random_state must be None or a whole number"):
            PrivateVine(random_state=np.random.default_rng(0)).fit(jobs(), JOBS, journal=journal)
    assert not list(tmp_path.iterdir())


# -- what is refused -------------------------------------------------------------------


def line(number: int, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        lines = (folder / NAME).read_bytes().split(b"\n")
        lines[number] = change(lines[number])
        (folder / NAME).write_bytes(b"\n".join(part for part in lines[:-1] if part) + b"\n")

    return edit


def other_rows(folder: Path) -> None:
    table = jobs()
    table.loc[7, "age"] += 1
    table.to_csv(folder / "data.csv", index=False)


def other_schema(folder: Path) -> None:
    text = (folder / "schema.yaml").read_text().replace("minimum: 18", "minimum: 17")
    (folder / "schema.yaml").write_text(text)


def nothing(folder: Path) -> None:
    """Leave all as it is."""


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        (line(3, lambda text: text.replace(b'"share": 0', b'"share": 1')), "", "edited or damaged"),
        (line(3, lambda text: text[:70] + b"  " + text[70:]), "", "edited or damaged at line 4"),
        (line(2, lambda _: b""), "", "edited or damaged at line 3"),
        (line(0, lambda _: b"# my notes"), "", "is no journal of a fit"),
        (other_rows, "", "belongs to a fit to other rows"),
        (other_schema, "", "fit.schema_sha256"),
        (nothing, "--epsilon 4", "fit.settings.epsilon is 8.0, and must be 4.0"),
        (nothing, "--seed 2", "fit.random_state is 1, and must be 2"),
        (nothing, "--releases releases.json", "fit.releases is None"),
    ],
)
def test_a_journal_of_something_else_is_refused(
    change: Callable[[Path], None], more: str, said: str, folder: Path
) -> None:
    journal = stopped(folder, 3)
    change(folder)
    before = journal.read_bytes()
    ReleaseLedger.new(folder / "releases.json", Budget(99.0, 1e-6))
    refusal = run(f"{FIT} {more}", folder=folder).refusal()
    assert said in refusal and NAME in refusal
    assert journal.read_bytes() == before and not (folder / "model.shirley").exists()
    foreign = change.__closure__ and not before.startswith(TITLE)
    assert ("--fresh" in refusal) == (not foreign)
    if "releases" not in more:  # which takes no seed
        again = run(f"{FIT} {more} --fresh", folder=folder)
        assert again.code == (2 if foreign else 0) and journal.exists() == bool(foreign)


def test_a_journal_of_another_revision_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping(2, StoppedError(), monkeypatch)
    with pytest.raises(StoppedError), Journal(tmp_path / NAME) as journal:
        PrivateVine(8.0).fit(jobs(), JOBS, journal=journal)
    monkeypatch.setattr(PrivateVine, "revision", PrivateVine.revision + 1)
    with pytest.raises(ArtefactError, match=r"fit\.revision"), Journal(tmp_path / NAME) as journal:
        PrivateVine(8.0).fit(jobs(), JOBS, journal=journal)


def test_two_processes_cannot_have_one_journal(folder: Path) -> None:
    with kept(folder / NAME):
        ended = Command(folder, [*FIT.split(), "-q"]).ended()
        assert ended.code == 2 and b"is used by another process" in ended.err, ended.err
    assert run(FIT, folder=folder).code == 0


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_link_is_no_journal(link: Callable[..., None], folder: Path) -> None:
    """At its end a fit removes a journal; under another name its answers would stay."""
    (folder / "kept").touch()
    link(folder / NAME, folder / "kept")
    assert "must be a file of your own with one name" in run(FIT, folder=folder).refusal()
    assert (folder / "kept").read_bytes() == b"" and not (folder / "model.shirley").exists()


def test_who_has_opened_an_empty_file_before_reads_no_journal(folder: Path) -> None:
    journal = folder / NAME
    journal.touch(0o666)
    with journal.open("rb") as early:
        stopped(folder, 2)
        assert early.read() == b"" and journal.read_bytes().startswith(TITLE)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


def test_the_journal_of_somebody_else_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(folder, 2)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(ArtefactError, match="a file of your own"), Journal(folder / NAME):
        pass


def test_what_is_paid_for_stays_if_a_fresh_fit_is_refused(folder: Path) -> None:
    journal = stopped(folder, 3)
    before = journal.read_bytes()
    (folder / "bad.csv").write_text((folder / "data.csv").read_text() + "17,arts,True\n")
    assert "outside" in run(f"{FIT} --fresh".replace("data", "bad"), folder=folder).refusal()
    assert journal.read_bytes() == before
    assert "4 answers" in run(FIT, folder=folder).said


# -- the release ledger ----------------------------------------------------------------

COUNTED = f"{PLAIN} --releases releases.json"


def states(folder: Path) -> list[str]:
    return [release.state for release in ReleaseLedger.open(folder / "releases.json").releases]


@pytest.fixture
def counting(folder: Path) -> Path:
    ReleaseLedger.new(folder / "releases.json", Budget(20.0, 1e-7))
    return folder


def test_a_fit_that_goes_on_counts_once_and_a_fresh_one_again(counting: Path) -> None:
    stopped(counting, 2, words=COUNTED)
    assert states(counting) == ["begun"]
    assert "fit.releases" in run(PLAIN, folder=counting).refusal()
    assert "3 answers" in run(COUNTED, folder=counting).said
    assert states(counting) == ["settled"]
    (counting / "model.shirley").unlink()
    stopped(counting, 2, words=COUNTED)
    assert run(f"{COUNTED} --fresh", folder=counting).code == 0
    assert states(counting) == ["settled", "begun", "settled"]


def test_a_journal_is_gone_on_with_once(counting: Path) -> None:
    """A copy of it, when the fit is complete, would draw answers that nobody counts."""
    journal = stopped(counting, 2, words=COUNTED)
    copy = journal.read_bytes()
    assert run(COUNTED, folder=counting).code == 0
    journal.write_bytes(copy)
    refusal = run(f"{COUNTED} -q", folder=counting).refusal()
    assert "lacks answers of a fit that was complete" in refusal
    assert states(counting) == ["settled"]


def test_a_table_that_could_not_be_written_is_drawn_from_what_is_paid(
    counting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = COUNTED.replace("fit", "synthesize", 1).replace("model.shirley", "rows.csv")

    def fail(*_: object) -> None:
        raise StoppedError

    monkeypatch.setattr(all_tasks, "_draw", fail)
    assert run(words, folder=counting).code == 3
    monkeypatch.undo()
    assert states(counting) == ["settled"] and (counting / "rows.csv.journal").exists()
    assert run(f"{words} -n 5", folder=counting).code == 0
    assert states(counting) == ["settled"] and not (counting / "rows.csv.journal").exists()
