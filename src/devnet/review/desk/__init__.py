"""The desk: what lies before analysts, who looks at what, and what becomes of their verdicts."""
