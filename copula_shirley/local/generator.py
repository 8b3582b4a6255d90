"""LocalVine: the vine of PrivateVine, learnt from people's own perturbed reports.

The stages are PrivateVine's; who answers them is not (``copula_shirley.local.curator``). A fit to a
table plays all of its people in one process. docs/local.md says who sees what, with the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
import numpy as np
import pandas as pd

from copula_shirley.errors import ArtefactError, SchemaError, SettingError
from copula_shirley.fitted import Progress
from copula_shirley.generator import Rebuilt
from copula_shirley.local.calibration import NEIGHBOURS, LocalCalibration, asks_nobody
from copula_shirley.local.coins import LEAST_EPSILON, MOST_EPSILON
from copula_shirley.local.curator import LocalCurator, randomisers_of
from copula_shirley.local.oracles import Coins, variance
from copula_shirley.local.plan import is_worth_it, local_plan
from copula_shirley.local.waves import learn_in_waves
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Queries, Query
from copula_shirley.measure.transcript import Answer, Replay, Transcript
from copula_shirley.measure.trust import REHEARSAL
from copula_shirley.outlook import Outlook
from copula_shirley.privacy.budget import Budget, NeighbourName
from copula_shirley.privacy.card import TrustFacts
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.private_vine.model import FittedVine
from copula_shirley.private_vine.plan import Plan
from copula_shirley.private_vine.preview import Preview
from copula_shirley.private_vine.stages import Problem
from copula_shirley.rows.admitted import Held
from copula_shirley.schema.schema import Schema

#: People that settings are judged for before a table is there.
USUAL_PEOPLE = 1_000_000
#: Fewer people than this can fill no table.
LEAST_PEOPLE = 50
TRUST = (
    "Nobody has to be trusted: each person perturbs one answer on her own device before anything "
    "leaves it. Epsilon holds for her report whatever others do, and delta is 0.",
    "Not covered: that she took part, when, and from where.",
    "Reports of liars can shift counts; they harm nobody's privacy.",
)


@dataclass(eq=False, repr=False)
class LocalVine(PrivateVine):
    """A vine copula learnt from reports that each person perturbed herself.

    Parameters are those of ``PrivateVine``. ``epsilon`` is that of each person's one report;
    ``delta`` is 0, neighbours replace one record, the domain is declared. Each row of a table that
    it is fitted to plays one person. ``waves`` is "adaptive" (PrivateVine's stages, each asked
    after the answers to the last one), "two" (margins, then all pairs of columns) or "one" (all at
    once, in groups that follow from the schema alone); the last two treat a target as any column.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0, 1] * 10_000, "b": [0, 1] * 10_000})
    >>> model = LocalVine(epsilon=4.0, random_state=0).fit(table, Schema.draft(table))
    >>> synthetic = model.sample(1000)
    >>> bool((synthetic["a"] == synthetic["b"]).mean() > 0.9)
    True
    """

    name: ClassVar[str] = "local-vine"
    learns_functions: ClassVar[bool] = False
    #: People are dealt out in one process, and those who answered are not asked again.
    counts_pieces: ClassVar[bool] = False
    resumes: ClassVar[bool] = False
    curator_class = LocalCurator

    delta: float = 0.0
    neighbours: NeighbourName = "replace-one"
    waves: Literal["adaptive", "two", "one"] = "adaptive"
    #: People of the fit, or of the plan that is made.
    _people: ClassVar[int] = USUAL_PEOPLE
    #: Of a survey: how many people answered each table of each query.
    _told: ClassVar[Sequence[Sequence[int]]] = ()

    def _check_settings(self, schema: Schema) -> None:
        fixed = {"delta": 0, "neighbours": NEIGHBOURS, "domain": "declared"}
        for name, value in fixed.items():
            if getattr(self, name) != value:
                raise SettingError(
                    f"{name} ({getattr(self, name)!r}) must be {value!r} where people report "
                    "themselves"
                )
        known = isinstance(self.epsilon, int | float) and not isinstance(self.epsilon, bool)
        if not known or not LEAST_EPSILON <= float(self.epsilon or 0) <= MOST_EPSILON:
            raise SettingError(
                f"epsilon ({self.epsilon!r}) of a person's report must be from {LEAST_EPSILON:g} "
                f"to {MOST_EPSILON:g}"
            )
        if schema.person is not None and schema.max_rows > 1:
            raise SchemaError(
                f"max_rows ({schema.max_rows}) must be 1 where people report themselves: each "
                "answers about one record"
            )
        super()._check_settings(schema)

    def _budget(self) -> Budget:
        return Budget(float(self.epsilon or 0))

    def _trust_facts(self) -> TrustFacts:
        epsilon = float(self.epsilon or 0)
        far = {c.name: c.domain.nearest_metres / 1000 for c in self.table_schema_}
        places = [
            f"Place {name!r}: a report about it has epsilon {epsilon:g} between any two cells, "
            f"{epsilon / distance:.3g} for each km between neighbours, less between others."
            for name, distance in far.items()
            if distance
        ]
        played = [] if self._told else [REHEARSAL]
        return TrustFacts("local", 0, 0, {}, 0.0, [*played, *TRUST, *places])

    def _noise(self, schema: Schema) -> LocalCalibration:
        return self.noise()

    def noise(self) -> LocalCalibration:
        """The noise of the people that this model counts with."""
        found = LocalCalibration(self._people, float(self.epsilon or 0))
        found.told = self._told
        return found

    def learning(self, problem: Problem, progress: Progress) -> Queries[FittedVine]:
        if self.waves == "adaptive":
            return super().learning(problem, progress)
        return learn_in_waves(problem, progress, interactive=self.waves == "two")

    def noise_source(self, rng: np.random.Generator) -> Any:
        return Coins() if self.random_state is None else Coins(rng)

    def _prepare(self, held: Held, rng: np.random.Generator) -> None:
        if held.rows < LEAST_PEOPLE:
            raise SettingError(f"people ({held.rows:,}) must be at least {LEAST_PEOPLE}")
        self.count(held.rows)
        super()._prepare(held, rng)

    def _fit(self, rows: Any, ledger: Ledger, rng: np.random.Generator, progress: Progress) -> None:
        self.count(len(rows))
        super()._fit(rows, ledger, rng, progress)

    def count(self, people: int, told: Sequence[Sequence[int]] = ()) -> None:
        """Count with so many people, of whom so many answered each table of each query."""
        self.__dict__.update(_people=people, _told=told)

    def fit_survey(
        self,
        schema: Schema,
        people: int,
        pool_seed: int,
        transcript: Transcript,
        told: Sequence[Sequence[int]],
    ) -> Self:
        """Fit to what people reported, by the answers that were made of it."""
        self.count(people, told)
        self.fit_answers(
            schema, None, pool_seed, lambda noise, ledger: LocalReplay(transcript, noise, ledger)
        )
        self.ledger_.drawn_by(NoiseFacts("people's devices", Exactness.EXACT))
        return self

    def _counting(self, people: int) -> LocalVine:
        """An unfitted twin for so many people."""
        twin = self.__sklearn_clone__()
        twin.count(people)
        return twin

    def outlook(self, schema: Schema, rows: int) -> Outlook:
        return PrivateVine.outlook(self._counting(rows), schema, rows)

    def plan(self, schema: Schema, n: int) -> Plan:
        """What n people will be asked, and what can come of it; no row is read."""
        return local_plan(self._counting(n), schema, n)

    def preview(self, schema: Schema, n: int) -> Preview:
        return PrivateVine.preview(self._counting(n), schema, n)

    def worth_it(self, schema: Schema, people: int) -> bool:
        """Whether so many people tell enough of pairs of columns for a vine."""
        return is_worth_it(self._counting(people), schema, people)

    # -- files -------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        public, arrays = super()._state()
        return {**public, "people": self._people, "told": self._told}, arrays

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        counts = msgspec.convert(state, _Counts)
        self.count(counts.people, counts.told)
        super()._restore(state, arrays)

    def _answers_again(self, noise: Calibration, ledger: Ledger) -> Replay:
        return LocalReplay(self.transcript_, noise, ledger)

    def rebuilt(self) -> Rebuilt:
        """The ledger by replay. What noise there is was drawn on devices: nobody can show less."""
        ledger = self.open_ledger(self.schema_)
        self.replayed(ledger)
        ledger.noise = self.ledger_.noise
        return Rebuilt(ledger)


class _Counts(msgspec.Struct):
    """What a file says of the people who answered."""

    people: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    told: list[list[Annotated[int, msgspec.Meta(ge=0, le=2**53)]]]


class LocalReplay(Replay):
    """Answers of people, again, with the noise that their number implies."""

    calibration: LocalCalibration

    def _implied(self, query: Query, answer: Answer) -> float:
        if asks_nobody(query):
            return 0.0
        noise = self.calibration
        found = randomisers_of(query, noise.epsilon)
        variances = [variance(one) if one else 0.0 for one in found]
        # a survey says of each question how many answered; a simulation asks a planned number
        asked = noise.told[self.position - 1] if noise.told else noise.asked(query)
        if len(asked) != len(variances):
            raise ArtefactError(f"people of each table must be counted ({query.stage})")
        return noise.sigma_of(asked, variances)


def simulate(
    table: pd.DataFrame,
    schema: Schema,
    model: PrivateVine | None = None,
    *,
    progress: Progress | None = None,
    **more: Any,
) -> LocalVine:
    """Play a survey: each row of a table is a person who perturbs her own answer.

    Parameters
    ----------
    table, schema : as for ``fit``
    model : PrivateVine, optional
        Its settings are kept; epsilon becomes that of each person. A delta or neighbours that only
        a curator can promise are refused unless they are the usual ones.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0, 1] * 10_000, "b": [0, 1] * 10_000})
    >>> settings = PrivateVine(epsilon=4.0, target="b", random_state=0)
    >>> simulate(table, Schema.draft(table), settings).ledger_.spent
    Total(epsilon=4.0, delta=0.0, rho=0.0)
    """
    return local_vine(model or PrivateVine(), **more).fit(table, schema, progress=progress)


def local_vine(model: PrivateVine, **more: Any) -> LocalVine:
    """The unfitted vine of people's reports with the settings of one of a curator."""
    usual, own = PrivateVine().get_params(), model.get_params()
    changed = {name: value for name, value in own.items() if value != usual[name]}
    return LocalVine(**{**changed, **more})
