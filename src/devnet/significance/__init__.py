"""What a score means: nominal and calibrated p-values, and which scores are alerts."""

from devnet.significance.alarm import Alarm, Threshold
from devnet.significance.calibration import (
    Calibration,
    CalibrationCurve,
    calibrate,
    calibration_curve,
)
from devnet.significance.policies import (
    POLICIES,
    AlertPolicy,
    Budget,
    Confidence,
    ExpectedCost,
    FalseAlarmRate,
    FalseDiscoveryRate,
)
from devnet.significance.ranks import ConformalRanks

__all__ = [
    "POLICIES",
    "Alarm",
    "AlertPolicy",
    "Budget",
    "Calibration",
    "CalibrationCurve",
    "Confidence",
    "ConformalRanks",
    "ExpectedCost",
    "FalseAlarmRate",
    "FalseDiscoveryRate",
    "Threshold",
    "calibrate",
    "calibration_curve",
]
