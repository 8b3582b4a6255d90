"""Every claim of chapter V in words, and the verdicts on them."""

from __future__ import annotations

from copula_shirley.experiments.paper import multivariate_claims, setting_claims
from copula_shirley.experiments.paper.findings import Claim, Verdict, decide
from copula_shirley.experiments.paper.model_claims import (
    ATTACK,
    DECENT,
    FAILURE,
    below,
    best_differs,
    better,
    except_largest,
    least_two,
    risk_stays,
    second_or_first,
    steadier,
    strong_attack,
    ties,
)
from copula_shirley.experiments.paper.printed import (
    BAYES,
    CLASSIFICATION,
    COPULA,
    HISTOGRAM,
    PANELS,
    SHIRLEY,
    THESIS,
)
from copula_shirley.experiments.paper.scores import Scores

WEAK_NOISE = (
    "The PrivBayes used there added noise n times too small, so that its figures hardly feel "
    "epsilon; ours adds the noise that its proof asks for."
)
STRINGS = (
    "The DP-Copula used there computed Kendall's tau on strings and attached counts to wrong "
    "values; ours does neither."
)
WORD = "paired difference over folds, means over all epsilons, 95 % interval beyond 0"
EACH = "paired difference over folds at each epsilon, 95 % interval beyond 0"
OTHERS = (BAYES, COPULA, HISTOGRAM)

