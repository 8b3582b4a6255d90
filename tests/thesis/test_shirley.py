from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from copula_shirley import Column, CopulaShirley, PrivacyWarning, Schema, SettingError, load
from copula_shirley.evaluation import kolmogorov_smirnov
from copula_shirley.experiments import load_dataset
from copula_shirley.generator import generator_of, sampling_rng
from copula_shirley.privacy.noise import MECHANISMS

FAST = ["indep", "gaussian"]


def spearman(table: pd.DataFrame, first: str, second: str) -> float:
    return float(table[[first, second]].corr(method="spearman").iloc[0, 1])


# -- the label -----------------------------------------------------------------


def test_the_thesis_label_claims_one_and_proves_nothing(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(1.0, target="rich", families=FAST, random_state=0)
    ledger = model.fit(people, people_schema).ledger_
    assert ledger.claimed is not None and ledger.claimed.epsilon == 1.0
    assert ledger.proved is None
    assert ledger.spent.epsilon == pytest.approx(7.0)  # seven columns of the same rows
    assert ledger.budget is not None and ledger.spent.epsilon <= ledger.budget.epsilon
    stages = {use.stage for use in ledger.unprotected}
    assert {"encoder", "bins", "vine"} <= stages
    assert {s.rows for s in ledger.spends} == {"histogram rows"}
    assert all(s.epsilon == 1.0 for s in ledger.spends)


def test_honest_accounting_mends_the_histograms_and_not_the_vine(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(1.0, accounting="honest", target="rich", families=FAST, random_state=0)
    ledger = model.fit(people, people_schema).ledger_
    assert ledger.budget is not None and ledger.budget.epsilon == 1.0
    assert ledger.spent.epsilon == pytest.approx(1.0)
    stages = {use.stage for use in ledger.unprotected}
    assert "bins" not in stages and "vine" in stages
    assert ledger.proved is None
    # the bins are those of the schema, whether or not they occur in the rows
    for column in people_schema:
        assert len(model._margins[column.name][0].atoms) == column.size


def test_no_noise_spends_nothing_and_protects_nothing(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(None, target="rich", families=FAST, random_state=0)
    ledger = model.fit(people, people_schema).ledger_
    assert not ledger.spends and ledger.claimed is None and ledger.proved is None
    assert {u.what for u in ledger.unprotected if u.stage == "histogram"} == set(
        people_schema.names
    )


def test_fit_warns_once_and_points_to_the_ledger(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(1.0, target="rich", families=FAST, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(people, people_schema)
    (warning,) = caught
    assert warning.category is PrivacyWarning
    assert "nothing is proved" in str(warning.message) and "ledger_" in str(warning.message)
    assert warning.filename == __file__  # it points at the caller


def test_a_drafted_domain_is_in_the_ledger(people: pd.DataFrame, people_schema: Schema) -> None:
    model = CopulaShirley(1.0, target="rich", families=FAST, random_state=0)
    drafted = model.fit(people).ledger_
    assert {u.what for u in drafted.unprotected if u.stage == "domain"} == set(people.columns)
    assert set(drafted.domains.values()) == {"drafted"}
    declared = model.fit(people, people_schema).ledger_
    assert not [u for u in declared.unprotected if u.stage == "domain"]
    assert set(declared.domains.values()) == {"declared"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("accounting", ["thesis", "honest"])
def test_every_mechanism_within_its_budget(
    mechanism: str, accounting: str, people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(
        0.5,
        mechanism=mechanism,
        accounting=accounting,
        encoder="ordinal",
        families=FAST,
        random_state=0,
    )
    ledger = model.fit(people, people_schema).ledger_
    times = 7 if accounting == "thesis" else 1
    assert ledger.spent.epsilon == pytest.approx(0.5 * times)
    delta = 1e-3 * times if mechanism == "gaussian" else 0
    assert ledger.spent.delta == pytest.approx(delta)


def test_seeded_noise_is_stamped(people: pd.DataFrame, people_schema: Schema) -> None:
    seeded = CopulaShirley(1.0, encoder="ordinal", families=FAST, random_state=0)
    assert "not for release" in seeded.fit(people, people_schema).ledger_.randomness
    unseeded = CopulaShirley(1.0, encoder="ordinal", families=FAST)
    assert "operating system" in unseeded.fit(people, people_schema).ledger_.randomness


def test_a_person_with_several_rows_is_one_unit_in_honest_accounting() -> None:
    table = pd.DataFrame({"who": np.repeat(np.arange(60), 3), "x": np.arange(180) % 5})
    schema = Schema((Column("x", "integer", minimum=0, maximum=4),), person="who", max_rows=3)
    honest = CopulaShirley(1.0, accounting="honest", families=FAST, random_state=0)
    ledger = honest.fit(table, schema).ledger_
    assert (ledger.unit, ledger.rows_per_unit) == ("person", 3)
    assert ledger.sensitivity().l1 == 6
    thesis = CopulaShirley(1.0, families=FAST, random_state=0)
    ledger = thesis.fit(table, schema).ledger_
    assert ledger.unit == "row"
    assert any("person column who" in use.what for use in ledger.unprotected)
    assert thesis.sample(5).columns.tolist() == ["x"]


def test_noise_reaches_the_margins_at_the_scale_of_the_ledger() -> None:
    """Mean absolute noise over many seeded fits of one small table, by its margins."""
    table = pd.DataFrame({"x": np.repeat([0, 1], [600, 200])})
    schema = Schema((Column("x", "integer", minimum=0, maximum=1),))
    gaps = []
    for seed in range(300):
        model = CopulaShirley(0.2, random_state=seed, families=FAST).fit(table, schema)
        share = model._margins["x"][0].mass[0]
        gaps.append(share)
    # 400 histogram rows, each count with Laplace(2 / .2 = 10): the noise of the share p = n0/n
    # has variance (q^2 + p^2) * 2 * 10^2 / 400^2; the split adds hypergeometric variance
    p, n, scale = 0.75, 400, 10.0
    noise = ((1 - p) ** 2 + p**2) * 2 * scale**2 / n**2
    split = p * (1 - p) / n * (1 - n / 800)
    # the standard deviation of 300 fits is known to some 5 % (heavy tails): 4 of these
    assert np.std(gaps) == pytest.approx(np.sqrt(noise + split), rel=0.2)
    assert np.mean(gaps) == pytest.approx(p, abs=0.01)


# -- what comes out --------------------------------------------------------------


@pytest.mark.parametrize("encoder", ["ordinal", "onehot", "woe", "glmm"])
@pytest.mark.parametrize("accounting", ["thesis", "honest"])
def test_columns_dtypes_and_domain_survive(
    encoder: str, accounting: str, people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(
        encoder=encoder, accounting=accounting, target="rich", families=FAST, random_state=1
    )
    synthetic = model.fit(people, people_schema).sample(300)
    assert synthetic.columns.tolist() == people.columns.tolist()
    kept = synthetic.dtypes == people.dtypes
    kept["grade"] = isinstance(synthetic["grade"].dtype, pd.CategoricalDtype)
    assert kept.all()
    people_schema.validate(synthetic)
    assert synthetic["income"].isna().any() and synthetic["income"].notna().any()


@pytest.mark.parametrize("encoder", ["ordinal", "woe"])
def test_without_noise_margins_and_dependence_survive(
    encoder: str, people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(None, encoder=encoder, target="rich", discrete=True, random_state=0)
    synthetic = model.fit(people, people_schema).sample(4000)
    # two samples, of 320 (the encoder has the other 80) and 4,000 rows: KS noise about .08
    assert max(kolmogorov_smirnov(people, synthetic, people_schema).values()) < 0.12
    # standard error of a rank correlation from 320 rows: .05
    assert spearman(synthetic, "age", "rich") == pytest.approx(
        spearman(people, "age", "rich"), abs=0.15
    )
    assert synthetic["income"].isna().mean() == pytest.approx(
        people["income"].isna().mean(), abs=0.08
    )


def test_same_seed_same_table(people: pd.DataFrame, people_schema: Schema) -> None:
    def drawn(seed: int) -> pd.DataFrame:
        model = CopulaShirley(target="rich", families=FAST, random_state=seed)
        return model.fit(people, people_schema).sample(50)

    pd.testing.assert_frame_equal(drawn(0), drawn(0))
    assert not drawn(0).equals(drawn(1))


def test_each_sample_is_new_and_a_given_seed_repeats(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(target="rich", families=FAST, random_state=0)
    model.fit(people, people_schema)
    assert not model.sample(50).equals(model.sample(50))
    first, again = model.sample(50, random_state=3), model.sample(50, random_state=3)
    pd.testing.assert_frame_equal(first, again)
    assert len(model.sample()) == len(people)
    assert len(model.sample(0)) == 0 and model.sample(0).dtypes.equals(first.dtypes)


def test_chunks_are_the_sample(
    people: pd.DataFrame, people_schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copula_shirley.generator.CHUNK", 40)
    model = CopulaShirley(target="rich", families=FAST, random_state=0)
    model.fit(people, people_schema)
    chunks = list(model.sample_chunks(100, random_state=1))
    assert [len(chunk) for chunk in chunks] == [40, 40, 20]
    pd.testing.assert_frame_equal(
        pd.concat(chunks, ignore_index=True), model.sample(100, random_state=1)
    )


def test_supervised_encoders_have_rows_of_their_own(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(None, target="rich", families=FAST, random_state=0)
    ledger = model.fit(people, people_schema).ledger_
    (codes,) = [use for use in ledger.unprotected if use.stage == "encoder"]
    assert codes.rows == "encoder rows"
    assert not [
        u for u in ledger.unprotected if u.stage in ("bins", "vine") and u.rows == codes.rows
    ]


def test_row_order_of_columns_is_the_tables(people: pd.DataFrame, people_schema: Schema) -> None:
    turned = people[people.columns[::-1]]
    model = CopulaShirley(target="rich", families=FAST, random_state=0)
    assert model.fit(turned, people_schema).sample(3).columns.tolist() == turned.columns.tolist()


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from(["p", "q", "r"]),
        st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=12, max_size=12),
        min_size=1,
    ),
    st.sampled_from(["thesis", "honest"]),
    st.sampled_from([None, 0.01, 1.0, 1e9]),
)
def test_any_small_table_works(
    data: dict[str, list[int | None]], accounting: str, epsilon: float | None
) -> None:
    columns = tuple(Column(n, "integer", minimum=-5, maximum=5, missing=True) for n in sorted(data))
    table = pd.DataFrame({name: pd.array(data[name], dtype="Int64") for name in sorted(data)})
    model = CopulaShirley(epsilon, accounting=accounting, families=FAST, random_state=0)
    synthetic = model.fit(table, Schema(columns)).sample(20)
    Schema(columns).validate(synthetic)
    assert synthetic.dtypes.equals(table.dtypes)
    ledger = model.ledger_
    assert ledger.budget is None or ledger.spent.epsilon <= ledger.budget.epsilon * (1 + 1e-9)


# -- tables at the edge ------------------------------------------------------------


def edge_tables() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    return {
        "constant number": pd.DataFrame({"x": np.full(200, 3), "y": y}),
        "single category": pd.DataFrame({"x": ["only"] * 200, "y": y}),
        "all distinct numbers": pd.DataFrame({"x": rng.normal(size=200), "y": y}),
        "200 categories": pd.DataFrame({"x": [f"c{i % 200}" for i in range(2000)], "y": [*y] * 10}),
        "one column": pd.DataFrame({"y": y}),
        "all missing": pd.DataFrame({"x": np.full(200, np.nan), "y": y}),
        "all constant": pd.DataFrame({"x": ["a"] * 200, "z": np.ones(200), "y": y}),
        "dates": pd.DataFrame({"x": pd.Timestamp("2020-01-01") + pd.to_timedelta(y, "D"), "y": y}),
    }


@pytest.mark.parametrize("name", edge_tables())
@pytest.mark.parametrize("encoder", ["ordinal", "onehot", "woe"])
def test_tables_at_the_edge(name: str, encoder: str) -> None:
    table = edge_tables()[name]
    model = CopulaShirley(1.0, encoder=encoder, target="y", families=FAST, random_state=0)
    synthetic = model.fit(table).sample(50)
    assert synthetic.dtypes.equals(table.dtypes) and len(synthetic) == 50
    Schema.draft(table).validate(synthetic)


def test_two_rows_work_and_one_is_refused() -> None:
    table = pd.DataFrame({"x": [1, 2], "c": ["a", "b"]})
    columns = Column("x", "integer", minimum=1, maximum=2), Column("c", "categorical", ("a", "b"))
    model = CopulaShirley(1.0, encoder="ordinal", random_state=0)
    assert len(model.fit(table, Schema(columns)).sample(5)) == 5
    with pytest.raises(SettingError, match="too few"):
        model.fit(table[:1], Schema(columns))
    with pytest.raises(SettingError, match="too few"):
        CopulaShirley(1.0, target="x", random_state=0).fit(table, Schema(columns))


def test_one_hot_of_too_many_categories_names_the_column() -> None:
    codes = tuple(f"c{i}" for i in range(600))
    table = pd.DataFrame({"x": codes, "y": [0, 1] * 300})
    columns = Column("x", "categorical", codes), Column("y", "integer", minimum=0, maximum=1)
    with pytest.raises(SettingError, match="'x' alone has 600 categories"):
        CopulaShirley(1.0, encoder="onehot").fit(table, Schema(columns))


# -- settings ------------------------------------------------------------------------


def test_scikit_learn_manners() -> None:
    model = CopulaShirley(2.0, encoder="ordinal", target="y", random_state=5)
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    assert model.get_params()["epsilon"] == 2.0
    assert "epsilon=2.0" in repr(model)
    assert model.set_params(split=0.3).split == 0.3


def test_an_unfitted_model_says_so() -> None:
    for use in (lambda m: m.sample(3), lambda m: m.save("nowhere"), lambda m: m.vine_):
        with pytest.raises(NotFittedError):
            use(CopulaShirley())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("epsilon", 0),
        ("epsilon", -1.0),
        ("epsilon", float("nan")),
        ("epsilon", "one"),
        ("encoder", "hash"),
        ("mechanism", "exponential"),
        ("delta", -1),
        ("split", 0),
        ("split", 1),
        ("split", "half"),
        ("encoder_share", 1.5),
        ("truncation", 0),
        ("accounting", "creative"),
        ("families", "martian"),
        ("neighbours", "swap"),
        ("on_unknown", "guess"),
        ("target", "nobody"),
        ("threads", -1),
        ("random_state", "seed"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_spent(
    setting: str, value: object, people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(**{"target": "rich", setting: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=setting):
        model.fit(people, people_schema)
    assert not hasattr(model, "ledger_")


def test_a_failed_fit_keeps_the_old_model_usable(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(1.0, encoder="ordinal", families=FAST, random_state=0)
    model.fit(people, people_schema)
    with pytest.raises(ValueError, match="'age'"):
        model.fit(people.assign(age=1000), people_schema)
    people_schema.validate(model.sample(5))


class StoppedError(Exception):
    pass


def test_a_stopped_refit_leaves_no_model_under_the_old_label(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(0.1, encoder="ordinal", families=FAST, random_state=0)
    model.fit(people, people_schema)

    def stop(stage: str, _: float) -> None:
        if stage.startswith("vine"):
            raise StoppedError

    with pytest.raises(StoppedError):
        model.set_params(epsilon=None).fit(people, people_schema, progress=stop)
    with pytest.raises(NotFittedError):
        model.sample(3)


def test_the_file_says_how_the_model_was_fitted(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    model = CopulaShirley(50.0, encoder="ordinal", families=FAST, random_state=0)
    model.fit(people, people_schema).set_params(epsilon=0.01, accounting="honest")
    drawn = model.sample(20, random_state=1)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.epsilon == 50.0 and again.accounting == "thesis"
    pd.testing.assert_frame_equal(again.sample(20, random_state=1), drawn)


def test_rows_drawn_with_the_seed_of_the_fit_do_not_show_its_noise() -> None:
    """Sampling and fitting with one seed must not draw from one stream."""
    fit_rng, _ = generator_of(7).spawn(2)
    streams = [fit_rng, *fit_rng.spawn(2)]
    drawing = [sampling_rng(7), *sampling_rng(7).spawn(3)]
    drawing += [child for parent in sampling_rng(7).spawn(2) for child in parent.spawn(2)]
    seen = {tuple(rng.random(3)) for rng in streams}
    assert not seen & {tuple(rng.random(3)) for rng in drawing}


def test_a_drafted_bound_on_rows_per_person_is_in_the_ledger() -> None:
    table = pd.DataFrame({"who": [1, 1, 2, 2, 3, 3] * 5, "x": [*range(10)] * 3})
    schema = Schema.draft(table.assign(who=np.arange(30) // 2), person="who")
    model = CopulaShirley(1.0, accounting="honest", families=FAST, random_state=0)
    ledger = model.fit(table.assign(who=np.arange(30) // 2), schema).ledger_
    assert "max_rows of who" in [use.what for use in ledger.unprotected]


def test_messages_do_not_quote_drafted_bounds() -> None:
    table = pd.DataFrame({"c": list("ab") * 20, "pay": [12345 + i for i in range(40)]})
    with pytest.raises(SettingError) as error:
        CopulaShirley(1.0, target="pay").fit(table)
    assert "12345" not in str(error.value) and "'pay'" in str(error.value)


def test_the_gaussian_delta_of_all_columns_stays_below_one(
    people: pd.DataFrame, people_schema: Schema
) -> None:
    with pytest.raises(SettingError, match="delta"):
        CopulaShirley(1.0, mechanism="gaussian", delta=0.2, encoder="ordinal").fit(
            people, people_schema
        )


# -- against the thesis ----------------------------------------------------------------

THESIS = np.array([0.9161, -0.9555, 0.2763, -0.0477, 0.4059, 0.5484, 0.0216])
REFERENCE = np.array([0.9150, -0.9565, 0.2319, -0.1701, 0.4018, 0.7881, -0.1137])


def coefficients(table: pd.DataFrame) -> np.ndarray:
    pairs = [spearman(table, "A", other) for other in "BCDEF"]
    halves = [spearman(table[rows], "A", "F") for rows in (table["A"] < 0, table["A"] > 0)]
    return np.array(pairs + halves)


@pytest.mark.slow
def test_table_5_2_of_the_thesis() -> None:
    made = load_dataset("made")
    model = CopulaShirley(None, random_state=0).fit(made.table, made.schema)
    ours = coefficients(model.sample(5000))
    near = np.abs(ours - THESIS) < 0.05
    nearer = np.abs(ours - REFERENCE) < np.abs(THESIS - REFERENCE)
    assert np.sum(near | nearer) >= 5


@pytest.mark.slow
def test_ks_on_adult_at_epsilon_one() -> None:
    try:
        adult = load_dataset("adult")
    except ValueError as error:
        pytest.skip(str(error))
    order = np.random.default_rng(0).permutation(len(adult.table))
    fold = len(order) // 5
    test, train = adult.table.iloc[order[:fold]], adult.table.iloc[order[fold:]]
    model = CopulaShirley(1.0, target="salary", truncation=2, random_state=0)
    synthetic = model.fit(train, adult.schema).sample(len(adult.table))
    assert np.mean(list(kolmogorov_smirnov(test, synthetic, adult.schema).values())) < 0.03
