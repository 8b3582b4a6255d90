"""YAML in which nothing is guessed, and of a size that can be."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import is_text, shown

#: Letters of a schema or grid: a column of 100,000 categories has some 2 MB.
LARGEST_YAML = 2**24
#: Values of one YAML text, what an alias stands for counted each time; Python needs 100 bytes each.
MOST_NODES = 2_000_000
#: Letters of a number of YAML. Those of base 60 (1:00:00) take time by the square of their number,
#: and whole numbers of 1,000 bits, 250 letters in base 16, can still be printed and become floats.
LONGEST_NUMBER = 250
NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _PlainEvents(Reader, Scanner, Parser):
    """The events of a YAML text, where PyYAML was built without libyaml."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)


#: libyaml gives the events many times faster. On odd texts (a bare !, tabs) the two differ.
_Events: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else _PlainEvents  # type: ignore[attr-defined]


class _Loader(Composer, _Events, SafeConstructor, Resolver):
    """YAML in which a key twice is an error and only true/false are booleans."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known = set()
        for place, _ in node.value:
            key = self.construct_object(place, deep=True)
            if key in known:
                again = f"again in line {place.start_mark.line + 1}"
                raise SchemaError(f"YAML key {shown(key)} stands twice in one mapping, {again}")
            known.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_timestamp(self, node: yaml.ScalarNode) -> Any:
        """A date; what looks like one and is none (2022-02-30) is a text, for fields to refuse."""
        try:
            return super().construct_yaml_timestamp(node)
        except ValueError:
            return node.value

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Count what an alias stands for each time, so that a small text cannot say a lot."""
        alias = self.check_event(yaml.AliasEvent)
        before = self._said
        node = super().compose_node(parent, index)
        if alias:
            self._said += self._sizes.get(id(node), 1)
        else:
            self._said += 1
            self._sizes[id(node)] = self._said - before
        if node is not None and len(node.value) > LONGEST_NUMBER and node.tag in NUMBER_TAGS:
            raise SchemaError(f"YAML holds a number of more than {LONGEST_NUMBER:,} letters")
        if isinstance(node, yaml.ScalarNode) and not is_text(node.value):
            raise SchemaError("YAML holds half of a character, which is no text")
        if self._said > MOST_NODES:
            raise SchemaError(f"YAML says more than {MOST_NODES:,} values")
        return node

    def __init__(self, stream: str) -> None:
        _Events.__init__(self, stream)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)
        self._said, self._sizes = 0, dict[int, int]()


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_yaml_timestamp)

# YAML 1.1 reads an unquoted NO or Yes as a boolean, which breaks category lists.
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, rule) for tag, rule in rules if not (tag.endswith(":bool") and first not in "tTfF")
    ]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(text: str) -> Any:
    """Parse YAML text; every fault is one ``SchemaError``."""
    if len(text) > LARGEST_YAML:
        raise SchemaError(f"YAML must have at most {LARGEST_YAML:,} letters")
    try:
        return yaml.load(text, Loader=_Loader)
    except SchemaError:
        raise
    except Exception as error:  # besides its own errors PyYAML passes on a dozen of Python's
        # the error's own text quotes the file, which may be a table by mistake
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark else ""
        raise SchemaError(f"not readable as YAML{where}") from None


def lines_of(text: str, depth: int = 3) -> dict[tuple[str, ...], int]:
    r"""The line of each entry of a YAML text, by its keys and places in lists.

    Examples
    --------
    >>> lines_of("columns:\n  age:\n    kind: integer\nrules: [a]\n", 2)
    {('columns',): 1, ('columns', 'age'): 2, ('rules',): 4, ('rules', '0'): 4}
    """
    found: dict[tuple[str, ...], int] = {}

    def walk(node: yaml.Node, path: tuple[str, ...]) -> None:
        entries: list[tuple[str, yaml.Node, yaml.Node]] = []
        if isinstance(node, yaml.MappingNode):
            entries = [(str(key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            entries = [(str(i), value, value) for i, value in enumerate(node.value)]
        for name, place, value in entries:
            found[*path, name] = place.start_mark.line + 1
            if len(path) + 1 < depth:
                walk(value, (*path, name))

    whole = yaml.compose(text, Loader=_Loader)
    if whole is not None:
        walk(whole, ())
    return found
