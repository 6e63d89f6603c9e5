# Settings, tables, cells and files of the paper's studies: everything that their rules need.
from functools import cache

generated = generated_tables(settings)
if taken := sorted(set(generated) & set(catalog)):
    raise WorkflowError(
        f"The catalogs have a dataset {taken[0]!r}, which is the name of a table that a study "
        "generates. Rename it."
    )
catalog |= generated


@cache
def study_settings(study):
    """The settings of a study as those of a run; looked at only where a study is asked for."""
    try:
        return study_run(settings, study, catalog)
    except TabpetError as error:
        raise WorkflowError(str(error)) from None


wildcard_constraints:
    study="|".join(STUDIES),


def study_graphs(study, graphs):
    """The edges of some graphs of all tables of a study."""
    run = study_settings(study)
    return expand(
        "results/graphs/{dataset}/split{split}/{graph}.parquet",
        dataset=run.datasets,
        split=run.splits,
        graph=graphs,
    )


def study_files(report):
    """Tables and figures of a study's report."""
    folder = f"results/studies/{report}"
    tables, figures = STUDY_TABLES[report], STUDY_FIGURES[report]
    return [
        *expand(f"{folder}/tables/{{name}}.{{kind}}", name=tables, kind=["csv", "tex"]),
        *expand(
            f"{folder}/figures/{{name}}.{{kind}}", name=figures, kind=["svg", "csv"]
        ),
    ]
