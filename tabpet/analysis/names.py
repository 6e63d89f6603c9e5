"""Names that people read, and those of the tables; light, because the Snakefile imports it."""

from tabpet.names import EncodingName, Method
from tabpet.registry import CONTROLS, tuned_learners, untuned_learners
from tabpet.registry import GRAPHS as _GRAPHS
from tabpet.registry import LEARNERS as _LEARNERS
from tabpet.registry import MODELS as _MODELS

# Labels by key, in the order of tables and figures.
GRAPHS = {key: graph.label for key, graph in _GRAPHS.entries.items()}
MODELS = {key: entry.label for key, entry in {**_MODELS.entries, **_LEARNERS.entries}.items()}
TRANSFORMERS = tuple(_MODELS.entries)
TREES = tuple(tuned_learners())
# Controls that nothing can be learned from: no structure, and no weights of their own.
NULL_CONTROLS = tuple(key for key, control in CONTROLS.items() if not control.trained)
TASKS = {"classification": "Classification", "regression": "Regression"}
METRICS = {"classification": "balanced accuracy", "regression": "RMSE"}
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
    "claims": "Published gains against those of this run",
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
# Of every table, by its name.
TITLES = {
    name: title for tables in (TABLES, *STUDY_TABLES.values()) for name, title in tables.items()
}
# Methods of the main table, in the paper's order; then those that only this project has.
METHODS = tuple(
    map(
        str,
        (
            *map(Method, TREES),
            *(Method(model, kind) for model in reversed(TRANSFORMERS) for kind in ("", "pet")),
            *map(Method, untuned_learners()),
            *(Method(learner, "default") for learner in TREES),
        ),
    )
)


def is_reference(method: str) -> bool:
    """Whether a method is a plain reference, which is shown and not ranked."""
    return Method.parse(method).is_reference


def table_files(folder: str) -> list[str]:
    """Every table of the analysis, as the workflow writes them."""
    return [f"{folder}/{name}.{kind}" for name in TABLES for kind in ("csv", "tex")]


def encoding_name(encoding: str) -> str:
    """`spearman-random` as "Spearman, random"."""
    return EncodingName.parse(encoding).label


def method_name(method: str) -> str:
    """`ft_transformer+pet` as "FT-Transformer+PET", `xgboost-default` as "XGBoost, default"."""
    return Method.parse(method).label


def method_short(method: str) -> str:
    """`ft_transformer+pet` as "FT+PET": for narrow columns."""
    return Method.parse(method).short_label
