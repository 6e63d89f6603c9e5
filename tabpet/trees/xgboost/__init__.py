"""XGBoost: what is declared about it, with the paper's search space (appendix F.1)."""

from tabpet.entries import Learner, Range

_ZERO_OR_LOG = Range(1e-8, 1e2, log=True, or_zero=True)

LEARNER = Learner(
    key="xgboost",
    label="XGBoost",
    short="XGB",
    citation="Chen and Guestrin (2016), XGBoost: a scalable tree boosting system, KDD",
    needs=("xgboost",),
    fitter="tabpet.trees.xgboost.fitter:XGBoostFitter",
    space={
        "max_depth": Range(3, 10, integer=True),
        "min_child_weight": Range(1e-8, 1e5, log=True),
        "subsample": Range(0.5, 1.0),
        "learning_rate": Range(1e-5, 1.0, log=True),
        "colsample_bylevel": Range(0.5, 1.0),
        "colsample_bytree": Range(0.5, 1.0),
        "gamma": _ZERO_OR_LOG,
        "reg_lambda": _ZERO_OR_LOG,
        "reg_alpha": _ZERO_OR_LOG,
    },
    fixed={"booster": "gbtree"},
    reads=frozenset({"rounds", "patience", "stopping", "balanced", "device"}),
    order=1,
)
