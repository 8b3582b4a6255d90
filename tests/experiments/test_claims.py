"""Verdicts on made-up frames: each rule where it holds, where it fails, where nothing is known."""

from __future__ import annotations

import pandas as pd
import pytest
from paper_frames import lines, lost, models, ratios, scores

from copula_shirley.experiments.paper.claims import CLAIMS, verdicts
from copula_shirley.experiments.paper.coefficients import PAIRS, PREFIX
from copula_shirley.experiments.paper.document import verdict_table
from copula_shirley.experiments.paper.findings import (
    Finding,
    Status,
    Verdict,
    answer,
    at_most,
    decide,
    judged,
)
from copula_shirley.experiments.paper.multivariate_claims import reference
from copula_shirley.experiments.paper.printed import STRONG_ATTACK
from copula_shirley.experiments.paper.scores import Scores, estimate, prepared

KEYS = {claim.key: claim for claim in CLAIMS}


def verdict(key: str, frame: Scores) -> Verdict:
    return decide(KEYS[key], frame)


def test_claims_have_names_of_their_own_and_a_rule() -> None:
    assert len(KEYS) == len(CLAIMS) > 40
    assert all(claim.rule and claim.text and claim.place for claim in CLAIMS)


@pytest.mark.parametrize(
    ("answers", "needs", "folds", "expected"),
    [
        (("holds", "holds"), "all", 5, "confirmed"),
        (("holds", "fails"), "all", 5, "not confirmed"),
        (("holds", "open"), "all", 5, "not confirmed"),
        (("holds", "open"), "all", 2, "cannot be tested here"),
        (("holds", "holds", "fails"), "most", 5, "confirmed"),
        (("holds", "fails"), "most", 5, "not confirmed"),
        (("holds", "open", "open"), "most", 2, "cannot be tested here"),
        (("holds", "open", "open"), "most", 3, "not confirmed"),
        (("open", "open"), "all", 1, "cannot be tested here"),
    ],
)
def test_how_comparisons_make_a_verdict(
    answers: tuple[str, ...], needs: str, folds: int, expected: Status
) -> None:
    findings = [Finding(word, "", folds) for word in answers]  # type: ignore[arg-type]
    assert judged(findings, needs) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("folds", [1, 2])
def test_few_folds_never_hold_nor_fail_however_alike_they_are(folds: int) -> None:
    one = [1.0] * folds
    assert answer(estimate(one)) == answer(estimate(one), 2.0) == "open"
    assert at_most(estimate(one), 2.0, 0.0) == at_most(estimate(one), 0.5, 0.5) == "open"
    assert answer(estimate([1.0] * 3)) == "holds" and answer(estimate([1.0] * 3), 2.0) == "fails"


def test_a_run_time_of_few_folds_decides_nothing() -> None:
    def seconds(value: float, folds: tuple[int, ...]) -> Scores:
        figures = {"fit_seconds": value, "sample_seconds": value}
        return scores(lines("runtime", "DP-Histogram", figures, folds=folds))

    assert verdict("histogram-fast", seconds(1.0, (0, 1))).status == "cannot be tested here"
    assert verdict("histogram-fast", seconds(99.0, (0,))).status == "cannot be tested here"
    assert verdict("histogram-fast", seconds(1.0, (0, 1, 2))).status == "confirmed"


def test_not_confirmed_is_contradicted_or_left_open() -> None:
    against = verdict("ratio-ks", scores(ratios(ks(0.01, 0.03, 0.05))))
    assert against.status == "not confirmed" and against.sentence.startswith("Contradicted: ")
    unknown = verdict("ratio-ks", scores(ratios(ks(0.03, 0.03, 0.03))))
    assert unknown.status == "not confirmed" and unknown.sentence.startswith("Left open: ")
    held = verdict("ratio-ks", scores(ratios(ks(0.05, 0.03, 0.01))))
    assert not held.sentence.startswith(("Contradicted", "Left open"))


