"""Peak memory of this process."""

import sys
from contextlib import suppress
from pathlib import Path

STATUS = Path("/proc/self/status")


def forget_peak_memory() -> None:
    """Reset the peak, which only Linux can do; elsewhere it stays that of the whole process."""
    with suppress(OSError):  # it may be missing or not writable
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """Peak memory in bytes; 0 if the system does not say."""
    if STATUS.exists():
        peak = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * float(peak.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
