"""The verdict on a synthetic table, in sentences for who has to decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from copula_shirley.evaluation.report.pieces import worst_pairs

Level = Literal["good", "fair", "poor", "leak", "none"]
Found = Mapping[str, Mapping[str, Any]]
#: Up to which distance beyond that of real rows a metric is good, and up to which it is fair.
MARKS = {"tvd1": (0.02, 0.06), "tvd2": (0.05, 0.12), "spearman_drift": (0.02, 0.06)}
#: Of what real rows teach, the share from which a task is good, and from which it is fair.
TAUGHT = (0.9, 0.7)
#: Below this Matthews coefficient, or share by which an error is smaller than that of guessing the
#: mean, real rows teach nothing that synthetic ones could lack.
LITTLE = 0.05
NAMED = 3
#: Names of attacks, and what they try.
ATTACKS = {
    "membership_hamming_all": "tell who was among the training rows",
    "attribute_inference": "guess a secret of a person",
    "singling_out": "describe exactly one person",
}


@dataclass(frozen=True)
class Sentence:
    """What is so in one respect: how good, and why."""

    topic: str
    level: Level
    text: str

    @property
    def word(self) -> str:
        """The level, in a word or two."""
        if self.topic == "Attacks":
            return "LEAK" if self.level == "leak" else "no leak"
        return "no mark" if self.level == "none" else self.level


def sentences(found: Found) -> list[Sentence]:
    """The verdict on these lines of ``evaluate``, by metric, respect by respect."""
    parts = (_columns, _pairs, _correlations, _rules, _tasks, _attacks)
    return [sentence for part in parts for sentence in part(found)]


def headline(some: Sequence[Sentence]) -> str:
    """All of it in one sentence."""
    groups = {
        "good": "holds for",
        "fair": "holds roughly for",
        "poor": "should not be relied on for",
    }
    parts = []
    for level, words in groups.items():
        topics = [s.topic.lower() for s in some if s.level == level and s.topic != "Attacks"]
        if topics:
            parts.append(f"{words} {_listed(topics)}")
    text = f"The synthetic table {_listed(parts, ', and ')}." if parts else ""
    attacks = [s for s in some if s.topic == "Attacks"]
    if any(s.level == "leak" for s in attacks):
        return f"{text} An attack found a leak: read that part before anything is handed out."
    return f"{text} No attack that was tried found a leak." if attacks else text


def _columns(found: Found) -> Iterator[Sentence]:
    if "tvd1" in found:
        columns = found["tvd1"]["detail"]["columns"]
        worst = sorted(columns, key=lambda name: -columns[name])[:NAMED]
        text = f"Shares of a single column are off by {_off(found['tvd1'])}. "
        text += f"Weakest: {_listed([f'{name} ({percent(columns[name])})' for name in worst])}."
        yield Sentence("Single columns", _level(found["tvd1"]), text)


def _pairs(found: Found) -> Iterator[Sentence]:
    if "tvd2" in found and (pairs := found["tvd2"]["detail"].get("pairs")):
        text = f"Shares of two columns together are off by {_off(found['tvd2'])}. "
        worst = [f"{name} ({percent(value)})" for name, value in worst_pairs(pairs, NAMED)]
        yield Sentence(
            "Pairs of columns", _level(found["tvd2"]), f"{text}Weakest: {_listed(worst)}."
        )


def _correlations(found: Found) -> Iterator[Sentence]:
    if "spearman_drift" in found and (pairs := found["spearman_drift"]["detail"].get("pairs")):
        line = found["spearman_drift"]
        beside = f", real rows by {line['reference']:.3f}" if "reference" in line else ""
        worst = [f"{name} (by {value:.2f})" for name, value in worst_pairs(pairs, NAMED)]
        text = f"Rank correlations are off by {line['value']:.3f} on average{beside}. "
        yield Sentence("Correlations", _level(line), f"{text}Weakest: {_listed(worst)}.")


def _rules(found: Found) -> Iterator[Sentence]:
    if "validity" not in found:
        return
    line = found["validity"]
    rules = line["detail"].get("rules", {})
    broken = {rule: 1 - kept for rule, kept in rules.items() if kept < 1}
    outside = [name for name, kept in line["detail"]["columns"].items() if kept < 1]
    texts = [f"{percent(share)} of the rows break “{rule}”." for rule, share in broken.items()]
    texts += [f"Values outside the schema stand in {_listed(outside)}."] if outside else []
    if not texts:
        kept = f"keeps all {len(rules)} rules of" if len(rules) > 1 else "fits"
        kept = "keeps the rule of" if len(rules) == 1 else kept
        texts = [f"Every row {kept} the schema."]
    if not rules:
        texts.append("The schema names no rules between columns, so that none were looked at.")
    yield Sentence("Rules", "poor" if broken or outside else "good", " ".join(texts))


def _tasks(found: Found) -> Iterator[Sentence]:
    texts, shares = [], []
    for name, line in found.items():
        detail, real = line["detail"], line.get("reference")
        taught = "" if real is None else f", where real rows teach {real:.4g}"
        if name.startswith("mcc_"):
            texts.append(
                f"{detail['target']} with a Matthews coefficient of {line['value']:.2g}{taught}"
            )
            if real is not None and real >= LITTLE:
                shares.append(max(line["value"], 0.0) / real)
        elif name == "rmse" and "guessing the mean" in detail:
            mean = detail["guessing the mean"]
            texts.append(
                f"{detail['target']} with an error of {line['value']:.4g}{taught} and guessing the "
                f"mean gives {mean:.4g}"
            )
            if real is not None and real <= mean * (1 - LITTLE):
                shares.append(max(mean - line["value"], 0.0) / (mean - real))
    if texts:
        level: Level = "none" if not shares else "poor"
        if shares and min(shares) >= TAUGHT[1]:
            level = "good" if min(shares) >= TAUGHT[0] else "fair"
        text = f"A model that learns from synthetic rows predicts of real rows {'; '.join(texts)}."
        text += " A coefficient of 0 is guessing, 1 is always right." * ("mcc_" in " ".join(found))
        if not shares and any("reference" in line for line in found.values()):
            text += " Real rows teach next to nothing of these columns: name others with --task."
        yield Sentence("Predictions", level, text)


def _attacks(found: Found) -> Iterator[Sentence]:
    texts, leaks = [], []
    for name, aim in ATTACKS.items():
        detail = found[name]["detail"] if name in found else {}
        if "interval" in detail:
            coin = 0.5 if name.startswith("membership") else 0.0
            leaks += [aim] if detail["interval"][0] > coin else []
            if coin:
                low, high = (percent(end) for end in detail["interval"])
                value = percent(found[name]["value"])
                texts.append(
                    f"An attack that tries to {aim}, with every synthetic row, is right in {value} "
                    f"of the cases (95 %: {low} to {high}); a coin is in 50 %."
                )
    quiet = [aim for name, aim in ATTACKS.items() if name in found and aim not in leaks]
    if leaks:
        texts.insert(0, f"LEAK: an attack can {_listed(leaks)} better than without the table.")
    elif len(quiet) > 1:
        texts.append("The others work as well on people whom the model never saw.")
    if texts:
        texts.append("What an attack does not find is no proof; the proof is the ledger's, below.")
        yield Sentence("Attacks", "leak" if leaks else "good", " ".join(texts))


def _off(line: Mapping[str, Any]) -> str:
    beside = f" (those of real rows by {percent(line['reference'])})" if "reference" in line else ""
    return f"{percent(line['value'])} on average{beside}"


def _level(line: Mapping[str, Any]) -> Level:
    good, fair = MARKS[line["metric"]]
    beyond = line["value"] - line.get("reference", 0.0)
    return "good" if beyond <= good else "fair" if beyond <= fair else "poor"


def percent(share: float) -> str:
    r"""A share in percent, as people write it.

    Examples
    --------
    >>> percent(0.5), percent(0.0312), percent(0.00004)
    ('50\xa0%', '3.1\xa0%', 'less than 0.1\xa0%')
    """
    if 0 < share < 0.0005:
        return "less than 0.1\xa0%"
    return f"{100 * share:.1f}".removesuffix(".0") + "\xa0%"


def _listed(words: Sequence[str], last: str = " and ") -> str:
    return last.join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
