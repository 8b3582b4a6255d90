"""Faults of protocol, planted one by one: each is caught by who it would harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from sessions import SCHEMA, SIZES, Session, changed, margins

from copula_shirley import BudgetError, ShirleyError
from copula_shirley.holders.holder import new_keys, spent_of
from copula_shirley.holders.messages import LAST, content_digest, query_label
from copula_shirley.holders.query_data import to_data
from copula_shirley.measure.queries import Best, Tables
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap

Fault = Callable[[Session], Any]


def faulty(session: Session, body: Any, arrays: Any = None, **changes: Any) -> Any:
    """A first question of any content, with a label that fits it."""
    label = query_label(session.session.head, content_digest(body, arrays or {}), 1)
    said = {
        "number": 0,
        "attempt": 1,
        "label": label.hex(),
        "query": body,
        "signatures": session.session.signatures,
        **changes,
    }
    return session.holders[0].ready(session.signed("query", said, arrays))


def fewer_colluders(s: Session) -> None:
    s.holders[0].join(s.offer(colluding=0))


def larger_epsilon(s: Session) -> None:
    s.holders[0].join(s.offer(settings={**s.agreement.settings, "epsilon": 3.0}))


def epsilon_in_words(s: Session) -> None:
    s.holders[0].join(s.offer(settings={**s.agreement.settings, "epsilon": "one"}))


def no_noise(s: Session) -> None:
    s.holders[0].join(s.offer(settings={**s.agreement.settings, "epsilon": None}))


def other_neighbours(s: Session) -> None:
    s.holders[0].join(s.offer(settings={**s.agreement.settings, "neighbours": "replace-one"}))


def other_schema(s: Session) -> None:
    said = SCHEMA.to_dict()
    said["columns"]["a"]["maximum"] = 9
    s.holders[0].join(s.offer(schema=said))


def measured_domain(s: Session) -> None:
    s.holders[0].join(s.offer(settings={**s.agreement.settings, "domain": "measured"}))


def man_in_the_middle(s: Session) -> None:
    other = new_keys()[1].public_key().public_bytes_raw().hex()
    s.holders[0].join(s.offer(roster=s.members(0, exchange=other)))


def known_secret(s: Session) -> None:
    s.holders[0].join(s.offer(roster=s.members(1, exchange="00" * 32)))


def one_key_under_two_names(s: Session) -> None:
    key = s.agreement.roster[2].sign
    s.holders[0].join(s.offer(roster=s.members(1, sign=key)))


def one_key_written_in_two_ways(s: Session) -> None:
    key = s.agreement.roster[2].exchange
    s.holders[0].join(s.offer(roster=s.members(1, exchange=f"{key}\n")))


def half_a_byte_of_a_key(s: Session) -> None:
    s.holders[0].join(s.offer(roster=s.members(1, exchange="abc")))


def unsigned_agreement(s: Session) -> None:
    s.holders[0].join(s.signed("agreement", msgspec.to_builtins(s.agreement), key=new_keys()[0]))


def two_agreements(s: Session) -> None:
    s.join()
    s.holders[0].join(s.offer(spare=0.2))


def question_before_joining(s: Session) -> None:
    s.holders[0].ready(s.signed("query", {"number": 0, "attempt": 1, "label": "00", "query": {}}))


def not_signed_by_all(s: Session) -> None:
    s.join()
    del s.session.signatures["h2"]
    faulty(s, *to_data(margins()))


def forged_signature(s: Session) -> None:
    s.join()
    s.session.signatures["h2"] = s.session.signatures["h1"]
    faulty(s, *to_data(margins()))


def changed_question(s: Session) -> None:
    message = s.join().asked()
    arrays = {**message.arrays, "groups": message.arrays["groups"][::-1].copy()}
    s.holders[0].ready(changed(message, arrays=arrays))


def label_of_another_question(s: Session) -> None:
    s.join()
    faulty(s, *to_data(margins()), label="ab" * 32)


def other_last_answer(s: Session) -> None:
    s.join().answered()
    message = s.asked()
    wrong = {**message.arrays, LAST: message.arrays[LAST] + 1}
    s.holders[0].ready(s.signed("query", message.body, wrong))


def skipped_question(s: Session) -> None:
    s.join()
    faulty(s, *to_data(margins()), number=2)


def old_attempt(s: Session) -> None:
    first = s.join().asked()
    s.holders[0].ready(first)
    s.session.restart()
    s.holders[0].ready(s.asked())
    s.holders[0].ready(first)


def two_questions_in_one_attempt(s: Session) -> None:
    s.holders[0].ready(s.join().asked())
    faulty(s, *to_data(margins("other")))


def groups_out_of_range(s: Session) -> None:
    s.join()
    said, arrays = to_data(margins())
    faulty(s, said, {**arrays, "groups": arrays["groups"] + 7})


def interval_without_an_end(s: Session) -> None:
    s.join()
    said, arrays = to_data(margins())
    said = {**said, "intervals": [{"name": "a", "cells": 5}]}
    faulty(s, said, {**arrays, "low": np.arange(5.0), "high": np.full(5, np.nan)})


def infinite_share(s: Session) -> None:
    s.join()
    said, _ = to_data(margins())
    content_digest({**said, "share": np.inf}, {})


def declared_cells_of_nothing(s: Session) -> None:
    s.join()
    said, arrays = to_data(margins())
    faulty(s, {**said, "tables": [{"names": ["a"], "shape": [99]}]}, arrays)


def too_many_cells(s: Session) -> None:
    axis = Axis("a", np.arange(5))
    s.join()
    faulty(s, *to_data(Tables("many", [GroupMap((axis,) * 4)] * 7000, 0.1)))


def more_than_the_budget(s: Session) -> None:
    s.join().answered(margins(share=0.6))
    s.holders[0].ready(s.asked(margins(share=0.6)))


def holder_left_out(s: Session) -> None:
    said = s.join().committed().body
    ready = {name: one for name, one in said["ready"].items() if name != "h1"}
    s.holders[0].masked(s.signed("commit", {**said, "ready": ready}))


def forged_ready(s: Session) -> None:
    said = s.join().committed().body
    ready = {**said["ready"], "h1": [said["ready"]["h1"][0] | {"spent": 0.5}, "00" * 64]}
    s.holders[0].masked(s.signed("commit", {**said, "ready": ready}))


def unequal_questions(s: Session) -> None:
    """The coordinator asks h0 for other tables, and shows each a list of both."""
    message = s.join().asked()
    said, arrays = to_data(margins("other"))
    label = query_label(s.session.head, content_digest(said, arrays), 1).hex()
    other = s.signed("query", {**message.body, "label": label, "query": said}, arrays)
    found = [h.ready(other if h.name == "h0" else message) for h in s.holders]
    ready = {one.sender: [one.body, one.signature.hex()] for one in found}
    s.holders[0].masked(s.signed("commit", {"label": label, "ready": ready}))


def old_entry_of_its_own(s: Session) -> None:
    """A list with what this holder signed before its folder was put back."""
    message = s.join().asked()
    before = s.saved["h0"]
    list_of = {h.name: h.ready(message) for h in s.holders}
    s.put_back(0, before)
    s.holders[0].ready(message)
    ready = {name: [one.body, one.signature.hex()] for name, one in list_of.items()}
    s.holders[0].masked(s.signed("commit", {"label": message.body["label"], "ready": ready}))


def list_shown_twice(s: Session) -> None:
    message = s.join().committed()
    s.holders[0].masked(message)
    s.holders[0].masked(message)


def question_asked_twice(s: Session) -> None:
    message = s.join().asked()
    s.answered()
    s.holders[0].ready(message)


def vector_changed(s: Session) -> None:
    own = s.holders[0].masked(s.join().committed())
    s.session.take(changed(own, arrays={"vector": own.arrays["vector"] + np.uint64(1)}))


def vector_under_another_name(s: Session) -> None:
    own = s.holders[0].masked(s.join().committed())
    s.session.take(changed(own, sender="h1"))


def vector_of_a_stranger(s: Session) -> None:
    own = s.holders[0].masked(s.join().committed())
    s.session.take(changed(own, sender="mallory"))


def message_of_another_session(s: Session) -> None:
    s.join()
    s.session.take(Session().join().holders[0].ready(Session().join().asked()))


def vector_of_another_length(s: Session) -> None:
    message = s.join().committed()
    for holder in s.holders:
        own = holder.masked(message)
        if holder.name == "h1":
            short = {"vector": own.arrays["vector"][:-1]}
            own = changed(own, arrays=short).signed(holder.sign)
        s.session.take(own)
    s.session.answer_to(0, margins())


def exact_scores(s: Session) -> None:
    s.join().session.answer_to(0, Best("choice", [AllRows()], 0.1))  # type: ignore[list-item]


FAULTS: dict[Fault, str] = {
    fewer_colluders: r"does not keep the terms .* colluding \(0\) must be at least 1",
    larger_epsilon: r"terms .* epsilon \(3\) must be at most 2",
    epsilon_in_words: r"epsilon \('one'\) must be a positive number",
    no_noise: "must have an epsilon",
    other_neighbours: r"neighbours \(replace-one\) must be add-remove",
    other_schema: "schema must be that of this holder",
    measured_domain: "domain 'declared'",
    man_in_the_middle: "does not name holder 'h0' with its keys",
    known_secret: "exchange key of holder 'h1' is no X25519 key",
    one_key_under_two_names: "names and keys of the holders must differ",
    one_key_written_in_two_ways: "agreement of 'coordinator' is not readable",
    half_a_byte_of_a_key: "agreement of 'coordinator' is not readable",
    unsigned_agreement: "was not signed with the key of 'coordinator'",
    two_agreements: "has signed another agreement",
    question_before_joining: "must join first",
    not_signed_by_all: "holder 'h2' has not signed the agreement",
    forged_signature: "was not signed with the key of 'h2'",
    changed_question: "query of 'coordinator' was not signed",
    label_of_another_question: "does not continue what holder 'h0' was asked",
    other_last_answer: "does not continue what holder 'h0' was asked",
    skipped_question: "question 2 must come after the answer to 1",
    old_attempt: "attempt 1, is older than the attempt 2",
    two_questions_in_one_attempt: "it answers each attempt once",
    groups_out_of_range: "groups of 'a' are not those of its cells",
    interval_without_an_end: "intervals of 'a' are not in their order",
    infinite_share: "a number that is none",
    declared_cells_of_nothing: "declared cells .* not those agreed on",
    too_many_cells: "must have at most 4,194,304",
    more_than_the_budget: "holder 'h0' has no budget left for question 1",
    holder_left_out: "must name each of them: h1",
    forged_ready: "ready of 'h1' was not signed",
    unequal_questions: "holder 'h1' is ready for another question",
    old_entry_of_its_own: "has an old entry of 'h0'",
    list_shown_twice: "has sent its vector for question 0, attempt 1",
    question_asked_twice: "it answers each attempt once",
    vector_changed: "masked of 'h0' was not signed",
    vector_under_another_name: "masked of 'h1' was not signed",
    vector_of_a_stranger: "'mallory' is none of what holders send",
    message_of_another_session: "its session",
    vector_of_another_length: "vector of 'h1' must have 11 numbers",
    exact_scores: r"query \(Best\) must be one for tables",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_protocol_is_caught(fault: Fault) -> None:
    session = Session()
    with pytest.raises(ShirleyError, match=FAULTS[fault]):
        fault(session)


def test_an_honest_session_gives_sums_with_the_noise_that_was_bought() -> None:
    session = Session(4, 1).join()
    query = margins(share=0.5)
    answer = session.answered(query)
    rows = sum(SIZES)
    exact = np.array([rows, *[rows / 5] * 10])
    scale = session.holders[0].calibration.sigma(query.share, 3)
    assert 2 * 3 < scale < 20
    assert np.abs(answer - exact).max() < 5 * scale
    again = session.answered(query)  # fresh noise, and another question of the chain
    assert (answer != again).any()
    spent = {spent_of(holder.ledger) for holder in session.holders}
    assert len(spent) == 1
    with pytest.raises(BudgetError):
        session.answered(query)
    assert {spent_of(holder.ledger) for holder in session.holders} == spent


# -- what a dishonest or unlucky party gets -------------------------------------------------


def test_lists_that_differ_give_noise() -> None:
    """A colluder h2 signs two numbers, and the coordinator shows h0 and h1 different lists."""
    session = Session().join()
    message = session.asked()
    before = session.saved["h2"]
    first = {h.name: h.ready(message) for h in session.holders}
    session.put_back(2, before)
    second = {**first, "h2": session.holders[2].ready(message)}
    shown = [
        session.signed("commit", {"label": message.body["label"], "ready": {
            name: [one.body, one.signature.hex()] for name, one in found.items()}})
        for found in (first, second)
    ]  # fmt: skip
    vectors = [
        session.holders[0].masked(shown[0]).arrays["vector"],
        session.holders[1].masked(shown[1]).arrays["vector"],
        session.holders[2].masked(shown[1]).arrays["vector"],
    ]
    total = np.sum(vectors, axis=0, dtype=np.uint64).view(np.int64)
    assert np.median(np.abs(total.astype(float))) > 2**55


def test_the_ledger_is_saved_before_a_vector_leaves() -> None:
    session = Session().join()
    message = session.committed()
    holder = session.holders[0]

    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    before, keep = holder.state, holder.keep
    holder.keep = full
    with pytest.raises(OSError, match="disk is full"):
        holder.masked(message)
    assert holder.state is before  # and there is no vector
    holder.keep = keep
    counted, length = [], len(session.log)

    class Watched:
        def counts(self, _: Tables) -> np.ndarray:
            counted.append(len(session.log))
            return np.zeros(11, dtype=np.int64)

    coordinates, holder.rows = holder.rows.coordinates, Watched()  # type: ignore[assignment]
    holder.rows.coordinates = coordinates
    holder.masked(message)
    state, kept = session.saved["h0"]
    assert counted == [length + 1]  # rows were looked at after the ledger was saved
    assert state.sent and not kept
    assert len(Ledger.from_dict(state.ledger).spends) == 2


def test_a_dropout_before_the_list_costs_nothing_and_after_it_is_charged_again() -> None:
    session = Session(spare=0.5).join()
    message = session.asked()
    for holder in session.holders[:2]:  # h2 is gone
        session.session.take(holder.ready(message))
    session.session.restart()
    free = spent_of(session.holders[0].ledger)
    late = session.holders[2].ready(message)
    message = session.committed()
    session.session.take(late)  # of the attempt that was given up
    held = [holder.masked(message) for holder in session.holders]
    session.session.take(held[0])
    session.session.restart()
    answer = session.answered()
    for one in held:  # late vectors change nothing
        session.session.take(one)
    once = session.holders[0].calibration.price(margins()).cost
    assert spent_of(session.holders[0].ledger) == pytest.approx(free + 2 * once)
    assert session.session.rounds[0].charged == 2
    assert session.session.rounds[0].attempt == 3
    assert np.abs(answer[0] - sum(SIZES[:3])) < 6 * session.holders[0].calibration.sigma(0.1, 3)
    # new noise: the vectors of both attempts differ by more than their masks
    old = np.sum([one.arrays["vector"] for one in held], axis=0, dtype=np.uint64).view(np.int64)
    assert (old != answer).any()


def test_an_attempt_without_room_is_refused_before_anything_is_asked() -> None:
    session = Session(spare=0.05).join()
    session.committed()
    with pytest.raises(BudgetError, match=r"cost 0\.1 of the budget again, and 0\.05 of it was"):
        session.session.restart()
    with pytest.raises(ShirleyError, match="no question is open"):
        Session().join().session.restart()


def test_a_folder_that_was_put_back_is_charged_what_others_have_spent() -> None:
    session = Session(spare=0.5).join()
    before = session.saved["h0"]
    message = session.committed()
    for holder in session.holders:
        holder.masked(message)
    full = spent_of(session.holders[0].ledger)
    session.put_back(0, before)
    assert spent_of(session.holders[0].ledger) < full
    session.session.restart()
    session.answered()
    spent = [spent_of(holder.ledger) for holder in session.holders]
    assert spent == pytest.approx([spent[1]] * 3)
    stages = [spend.stage for spend in session.holders[0].ledger.spends]
    assert "other attempts" in stages


def test_a_folder_that_was_put_back_answers_the_same_list_with_the_same_vector() -> None:
    """Noise and random number were saved before anybody was told of them."""
    session = Session().join()
    message = session.committed()
    before = session.saved["h0"]
    first = session.holders[0].masked(message)
    session.put_back(0, before)
    second = session.holders[0].masked(message)
    assert (first.arrays["vector"] == second.arrays["vector"]).all()


def test_a_folder_that_is_behind_refuses_the_next_question() -> None:
    session = Session().join()
    before = session.saved["h0"]
    session.answered()
    message = session.asked()
    session.put_back(0, before)
    with pytest.raises(ShirleyError, match="this folder is old"):
        session.holders[0].ready(message)
