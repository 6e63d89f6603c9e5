"""What tables and figures name, in their order."""

from tabpet.names import Method
from tabpet.registry import CONTROLS, tuned_learners, untuned_learners
from tabpet.registry import GRAPHS as _GRAPHS
from tabpet.registry import LEARNERS as _LEARNERS
from tabpet.registry import MODELS as _MODELS

# Labels by key.
GRAPHS = {key: graph.label for key, graph in _GRAPHS.entries.items()}
MODELS = {key: entry.label for key, entry in {**_MODELS.entries, **_LEARNERS.entries}.items()}
TRANSFORMERS = tuple(_MODELS.entries)
TREES = tuple(tuned_learners())
# Controls that nothing can be learned from: no structure, and no weights of their own.
NULL_CONTROLS = tuple(key for key, control in CONTROLS.items() if not control.trained)
TASKS = {"classification": "Classification", "regression": "Regression"}
METRICS = {"classification": "balanced accuracy", "regression": "RMSE"}
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
