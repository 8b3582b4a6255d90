"""Every error and warning that this project raises on purpose.

Each error is a ``ValueError`` whose message names the column or the setting,
the value and what would be right.
"""

from __future__ import annotations


class ShirleyError(ValueError):
    """Base of every error that is the input's fault and not the program's."""


class SettingError(ShirleyError):
    """A setting of a generator has a value that it cannot have."""


class SchemaError(ShirleyError):
    """A schema is not well formed, or a table does not fit its schema."""


class BudgetError(ShirleyError):
    """A spend would exceed the privacy budget; raised before any noise is drawn."""


class ArtefactError(ShirleyError):
    """A file is not a model that this version can read."""


class OtherRevisionError(ArtefactError):
    """A model was fitted by another revision of its method, which reads its numbers otherwise."""


class ReportError(ShirleyError):
    """A person's report cannot be made, or is none; nothing left her device."""


class PrivacyWarning(UserWarning):
    """What is claimed and what is proved differ; the ledger says how."""


class PoorTableWarning(UserWarning):
    """The noise will leave little of what the rows say; it is a fact about their number."""