MODELS = (
    Claim(
        "privbayes-over-shirley", "5.2.5",
        "PrivBayes is above COPULA-SHIRLEY in most classifications.", f"MCC; {EACH}; most of them",
        "models", better([BAYES], [SHIRLEY], CLASSIFICATION, each_epsilon=True), "most",
        why=WEAK_NOISE,
    ),
    Claim(
        "copula-fails", "5.2.5", "DP-Copula fails completely in both classifications.",
        f"mean MCC over epsilons below {FAILURE:g}", "models",
        below([COPULA], CLASSIFICATION, FAILURE), why=STRINGS,
    ),
    Claim(
        "histogram-fails", "5.2.5", "DP-Histogram fails completely in both classifications.",
        f"mean MCC over epsilons below {FAILURE:g}", "models",
        below([HISTOGRAM], CLASSIFICATION, FAILURE),
    ),
    Claim(
        "regression-over-copula", "5.2.5",
        "COPULA-SHIRLEY and PrivBayes are better than DP-Copula in the regression.",
        f"RMSE; {WORD}", "models", better([SHIRLEY, BAYES], [COPULA], ["rmse"]), why=STRINGS,
    ),
    Claim(
        "privbayes-drift", "5.2.5",
        "PrivBayes keeps correlations best on COMPAS and Adult.", f"drift; {WORD}", "models",
        except_largest(better([BAYES], [SHIRLEY, COPULA, HISTOGRAM], ["spearman_drift"])),
        why=f"{WEAK_NOISE} {STRINGS}",
    ),
    Claim(
        "shirley-drift-texas", "5.2.5", "COPULA-SHIRLEY keeps correlations best on Texas.",
        f"drift; {WORD}", "models", better([SHIRLEY], OTHERS, ["spearman_drift"]), dataset="texas",
    ),
    Claim(
        "shirley-ks", "5.2.5", "COPULA-SHIRLEY is always the best in KS.",
        f"KS against each other generator; {EACH}", "models",
        better([SHIRLEY], OTHERS, ["ks"], each_epsilon=True),
    ),
    Claim(
        "shirley-histogram-ks", "5.2.5",
        "COPULA-SHIRLEY and DP-Histogram have the most faithful distributions.",
        f"KS against PrivBayes and DP-Copula; {WORD}", "models", least_two, why=STRINGS,
    ),
    Claim(
        "copula-ks", "5.2.5", "DP-Copula has the least faithful distributions.",
        f"KS against each other generator; {WORD}", "models",
        better([SHIRLEY, BAYES, HISTOGRAM], [COPULA], ["ks"]), why=f"{STRINGS} {WEAK_NOISE}",
    ),
    Claim(
        "copula-regression", "5.2.5", "DP-Copula fails completely in the regression.",
        f"its RMSE is above that of each other generator; {WORD}", "models",
        better([SHIRLEY, BAYES, HISTOGRAM], [COPULA], ["rmse"]), why=STRINGS,
    ),
    Claim(
        "epsilon-risk", "5.2.5", "A lower epsilon does not lower the membership risk.",
        "from noise off to the smallest epsilon the attack's score falls by less than .02 "
        "(interval) for most generators and data sets; it fails where the interval is above 0",
        "models", risk_stays, "most",
    ),
    Claim(
        "epsilon-risk-strong", "ours",
        "The same with a stronger attack, which sees all synthetic rows.",
        "as before; this attack is not in the thesis", "models", strong_attack, "most",
        why="With 500 synthetic rows the thesis' attack is hardly better than a coin for anybody.",
    ),
    Claim(
        "protection-differs", "5.2.5", "No generator protects best on all data sets.",
        "the generator with the lowest score of the attack differs between data sets; on each it "
        "is below the next one, paired difference over folds, 95 % interval beyond 0",
        "models", best_differs,
    ),
    Claim(
        "privbayes-protects-compas", "5.2.5", "PrivBayes protects best on COMPAS.",
        f"attack; {WORD}", "models", better([BAYES], [SHIRLEY, COPULA, HISTOGRAM], [ATTACK]),
        dataset="compas", why=WEAK_NOISE,
    ),
    Claim(
        "shirley-protects-texas", "5.2.5", "COPULA-SHIRLEY protects best on the largest set.",
        f"attack; {WORD}", "models", better([SHIRLEY], OTHERS, [ATTACK]), dataset="texas",
    ),
    Claim(
        "privbayes-worst-texas", "5.2.5", "PrivBayes protects worst on the largest set.",
        f"attack; {WORD}", "models", better([SHIRLEY, COPULA, HISTOGRAM], [BAYES], [ATTACK]),
        dataset="texas",
    ),
    Claim(
        "all-protect", "5.2.5", "All generators protect decently against the attack.",
        f"mean score of the attack over epsilons below {DECENT:g}", "models",
        below(THESIS, [ATTACK], DECENT),
    ),
    Claim(
        "privbayes-classifies", "5.2.5", "PrivBayes is the best of the four in classification.",
        f"MCC against each other generator; {WORD}", "models",
        better([BAYES], [SHIRLEY, COPULA, HISTOGRAM], CLASSIFICATION), why=WEAK_NOISE,
    ),
    Claim(
        "histogram-worst", "5.2.5",
        "DP-Histogram is among the worst in classification and correlations.",
        f"below COPULA-SHIRLEY and PrivBayes; {WORD}", "models",
        better([SHIRLEY, BAYES], [HISTOGRAM], (*CLASSIFICATION, "spearman_drift")),
        why=WEAK_NOISE,
    ),
    Claim(
        "shirley-second", "5.2.5", "COPULA-SHIRLEY is second or better in most tests.",
        "mean rank over folds among the thesis' four below 2.5, interval; most measures",
        "models", second_or_first, "most", why=STRINGS,
    ),
    Claim(
        "steadier-privbayes", "5.2.5", "COPULA-SHIRLEY is steadier than PrivBayes.",
        "standard deviation over epsilons within a fold, paired over folds; most measures",
        "models", steadier(SHIRLEY, BAYES), "most",
    ),
    Claim(
        "steadier-copula", "5.2.5", "COPULA-SHIRLEY is steadier than DP-Copula.",
        "standard deviation over epsilons within a fold, paired over folds; most measures",
        "models", steadier(SHIRLEY, COPULA), "most", why=STRINGS,
    ),
    Claim(
        "privbayes-unsteady", "5.2.5", "PrivBayes is the least steady but for DP-Copula.",
        "its standard deviation over epsilons is above DP-Histogram's and below DP-Copula's, "
        "paired over folds; most measures",
        "models",
        lambda scores, datasets: [
            *steadier(HISTOGRAM, BAYES)(scores, datasets),
            *steadier(BAYES, COPULA)(scores, datasets),
        ],
        "most", why=f"{STRINGS} {WEAK_NOISE}",
    ),
    Claim(
        "shirley-best-texas", "5.2.5", "COPULA-SHIRLEY models and protects Texas best.",
        f"all six measures against each other generator; {WORD}; most of them", "models",
        better([SHIRLEY], OTHERS, tuple(PANELS)), "most", dataset="texas",
    ),
    Claim(
        "shirley-statistics", "5.2.8",
        "COPULA-SHIRLEY has the greatest statistical likeness to the raw data.",
        f"KS and drift against each other generator; {WORD}", "models",
        better([SHIRLEY], OTHERS, ["ks", "spearman_drift"]), why=STRINGS,
    ),
    Claim(
        "shirley-over-copula", "5.2.8",
        "COPULA-SHIRLEY is above DP-Copula in most classifications.",
        f"MCC; {EACH}; most of them", "models",
        better([SHIRLEY], [COPULA], CLASSIFICATION, each_epsilon=True), "most", why=STRINGS,
    ),
    Claim(
        "ties-regression", "5.2.8", "COPULA-SHIRLEY equals PrivBayes at times in the regression.",
        ".95 times its RMSE is below PrivBayes's (interval) at one epsilon of one set at least",
        "models", ties, why=WEAK_NOISE,
    ),
    Claim(
        "shirley-improves", "5.2.8",
        "COPULA-SHIRLEY is a clear improvement over DP-Copula and DP-Histogram.",
        f"all six measures; {WORD}; most of them", "models",
        better([SHIRLEY], [COPULA, HISTOGRAM], tuple(PANELS)), "most", why=STRINGS,
    ),
)  # fmt: skip

CLAIMS: tuple[Claim, ...] = (*setting_claims.CLAIMS, *MODELS, *multivariate_claims.CLAIMS)


def verdicts(scores: Scores) -> list[Verdict]:
    """The verdict on every claim."""
    return [decide(claim, scores) for claim in CLAIMS]
