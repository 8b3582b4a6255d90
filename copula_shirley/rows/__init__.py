"""Who holds the rows: private."""
