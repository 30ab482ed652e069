"""The two training programs run in a short form, and their scores rise."""

import csv

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Several workers with several threads each wait for one another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_captioner_learns(tmp_path):
    from examples import train_captioner

    arguments = ["--steps", "40", "--every", "20", "--copies", "1", "--threads", "1", "--output", str(tmp_path)]
    rows = train_captioner.main(arguments)
    assert [row["step"] for row in rows] == [0, 20, 40]
    assert rows[0]["eval_cider"] < 0.2 < rows[-1]["eval_cider"]
    assert rows[-1]["eval_bleu4"] > rows[0]["eval_bleu4"]
    with open(tmp_path / "train_captioner.csv", encoding="utf-8") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "20", "40"]
    assert (tmp_path / "train_captioner.png").stat().st_size < 100_000


def test_captioner_fails_when_nothing_is_learned(tmp_path):
    from examples import train_captioner

    with pytest.raises(SystemExit, match="expected it to rise by 0.2 at least"):
        train_captioner.main(
            ["--steps", "1", "--every", "1", "--copies", "1", "--threads", "1", "--output", str(tmp_path)]
        )


def test_reward_rises(tmp_path):
    pytest.importorskip("trl")
    from examples import grpo_caption_reward

    rows = grpo_caption_reward.main(["--steps", "24", "--start-steps", "40", "--output", str(tmp_path)])
    assert [row["step"] for row in rows] == list(range(1, 25))
    rewards = [row["reward"] for row in rows]
    assert sum(rewards[-6:]) > sum(rewards[:6])
    assert 0 <= min(rewards) and max(rewards) <= 10
    assert (tmp_path / "grpo_caption_reward.png").stat().st_size < 100_000
