"""The deviation ensemble: one part per file."""
