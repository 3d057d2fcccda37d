"""The methods that DevNet is compared with, under their public name."""

from devnet.detectors.competitors import *  # noqa: F403
from devnet.detectors.competitors import __all__ as __all__
