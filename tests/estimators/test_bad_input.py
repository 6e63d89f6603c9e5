"""Bad input and what is said about it, in one table."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from tests.estimators.tables import make, make_table, make_target

X, NUMBERS = make_table()
CLASSES = make_target("classification", NUMBERS)
MATRIX = np.random.default_rng(0).normal(size=(90, 3))
DATES = pd.date_range("2024-01-01", periods=90)


def twice_named():
    return pd.concat([X, X[["age"]]], axis=1)


FIT = {
    "text target for numbers": (
        ("regression", X, CLASSES),
        "The target holds '(lo|mid|hi)', but TabPETRegressor predicts numbers. Use TabPETClass",
    ),
    "numbers for classes": (
        ("classification", X, NUMBERS),
        "Unknown label type: continuous",
    ),
    "one class": (
        ("classification", X, np.full(90, "yes")),
        r"The target has one class only \('yes'\): there is nothing to classify",
    ),
    "one number": (
        ("regression", X, np.full(90, 3.0)),
        "The target 'target' is 3 in all training rows",
    ),
    "NaN among classes": (
        ("classification", X, pd.Series(CLASSES).mask(np.arange(90) < 2)),
        "Input y contains NaN: the class is missing in 2 rows. Leave these rows out",
    ),
    "one NaN among classes": (
        ("classification", X, pd.Series(CLASSES).mask(np.arange(90) < 1)),
        "the class is missing in 1 row. Leave",
    ),
    "NaN among numbers": (
        ("regression", X, np.where(np.arange(90) < 2, np.nan, NUMBERS)),
        "Input y contains NaN",
    ),
    "dates as numbers": (
        ("regression", X, DATES),
        "The target holds '2024-01-01.*', but TabPETRegressor predicts numbers",
    ),
    "durations as numbers": (
        ("regression", X, pd.Series(DATES - DATES[0])),
        "The target holds '0 .*', but TabPETRegressor predicts numbers",
    ),
    "infinite number": (
        ("regression", X, np.where(np.arange(90) < 2, np.inf, NUMBERS)),
        "Input y contains infinity",
    ),
    "text and numbers as classes": (
        ("classification", X, np.array([1, "a", 2.5] * 30, dtype=object)),
        "The target mixes text and numbers, so its classes have no order. Make all of them text",
    ),
    "no target": (("classification", X, None), "requires y to be passed, but the target y is None"),
    "only empty columns": (
        ("regression", pd.DataFrame({"a": [np.nan] * 90}), NUMBERS),
        "every feature misses more than 70% of its training values",
    ),
    "one row": (("regression", X.head(1), NUMBERS[:1]), "1 sample is not enough"),
    "one row for classes": (("classification", X.head(1), CLASSES[:1]), "one class only"),
    "too few rows of classes": (
        ("classification", X.head(4), np.array(list("abcd"))),
        "can't be split: 4 rows and 4 classes are too few",
    ),
    "column name twice": (
        ("regression", twice_named(), NUMBERS),
        "X has several columns named age. Rename them",
    ),
    "complex numbers": (("regression", MATRIX * 1j, NUMBERS), "Complex data not supported"),
    "complex column": (
        ("regression", pd.DataFrame({"a": MATRIX[:, 0] * 1j}), NUMBERS),
        "Complex data not supported: the column 'a'",
    ),
    "no rows": (("regression", X.head(0), NUMBERS[:0]), r"0 sample\(s\)"),
    "no columns": (("regression", X[[]], NUMBERS), r"0 feature\(s\)"),
    "sparse matrix": (
        ("regression", scipy.sparse.csr_matrix(MATRIX), NUMBERS),
        r"X is a sparse matrix; .* Use X.toarray\(\)",
    ),
    "sparse column": (
        ("regression", pd.DataFrame({"a": pd.arrays.SparseArray(MATRIX[:, 0])}), NUMBERS),
        "The column 'a' is sparse",
    ),
    "dates": (
        ("regression", X.assign(when=DATES), NUMBERS),
        r"The column 'when' holds dates, .* pandas.to_datetime\(column\).dt.year",
    ),
    "dates in an array": (
        ("regression", DATES.to_numpy()[:, None], NUMBERS),
        "The column 'x0' holds dates",
    ),
    "dates in an array of objects": (
        ("regression", X.assign(when=DATES).to_numpy(), NUMBERS),
        "The column 'x5' holds dates",
    ),
    "dates of Python": (
        ("regression", X.assign(when=[None, *DATES.date[1:]]), NUMBERS),
        "The column 'when' holds dates",
    ),
    "dates as categories": (
        ("regression", X.assign(when=pd.Categorical(DATES)), NUMBERS),
        "The column 'when' holds dates",
    ),
    "periods as categories": (
        ("regression", X.assign(when=pd.Categorical(DATES.to_period("M"))), NUMBERS),
        "The column 'when' holds dates",
    ),
    "lists in a column": (
        ("regression", X.assign(list=[[1, 2]] * 90), NUMBERS),
        "The column 'list' holds list values",
    ),
    "a vector": (("regression", NUMBERS, NUMBERS), "Expected 2D array, got 1D array"),
    "fewer targets than rows": (("regression", X, NUMBERS[:-1]), "inconsistent numbers of samples"),
}
PARAMETERS = {
    "alpha": ({"alpha": "big"}, "alpha is 'big' and alphas .*; alpha is a number that is not neg"),
    "negative alpha": ({"alpha": -1.0}, "alpha is -1.0"),
    "no alphas": ({"alpha": "auto", "alphas": ()}, "'auto' to choose from such numbers in alphas"),
    "backbone": ({"backbone": "ft"}, "there is no model 'ft'; known are: ft_transformer, saint"),
    "graph": ({"graph": "spermann"}, "there is no graph 'spermann'; did you mean 'spearman'?"),
    "alphas in an array": ({"alpha": np.ones(2)}, r"alpha is array\(\[1., 1.\]\) and alphas"),
    "depth": ({"depth": 0}, "`depth` is 0: input should be greater than or equal to 1"),
    "list of settings": (
        {"encoding_settings": [2]},
        r"encoding_settings is \[2\]; it is a mapping",
    ),
    "text of settings": ({"graph_settings": "a"}, "graph_settings is 'a'; it is a mapping"),
    "edges with values": ({"graph": {("age", "size"): 2}}, r"graph is {.*: 2}; it is the name"),
    "epochs": ({"epochs": 0}, "`epochs` is 0: input should be greater than or equal to 1"),
    "heads": ({"width": 15}, "width .15. is not a multiple of n_heads .2."),
    "validation": ({"validation": 1.5}, "validation is 1.5; it is the share of rows"),
    "batch size": ({"batch_size": 0}, "batch_size is 0; it is a number of rows, or None"),
    "negative seed": ({"random_state": -1}, "random_state is -1; a seed is from 0 to 4294967295"),
    "large seed": ({"random_state": 2**40}, "random_state is 1099511627776; a seed is from 0"),
    "batch size in words": ({"batch_size": "auto"}, "batch_size is 'auto'; it is a number of rows"),
    "half a row": ({"batch_size": 8.5}, "batch_size is 8.5; it is a number of rows, or None"),
    "no validation": ({"validation": None}, "validation is None; it is the share of rows"),
    "no backbone": ({"backbone": None}, "there is no model 'None'; known are: ft_transformer"),
    "no graph seconds": ({"graph_seconds": None}, "graph_seconds is None; it is a number above 0"),
    "no graph": ({"graph": None}, "graph is None; it is the name of a graph, 'none', or edges"),
    "a number as graph": ({"graph": 3}, "graph is 3; it is the name of a graph, 'none', or edges"),
    "half an edge": ({"graph": [("age",)]}, r"The edge \('age',\) can't be used: it has 1 parts"),
    "no edge": ({"graph": ["ab"]}, "The edge 'ab' can't be used: it has 0 parts"),
    "a loop": ({"graph": [("age", "age")]}, "it joins a feature to itself"),
    "weight in words": ({"graph": [("age", "size", "big")]}, "the weight 'big' is not a number"),
    "weight NaN": ({"graph": [("age", "size", np.nan)]}, "the weight nan is not a number"),
    "device": ({"device": "abacus"}, "device 'abacus' can't be used"),
    "too narrow": ({"width": 4, "n_heads": 2}, "the encoding is 4 wide, but a token"),
}
PREDICT = {
    "other columns": (X.rename(columns={"age": "years"}), "feature names should match"),
    "a column less": (X.drop(columns="age"), "feature names should match"),
    "other order": (X[X.columns[::-1]], "must be in the same order"),
    "words for numbers": (
        X.assign(age="old"),
        "The column 'age' held numbers before and now holds 'old'. Correct these values",
    ),
    "an array of other width": (MATRIX, "X has 3 features, but TabPETRegressor is expecting 5"),
}


@pytest.mark.parametrize(("given", "message"), FIT.values(), ids=FIT)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fit_says_what_is_wrong(given, message):
    task, table, target = given
    with pytest.raises(ValueError, match=message):
        make(task, alpha=1.0).fit(table, target)


@pytest.mark.parametrize(("given", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_wrong_parameters_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        make("regression", **given).fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"high": 2.0}, "class_weight names the class 'high', which y has not; its classes are"),
        ({"hi": -1.0}, "class_weight of 'hi' is -1.0; a weight is a number that is not negative"),
        ({"hi": "much"}, "class_weight of 'hi' is 'much'; a weight is a number"),
        ({"hi": 0, "lo": 0, "mid": 0}, "class_weight is 0 for all classes"),
        ("even", "class_weight is 'even'; allowed are 'balanced', None, or a weight per class"),
        (np.ones(3), "allowed are 'balanced', None, or a weight per class"),
    ],
)
def test_wrong_class_weights_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        make("classification", class_weight=weights).fit(X, CLASSES)


@pytest.mark.parametrize(("table", "message"), PREDICT.values(), ids=PREDICT)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_predict_says_what_is_wrong(table, message):
    estimator = make("regression", alpha=1.0, epochs=1).fit(X, NUMBERS)
    with pytest.raises(ValueError, match=message):
        estimator.predict(table)


def test_validation_rows_belong_together_and_to_the_table():
    with pytest.raises(ValueError, match="X_val and y_val belong together"):
        make("regression").fit(X, NUMBERS, X_val=X)
    with pytest.raises(ValueError, match="feature names should match"):
        make("regression").fit(X, NUMBERS, X_val=X[["age"]], y_val=NUMBERS)
    with pytest.raises(ValueError, match="y_val has the class 'new', which y has not"):
        make("classification").fit(X, CLASSES, X_val=X, y_val=np.full(90, "new"))


def test_an_empty_column_is_left_out_with_a_warning():
    table = X.assign(empty=np.nan)
    with pytest.warns(UserWarning, match="empty: left out, 100% of training values missing"):
        estimator = make("regression", alpha=1.0, epochs=1).fit(table, NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(estimator.predict(table)).all()
