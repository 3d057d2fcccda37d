"""Columns as numbers: one file per kind of column, listed in `kinds`."""
