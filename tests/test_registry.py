"""One place per name: entries, names made of them, and what other packages offer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tabpet.errors import TabpetError
from tabpet.names import EncodingName, Method, model_label
from tabpet.plan import shares_job
from tabpet.registry import CONTROLS, GRAPHS, LEARNERS, MODELS, Kind, tuned_learners
from tabpet.settings import MethodSettings, ModelSettings, Settings, load_settings
from tests.plugins import install, install_guide


@pytest.mark.parametrize("kind", [GRAPHS, MODELS, LEARNERS], ids=lambda kind: kind.word)
def test_entries_say_what_people_read(kind):
    for key, entry in kind.own.items():
        assert entry.key == key
        assert entry.label and entry.short_label and len(entry.citation) > 20


def test_orders_are_those_of_the_paper():
    # What is added since comes after them.
    graphs = ["notears", "lingam", "pearson", "spearman", "chow_liu"]
    assert list(GRAPHS.own)[:5] == graphs
    assert list(MODELS.own)[:3] == ["ft_transformer", "saint", "tab_transformer"]
    assert list(LEARNERS.own)[:2] == tuned_learners()[:2] == ["xgboost", "catboost"]
    assert [key for key in graphs if shares_job(key)] == ["pearson", "spearman", "chow_liu"]


@pytest.mark.parametrize("graph", GRAPHS.own)
@pytest.mark.parametrize("control", [None, *CONTROLS])
def test_encoding_names_are_read_as_they_are_written(graph, control):
    name = EncodingName(graph, control)
    assert EncodingName.parse(str(name)) == name


@pytest.mark.parametrize("model", [*MODELS.own, *LEARNERS.own])
@pytest.mark.parametrize("variant", ["", "pet", "default"])
def test_method_names_are_read_as_they_are_written(model, variant):
    method = Method(model, variant)
    assert Method.parse(str(method)) == method


def test_labels():
    assert EncodingName.parse("chow_liu-random").label == "Chow-Liu, random"
    assert Method.parse("ft_transformer+pet").label == "FT-Transformer+PET"
    assert Method.parse("tab_transformer+pet").short_label == "TabT+PET"
    assert Method.parse("xgboost-default").label == "XGBoost, default"
    assert model_label("linear") == "Linear"
    references = {"xgboost-default", "linear"}
    methods = ("xgboost", "saint", "saint+pet", *references)
    assert {name for name in methods if Method.parse(name).is_reference} == references


def test_unknown_names_are_told_with_the_nearest():
    with pytest.raises(TabpetError, match="no graph 'spaerman'; did you mean 'spearman'"):
        GRAPHS.find("spaerman")
    with pytest.raises(TabpetError, match="'spearman-radnom'.*did you mean 'random'"):
        EncodingName.parse("spearman-radnom")
    with pytest.raises(TabpetError, match="`models.0` is 'saitn'.*did you mean 'saint'"):
        load_settings({"datasets": ["a"], "models": ["saitn"]})
    with pytest.raises(TabpetError, match="`graph_methods.notaers`: .*did you mean 'notears'"):
        load_settings({"datasets": ["a"], "graph_methods": {"notaers": {"max_iter": 3}}})
    with pytest.raises(TabpetError, match="no learner with a search space 'linear'"):
        load_settings({"datasets": ["a"], "learners": ["linear"]})


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """Installs packages and gives a kind that has looked for them."""

    def look(word: str, *packages: tuple[str, dict, dict]) -> Kind:
        for package in packages:
            install(tmp_path, *package)
        own = {"graph": GRAPHS, "model": MODELS, "learner": LEARNERS}[word]
        return Kind(own.word, own._type, own._package, own._attribute)

    monkeypatch.syspath_prepend(tmp_path)
    return look


def package(name: str, key: str, code: str, group: str = "graphs") -> tuple[str, dict, dict]:
    module = name.replace("-", "_")
    return name, {f"{module}.py": code}, {f"tabpet.{group}": {key: f"{module}:ESTIMATOR"}}


COPY = """
import dataclasses
from tabpet.graphs.methods.pearson import ESTIMATOR as PEARSON
ESTIMATOR = dataclasses.replace(PEARSON, key="{key}", order=1000)
"""


NO_DEFAULT = """
from tabpet.section import Section
class Needy(Section):
    size: int
