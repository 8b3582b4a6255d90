"""Figures in plain words, for people who would rather read a sentence."""

from __future__ import annotations

from collections.abc import Callable

from copula_shirley.evaluation.result import Result

#: From a result and the value of real training rows (or None) to a sentence.
Verdict = Callable[[Result, float | None], str]
ATTACKERS = ("train", "control", "baseline")


def plain(result: Result, _: float | None) -> str:
    return _end(result)


def worst(which: str) -> Verdict:

    def verdict(result: Result, _: float | None) -> str:
        parts = result.detail.get(which, {})
        name = max(parts, key=parts.__getitem__, default=None)
        return _end(result, "" if name is None else f"worst: {name} ({parts[name]:.3f})")

    return verdict


def mcc(result: Result, reference: float | None) -> str:
    taught = ""
    if reference is not None:
        taught = "real rows teach no more than guessing"
        if reference > 0:
            taught = f"{max(result.value, 0.0) / reference:.0%} of what real rows teach"
    target = result.detail["target"]
    return _end(result, f"how well {target} of real rows is predicted; 0 is guessing", taught)


def rmse(result: Result, _: float | None) -> str:
    guessing = result.detail.get("guessing the mean", 0.0)
    useful = "better" if result.value < guessing else "no better"
    than = f"{useful} than guessing the mean ({guessing:.4g})"
    return _end(result, f"error for {result.detail['target']}, {than}")


def membership(result: Result, _: float | None) -> str:
    low, high = result.detail["interval"]
    text = "no better than a coin (.5); stronger attacks may exist"
    if low > 0.5:
        extra = 2 * (result.detail["mean"] - 0.5)
        text = f"LEAK: beats a coin by {extra:.1%} more right calls than wrong ones"
    elif high < 0.5:
        text = "below a coin: this attack is misled here, and proves nothing"
    return _end(result, f"{text} [95 % {low:.3f} to {high:.3f}]")


def advantage(result: Result, _: float | None) -> str:
    if "interval" not in result.detail:
        return _end(result, "0 is no leak")
    found = "no leak seen: the attack works as well on rows never seen"
    low, high = result.detail["interval"]
    if low > 0:
        found = "LEAK: the attack works better on training rows than on rows never seen"
    shares = [(who, result.detail[who]) for who in ATTACKERS if who in result.detail]
    rates = [(who, x["rate"] if isinstance(x, dict) else x) for who, x in shares]
    shown = ", ".join(f"{who} {rate:.1%}" for who, rate in rates)
    return _end(result, f"{found} ({shown}) [95 % {low:.3f} to {high:.3f}]")


def detection(result: Result, _: float | None) -> str:
    how = "hardly" if result.value < 0.55 else "sometimes" if result.value < 0.75 else "easily"
    return _end(result, f"{how} told from real rows: .5 is a coin, 1 is always")


def propensity(result: Result, _: float | None) -> str:
    ratio = result.detail.get("ratio")
    return _end(result, "" if ratio is None else f"{ratio:.1f} times that of perfect rows")


def coverage(result: Result, _: float | None) -> str:
    texts = [f"{result.value:.0%} of 95 % intervals hold the real value"]
    if "perfect rows" in result.detail:
        texts.append(f"perfect rows: {result.detail['perfect rows']:.0%}")
    missed = [name for name, share in result.detail.get("columns", {}).items() if share == 0]
    if missed:
        texts.append(f"missed: {', '.join(missed[:4])}" + ", ..." * (len(missed) > 4))
    return _end(result, *texts)


def rules_recall(result: Result, _: float | None) -> str:
    number, found = result.detail["number"], result.detail["found"]
    kept = round(result.value * number)
    text = f"{kept} of {number} strong association rules are kept, {found - kept} are new"
    return _end(result, text if number else "")


def validity(result: Result, _: float | None) -> str:
    wrong = [name for name, share in result.detail["columns"].items() if share < 1]
    rules = result.detail.get("rules", {})
    texts = [f"values outside the schema in: {', '.join(wrong)}"] if wrong else []
    shares = {rule: 1 - kept for rule, kept in rules.items() if kept < 1}
    texts += [f"{share:.1%} of the rows break {rule!r}" for rule, share in shares.items()]
    more = " and keeps every rule" if rules else ""
    return _end(result, *(texts or [f"every row fits the schema{more}"]))


def rows_per_person(result: Result, _: float | None) -> str:
    means = result.detail["means"]
    return _end(result, f"{means['synthetic']:.2f} rows a person, of real rows {means['test']:.2f}")


def description(text: str) -> Verdict:
    """What a descriptive figure is; none of them is evidence of privacy."""
    return lambda result, _: _end(result, f"{text} (a description, no proof of privacy)")


def _end(result: Result, *texts: str) -> str:
    return "; ".join(text for text in (*texts, result.detail.get("note")) if text)
