"""The report: one page, built from nothing but the store."""
