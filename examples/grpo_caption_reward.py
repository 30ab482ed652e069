"""A small language model learns by reward: TRL's GRPOTrainer with CIDEr-D, whose frequencies were counted once.

    python -m examples.grpo_caption_reward

Needs no data and no download. A prompt names what a picture shows, a completion is its caption; a short supervised
start makes the model write captions at all, then the reward alone teaches it. The program fails when it did not rise.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PrinterCallback, set_seed

from examples.lesson.world import END, PAD, START, TEMPLATES, TRAINING, VALUES, VOCABULARY, caption, ids_to_words
from examples.output import make_parser, new_figure, print_table, save_figure, write_csv
from examples.train_captioner import make_tokenizer
from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.cider.reward import CiderReward

COMPLETIONS, MAX_LENGTH = 64, 12


def make_dataset(copies: int, seed: int) -> datasets.Dataset:
    """One row per scene and copy: the prompt, and three wordings of the caption as references."""
    rng, rows = np.random.default_rng(seed), []
    for scene in TRAINING * copies:
        prompt = " ".join(names[number] for names, number in zip(VALUES.values(), scene))
        wordings = [ids_to_words(caption(scene, template, rng)) for template in range(len(TEMPLATES))]
        rows.append({"prompt": prompt, "references": wordings})
    return datasets.Dataset.from_list(rows)


def make_model(width: int = 64) -> LlamaForCausalLM:
    """A Llama of two layers with random weights."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(VOCABULARY),
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            pad_token_id=PAD,
            bos_token_id=START,
            eos_token_id=END,
        )
    )


def supervised_start(model: LlamaForCausalLM, dataset: datasets.Dataset, steps: int, seed: int) -> None:
    """Trains on prompts with one wording each, in plain PyTorch."""
    tokenizer, rng = make_tokenizer(), np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        rows = [dataset[int(number)] for number in rng.integers(len(dataset), size=64)]
        texts = [f"{row['prompt']} {row['references'][rng.integers(len(TEMPLATES))]} <end>" for row in rows]
        batch = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def train(start_steps: int, steps: int, folder: str, seed: int = 0) -> list[dict]:
    """Starts supervised, then trains on the reward; returns what was logged at each step."""
    # Not above: its import takes ten seconds.
    from trl import GRPOConfig, GRPOTrainer

    set_seed(seed)
    dataset, model = make_dataset(4, seed), make_model()
    supervised_start(model, dataset, start_steps, seed)
    # Once, from the training references; the file stays beside the checkpoints, and every process can open it.
    table = Path(folder, "document_frequencies.npz")
    DocumentFrequencies.from_references(dataset["references"]).save(table, final=True)
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=CiderReward(table),
        args=GRPOConfig(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=COMPLETIONS,
            num_generations=8,
            max_completion_length=MAX_LENGTH,
            learning_rate=2e-3,
            lr_scheduler_type="constant",
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            seed=seed,
        ),
        train_dataset=dataset,
        processing_class=make_tokenizer(),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [
        {"step": row["step"], "reward": float(row["reward"])} for row in trainer.state.log_history if "reward" in row
    ]


def mean_of(rows: Sequence[dict], part: slice) -> float:
    """The mean reward of some steps."""
    return float(np.mean([row["reward"] for row in rows[part]]))


def draw_picture(rows: Sequence[dict], path: Path) -> None:
    """The mean reward of the completions of each step, and its running mean."""
    figure, axes = new_figure(6, 3)
    if figure is None:
        return
    rewards, width = np.array([row["reward"] for row in rows]), 10
    axes[0].plot(range(1, len(rows) + 1), rewards, color="darkgray", linewidth=0.8, label="one step")
    running = np.convolve(rewards, np.ones(width) / width, mode="valid")
    axes[0].plot(range(width, len(rows) + 1), running, "k", label=f"mean of {width} steps")
    axes[0].set(title=f"Reward: CIDEr-D of {COMPLETIONS} completions", xlabel="GRPO steps")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(frameon=False)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> list[dict]:
    """Prints the rewards, writes the CSV and the picture; fails where the reward did not rise."""
    parser = make_parser(__doc__.splitlines()[0])
    parser.add_argument("--start-steps", type=int, default=60, help="steps of supervised training before")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="more do not pay for a model this small")
    options = parser.parse_args(arguments)
    if find_spec("trl") is None:
        print("Skipped: the reward needs TRL, which is not installed (pip install trl; Python 3.11 or later).")
        return []
    torch.set_num_threads(options.threads)
    with TemporaryDirectory() as folder:
        rows = train(options.start_steps, options.steps, folder, options.seed)
    fifth = max(1, len(rows) // 5)
    first, last = mean_of(rows, slice(fifth)), mean_of(rows, slice(-fifth, None))
    print_table(["steps", "mean reward"], [[f"first {fifth}", first], [f"last {fifth}", last]])
    write_csv(options.output / "grpo_caption_reward.csv", ["step", "reward"], [list(row.values()) for row in rows])
    draw_picture(rows, options.output / "grpo_caption_reward.png")
    if last < first + 0.1:
        raise SystemExit(f"the reward went from {first:.3f} to {last:.3f}, expected it to rise by 0.1 at least")
    return rows


if __name__ == "__main__":
    main()
