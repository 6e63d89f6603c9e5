"""Texts from templates: the sentences of headline and studies, and the page."""

import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tabpet.formats import count, number, p_words, percent_words
from tabpet.names import encoding_label


def write_sentences(name: str, **values: Any) -> list[str]:
    """The paragraphs of a text template, each as one line."""
    template = load_template(
        f"{name}.txt", count=count, number=number, p_words=p_words, percent=percent_words,
        encoding_label=encoding_label,
    )  # fmt: skip
    paragraphs = template.render(values).split("\n\n")
    return list(filter(None, (re.sub("[ \n]+", " ", text).strip(" ") for text in paragraphs)))


def load_template(name: str, **filters: Callable[..., str]) -> Template:
    """A template of the package; only pages escape what is put into them."""
    environment = Environment(
        loader=PackageLoader("tabpet.analysis", "templates"),
        autoescape=name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(name)
