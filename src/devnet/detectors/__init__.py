"""Detectors: scikit-learn estimators that learn from few labelled anomalies."""