def test_nothing_at_all_can_be_tested_on_an_empty_frame() -> None:
    empty = Scores(prepared(pd.DataFrame(models()).iloc[:0]))
    found = verdicts(empty)
    assert {each.status for each in found} == {"cannot be tested here"}
    assert "The experiment ratio was not run." in {each.sentence for each in found}


# -- settings --------------------------------------------------------------------


def ks(*values: float) -> dict[str, dict[str, float]]:
    return {split: {"ks": v} for split, v in zip(("0.1", "0.5", "0.9"), values, strict=True)}


def test_ks_rises_with_the_copula_share() -> None:
    found = verdict("ratio-ks", scores(ratios(ks(0.05, 0.03, 0.01))))
    assert found.status == "confirmed"
    assert (
        "split 0.1 0.050, split 0.9 0.010, difference +0.040 (+0.040 to +0.040)" in found.sentence
    )


def test_ks_that_falls_or_does_not_move_is_not_confirmed() -> None:
    assert verdict("ratio-ks", scores(ratios(ks(0.01, 0.03, 0.05)))).status == "not confirmed"
    noisy = [
        *lines("ratio", "COPULA-SHIRLEY", {"ks": 0.05}, variant="split 0.1", noise=0.1),
        *lines("ratio", "COPULA-SHIRLEY", {"ks": 0.01}, variant="split 0.9"),
    ]
    found = verdict("ratio-ks", scores(noisy))
    assert found.status == "not confirmed" and "[open]" in found.sentence


@pytest.mark.parametrize(("folds", "words"), [((0,), "One fold"), ((0, 1), "2 folds do not")])
def test_few_folds_decide_nothing(folds: tuple[int, ...], words: str) -> None:
    noisy = [
        *lines("ratio", "COPULA-SHIRLEY", {"ks": 0.05}, variant="split 0.1", folds=folds),
        *lines(
            "ratio", "COPULA-SHIRLEY", {"ks": 0.01}, variant="split 0.9", folds=folds, noise=0.1
        ),
    ]
    found = verdict("ratio-ks", scores(noisy))
    assert found.status == "cannot be tested here" and found.sentence.startswith(words)


def test_alike_is_within_the_margin() -> None:
    assert verdict("ratio-stable", scores(ratios(ks(0.05, 0.045, 0.04)))).status == "confirmed"
    assert verdict("ratio-stable", scores(ratios(ks(0.10, 0.045, 0.04)))).status == "not confirmed"


def test_rmse_is_alike_relative_to_the_lowest() -> None:
    near = {split: {"rmse": value} for split, value in (("0.1", 104.0), ("0.9", 100.0))}
    far = {split: {"rmse": value} for split, value in (("0.1", 106.0), ("0.9", 100.0))}
    assert verdict("ratio-stable", scores(ratios(near))).status == "confirmed"
    assert verdict("ratio-stable", scores(ratios(far))).status == "not confirmed"


def encoders(**mcc: float) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for name, value in mcc.items():
        figures = {"mcc_binary": value, "mcc_multiclass": value}
        found += lines("encoders", "COPULA-SHIRLEY", figures, variant=f"encoder {name}")
    return found


def test_the_worst_encoder() -> None:
    assert verdict("ordinal-worst", scores(encoders(ordinal=0.1, woe=0.3, glmm=0.2))).status == (
        "confirmed"
    )
    found = verdict("ordinal-worst", scores(encoders(ordinal=0.25, woe=0.3, glmm=0.2)))
    assert found.status == "not confirmed"
    assert "2 of 4 comparisons hold, 2 fail" in found.sentence


def test_why_ours_differs_stands_only_where_it_does() -> None:
    better, worse = (verdict("woe-glmm", scores(encoders(woe=woe, glmm=0.2))) for woe in (0.3, 0.1))
    assert better.status == "confirmed" and worse.status == "not confirmed"
    told = list(verdict_table([better, worse])["numbers"])
    assert "binary target" not in told[0] and "binary target" in told[1]


