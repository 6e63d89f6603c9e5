"""Baselines without tokens: tuned tree learners and plain references (paper, appendix F.1)."""
