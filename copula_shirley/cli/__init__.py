"""The ``shirley`` command."""
