"""The methods that DevNet is compared with, by the same contract."""

from devnet.competitors.deep_svdd import DeepSVDD
from devnet.competitors.fsnet import FSNet
from devnet.competitors.repen import REPEN

__all__ = ["REPEN", "DeepSVDD", "FSNet"]
