"""Pruning: scores, masks and schedules put together."""
