"""What a score means: calibration, p-values, and the policies that decide what is an alert."""

from devnet.significance.calibration import (
    Calibration,
    CalibrationCurve,
    calibrate,
    calibration_curve,
)
from devnet.significance.policies import (
    POLICIES,
    Alarm,
    AlertPolicy,
    Budget,
    Confidence,
    ExpectedCost,
    FalseAlarmRate,
    FalseDiscoveryRate,
    Threshold,
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
