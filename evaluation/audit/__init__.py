"""Privacy claims put to the test."""
