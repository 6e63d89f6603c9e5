"""Logistic or ridge regression, a plain reference: what is declared about it."""

from tabpet.entries import Learner

LEARNER = Learner(
    key="linear",
    label="Linear",
    citation="Pedregosa et al. (2011), Scikit-learn: machine learning in Python, Journal of "
    "Machine Learning Research 12",
    cost="instant",
    needs=("scikit-learn",),
    fitter="tabpet.trees.linear.fitter:LinearFitter",
    reads=frozenset({"balanced"}),
    order=3,
)
