"""One module per graph estimator; each defines `ESTIMATOR` and is found by the registry."""
