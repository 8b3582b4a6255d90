"""Whether what holders signed makes the answers of a model: for ``shirley verify``.

The chain is walked again from the agreement: every question that follows from the answers, with
the content of its cell maps, has the label that all holders said they were ready for; the label of
the masks is that of their signed vectors; the vectors sum to the answer; and the ledger of the
model holds what the holders' ledgers held. That the keys belong to the holders, the reader has to
know; that they counted truly, nobody can show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from copula_shirley.errors import ShirleyError
from copula_shirley.holders.holder import Committed, check_ready, check_signatures, spent_of
from copula_shirley.holders.masks import sum_of
from copula_shirley.holders.messages import (
    Message,
    first_label,
    mask_label,
    next_head,
    pool_seed,
    query_label,
)
from copula_shirley.holders.query_data import digest_of
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer
from copula_shirley.measure.trust import VECTOR, Agreement, Holders, Round
from copula_shirley.privacy.ledger import ROUNDING
from copula_shirley.private_vine.generator import PrivateVine


def faults_of(vine: PrivateVine) -> list[str]:
    """What is wrong with the holders' part of a model; empty if it adds up."""
    trust = vine.trust_
    if trust is None:
        return []
    ledger = vine.open_ledger(vine.schema_)
    _, answers = vine.replayed(ledger)
    try:
        return list(_faults(vine, trust, answers.tables))
    except ShirleyError as error:
        return [str(error)]


def _faults(
    vine: PrivateVine, trust: Holders, asked: Sequence[tuple[Query, Answer]]
) -> Iterator[str]:
    agreement = trust.agreement
    own = {k: v for k, v in vine.get_params().items() if k != "random_state"}
    if (
        msgspec.to_builtins(own) != agreement.settings
        or vine.table_schema_.to_dict() != agreement.schema
    ):
        yield "settings and schema are not those that the holders agreed on"
    if vine.seed_of_pool != pool_seed(agreement):
        yield "the seed of the rows drawn at the fit is not that of the agreement"
    check_signatures(agreement, trust.signatures)
    if len(asked) != len(trust.rounds):
        yield f"holders signed {len(trust.rounds)} answers, and the model has {len(asked)}"
        return
    head, ledger = first_label(agreement), vine.open_ledger(vine.schema_)
    noise = trust.calibration(ledger)
    for i, ((query, answer), told) in enumerate(zip(asked, trust.rounds, strict=True)):
        label = query_label(head, digest_of(query), told.attempt)
        if any(ready.label != label.hex() for ready, _ in told.ready.values()):
            yield f"answer {i} ({query.stage}): the holders signed another question"
            return
        nonces = check_ready(agreement, Committed(label.hex(), told.ready))
        masks = mask_label(label, nonces)
        _check_masked(agreement, told, vine.vectors_[f"{VECTOR}{i}"], masks)
        total = np.concatenate([table.ravel() for table in answer.values])
        if not np.array_equal(sum_of(vine.vectors_[f"{VECTOR}{i}"]), total):
            yield f"answer {i} ({query.stage}) is not the sum of the vectors that holders signed"
            return
        for _ in range(told.charged):
            noise.charge(ledger, query)
        if any(said.spent > spent_of(ledger) * (1 + ROUNDING) for said, _ in told.masked.values()):
            yield (
                f"answer {i} ({query.stage}): a holder's ledger holds more than the model's; "
                "attempts that failed are missing in it"
            )
        head = next_head(masks, total)


def _check_masked(agreement: Agreement, told: Round, vectors: np.ndarray, masks: bytes) -> None:
    """Refuse vectors that the holders did not sign for these masks."""
    names = [member.name for member in agreement.roster]
    if sorted(told.masked) != names or len(vectors) != len(names):
        raise ShirleyError("an answer must have one signed vector of each holder")
    for member, vector in zip(agreement.roster, vectors, strict=True):
        body, signature = told.masked[member.name]
        said = Message(
            "masked", agreement.session, member.name, msgspec.to_builtins(body),
            {"vector": vector}, bytes.fromhex(signature),
        )  # fmt: skip
        said.check(member.sign, "masked", agreement.session, member.name)
        if body.label != masks.hex():
            raise ShirleyError(f"holder {member.name!r} signed a vector for another question")