def test_a_deeper_vine_that_is_not_shown_to_be_better() -> None:
    def levels(deep: float, noise: float = 0.0, folds: tuple[int, ...] = (0, 1, 2)) -> Scores:
        two = {"variant": "truncation 2", "folds": folds}
        whole = {"variant": "truncation none", "folds": folds, "noise": noise}
        return scores(
            lines("truncation", "COPULA-SHIRLEY", {"ks": 0.1}, **two),  # type: ignore[arg-type]
            lines("truncation", "COPULA-SHIRLEY", {"ks": deep}, **whole),  # type: ignore[arg-type]
        )

    assert verdict("deep-not-better", levels(0.2)).status == "confirmed"
    assert verdict("deep-not-better", levels(0.05)).status == "not confirmed"
    small = verdict("deep-not-better", levels(0.09))  # within the margin, yet shown
    assert small.status == "not confirmed" and small.sentence.startswith("Contradicted: ")
    wide = verdict("deep-not-better", levels(0.05, noise=0.1))  # lack of power shows nothing
    assert wide.status == "not confirmed" and wide.sentence.startswith("Left open: ")
    assert verdict("deep-not-better", levels(0.05, 0.1, (0, 1))).status == "cannot be tested here"


@pytest.mark.parametrize(
    ("key", "metrics", "two_trees", "best", "expected"),
    [
        ("two-statistics", ("ks", "spearman_drift"), 0.05, 0.1, "confirmed"),  # the best by far
        ("two-statistics", ("ks", "spearman_drift"), 0.11, 0.1, "confirmed"),
        ("two-statistics", ("ks", "spearman_drift"), 0.15, 0.1, "not confirmed"),
        ("two-regression", ("rmse",), 70.0, 100.0, "confirmed"),
        ("two-regression", ("rmse",), 104.0, 100.0, "confirmed"),
        ("two-regression", ("rmse",), 106.0, 100.0, "not confirmed"),
    ],
)
def test_a_level_that_is_the_best_is_close_to_the_best(
    key: str, metrics: tuple[str, ...], two_trees: float, best: float, expected: Status
) -> None:
    levels = {"truncation 2": two_trees, "truncation 3": best, "truncation none": 2 * best}
    frame = scores(
        *(
            lines("truncation", "COPULA-SHIRLEY", dict.fromkeys(metrics, value), variant=variant)
            for variant, value in levels.items()
        )
    )
    assert verdict(key, frame).status == expected


def test_one_hot_left_out_on_texas_and_on_its_stand_in() -> None:
    reason = "one-hot codes make 5375 columns"

    def frame(dataset: str) -> Scores:
        return scores(
            lines("encoders", "COPULA-SHIRLEY", {"ks": 0.1}, dataset=dataset, variant="a"),
            [lost("encoders", "COPULA-SHIRLEY", "skipped", reason, dataset=dataset,
                  variant="encoder onehot")],
        )  # fmt: skip

    assert verdict("onehot-texas", frame("texas")).status == "confirmed"
    found = verdict("onehot-texas", frame("diabetes130"))
    assert found.status == "cannot be tested here"
    assert (
        "stand-in diabetes130 it would be: confirmed" in found.sentence and reason in found.sentence
    )


# -- generators ------------------------------------------------------------------


def two(metric: str, shirley: float, bayes: float, dataset: str = "compas") -> Scores:
    parts = [
        lines("models", name, {metric: value}, dataset=dataset, epsilon=epsilon)
        for name, value in (("COPULA-SHIRLEY", shirley), ("PrivBayes", bayes))
        for epsilon in (None, 1.0, 0.1)
    ]
    return scores(*parts)


