"""The deviation ensemble, one part a file."""
