"""Sequences and long series: one score per sequence or time step. Needs the extra `torch`."""
