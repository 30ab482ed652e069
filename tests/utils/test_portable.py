"""What a loaded metric gives can be pickled and copied: for a new process, with the rows that were added."""

import copy
import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from metrics.utils import portable
from tests.stress import rounds
from tests.utils.echo_trainer import CAPTIONS, REFERENCES, ROOT, WordTokenizer, collate, echo_model

cloudpickle = pytest.importorskip("cloudpickle")

TEXTS = {"predictions": CAPTIONS, "references": REFERENCES}
# Per metric: two batches of rows.
BATCHES = {
    "cider": [{key: rows[:5] for key, rows in TEXTS.items()}, {key: rows[5:] for key, rows in TEXTS.items()}],
    "bleu4": [{key: rows[:5] for key, rows in TEXTS.items()}, {key: rows[5:] for key, rows in TEXTS.items()}],
    "vqa_accuracy": [
        {"predictions": ["two"], "references": [["two"] * 10]},
        {"predictions": ["no", "a"], "references": [["no"] * 2 + ["yes"] * 8, ["b"]]},
    ],
    "recall_at_k": [
        {"predictions": [[0.5, 0.1, 0.7]], "references": [[0, 1]]},
        {"predictions": [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], "references": [[2], [2]]},
    ],
}
WAYS = {
    "pickle": lambda metric: pickle.loads(pickle.dumps(metric)),
    "first protocol": lambda metric: pickle.loads(pickle.dumps(metric, protocol=0)),
    "cloudpickle": lambda metric: pickle.loads(cloudpickle.dumps(metric)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def decoded(rows, skip_special_tokens):
    return [" ".join(CAPTIONS[row[0]].split()) for row in rows]


def leftovers(metric):
    return [path.name for path in Path(metric.data_dir).rglob("*") if path.suffix in {".arrow", ".lock"}]


OTHERS = [(name, False, way) for name in ("bleu4", "vqa_accuracy", "recall_at_k") for way in ("pickle", "deepcopy")]
IN_MEMORY = [("cider", True, "pickle"), ("recall_at_k", True, "deepcopy")]
KINDS = [*(("cider", False, way) for way in WAYS), *IN_MEMORY, *OTHERS]


@pytest.mark.filterwarnings("ignore:1 of 3 questions")
@pytest.mark.parametrize("name, in_memory, way", KINDS)
def test_added_rows_go_along(name, in_memory, way, load_metric, tmp_path):
    metric, way = load_metric(name, cache_dir=str(tmp_path), keep_in_memory=in_memory), WAYS[way]
    first, second = BATCHES[name]
    for batch in (first, second):
        metric.add_batch(**batch)
    expected = metric.compute()
    metric.add_batch(**first)
    copied = way(metric)
    assert type(copied) is type(metric) and len(copied) == len(metric) == len(first["predictions"])
    assert in_memory or copied.cache_file_name != metric.cache_file_name
    assert copied.writer is not metric.writer
    for one in (metric, copied):
        one.add_batch(**second)
    assert copied.compute() == expected
    # What the copy forgot and removed was its own.
    assert metric.compute() == expected
    assert metric.signature() == copied.signature() == way(metric).signature()
    assert way(copied).compute(**first, **({"tokenizer": "char"} if name == "bleu4" else {}))
    assert not [left for left in leftovers(metric) if left.endswith(".arrow")]


def test_copies_leave_the_original_as_it_was(load_metric, tmp_path):
    metric = load_metric("cider", cache_dir=str(tmp_path), seed=3, experiment_id="mine", timeout=7)
    metric.note = "kept"
    metric.add_batch(**BATCHES["cider"][0])
    copied = copy.deepcopy(metric)
    metric.reset()
    assert len(copied) == 5 and len(metric) == 0
    assert (copied.seed, copied.experiment_id, copied.timeout, copied.note) == (3, "mine", 7, "kept")
    assert copied.data_dir == metric.data_dir
    copied.reset()
    assert leftovers(copied) == []


def test_rows_of_several_processes_stay(load_metric, tmp_path):
    metric = load_metric("cider", cache_dir=str(tmp_path), num_process=2, process_id=0, experiment_id="two", timeout=1)
    metric.reset()
    assert pickle.loads(pickle.dumps(metric)).num_process == 2
    # Without a second process, what evaluate would have opened.
    metric.writer = [1, 2]
    for way in WAYS.values():
        with pytest.raises(ValueError, match=r"2 rows were added in process 0 of 2.* expected compute\(\) or reset"):
            way(metric)
    metric.writer = None


def test_the_default_folder_is_that_of_the_reader(load_metric, tmp_path, monkeypatch):
    import evaluate

    kept = pickle.dumps(load_metric("cider"))
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", tmp_path / "other")
    assert Path(pickle.loads(kept).data_dir).is_relative_to(tmp_path / "other")


def test_a_missing_script_is_one_sentence(load_metric):
    cider = load_metric("cider")
    reward = cider.reward(cider.document_frequencies(REFERENCES))
    for item in (cider, reward, cider.preprocess_logits_for_metrics):
        kept = pickle.dumps(item).replace(b"/cider.py", b"/gone..py")
        with pytest.raises(FileNotFoundError, match=r"^Couldn't find a metric script at \S+/gone..py$"):
            pickle.loads(kept)


def test_a_class_of_a_package_keeps_its_name():
    from metrics.cider.document_frequencies import DocumentFrequencies

    kept = pickle.dumps(DocumentFrequencies.from_references(REFERENCES))
    assert b"metrics.cider.document_frequencies" in kept and b"evaluation_module_factory" not in kept
    assert portable.blank_of(DocumentFrequencies) is portable.blank_of(DocumentFrequencies)
    assert pickle.loads(kept)["a"] == DocumentFrequencies.from_references(REFERENCES)["a"]


@pytest.mark.filterwarnings("ignore:nothing tells")
def test_a_copied_callback_begins_without_rows(load_metric):
    callback = load_metric("cider").compute_metrics(SimpleNamespace(batch_decode=decoded), REFERENCES)
    rows = np.arange(11)[:, None]
    expected = callback(SimpleNamespace(predictions=rows, label_ids=rows))
    callback(SimpleNamespace(predictions=rows[:4], label_ids=rows[:4]), compute_result=False)
    for way in WAYS.values():
        assert way(callback)(SimpleNamespace(predictions=rows, label_ids=rows)) == expected
    assert callback(SimpleNamespace(predictions=rows[4:], label_ids=rows[4:])) == expected


# A new process, which has none of evaluate's modules


READ = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    for number in range(int(sys.argv[2])):
        call, expected = pickle.load(file)
        assert repr(call()) == repr(expected), (number, call)
print("all equal")
"""


def in_a_new_process(items, tmp_path, cwd, **environment):
    """Calls each item here and in a process that has imported nothing."""
    path = tmp_path / "items.pickle"
    with path.open("wb") as file:
        for dump, call in items:
            file.write(dump((call, call())))
    environment = {**os.environ, **environment}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-W", "ignore", "-c", READ, str(path), str(len(items))]
    result = subprocess.run(command, cwd=cwd, text=True, env=environment, capture_output=True, timeout=300)
    assert result.stdout.strip() == "all equal", result.stderr


def calls(load_metric):
    """What a search of hyperparameters, or a pool, sends: partial(object, ...) of every kind of object."""
    rows = np.arange(11)[:, None]
    rows = SimpleNamespace(predictions=rows, label_ids=rows)
    tokenizer = SimpleNamespace(batch_decode=lambda rows, skip_special_tokens: [f"a cat {row[0]}" for row in rows])
    cider, bleu4, recall = map(load_metric, ("cider", "bleu4", "recall_at_k"))
    table = cider.document_frequencies(REFERENCES)
    pairs = SimpleNamespace(predictions=(np.eye(3), np.eye(3)), label_ids=None)
    logits = np.eye(9)[[[1, 2, 3, 4], [5, 6, 7, 8]]]
    found = [
        (cloudpickle.dumps, functools.partial(cider.compute_metrics(tokenizer, REFERENCES, also=[bleu4]), rows)),
        (pickle.dumps, functools.partial(recall.compute_metrics(references=[1, 2, 3]), pairs)),
        (pickle.dumps, functools.partial(cider.reward(table), completions=CAPTIONS, references=REFERENCES)),
        (cloudpickle.dumps, functools.partial(cider.reward(table), completions=["a"], references=[None])),
        (pickle.dumps, functools.partial(len, table)),
    ]
    for dump in (pickle.dumps, cloudpickle.dumps):
        found.append((dump, functools.partial(cider.preprocess_logits_for_metrics, logits, shift=True)))
        for name in BATCHES:
            metric = load_metric(name)
            metric.add_batch(**BATCHES[name][0])
            found.append((dump, functools.partial(len, metric)))
    return found


@pytest.mark.filterwarnings("ignore:nothing tells", "ignore:few n-grams")
def test_a_new_process_calls_what_was_pickled(load_metric, tmp_path):
    in_a_new_process(calls(load_metric), tmp_path, tmp_path)


@pytest.mark.stress
def test_a_new_process_elsewhere(load_metric, tmp_path):
    if not rounds(0, 1):
        pytest.skip("under STRESS=1")
    for cwd in (ROOT, tmp_path):
        in_a_new_process(calls(load_metric), tmp_path, cwd)
        # Another cache of modules: the script is copied into it.
        in_a_new_process(calls(load_metric), tmp_path, cwd, HF_MODULES_CACHE=str(tmp_path / "modules"))


def call_of(call):
    return call()


@pytest.mark.stress
def test_pools_of_new_processes(load_metric):
    if not rounds(0, 1):
        pytest.skip("under STRESS=1")
    import multiprocessing

    cider = load_metric("cider")
    reward = cider.reward(cider.document_frequencies(REFERENCES))
    call = functools.partial(reward, completions=CAPTIONS, references=REFERENCES)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(call_of, [call] * 4) == [call()] * 4
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(2)(joblib.delayed(call)() for _ in range(4)) == [call()] * 4


@pytest.mark.filterwarnings("ignore:nothing tells")
def test_a_watched_trainer_is_copied_whole(load_metric, tmp_path):
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer, cider = WordTokenizer(), load_metric("cider")
    callback = cider.compute_metrics(tokenizer, REFERENCES)
    trainer = transformers.Trainer(
        model=echo_model(len(tokenizer.words)),
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path), use_cpu=True, report_to=[], disable_tqdm=True, remove_unused_columns=False
        ),
        data_collator=collate,
        eval_dataset=[{"input_ids": tokenizer.encode(text)} for text in CAPTIONS],
        compute_metrics=callback,
        preprocess_logits_for_metrics=cider.preprocess_logits_for_metrics,
    )
    callback.watch(trainer)
    expected = trainer.evaluate()["eval_cider"]
    copied = pickle.loads(cloudpickle.dumps(trainer))
    assert copied.evaluate()["eval_cider"] == expected
    # The copy tells its own callback, of its own dataset.
    assert copied.compute_metrics is not callback
    with pytest.raises(ValueError, match="10 predictions came for 11 rows"):
        copied.evaluate(copied.eval_dataset[:10])