ESTIMATOR = dataclasses.replace(ESTIMATOR, settings=Needy)
"""


def test_a_broken_package_is_named_when_it_is_used_and_not_before(offered):
    kind = offered("graph", package("broken-thing", "broken", "import nowhere_at_all"))
    assert "broken" not in kind.entries and kind.find("pearson").label == "Pearson"
    with pytest.raises(TabpetError, match=r"broken-thing 1\.0.*No module named 'nowhere_at_all'"):
        kind.find("broken")


@pytest.mark.parametrize(
    ("key", "code", "said"),
    [
        ("pearson", COPY.format(key="pearson"), "has one of this name"),
        ("mine", COPY.format(key="other"), "its key is 'other'"),
        ("my-graph", COPY.format(key="my-graph"), "small letters, digits"),
        ("tuned", COPY.format(key="tuned"), "not tuned or default"),
        ("mine", COPY.format(key="mine") + NO_DEFAULT, "validation error for Needy"),
        ("mine", "ESTIMATOR = 5", "Estimator expected, not int"),
        (
            "mine",
            COPY.format(key="mine").replace("order=1000", 'needs=("no-such-package",)'),
            "no-such-package",
        ),
    ],
)
def test_what_a_package_may_not_offer(offered, key, code, said):
    kind = offered("graph", package(f"odd-{abs(hash((key, code)))}", key, code))
    with pytest.raises(TabpetError, match=said):
        kind.find(key)


def test_a_model_may_not_have_the_name_of_a_learner(offered):
    code = "from tabpet.models.saint import MODEL as ESTIMATOR"
    with pytest.raises(TabpetError, match="odd-model.*has one of this name"):
        offered("model", package("odd-model", "linear", code, "models")).find("linear")


def test_others_come_after_our_own_and_by_name(offered):
    packages = [package(f"p-{key}", key, COPY.format(key=key)) for key in ("zeta", "alpha2")]
    assert list(offered("graph", *packages).entries) == [*GRAPHS.own, "alpha2", "zeta"]


def test_settings_of_another_package_are_checked_and_leave_no_trace_unless_named(tmp_path):
    install_guide(tmp_path)
    code = """
from tabpet.errors import TabpetError
from tabpet.settings import load_settings
base = {"datasets": ["a"], "graphs": ["spearman", "kendall"], "models": ["mean_tokens"]}
settings = load_settings(base)
print(sorted(settings.model_dump()["graph_methods"]), settings.graph_methods.of("kendall").variant)
chosen = load_settings({**base, "graph_methods": {"kendall": {"variant": "c"}}})
again = load_settings(chosen.model_dump(mode="json"))
print(again == chosen, chosen.model_dump()["graph_methods"]["kendall"])
for wrong in ({"graph_methods": {"kendall": {"varient": "c"}}},
              {"graph_methods": {"kendall": {"variant": "d"}}},
              {"model_settings": {"mean_tokens": {"width": 1}}},
              {"graphs": ["kendal"]}):
    try:
        load_settings({**base, **wrong})
    except TabpetError as error:
        print(str(error).splitlines()[1].strip())
"""
    # The folder of tabpet comes from the environment of the tests.
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=with_path(tmp_path),
    )
    assert done.stdout.splitlines() == [
        "['chow_liu', 'lingam', 'notears', 'pc'] b",
        "True {'variant': 'c'}",
        "- `graph_methods.kendall.varient` is not a setting; did you mean `variant`?",
        "- `graph_methods.kendall.variant` is 'd': input should be 'b' or 'c'.",
        "- `model_settings.mean_tokens.width` is 1: input should be greater than or equal to 2.",
        "- `graphs.0` is 'kendal': there is no graph 'kendal'; did you mean 'kendall'? known are: "
        "notears, lingam, pearson, spearman, chow_liu, pc, true, kendall.",
    ]


def with_path(folder: Path) -> dict[str, str]:
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [known])])}


def test_sections_are_those_of_entries_with_settings():
    with_settings = [key for key, graph in GRAPHS.own.items() if graph.settings.model_fields]
    assert set(MethodSettings.model_fields) == set(with_settings)
    assert set(ModelSettings.model_fields) == set(MODELS.own)
    settings = Settings.model_validate({"datasets": ["a"]})
    assert settings.graph_methods.of("pearson").model_dump() == {}
    assert settings.model_settings.of("saint") == settings.model_settings.saint
