"""After the fit: files with their cards, verification, releases."""
