"""Ranges: intervals in a float format, the op table, propagation. Pure Python; knows neither source text nor torch."""
