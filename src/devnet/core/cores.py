"""How many cores a process may use."""

from joblib import cpu_count


def n_cores() -> int:
    """Cores by the machine, by what the process is bound to, and by the limit of its container."""
    return int(cpu_count())
