"""The result of an analysis as plain data, and how it is attributed."""
