"""Tasks that real workers import and that end badly."""

import os
import signal

from devnet.serving.cluster.work import Failed


def deadly(part, deadly_number):
    """Kills the worker on one part."""
    if part.number == deadly_number:
        os.kill(os.getpid(), signal.SIGKILL)
    return part.number


def broken(part, broken_number):
    """Raises what no worker should raise."""
    if part.number == broken_number:
        raise RuntimeError("the disk is on fire")
    return part.number


def refused(part, refused_number):
    """Says why a part cannot be done."""
    return Failed(part.number, ("it is no table.",)) if part.number == refused_number else 0
