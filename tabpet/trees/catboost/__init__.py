"""CatBoost: what is declared about it, with the paper's search space (appendix F.1)."""

from tabpet.entries import Learner, Range

LEARNER = Learner(
    key="catboost",
    label="CatBoost",
    short="CatB",
    citation="Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin (2018), CatBoost: unbiased "
    "boosting with categorical features, NeurIPS",
    needs=("catboost",),
    fitter="tabpet.trees.catboost.fitter:CatBoostFitter",
    space={
        "max_depth": Range(3, 10, integer=True),
        "learning_rate": Range(1e-5, 1.0, log=True),
        "bagging_temperature": Range(0.0, 1.0),
        "l2_leaf_reg": Range(1.0, 10.0, log=True),
        "leaf_estimation_iterations": Range(1, 10, integer=True),
    },
    # NOTE[PAPER]: the text names no bootstrap, but only the Bayesian one has a bagging temperature.
    fixed={"bootstrap_type": "Bayesian"},
    reads=frozenset({"rounds", "patience", "stopping", "od_pval", "balanced", "device"}),
    order=2,
)
