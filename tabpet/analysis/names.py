"""Names that people read, and those of the tables; light, because the Snakefile imports it."""

GRAPHS = {
    "notears": "NOTEARS",
    "lingam": "LiNGAM",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "chow_liu": "Chow-Liu",
    "pc": "PC",
    "true": "True graph",
}
MODELS = {
    "ft_transformer": "FT-Transformer",
    "saint": "SAINT",
    "tab_transformer": "TabTransformer",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "linear": "Linear",
}
TREES = ("xgboost", "catboost")
TRANSFORMERS = ("ft_transformer", "saint", "tab_transformer")
TASKS = {"classification": "Classification", "regression": "Regression"}
METRICS = {"classification": "balanced accuracy", "regression": "RMSE"}
PET = "+pet"
# Tables of the analysis, under results/tables/.
TABLES = {
    "main": "Main results",
    "comparison_matrix": "Every method against every other",
    "significance": "Tab-PET against the same model without it",
    "controls": "Null controls",
    "oracle": "Alpha chosen by validation and by test",
    "mixed_model": "Gains by encoding, model and size of table",
    "graph_methods": "Graph estimators",
    "learnable": "Learnable encodings against Tab-PET",
    "trees": "Transformers against trees",
    "outliers": "Mean performance after outlier exclusion",
    "detailed_models": "All models, per dataset",
    "detailed_graphs": "All graph estimators, per dataset",
    "timing": "Time to estimate a graph",
    "cost": "Hours by stage",
    "paper": "The paper against this run",
    "coverage": "Planned and finished runs",
}
# Tables of the studies, under results/studies/<report>/tables/.
STUDY_TABLES = {
    "synthetic": {
        "synthetic": "Gains by structure",
        "synthetic_trend": "Does the gain grow with structure?",
        "edge_recovery": "Edges found by graph estimators",
    },
    "effective_rank": {"effective_rank": "Effective rank by alpha"},
}
# Methods of the main table, in the paper's order; then those that only this project has.
METHODS = (
    *TREES,
    *(f"{model}{part}" for model in reversed(TRANSFORMERS) for part in ("", PET)),
    "linear",
    *(f"{model}-default" for model in TREES),
)
SHORT = {
    "xgboost": "XGB",
    "catboost": "CatB",
    "tab_transformer": "TabT",
    "saint": "SAINT",
    "ft_transformer": "FT",
    "linear": "Linear",
}


def is_reference(method: str) -> bool:
    """Whether a method is a plain reference, which is shown and not ranked."""
    return method == "linear" or method.endswith("-default")


def table_files(folder: str) -> list[str]:
    """Every table of the analysis, as the workflow writes them."""
    return [f"{folder}/{name}.{kind}" for name in TABLES for kind in ("csv", "tex")]


def encoding_name(encoding: str) -> str:
    """`spearman-random` as "Spearman, random"."""
    graph, _, kind = encoding.partition("-")
    name = GRAPHS.get(graph, graph)
    return f"{name}, {kind}" if kind else name


def method_name(method: str) -> str:
    """`ft_transformer+pet` as "FT-Transformer+PET", `xgboost-default` as "XGBoost, default"."""
    return _named(method, MODELS)


def method_short(method: str) -> str:
    """`ft_transformer+pet` as "FT+PET": for narrow columns."""
    return _named(method, SHORT)


def _named(method: str, names: dict[str, str]) -> str:
    model, plus, _ = method.partition(PET)
    model, dash, kind = model.partition("-")
    name = names.get(model, model)
    return f"{name}{'+PET' if plus else ''}{f', {kind}' if dash else ''}"
