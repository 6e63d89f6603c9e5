"""Names of graph estimators, models and learners in a config, and the settings below such names:
`graph_methods.notears.max_iter`.

Sections of tabpet's own entries are fields. Those of other packages are there as soon as a config
names them, so that what is installed and not used leaves no trace in the settings of a run.
"""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from tabpet.errors import TabpetError
from tabpet.registry import GRAPHS, LEARNERS, MODELS, Kind, tuned_learners, unknown
from tabpet.section import Section


def _check(kind: Kind, key: str) -> str:
    try:
        return kind.find(key).key
    except TabpetError as error:
        raise ValueError(str(error).removesuffix(".")) from None


def _check_tuned(key: str) -> str:
    if not LEARNERS.find(_check(LEARNERS, key)).space:
        raise ValueError(unknown("learner with a search space", key, tuned_learners()))
    return key


def _named(keys: Iterable[str]) -> WithJsonSchema:
    """Editors complete tabpet's own names, and accept those of other packages."""
    another = {"type": "string", "description": "another package's"}
    return WithJsonSchema({"anyOf": [{"enum": list(keys)}, another]})


_TUNED = [key for key, learner in LEARNERS.own.items() if learner.space]
# `true` is the name of a graph, and a boolean to YAML.
_AS_NAME = BeforeValidator(lambda key: "true" if key is True else key)
GraphKey = Annotated[str, _AS_NAME, AfterValidator(partial(_check, GRAPHS)), _named(GRAPHS.own)]
ModelKey = Annotated[str, AfterValidator(partial(_check, MODELS)), _named(MODELS.own)]
LearnerKey = Annotated[str, AfterValidator(_check_tuned), _named(_TUNED)]
ReferenceKey = Annotated[str, AfterValidator(partial(_check, LEARNERS)), _named(LEARNERS.own)]


class SettingsByKey(Section):
    """A section for every entry of a kind."""

    model_config = ConfigDict(extra="allow")
    kind: ClassVar[Kind]

    def of(self, key: str) -> Any:
        """The settings of an entry: its defaults, unless the config has others."""
        given = dict(self).get(key)
        return self.kind.find(key).settings() if given is None else given

    @model_validator(mode="after")
    def _check_others(self) -> "SettingsByKey":
        """Sections of other packages, by the classes that those declare."""
        extra = self.model_extra or {}
        problems: list[InitErrorDetails] = []
        for key, values in extra.items():
            try:
                extra[key] = self.kind.find(key).settings.model_validate(values)
            except TabpetError as error:
                text = PydanticCustomError("unknown_key", "{text}", {"text": str(error)})
                problems.append(InitErrorDetails(type=text, loc=(key,), input=values))
            except ValidationError as error:
                problems += [
                    InitErrorDetails(
                        type=problem["type"],
                        loc=(key, *problem["loc"]),
                        input=problem["input"],
                        ctx=problem.get("ctx", {}),
                    )
                    for problem in error.errors()
                ]
        if problems:
            raise ValidationError.from_exception_data(type(self).__name__, problems)
        return self


def settings_by_key(kind: Kind) -> type[SettingsByKey]:
    """The base of a section with a field for each of tabpet's own entries that have settings."""
    fields: dict[str, Any] = {
        key: (entry.settings, Field(entry.settings(), description=f"{entry.label}."))
        for key, entry in sorted(kind.own.items())
        if entry.settings.model_fields
    }
    made = create_model(f"{kind.word}_settings", __base__=SettingsByKey, **fields)
    made.kind = kind
    return made
