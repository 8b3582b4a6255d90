"""What chapter V prints, in numbers, and the names and colours that we draw with."""

from __future__ import annotations

from math import isfinite

#: The experiments, in the order of the chapter, and what each gives.
EXPERIMENTS = {
    "ratio": "figure 5.1",
    "encoders": "figure 5.2",
    "mechanisms": "figure 5.3",
    "truncation": "figure 5.4",
    "models": "figures 5.5 to 5.8",
    "runtime": "table 5.1",
    "multivariate": "table 5.2, figures 5.9 and 5.10",
}

SHIRLEY, BAYES, COPULA = "COPULA-SHIRLEY", "PrivBayes", "DP-Copula"
HISTOGRAM, VINE = "DP-Histogram", "PrivateVine"
#: The generators that the thesis compares; PrivateVine is ours and not in it.
THESIS = (SHIRLEY, BAYES, COPULA, HISTOGRAM)
GENERATORS = (*THESIS, VINE)
REAL = "real"
#: Okabe and Ito's colours, which colour-blind readers can tell apart, and a marker each.
COLOURS = {
    SHIRLEY: "#0072B2",
    BAYES: "#D55E00",
    COPULA: "#009E73",
    HISTOGRAM: "#CC79A7",
    VINE: "#000000",
    REAL: "#666666",
}
MARKERS = {SHIRLEY: "o", BAYES: "s", COPULA: "^", HISTOGRAM: "D", VINE: "*"}

DATASETS = ("compas", "adult", "diabetes130", "texas", "randhie")
TITLES = {
    "compas": "COMPAS",
    "adult": "Adult",
    "diabetes130": "diabetes130 (stand-in for Texas)",
    "texas": "Texas",
    "randhie": "RAND HIE (not in the thesis)",
}
#: The largest set of the thesis may not be passed on; this one stands in for it.
LARGEST, STAND_IN = "texas", "diabetes130"

#: The six panels of figures 5.1 to 5.8: title, and whether more is better.
PANELS = {
    "ks": ("KS distance", False),
    "spearman_drift": ("correlation drift", False),
    "mcc_binary": ("MCC, binary", True),
    "mcc_multiclass": ("MCC, multi-class", True),
    "rmse": ("RMSE", False),
    "membership_hamming": ("membership attack", False),
}
HIGHEST_ATTACK = "membership_hamming_max"
STRONG_ATTACK = "membership_hamming_all"
CLASSIFICATION = ("mcc_binary", "mcc_multiclass")

#: Table 5.1: minutes on an Intel i5-6600k.
MINUTES = {
    "adult": {SHIRLEY: 33.452, BAYES: 67.211, COPULA: 2.241},
    "compas": {SHIRLEY: 1.592, BAYES: 3.184, COPULA: 0.695},
    "texas": {SHIRLEY: 34.055, BAYES: 123.157, COPULA: 17.945},
}
#: Table 5.2: Spearman coefficients of the made set and of rows drawn by each generator.
REFERENCE = (0.9150, -0.9565, 0.2319, -0.1701, 0.4018, 0.7881, -0.1137)
COEFFICIENTS = {
    SHIRLEY: (0.9161, -0.9555, 0.2763, -0.0477, 0.4059, 0.5484, 0.0216),
    BAYES: (0.8794, -0.9076, 0.0899, -0.1860, 0.3529, 0.6550, -0.1014),
    COPULA: (0.7933, -0.1284, 0.1507, -0.0552, 0.3417, 0.1829, 0.1472),
    HISTOGRAM: (0.0220, 0.0127, -0.0268, -0.0367, -0.0191, -0.0186, -0.0002),
}


def epsilon_text(epsilon: float | None) -> str:
    """Epsilon as people write it; none, infinite or not a number is a fit without noise.

    Examples
    --------
    >>> epsilon_text(None), epsilon_text(0.1), epsilon_text(8.0)
    ('off', '0.1', '8')
    """
    return "off" if epsilon is None or not isfinite(epsilon) else f"{epsilon:g}"


def shown(generator: str) -> str:
    """A generator's name in figures and tables; ours is marked."""
    return f"{generator} (ours, not in the thesis)" if generator == VINE else generator
