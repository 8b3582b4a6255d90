"""The only door between rows and models: a query in, noisy whole numbers out."""
