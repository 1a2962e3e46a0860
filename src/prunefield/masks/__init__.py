"""Masks: which weights are kept, by rank or by sampling."""
