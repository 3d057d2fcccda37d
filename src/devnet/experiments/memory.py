"""The most memory that this process held."""

import sys
from contextlib import suppress
from pathlib import Path

STATUS = Path("/proc/self/status")


def forget_peak_memory() -> None:
    """Start anew, which Linux alone offers; elsewhere the peak is that of the whole process."""
    with suppress(OSError):  # it may be absent, or closed to us
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """Bytes; 0 where the system does not tell."""
    if STATUS.exists():
        peak = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * float(peak.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
