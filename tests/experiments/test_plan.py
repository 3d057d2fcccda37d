"""An experiment's file says exactly which runs there are."""

import pytest

from devnet.experiments.plan import experiment_names, read_experiment

QUICK = """
title = "Quick"
question = "Does it run?"
measure = "ranking"
runs = 3
datasets = ["thyroid", "campaign"]

[[grid]]
n_labelled = [5, 10]
contamination = [0.02]

[methods]
short = { method = "DevNet", n_epochs = 1 }
long = { method = "DevNet", n_epochs = 2 }

[[fewer]]
datasets = ["campaign"]
methods = ["long"]
runs = 1
reason = "it is long"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "quick.toml").write_text(QUICK)
    return tmp_path


def edited(folder, old, new):
    (folder / "quick.toml").write_text(QUICK.replace(old, new))
    return folder


def test_the_plan_is_every_combination(folder):
    plan = read_experiment("quick", folder).plan()
    assert len({run.key for run in plan}) == len(plan) == 2 * (3 + 3) + 2 * (3 + 1)
    assert {tuple(run.settings.items()) for run in plan} == {
        (("n_labelled", n), ("contamination", 0.02)) for n in (5, 10)
    }


def test_fewer_runs_can_be_asked_for_at_some_settings_only(folder):
    edited(folder, "runs = 1\n", "settings = { n_labelled = [10] }\nruns = 1\n")
    plan = read_experiment("quick", folder).plan(["campaign"], ["long"])
    assert [(run.settings["n_labelled"], run.seed) for run in plan] == [
        (5, 0), (5, 1), (5, 2), (10, 0),
    ]  # fmt: skip


def test_what_two_grids_share_is_run_once(folder):
    edited(
        folder, "[methods]", "[[grid]]\nn_labelled = [10, 20]\ncontamination = [0.02]\n[methods]"
    )
    settings = read_experiment("quick", folder).settings
    assert [s["n_labelled"] for s in settings] == [5, 10, 20]


def test_the_plan_can_be_narrowed(folder):
    plan = read_experiment("quick", folder).plan(["thyroid"], ["short"], runs=2)
    assert {(run.dataset, run.method) for run in plan} == {("thyroid", "short")}
    assert sorted(run.seed for run in plan) == [0, 0, 1, 1]


def test_without_lists_all_sets_and_methods_are_run(folder):
    edited(folder, 'datasets = ["thyroid", "campaign"]', "")
    assert len(read_experiment("quick", folder).datasets) == 9


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"datasets": ["thyriod"]}, "unknown data set 'thyriod'.*Did you mean 'thyroid'"),
        ({"methods": ["Short"]}, "unknown method 'Short'.*Did you mean 'short'"),
        ({"runs": 0}, "runs=0"),
    ],
)
def test_wrong_requests_get_a_sentence(folder, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_experiment("quick", folder).plan(**arguments)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('measure = "ranking"', 'measure = "rankings"', "unknown measure 'rankings'"),
        ('question = "Does it run?"', "", "question"),
        ("runs = 3", 'runs = "many"', "runs = 'many'"),
        ("runs = 3", "runs = 3\ncolour = 1", "colour"),
        ("[5, 10]", "5", "n_labelled = 5 in grid must be a list"),
        ("n_labelled = [5", "n_labeled = [5", "setting 'n_labeled'.*Did you mean 'n_labelled'"),
        ('method = "DevNet", n_epochs = 1', 'method = "Devnet"', "Did you mean 'DevNet'"),
        ('method = "DevNet", n_epochs = 1', "n_epochs = 1", "method"),
        ('method = "DevNet", n_epochs = 1', 'method = "sklearn:No"', "sklearn has no 'No'"),
        ('"campaign"]', '"bank"]', "unknown data set of ranking 'bank'"),
        ("[[grid]]", "[[grid", "quick.toml is not an experiment"),
        ("[[grid]]", "[grid]", "grid = .* must be tables of settings"),
        ("[5, 10]", "[]", "n_labelled = .. in grid must be a list of values"),
        ("[0.02]", "[0.02, 0.1]", "n_labelled and contamination vary; only one setting may"),
        ('["thyroid", "campaign"]', '"thyroid"', "datasets = 'thyroid' must be a list of names"),
        ('["thyroid", "campaign"]', "[]", "datasets = .. must be a list of names"),
        ('"thyroid", "campaign"', '"synthetic"', "unknown data set of ranking 'synthetic'"),
        ('measure = "ranking"', 'measure = "significance"', "the grids have 2 combinations"),
        ("runs = 3", "runs = 3\norder = 'a'", "order = 'a' must be a number"),
        ("n_epochs = 1", "n_epochs = 0", "n_epochs must be a whole number"),
        ("n_epochs = 1", "epochs = 1", "unknown parameter of short 'epochs'.*'n_epochs'"),
        (
            'short = { method = "DevNet", n_epochs = 1 }',
            'short = "DevNet"',
            "short = 'DevNet' must",
        ),
        ("runs = 1\n", 'runs = "two"\n', "in fewer must have datasets, a number of runs"),
        ('methods = ["long"]', 'methods = ["lang"]', "method in fewer 'lang'.*Did you mean 'long'"),
    ],
)
def test_a_wrong_file_gets_a_sentence_that_names_it(folder, old, new, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_experiment("quick", edited(folder, old, new))
    assert "quick.toml" in str(caught.value)


def test_unknown_experiments_and_folders_get_a_sentence(folder, tmp_path):
    with pytest.raises(ValueError, match="unknown experiment 'quik'.*Did you mean 'quick'"):
        read_experiment("quik", folder)
    with pytest.raises(ValueError, match="no experiments in .* with folder"):
        experiment_names(tmp_path / "nowhere")