def test_higher_mcc_and_lower_ks_are_better() -> None:
    assert verdict("privbayes-over-shirley", two("mcc_binary", 0.1, 0.3)).status == "confirmed"
    assert verdict("privbayes-over-shirley", two("mcc_binary", 0.3, 0.1)).status == "not confirmed"
    found = verdict("shirley-ks", two("ks", 0.1, 0.3))
    assert found.status == "confirmed" and "3 of 3 comparisons hold" in found.sentence
    assert verdict("shirley-ks", two("ks", 0.3, 0.1)).status == "not confirmed"


def test_texas_is_decided_on_texas_and_only_told_on_the_stand_in() -> None:
    key = "shirley-protects-texas"
    frame = two("membership_hamming", 0.5, 0.6, "texas")
    assert verdict(key, frame).status == "confirmed"
    found = verdict(key, two("membership_hamming", 0.5, 0.6, "diabetes130"))
    assert found.status == "cannot be tested here" and "would be: confirmed" in found.sentence
    found = verdict(key, two("membership_hamming", 0.5, 0.6))
    assert found.sentence == "Texas may not be passed on and is not here."


def test_lower_epsilon_and_lower_risk() -> None:
    def risk(off: float, small: float) -> Scores:
        names = ("COPULA-SHIRLEY", "PrivBayes")
        return scores(
            *(lines("models", n, {"membership_hamming": off}, epsilon=None) for n in names),
            *(lines("models", n, {"membership_hamming": small}, epsilon=0.01) for n in names),
        )

    assert verdict("epsilon-risk", risk(0.5, 0.5)).status == "confirmed"
    found = verdict("epsilon-risk", risk(0.6, 0.5))
    assert found.status == "not confirmed"
    assert "0.600 at epsilon off, 0.500 at 0.01, fall +0.100" in found.sentence


@pytest.mark.parametrize(
    ("key", "metric"),
    [("epsilon-risk", "membership_hamming"), ("epsilon-risk-strong", STRONG_ATTACK)],
)
def test_a_wide_interval_does_not_show_that_the_risk_stays(key: str, metric: str) -> None:
    def risk(noise: float) -> Verdict:
        return verdict(
            key,
            scores(
                lines("models", "PrivBayes", {metric: 0.5}, epsilon=None),
                lines("models", "PrivBayes", {metric: 0.5}, epsilon=0.01, noise=noise),
            ),
        )

    assert risk(0.001).status == "confirmed"
    assert risk(0.1).status == "not confirmed" and risk(0.1).sentence.startswith("Left open: ")


@pytest.mark.parametrize(
    ("other", "noise", "folds", "expected"),
    [
        (0.7, 0.0, (0, 1, 2), "confirmed"),
        (0.5, 0.0, (0, 1, 2), "not confirmed"),
        (0.7, 0.1, (0, 1, 2), "not confirmed"),
        (0.7, 0.0, (0, 1), "cannot be tested here"),
        (0.7, 0.0, (0,), "cannot be tested here"),
    ],
)
def test_the_best_protection_differs_by_an_interval(
    other: float, noise: float, folds: tuple[int, ...], expected: Status
) -> None:
    def part(dataset: str, name: str, value: float, noise: float = 0.0) -> list[dict[str, object]]:
        figures = {"membership_hamming": value}
        return lines("models", name, figures, dataset=dataset, folds=folds, noise=noise)

    found = verdict(
        "protection-differs",
        scores(
            part("compas", "COPULA-SHIRLEY", 0.5), part("compas", "PrivBayes", 0.6),
            part("adult", "COPULA-SHIRLEY", other), part("adult", "PrivBayes", 0.6, noise),
        ),
    )  # fmt: skip
    assert found.status == expected
    if expected == "not confirmed":
        assert found.sentence.startswith("Left open: " if noise else "Contradicted: ")


def test_failure_in_classification_has_a_bound() -> None:
    for value, status in ((0.0, "confirmed"), (0.2, "not confirmed")):
        part = lines("models", "DP-Histogram", {"mcc_binary": value}, folds=(0, 1, 2, 3, 4))
        assert verdict("histogram-fails", scores(part)).status == status


