"""What a fit can be worth, said before it spends anything.

Privacy: an outlook is made of the schema, the settings and the number of rows. Where the number of
rows is private (add-remove neighbours) an outlook is a fact about the rows: it is shown to who
holds them and stands in no file, no model and no card. Whether a fit is refused for it depends on
the number of rows, too; a refused fit publishes nothing, and about how many rows there are can be
declared instead (``rows_about``), so that nothing depends on the true number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: What is added to words that tell something of the rows.
ABOUT_ROWS = "(about the rows, not for release)"


@dataclass(frozen=True)
class Outlook:
    """What to expect of a fit: why nothing useful can come out, if so, and what will be poor."""

    useless: str = ""
    poor: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Everything that there is to say."""
        return [
            *([f"Nothing useful can come out: {self.useless}"] * bool(self.useless)),
            *self.poor,
        ]
