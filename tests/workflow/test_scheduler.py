import re


def test_the_queue_is_looked_at_only_when_something_changed(workflow):
    # With Snakemake's limit of starts per second, every look plans another one a second later.
    names = ["demo-wine", "demo-diabetes", "demo-groups", "demo-groups-mixed"]
    workflow.configure(datasets=names)
    cards = [f"results/data/{name}/card.json" for name in names]
    outcome = workflow.run("--verbose", "--cores", "1", *cards)
    assert outcome.code == 0, outcome.text
    looks = outcome.text.count("Ready jobs: ")
    assert 0 < looks <= len(names)


def test_a_small_table_is_done_before_a_large_one_begins(workflow):
    # Written down from large to small: 569 rows of 30 features, 600 of 12, 178 of 13.
    names = ["demo-breast-cancer", "demo-groups", "demo-wine"]
    workflow.configure(datasets=names, splits=[1, 2])
    outcome = workflow.run("--cores", "1", "--until", "prepare_split")
    assert outcome.code == 0, outcome.text
    steps = re.findall(r"(?:fetch|prepare) (demo-\S*\w)", outcome.text)
    assert list(dict.fromkeys(steps)) == names[::-1], outcome.text
    assert steps == sorted(steps, key=names[::-1].index)
