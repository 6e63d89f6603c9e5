def test_the_queue_is_looked_at_only_when_something_changed(workflow):
    # With Snakemake's limit of starts per second, every look plans another one a second later.
    names = ["demo-wine", "demo-diabetes", "demo-groups", "demo-groups-mixed"]
    workflow.configure(datasets=names)
    cards = [f"results/data/{name}/card.json" for name in names]
    outcome = workflow.run("--verbose", "--cores", "1", *cards)
    assert outcome.code == 0, outcome.text
    looks = outcome.text.count("Ready jobs: ")
    assert 0 < looks <= len(names)
