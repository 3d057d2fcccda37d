"""The methods that DevNet is compared with, at their public address."""

from devnet.detectors.competitors import *  # noqa: F403
from devnet.detectors.competitors import __all__ as __all__
