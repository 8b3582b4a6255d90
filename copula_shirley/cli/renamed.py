"""Old words of the command line, taken for one version: each is replaced and told on stderr."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from copula_shirley.cli.terminal import note

COMMANDS = {"schema": "draft"}
#: Options of single methods, which are settings now.
SETTINGS = (
    *("encoder", "mechanism", "split", "truncation"),
    *("accounting", "families", "discrete", "threads"),
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
    if first != words[0]:
        note(f"{words[0]!r} is now called {first!r}")
    return [first, *_options(first, list(words[1:]))]


def _options(command: str, words: list[str]) -> Iterator[str]:
    """The words after the command."""
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        follows = bool(equals or (words and not words[0].startswith("-")))
        said = (value if equals else words[0]) if follows else ""
        setting = name.removeprefix("--").removeprefix("no-")
        uses_value = True
        if command in FITS and name.startswith("--") and setting in SETTINGS:
            if setting == "discrete":
                said, uses_value = str(name == "--discrete").lower(), False
            said = f"[{said}]" if "," in said else said
            note(f"{name} is now --set {setting}={said}")
            new = ["--set", f"{setting}={said}"]
        elif (command, name) == ("audit", "--json") and follows:
            note("--json of audit is now a flag; a file is named with -o")
            new = ["-o", said]
        elif follows and (name, said.lower()) in VALUES:
            new = [name, VALUES[name, said.lower()]]
            note(f"{name} {said} is now {' '.join(new)}")
        else:
            changed = OPTIONS.get((command, name), name)
            if changed != name:
                note(f"{name} of {command} is now {changed}")
            new, uses_value = [changed + equals + value], False
        if uses_value and follows and not equals:
            words.pop(0)
        yield from new