def test_steadier_over_epsilon() -> None:
    parts = [
        lines("models", name, {"ks": base * step}, epsilon=epsilon)
        for name, step in (("COPULA-SHIRLEY", 1), ("PrivBayes", 3))
        for epsilon, base in ((None, 0.1), (1.0, 0.2))
    ]
    assert verdict("steadier-privbayes", scores(*parts)).status == "confirmed"
    assert verdict("steadier-copula", scores(*parts)).status == "cannot be tested here"


def test_steadier_looks_at_the_epsilons_that_both_have() -> None:
    shirley = ((None, 0.1), (1.0, 0.2))
    bayes = ((None, 0.1), (1.0, 0.1), (0.1, 0.9))  # it varies only where the other has no figure
    parts = [
        lines("models", name, {"ks": value}, epsilon=epsilon)
        for name, some in (("COPULA-SHIRLEY", shirley), ("PrivBayes", bayes))
        for epsilon, value in some
    ]
    found = verdict("steadier-privbayes", scores(*parts))
    assert found.status == "not confirmed" and "spread of PrivBayes 0.000" in found.sentence


def test_ranks_and_bounds_look_at_the_epsilons_that_all_have() -> None:
    names = ("COPULA-SHIRLEY", "PrivBayes", "DP-Copula", "DP-Histogram")
    metric = "membership_hamming"
    parts = [
        lines("models", name, {metric: 0.4 + 0.02 * i}, epsilon=1.0) for i, name in enumerate(names)
    ]
    parts.append(lines("models", "COPULA-SHIRLEY", {metric: 0.9}, epsilon=None))
    found = verdict("shirley-second", scores(*parts))
    assert found.status == "confirmed" and "mean rank 1.000" in found.sentence
    found = verdict("all-protect", scores(*parts))
    assert found.status == "confirmed" and "COPULA-SHIRLEY 0.400" in found.sentence


def test_two_folds_of_one_rank_decide_nothing() -> None:
    names = ("COPULA-SHIRLEY", "PrivBayes", "DP-Copula", "DP-Histogram")
    parts = [
        lines("models", name, {"ks": 0.1 * (i + 1)}, folds=(0, 1)) for i, name in enumerate(names)
    ]
    assert verdict("shirley-second", scores(*parts)).status == "cannot be tested here"


def test_the_closest_in_the_coefficients() -> None:
    def coefficients(shirley: float, bayes: float) -> Scores:
        parts = []
        for name, off in (("COPULA-SHIRLEY", shirley), ("PrivBayes", bayes)):
            figures = {
                f"{PREFIX}{pair}": truth + off
                for pair, truth in zip(PAIRS, reference(), strict=True)
            }
            parts.append(lines("multivariate", name, figures, dataset="made"))
        return scores(*parts)

    assert verdict("closest-four", coefficients(0.05, 0.2)).status == "confirmed"
    found = verdict("closest-four", coefficients(0.2, 0.05))
    assert found.status == "not confirmed" and "closest in 0.000" in found.sentence
    assert verdict("privbayes-halves", coefficients(0.2, 0.05)).status == "confirmed"


def test_theorem_4_1_is_read_from_the_ledgers() -> None:
    found = verdict("theorem-4.1", scores(models()))
    assert found.status == "not confirmed"
    assert "3 runs claim an epsilon, the ledgers of 0 prove it" in found.sentence
    assert all(f"({letter})" in found.sentence for letter in "abcd")
    kept = lines("models", "COPULA-SHIRLEY", {"ks": 0.1}, proved="epsilon 1")
    assert verdict("theorem-4.1", scores(kept)).status == "confirmed"
    more = lines("models", "COPULA-SHIRLEY", {"ks": 0.1}, proved="epsilon 13")
    assert verdict("theorem-4.1", scores(more)).status == "not confirmed"
    off = lines("models", "COPULA-SHIRLEY", {"ks": 0.1}, epsilon=None)
    assert verdict("theorem-4.1", scores(off)).status == "cannot be tested here"
