"""The report: one page, built only from the store."""
