"""A small captioning model trains in Seq2SeqTrainer, which reports CIDEr-D and BLEU-4 of all held-out pictures.

    python -m examples.train_captioner

Needs no data: the pictures are drawn, the model is made from a config. The program fails when CIDEr did not rise.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import evaluate
import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GPT2Config,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    set_seed,
)

from examples.lesson.world import (
    END,
    HELD_OUT,
    PAD,
    SIZE,
    START,
    TEMPLATES,
    TRAINING,
    VOCABULARY,
    caption,
    ids_to_words,
    render,
)
from examples.output import ROOT, make_parser, new_figure, print_table, save_figure, write_csv

MAX_LENGTH = 13
SCORES = {"eval_cider": "CIDEr-D (0..10)", "eval_bleu4": "BLEU-4 (0..1)", "eval_loss": "loss on held-out pictures"}


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token per word of the world.

    >>> make_tokenizer()("a red box").input_ids == [VOCABULARY[word] for word in ("a", "red", "box")]
    True
    """
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<start>", eos_token="<end>", padding_side="left"
    )


def make_model(width: int = 96) -> VisionEncoderDecoderModel:
    """A vision transformer of two layers and a decoder of two, with random weights."""
    encoder = ViTConfig(
        image_size=SIZE,
        patch_size=8,
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    decoder = GPT2Config(
        vocab_size=len(VOCABULARY),
        n_positions=MAX_LENGTH + 1,
        n_embd=width,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=START,
        eos_token_id=END,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.pad_token_id, config.decoder_start_token_id, config.eos_token_id = PAD, START, END
    model = VisionEncoderDecoderModel(config)
    model.generation_config.update(
        pad_token_id=PAD, decoder_start_token_id=START, bos_token_id=START, eos_token_id=END, max_length=MAX_LENGTH
    )
    return model


def draw(scenes: Sequence, copies: int, seed: int) -> datasets.Dataset:
    """Draws every scene some times: its picture, one wording as the label, and several as references."""
    rng, rows = np.random.default_rng(seed), []
    for scene in scenes:
        for _ in range(copies):
            wordings = [caption(scene, template, rng) for template in range(len(TEMPLATES))]
            label = [*wordings[rng.integers(len(wordings))], END]
            captions = [ids_to_words(wording) for wording in wordings]
            rows.append({"pixel_values": render(scene, rng), "labels": label, "captions": captions})
    return datasets.Dataset.from_list(rows).with_format("numpy", ["pixel_values"], output_all_columns=True)


def collate(rows: list[dict]) -> dict[str, torch.Tensor]:
    """A batch; labels are padded with what the loss leaves out."""
    width = max(len(row["labels"]) for row in rows)
    labels = [list(row["labels"]) + [-100] * (width - len(row["labels"])) for row in rows]
    pictures = np.stack([row["pixel_values"] for row in rows]).astype(np.float32)
    return {"pixel_values": torch.from_numpy(pictures), "labels": torch.tensor(labels)}


def train(steps: int, every: int, copies: int, folder: str, seed: int = 0) -> list[dict]:
    """Trains, and evaluates before, every `every` steps and at the end; returns what was logged then."""
    set_seed(seed)
    cider, bleu4 = (evaluate.load(str(ROOT / "metrics" / name)) for name in ("cider", "bleu4"))
    held_out, tokenizer = draw(HELD_OUT, 1, seed + 1), make_tokenizer()
    trainer = Seq2SeqTrainer(
        model=make_model(),
        args=Seq2SeqTrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=64,
            per_device_eval_batch_size=48,
            learning_rate=2e-3,
            warmup_steps=20,
            lr_scheduler_type="cosine",
            eval_strategy="steps",
            eval_steps=every,
            eval_on_start=True,
            predict_with_generate=True,
            batch_eval_metrics=True,
            save_strategy="no",
            seed=seed,
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        ),
        data_collator=collate,
        train_dataset=draw(TRAINING, copies, seed),
        eval_dataset=held_out,
        compute_metrics=cider.compute_metrics(tokenizer, held_out, "captions", also=[bleu4]),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [row for row in trainer.state.log_history if "eval_cider" in row]


def draw_picture(rows: Sequence[dict], path: Path) -> None:
    """One panel per score."""
    figure, axes = new_figure(9, 2.8, num_panels=len(SCORES))
    if figure is None:
        return
    for axis, (name, title) in zip(axes, SCORES.items()):
        axis.plot([row["step"] for row in rows], [row[name] for row in rows], "ko-", markersize=4)
        axis.set(title=title, xlabel="training steps")
        axis.set_ylim(bottom=0)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> list[dict]:
    """Prints the table, writes the CSV and the picture; fails where the model learned nothing."""
    parser = make_parser(__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--every", type=int, default=40, help="steps between two evaluations")
    parser.add_argument("--copies", type=int, default=8, help="pictures of each training scene")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="more hardly pay for a model this small")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    with TemporaryDirectory() as folder:
        rows = train(options.steps, options.every, options.copies, folder, options.seed)
    table = [[row["step"], *(float(row[name]) for name in SCORES)] for row in rows]
    print_table(["step", *SCORES.values()], table)
    write_csv(options.output / "train_captioner.csv", ["step", *(name[5:] for name in SCORES)], table)
    draw_picture(rows, options.output / "train_captioner.png")
    first, last = rows[0]["eval_cider"], rows[-1]["eval_cider"]
    if last < first + 0.2:
        raise SystemExit(f"CIDEr-D went from {first:.3f} to {last:.3f}, expected it to rise by 0.2 at least")
    return rows


if __name__ == "__main__":
    main()
