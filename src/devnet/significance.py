"""What a score means: nominal and calibrated p-values, and which scores are alerts."""

from devnet.alarm import Alarm, Threshold
from devnet.alert_policies import (
    POLICIES,
    AlertPolicy,
    Budget,
    Confidence,
    ExpectedCost,
    FalseAlarmRate,
    FalseDiscoveryRate,
)
from devnet.calibration import (
    Calibration,
    CalibrationCurve,
    calibrate,
    calibration_curve,
    nominal_p_value,
    prior_quantile,
)
from devnet.conformal_ranks import ConformalRanks

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
    "nominal_p_value",
    "prior_quantile",
]
