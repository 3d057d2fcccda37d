"""What a score means: nominal and calibrated p-values, and which scores are alerts."""

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
    "AlertPolicy",
    "Budget",
    "Calibration",
    "CalibrationCurve",
    "Confidence",
    "ConformalRanks",
    "ExpectedCost",
    "FalseAlarmRate",
    "FalseDiscoveryRate",
    "calibrate",
    "calibration_curve",
    "nominal_p_value",
    "prior_quantile",
]
