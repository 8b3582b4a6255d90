"""Old words of the command line, taken for one version: each is replaced and told on stderr."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from copula_shirley.cli.terminal import note

COMMANDS = {"schema": "draft"}
#: Options of single methods, which are settings now.
SETTINGS = (
    "encoder",
    "mechanism",
    "split",
    "truncation",
    "accounting",
    "families",
    "discrete",
    "threads",
)
FITS = ("fit", "synthesize", "plan")
#: Old option of a command, and the new one.
OPTIONS = {
    ("inspect", "--card"): "--output",
    ("verify", "--model"): "--from",
    ("audit", "--folder"): "--results",
    ("reproduce", "--output"): "--folder",
    ("reproduce", "-o"): "--folder",
}
#: Old value of an option, and the new one.
VALUES = {("--epsilon", "none"): "off", ("--domain", "private"): "measured"}


def modern(words: Sequence[str]) -> list[str]:
    """The words of a command line with new ones in place of old ones.

    Examples
    --------
    >>> modern(["draft", "data.csv", "--missing", "?"])
    ['draft', 'data.csv', '--missing', '?']
    """
    if not words:
        return []
    first = COMMANDS.get(words[0], words[0])
    found = [first, *_options(first, list(words[1:]))]
    if first != words[0]:
        note(f"{words[0]!r} is now called {first!r}")
    return found


def _options(command: str, words: list[str]) -> Iterator[str]:
    """The words after the command."""
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        follows = bool(equals or (words and not words[0].startswith("-")))
        setting = name.removeprefix("--").removeprefix("no-")
        if command in FITS and name.startswith("--") and setting in SETTINGS:
            if setting == "discrete":
                value = str(name == "--discrete").lower()
            elif follows:
                value = value if equals else words.pop(0)
                value = f"[{value}]" if "," in value else value
            note(f"{name} is now --set {setting}={value}")
            yield from ("--set", f"{setting}={value}")
        elif (command, name) == ("audit", "--json") and follows:
            note("--json of audit is now a flag; a file is named with -o")
            yield from ("-o", value if equals else words.pop(0))
        elif (command, name) in OPTIONS:
            new = OPTIONS[command, name]
            note(f"{name} of {command} is now {new}")
            yield new + equals + value
        elif follows and (name, value if equals else words[0].lower()) in VALUES:
            old = value if equals else words.pop(0)
            new = VALUES[name, old.lower()]
            note(f"{name} {old} is now {name} {new}")
            yield from (name, new)
        else:
            yield word
