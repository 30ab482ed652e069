"""What a Trainer gets: the score of all rows, however they come; and what a wrong row is told."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest

from metrics import names
from metrics.utils import trainer
from tests.utils.echo_trainer import CAPTIONS, REFERENCES, ROOT, WordTokenizer, evaluate_with, padded

TOKENIZER = WordTokenizer()
IDS = [TOKENIZER.encode(text) for text in CAPTIONS]
ANSWERS = ["house", "two", "a boat"]
QUESTIONS = [["house"] * 6 + ["the house"] * 4, ["two"] * 2 + ["dogs"] * 8, ["boat"] * 10]


@pytest.fixture(scope="module")
def cider(load_metric):
    return load_metric("cider")


def batch(rows, labels=None, inputs=None, width=None):
    """An EvalPrediction of rows of ids, padded to the widest or to `width`."""
    filler = [] if width is None else [[-100] * width]
    predictions = np.array(padded(rows + filler, -100)[: len(rows)])
    return SimpleNamespace(predictions=predictions, label_ids=predictions if labels is None else labels, inputs=inputs)


def in_batches(callback, rows, size):
    starts = range(0, len(rows), size)
    return [callback(batch(rows[i : i + size], width=20 + i), compute_result=i == starts[-1]) for i in starts]


# The same score


def test_all_rows_at_once(cider):
    expected = cider.compute(predictions=CAPTIONS, references=REFERENCES)
    found = cider.compute_metrics(TOKENIZER, REFERENCES)(batch(IDS))
    assert found == expected
    assert all(type(value) is float for value in found.values())


@pytest.mark.parametrize("size", [1, 4, 11])
def test_batches_are_scored_together(cider, size):
    *before, last = in_batches(cider.compute_metrics(TOKENIZER, REFERENCES), IDS, size)
    assert before == [{}] * len(before)
    assert last == cider.compute(predictions=CAPTIONS, references=REFERENCES)


def test_the_next_evaluation_begins_anew(cider):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    assert in_batches(callback, IDS, 3)[-1] == callback(batch(IDS)) == in_batches(callback, IDS, 5)[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_eval_metrics": True, "per_device_eval_batch_size": 1},
        {"batch_eval_metrics": True, "per_device_eval_batch_size": 4},
        {"batch_eval_metrics": True, "per_device_eval_batch_size": 20},
        {"eval_do_concat_batches": False, "per_device_eval_batch_size": 3},
        {"eval_accumulation_steps": 1, "per_device_eval_batch_size": 3},
    ],
    ids=str,
)
def test_a_trainer_logs_it(cider, load_metric, tmp_path, arguments):
    pytest.importorskip("accelerate")
    bleu4 = load_metric("bleu4")
    found = evaluate_with(cider, TOKENIZER, tmp_path, also=[bleu4], **arguments)
    alone = cider.compute(predictions=CAPTIONS, references=REFERENCES)
    beside = bleu4.compute(predictions=CAPTIONS, references=REFERENCES)
    assert found["cider"] == alone["cider"]
    assert found["bleu4"] == beside["bleu4"]
    assert found["precisions/4"] == beside["precisions"][3]


def test_two_processes_find_what_one_finds(cider, tmp_path):
    pytest.importorskip("accelerate")
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "HF_MODULES_CACHE": str(tmp_path / "modules"),
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    result = subprocess.run(
        [*command, "-m", "tests.utils.echo_trainer", str(tmp_path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    first, second = (json.loads((tmp_path / f"of_{rank}.json").read_text()) for rank in (0, 1))
    assert first == second
    assert first.pop("processes") == 2
    own = cider.compute(predictions=[group[0] for group in REFERENCES], references=REFERENCES)["cider"]
    assert first.pop("sets") == [[own, own]] * 8
    expected = cider.compute(predictions=CAPTIONS, references=REFERENCES)
    for found in first.values():
        assert {key: found[key] for key in expected} == expected


def test_generation_by_seq2seq_trainer(cider, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    from transformers import BartConfig, BartForConditionalGeneration, Seq2SeqTrainer, Seq2SeqTrainingArguments

    torch.manual_seed(0)
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(TOKENIZER.words),
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
            max_position_embeddings=32,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            forced_eos_token_id=None,
        )
    ).eval()
    rows = [{"input_ids": ids, "labels": ids, "attention_mask": [1] * len(ids)} for ids in IDS]

    def collate(items):
        filler = {"input_ids": 0, "labels": -100, "attention_mask": 0}
        return {key: torch.tensor(padded([item[key] for item in items], filler[key])) for key in filler}

    generated = [model.generate(**collate([row]), max_new_tokens=8)[0].tolist() for row in rows]
    expected = cider.compute(predictions=TOKENIZER.batch_decode(generated, True), references=REFERENCES)
    for batched in (False, True):
        arguments = Seq2SeqTrainingArguments(
            str(tmp_path),
            use_cpu=True,
            report_to=[],
            predict_with_generate=True,
            generation_max_length=9,
            per_device_eval_batch_size=4,
            batch_eval_metrics=batched,
            disable_tqdm=True,
        )
        found = Seq2SeqTrainer(
            model, arguments, collate, eval_dataset=rows, compute_metrics=cider.compute_metrics(TOKENIZER, REFERENCES)
        ).evaluate()
        assert found["eval_cider"] == expected["cider"]


@pytest.mark.parametrize("batched", [False, True])
def test_prompts_of_a_decoder_alone(cider, tmp_path, batched):
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    from transformers import LlamaConfig, LlamaForCausalLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(TOKENIZER.words),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=32,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    ).eval()
    prompts = [ids[: 2 + i % 3] for i, ids in enumerate(IDS)]

    def collate(items):
        width = max(map(len, items))
        ids = torch.tensor([[0] * (width - len(item)) + item for item in items])
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": ids}

    model.generation_config.update(max_new_tokens=6, pad_token_id=0)
    generated = [model.generate(torch.tensor([prompt]))[0, len(prompt) :].tolist() for prompt in prompts]
    expected = cider.compute(predictions=TOKENIZER.batch_decode(generated, True), references=REFERENCES)
    arguments = Seq2SeqTrainingArguments(
        str(tmp_path),
        use_cpu=True,
        report_to=[],
        predict_with_generate=True,
        per_device_eval_batch_size=4,
        batch_eval_metrics=batched,
        disable_tqdm=True,
        include_for_metrics=["inputs"],
        remove_unused_columns=False,
    )
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, strip_prompt=True)
    trainer = Seq2SeqTrainer(model, arguments, collate, eval_dataset=prompts, compute_metrics=callback)
    trainer.processing_class = SimpleNamespace(pad_token_id=0)
    assert trainer.evaluate()["eval_cider"] == expected["cider"]


def test_a_foreign_metric_beside(cider):
    class Length:
        """Stands for a metric of another repository, or several of evaluate.combine."""

        def compute(self, predictions, references):
            return {"mean_length": np.float64(np.mean([len(text.split()) for text in predictions]))}

    found = cider.compute_metrics(TOKENIZER, REFERENCES, also=[Length()])(batch(IDS))
    assert found["mean_length"] == np.mean([len(text.split()) for text in CAPTIONS])


# Answers, embeddings, references


def test_answers_with_one_label_per_row(load_metric):
    metric = load_metric("vqa_accuracy")
    kinds = ["other", "number", "other"]
    annotations = [[{"answer": answer, "answer_id": i} for i, answer in enumerate(group)] for group in QUESTIONS]
    words = [[TOKENIZER.words.index(word) for word in answer.split()] for answer in ANSWERS]
    results = metric.compute(predictions=ANSWERS, references=QUESTIONS, answer_types=kinds)
    found = metric.compute_metrics(TOKENIZER, annotations, answer_types=kinds)(batch(words))
    assert found["vqa_accuracy"] == results["vqa_accuracy"]
    assert found["per_answer_type/number"] == results["per_answer_type"]["number"]["value"]
    assert found["lost_to_style/article"] == results["lost_to_style"]["article"]


@pytest.mark.parametrize("size", [2, 6])
def test_embeddings(load_metric, size):
    metric, rng = load_metric("recall_at_k"), np.random.default_rng(0)
    images, texts = rng.normal(size=(2, 6, 4)).astype(np.float32)
    image_of = ["a", "a", "b", "c", "c", "c"]
    images = images[[image_of.index(name) for name in image_of]]
    expected = metric.compute(
        image_embeddings=images[[0, 2, 3]], text_embeddings=texts, references=[[0, 1], [2], [3, 4, 5]], k=(1, 2)
    )
    table = datasets.Dataset.from_dict({"image": image_of, "text": list("uvwxyz")})
    for references, column in ((image_of, None), (table, ("image", "text")), (table, "image")):
        callback = metric.compute_metrics(None, references, column, k=(1, 2))
        for start in range(0, 6, size):
            rows = slice(start, start + size)
            found = callback(
                SimpleNamespace(predictions=(images[rows], texts[rows]), label_ids=np.arange(6)[rows]),
                compute_result=start + size == 6,
            )
        assert found == expected
        assert metric.signature().startswith("recall_at_k|k:1,2")


def test_tensors_of_any_type(load_metric, cider):
    torch = pytest.importorskip("torch")
    rows = torch.tensor(padded(IDS, 0))
    found = cider.compute_metrics(TOKENIZER, REFERENCES)(SimpleNamespace(predictions=(rows, rows), label_ids=(rows,)))
    assert found == cider.compute(predictions=CAPTIONS, references=REFERENCES)
    eye = torch.eye(3, dtype=torch.bfloat16)
    callback = load_metric("recall_at_k").compute_metrics(references=[5, 6, 7], k=1)
    assert callback(SimpleNamespace(predictions=(eye, eye), label_ids=torch.arange(3)))["rsum"] == 2.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: (datasets.Dataset.from_dict({"captions": REFERENCES}), "captions"),
        lambda: (pd.DataFrame({"captions": REFERENCES}), "captions"),
        lambda: ({"captions": REFERENCES}, "captions"),
        lambda: (tuple(REFERENCES), None),
        lambda: (datasets.Dataset.from_dict({"captions": REFERENCES})["captions"], None),
    ],
)
def test_where_references_come_from(cider, make):
    references, column = make()
    found = cider.compute_metrics(TOKENIZER, references, column=column)(batch(IDS))
    assert found == cider.compute(predictions=CAPTIONS, references=REFERENCES)


def test_bind_turns_to_another_dataset(cider):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES[:3])
    callback(batch(IDS[:1]), compute_result=False)
    callback.bind(datasets.Dataset.from_dict({"captions": REFERENCES}), "captions")
    assert callback(batch(IDS)) == cider.compute(predictions=CAPTIONS, references=REFERENCES)


def test_options_and_metrics_beside(cider, load_metric):
    bleu4, references = load_metric("bleu4"), REFERENCES
    callback = cider.compute_metrics(
        TOKENIZER,
        references,
        also=[(bleu4, {"max_order": 2}), (cider, {"n": 1})],
        confidence_level=0.9,
        n_resamples=20,
        by=["x", "y"] * 5 + ["x"],
    )
    found = callback(batch(IDS))
    results = cider.compute(
        predictions=CAPTIONS, references=references, confidence_level=0.9, n_resamples=20, by=["x", "y"] * 5 + ["x"]
    )
    assert found["confidence_interval/cider/low"] == results["confidence_interval"]["cider"][0]
    assert found["by/y/count"] == 5
    assert "bleu2" in found and "bleu3" not in found
    assert found["cider_cider"] == cider.compute(predictions=CAPTIONS, references=references, n=1)["cider"]


# Prompts, postprocess, logits


def test_prompts_are_taken_off(cider):
    # Left padding in front of the prompt, -100 behind both: as `generate` and Trainer give them.
    prompts = [[0] * (i % 3) + [1, 5 + i] for i in range(len(IDS))]
    rows = [prompt + ids for prompt, ids in zip(prompts, IDS)]
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, strip_prompt=True)
    inputs = np.array(padded(prompts, -100))
    expected = cider.compute(predictions=CAPTIONS, references=REFERENCES)
    assert callback(batch(rows, inputs=inputs)) == expected
    assert callback(batch(rows, inputs={"input_ids": inputs})) == expected
    assert cider.compute_metrics(TOKENIZER, REFERENCES)(batch(rows, inputs=inputs)) != expected
    with pytest.raises(ValueError, match="found no prompts, expected include_for_metrics"):
        callback(batch(rows))
    with pytest.raises(ValueError, match=r"predictions\[0\] does not begin with its prompt"):
        callback(batch(IDS, inputs=np.where(inputs == -100, inputs, inputs + 1)))
    with pytest.raises(ValueError, match="5 prompts came with 11 predictions"):
        callback(batch(rows, inputs=inputs[:5]))


def test_postprocess(cider):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, postprocess=lambda text: text.split(" near ")[0])
    expected = cider.compute(predictions=[text.split(" near ")[0] for text in CAPTIONS], references=REFERENCES)
    assert callback(batch(IDS)) == expected


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_logits_become_ids(cider, library):
    make = pytest.importorskip(library).asarray
    ids, labels = np.array([[3, 1, 2, 0], [0, 2, 1, 3]]), np.array([[4, 4, 4, -100], [-100, 4, 4, 4]])
    logits = make(np.eye(5, dtype=np.float32)[ids])
    found = cider.preprocess_logits_for_metrics((logits, None), make(labels))
    assert found.tolist() == [[3, 1, 2, -100], [-100, 2, 1, 3]]
    shifted = cider.preprocess_logits_for_metrics(logits, make(labels), shift=True)
    assert shifted.tolist() == [[3, 1, -100], [0, 2, 1]]
    assert cider.preprocess_logits_for_metrics(logits).tolist() == ids.tolist()
    assert cider.preprocess_logits_for_metrics(make(ids), make(labels)).tolist() == ids.tolist()
    with pytest.raises(ValueError, match=r"ids of shape \(2, 4\) and labels are \(2, 3\), .*shift=True"):
        cider.preprocess_logits_for_metrics(logits, make(labels[:, :3]))
    with pytest.raises(ValueError, match=r"ids of shape \(2, 3\) and labels are \(2, 4\)"):
        cider.preprocess_logits_for_metrics(logits, make(np.pad(labels, [(0, 0), (0, 1)])), shift=True)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_places_of_an_image_before_the_text_are_left_out(cider, library):
    make, random = pytest.importorskip(library).asarray, np.random.default_rng(0)
    ids, labels = random.integers(0, 9, (4, 12)), random.integers(0, 9, (4, 7))
    labels[:, :2] = -100
    found = cider.preprocess_logits_for_metrics(make(np.eye(9, dtype=np.float32)[ids]), make(labels), shift=True)
    # As in GIT's loss: place 5 + t predicts label t + 1.
    wanted = [[ids[row, 5 + t] if labels[row, t + 1] >= 0 else -100 for t in range(6)] for row in range(4)]
    assert found.tolist() == wanted


def test_the_option_called_tokenizer_is_reachable(cider, load_metric):
    bleu4 = load_metric("bleu4")
    texts = {"predictions": CAPTIONS, "references": REFERENCES}
    for metric in (cider, bleu4):
        found = metric.compute_metrics(TOKENIZER, {"c": REFERENCES}, "c", tokenizer="char")(batch(IDS))
        assert found == trainer.plain_floats(metric.compute(**texts, tokenizer="char"))
        assert found != trainer.plain_floats(metric.compute(**texts))
    callback = cider.compute_metrics(tokenizer=TOKENIZER, references=REFERENCES, also=[(bleu4, {"tokenizer": "char"})])
    found = callback(batch(IDS))
    assert found["bleu4"] == bleu4.compute(**texts, tokenizer="char")["bleu4"]
    assert found["cider"] == cider.compute(**texts)["cider"]
    with pytest.raises(TypeError, match="tokenizer is None, expected a tokenizer or processor"):
        cider.compute_metrics(references=REFERENCES, tokenizer="char")
    with pytest.raises(TypeError, match="expected one model's tokenizer, and as tokenizer= the option of compute"):
        cider.compute_metrics(TOKENIZER, REFERENCES, tokenizer=TOKENIZER)
    with pytest.raises(TypeError, match="vqa_accuracy has no option 'tokenizer'"):
        load_metric("vqa_accuracy").compute_metrics(TOKENIZER, REFERENCES, tokenizer="char")


@pytest.mark.parametrize("name", names())
def test_every_option_of_compute_is_reachable(name, load_metric):
    import inspect

    metric = load_metric(name)
    options = list(inspect.signature(metric._compute).parameters)[2:]
    taken = [
        one.name
        for one in inspect.signature(metric.compute_metrics).parameters.values()
        if one.kind is not one.POSITIONAL_ONLY
    ]
    assert not set(options) & set(taken)


# Bad input


@pytest.mark.parametrize(
    "row, error, message",
    [
        ([], ValueError, r"references\[2\] is an empty list, expected at least one reference"),
        (None, TypeError, r"references\[2\] is None, expected"),
        (["a cat", None], TypeError, r"references\[2\]\[1\] is None, expected str"),
    ],
)
def test_a_row_without_references_is_named_before_training(cider, row, error, message):
    references = [*REFERENCES[:2], row, *REFERENCES[3:]]
    with pytest.raises(error, match=message):
        cider.compute_metrics(TOKENIZER, references)


@pytest.mark.parametrize("size", [3, 11])
def test_more_predictions_than_rows(cider, size):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES[:10])
    message = r"predictions\[10\] has no reference: 11 predictions came for 10 rows .* DataParallel or the Distributed"
    with pytest.raises(ValueError, match=message):
        in_batches(callback, IDS, size)
    assert in_batches(callback, IDS[:10], size)[-1]["cider"] > 0


def test_fewer_predictions_than_rows(cider):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    message = r"references\[9\] has no prediction: 9 predictions came for 11 rows .* dataloader_drop_last=True"
    with pytest.raises(ValueError, match=message):
        in_batches(callback, IDS[:9], 4)
    assert in_batches(callback, IDS, 4)[-1]["cider"] > 0


def test_repeated_rows_of_several_processes_are_dropped(cider, monkeypatch):
    monkeypatch.setattr(
        sys.modules[type(cider.compute_metrics(TOKENIZER, REFERENCES)).__module__], "num_processes", lambda: 2
    )
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    expected = cider.compute(predictions=CAPTIONS, references=REFERENCES)
    assert callback(batch(IDS + IDS[:3])) == expected
    assert in_batches(callback, IDS + IDS[:1], 4)[-1] == expected
    # Rows that repeat no labels are no repetition.
    with pytest.raises(ValueError, match="14 predictions came for 11 rows"):
        callback(batch(IDS + IDS[1:4]))


@pytest.mark.parametrize("row", [[], [-100, -100], [1, 2, 0, 0]], ids=str)
def test_an_empty_caption_scores_0(cider, row):
    results = cider.compute_metrics(TOKENIZER, REFERENCES)(batch([row, *IDS[1:]]))
    assert results == cider.compute(predictions=["", *CAPTIONS[1:]], references=REFERENCES)


def test_nothing_generated_at_all(cider, load_metric):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, also=[load_metric("bleu4")])
    found = callback(batch([[1, 2]] * 11))
    assert (found["cider"], found["bleu4"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    "predictions, message",
    [
        (
            np.zeros((11, 4, 30), np.float32),
            r"predictions have shape \(11, 4, 30\) and type float32, expected token ids",
        ),
        (np.zeros((11, 4)), r"type float64, expected token ids"),
        (
            np.array([[1, 2]] * 4 + [[1, -7]] + [[1, 2]] * 6),
            r"predictions\[4\]\[1\] is -7, expected a token id or -100",
        ),
    ],
)
def test_predictions_that_are_no_ids(cider, predictions, message):
    with pytest.raises(ValueError, match=message):
        cider.compute_metrics(TOKENIZER, REFERENCES)(SimpleNamespace(predictions=predictions, label_ids=None))


def test_rows_in_another_order_are_found_when_asked(cider):
    labels = [TOKENIZER.encode(group[0]) for group in REFERENCES]
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, check_labels=True)
    expected = cider.compute(predictions=CAPTIONS, references=REFERENCES)
    assert callback(batch(IDS, np.array(padded(labels, -100)))) == expected
    with pytest.raises(ValueError, match=r"label_ids\[0\] reads 'a boat .*none of its references.*order"):
        callback(batch(IDS[::-1], np.array(padded(labels[::-1], -100))))
    with pytest.raises(ValueError, match="label_ids is None, expected labels"):
        callback(SimpleNamespace(predictions=np.array(padded(IDS, -100)), label_ids=None))


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"tokenizer": None}, TypeError, "tokenizer is None, expected a tokenizer or processor"),
        (
            {"references": pd.DataFrame({"captions": REFERENCES})},
            ValueError,
            r"column is None, expected one of \['captions'\]",
        ),
        (
            {"references": {"captions": REFERENCES}, "column": "caption"},
            ValueError,
            "column is 'caption', expected one",
        ),
        ({"column": "captions"}, ValueError, "expected a dataset"),
        ({"references": None}, TypeError, "references is None"),
        ({"references": []}, ValueError, "references is empty, expected those of at least one row"),
        ({"per_sample": True}, ValueError, "per_sample is True, which gives lists"),
        ({"sigmas": 3}, TypeError, "cider has no option 'sigmas'"),
        ({"also": ["bleu4"]}, TypeError, "also holds str 'bleu4'"),
        ({"also": 3}, TypeError, "also is int 3"),
    ],
)
def test_wrong_arguments_are_told_before_training(cider, arguments, error, message):
    with pytest.raises(error, match=message):
        cider.compute_metrics(**{"tokenizer": TOKENIZER, "references": REFERENCES, **arguments})


def test_metrics_that_cannot_stand_together(cider, load_metric):
    with pytest.raises(ValueError, match="stands beside one of the other kind"):
        cider.compute_metrics(TOKENIZER, REFERENCES, also=[load_metric("recall_at_k")])
    with pytest.raises(ValueError, match="num_process=2, expected 1"):
        load_metric("cider", num_process=2, process_id=0, experiment_id="x").compute_metrics(TOKENIZER, REFERENCES)


@pytest.mark.parametrize(
    "predictions, message",
    [
        (np.eye(3), "predictions are ndarray, expected"),
        ((np.eye(3),) * 3, "a tuple of 3, expected"),
        ((np.eye(3), np.eye(3)[:2]), r"shape \(3, 3\), text embeddings \(2, 3\)"),
    ],
)
def test_predictions_that_are_no_pairs(load_metric, predictions, message):
    callback = load_metric("recall_at_k").compute_metrics(references=[1, 2, 3])
    with pytest.raises(ValueError, match=message):
        callback(SimpleNamespace(predictions=predictions, label_ids=None))


@pytest.mark.parametrize(
    "references, error, message",
    [
        ([1, 2.5], TypeError, r"references\[1\] is float 2.5, expected int"),
        ([(1, 2), (1,)], TypeError, r"references\[1\] is tuple \(1,\), expected the ids of an image and a text"),
        ([(1, 2), (1, "x")], TypeError, r"text_ids\[1\] is str 'x', expected int"),
        ([], ValueError, "references is empty"),
    ],
)
def test_ids_that_are_none(load_metric, references, error, message):
    with pytest.raises(error, match=message):
        load_metric("recall_at_k").compute_metrics(references=references)


def test_plain_floats_name_what_is_no_number():
    with pytest.raises(TypeError, match="by/x/name is str 'cat', expected a number"):
        trainer.plain_floats({"by": {"x": {"name": "cat"}}})
    found = trainer.plain_floats({"a": np.float32(0.5), "b": np.array(2), "c": True, "d": float("inf")})
    assert found == {"a": 0.5, "b": 2.0, "c": 1.0, "d": float("inf")}
    assert {type(value) for value in found.values()} == {float}


def test_nothing_heavy_is_imported():
    code = (
        "import sys, metrics.utils.trainer\n"
        "print([m for m in ('evaluate', 'datasets', 'torch', 'transformers') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]", result.stderr
