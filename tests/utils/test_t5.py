"""The T5 encoder: states as the model gives them, kept and bounded; and what it refuses."""

import json
import shutil
import sys

import numpy as np
import pytest

from metrics.utils import t5
from metrics.utils.t5 import T5Encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
WORDS = ["man", "guitar", "microphon", "a dog barks in the park", "river"]


@pytest.fixture
def encoder(t5_folder):
    t5.forget_models()
    return T5Encoder(str(t5_folder), device="cpu")


def alone(encoder, text, length):
    """States of one text, padded to a length, without a batch."""
    tokenizer, model, _ = encoder._parts
    ids = tokenizer(text)["input_ids"]
    padding = max(0, length - len(ids))
    mask = torch.tensor([[1] * len(ids) + [0] * padding])
    with torch.inference_mode():
        return model.encoder(torch.tensor([ids + [0] * padding]), mask).last_hidden_state[0, :length].numpy()


@pytest.mark.parametrize("batch_size", [1, 2, 128])
def test_states_are_those_of_each_text_alone(t5_folder, batch_size):
    t5.forget_models()
    encoder = T5Encoder(str(t5_folder), device="cpu", batch_size=batch_size)
    lengths = dict(zip(WORDS, (2, 9, 1, 30, 12)))
    for text, states in encoder.states(lengths).items():
        np.testing.assert_allclose(states, alone(encoder, text, lengths[text]), rtol=0, atol=2e-6)
        assert states.dtype == np.float32 and len(states) == lengths[text]


def test_a_shorter_padding_is_the_beginning_of_a_longer_one(encoder):
    long, short = alone(encoder, "man", 20), alone(encoder, "man", 5)
    np.testing.assert_allclose(long[:5], short, rtol=0, atol=2e-6)
    assert np.abs(long[8:]).max() > 0.1


def test_lengths_count_the_end_token(encoder):
    tokenizer = encoder._parts.tokenizer
    assert encoder.lengths(WORDS) == {word: len(tokenizer(word)["input_ids"]) for word in WORDS}
    assert tokenizer("man")["input_ids"][-1] == tokenizer.eos_token_id
    assert encoder.lengths([]) == {}
    assert encoder.lengths(["x" * 4000])["x" * 4000] == 512


def test_long_sequences_make_small_batches(encoder, monkeypatch):
    calls = count_calls(encoder, monkeypatch)
    monkeypatch.setattr(t5, "BATCH_TOKENS", 100)
    encoder.states({"man": 60, "guitar": 200, "river": 30, "microphon": 25, "dog": 25})
    assert calls == [1, 1, 3]


def count_calls(encoder, monkeypatch):
    calls, encode = [], encoder._encode
    monkeypatch.setattr(encoder, "_encode", lambda batch: calls.append(len(batch)) or encode(batch))
    return calls


def test_states_are_kept(encoder, monkeypatch):
    calls = count_calls(encoder, monkeypatch)
    first = encoder.states({"man": 4, "river": 4})
    again = encoder.states({"river": 2, "man": 4})
    np.testing.assert_array_equal(again["river"], first["river"][:2])
    assert calls == [2]
    encoder.states({"man": 5, "river": 4})
    assert calls == [2, 1]


def test_the_cache_is_bounded(encoder, monkeypatch):
    monkeypatch.setattr(t5, "CACHE_BYTES", 4 * 32 * 10)
    calls = count_calls(encoder, monkeypatch)
    encoder.states({"man": 4})
    encoder.states({"river": 4})
    encoder.states({"man": 4})
    encoder.states({"guitar": 4})
    encoder.states({"man": 4})
    assert calls == [1, 1, 1]
    encoder.states({"river": 4})
    assert calls == [1, 1, 1, 1]
    assert encoder._parts.cache._bytes <= t5.CACHE_BYTES


def test_loaded_once(encoder, t5_folder, monkeypatch):
    monkeypatch.chdir(t5_folder.parent)
    assert T5Encoder(t5_folder.name, device="cpu")._parts is encoder._parts
    assert T5Encoder(str(t5_folder), device="cpu", dtype="bfloat16")._parts is not encoder._parts


def test_bfloat16_is_near(encoder, t5_folder):
    near = T5Encoder(str(t5_folder), device="cpu", dtype="bfloat16").states({"guitar": 6})["guitar"]
    exact = encoder.states({"guitar": 6})["guitar"]
    assert near.dtype == np.float32 and not np.array_equal(near, exact)
    np.testing.assert_allclose(near, exact, rtol=0, atol=0.1)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"dtype": "float16"}, ValueError, "dtype is 'float16', expected one of .*overflows"),
        ({"dtype": "int8"}, ValueError, "dtype is 'int8', expected one of"),
        ({"device": "gpu9"}, ValueError, "device is 'gpu9', expected such as 'cpu'"),
        ({"batch_size": 0}, ValueError, "batch_size is 0, expected an integer of at least 1"),
        ({"model_path": None}, TypeError, "model_path is None, expected a name"),
        ({"model_path": "no/such-model"}, OSError, "the T5 model 'no/such-model' cannot be loaded"),
    ],
)
def test_options(t5_folder, options, error, message):
    with pytest.raises(error, match=message):
        T5Encoder(**{"model_path": str(t5_folder), **options})


def test_no_gpu(t5_folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch finds no GPU here"):
        T5Encoder(str(t5_folder), device="cuda:0")


def test_a_folder_without_vocabulary_is_an_error(t5_folder, tmp_path):
    """transformers 5 makes up a tokenizer of 104 tokens there, under which all words are the same."""
    for name in ("config.json", "model.safetensors"):
        shutil.copy(t5_folder / name, tmp_path)
    with pytest.raises((ValueError, OSError), match="does not know plain words|cannot be loaded"):
        T5Encoder(str(tmp_path), device="cpu")


@pytest.mark.parametrize(
    "vocabulary, knows, message",
    [
        (32128, True, "the tokenizer has 104 tokens, expected the vocabulary of the model"),
        (100, True, "the tokenizer has 104 tokens, expected"),
        (128, False, "does not know plain words"),
    ],
)
def test_check_tokenizer(vocabulary, knows, message):
    class Tokenizer:
        unk_token_id = 2

        def __len__(self):
            return 104

        def __call__(self, texts):
            return {"input_ids": [[3, 5 if knows else 2, 1] for _ in texts]}

    with pytest.raises(ValueError, match=message):
        t5.check_tokenizer(Tokenizer(), vocabulary, "the tokenizer")
    t5.check_tokenizer(type("Known", (Tokenizer,), {"unk_token_id": 9})(), 128, "the tokenizer")


def test_other_vocabulary_than_the_models(t5_folder, tmp_path):
    shutil.copytree(t5_folder, tmp_path / "t5")
    config = json.loads((tmp_path / "t5" / "config.json").read_text())
    size = len(transformers.AutoTokenizer.from_pretrained(t5_folder)) // 2
    model = transformers.T5EncoderModel(transformers.T5Config(**{**config, "vocab_size": size}))
    model.save_pretrained(tmp_path / "t5")
    with pytest.raises(ValueError, match=f"expected the vocabulary of the model \\({size} tokens\\)"):
        T5Encoder(str(tmp_path / "t5"), device="cpu")


def test_states_that_are_not_finite(encoder, monkeypatch):
    tokenizer, model, _ = encoder._parts
    encoder = T5Encoder.of(tokenizer, model)
    weights = model.encoder.final_layer_norm.weight
    monkeypatch.setattr(weights, "data", weights.data * float("inf"))
    with pytest.raises(ValueError, match="the T5 state of 'man' is not finite"):
        encoder.states({"man": 2})


def test_a_model_in_training_is_refused(encoder):
    tokenizer, model, _ = encoder._parts
    training = transformers.T5EncoderModel(model.config).train()
    with pytest.raises(ValueError, match=r"in training mode, expected model.eval\(\)"):
        T5Encoder.of(tokenizer, training)


def test_a_float16_model_is_refused(encoder):
    tokenizer, model, _ = encoder._parts
    half = transformers.T5EncoderModel(model.config).half().eval()
    with pytest.raises(ValueError, match="the model's dtype is torch.float16"):
        T5Encoder.of(tokenizer, half)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match="T5 states need torch and transformers: pip install torch transformers"):
        T5Encoder("t5-base")


def test_new_weights_in_the_same_folder(t5_folder, tmp_path):
    folder = shutil.copytree(t5_folder, tmp_path / "t5")
    lengths = {"a dog": 3}
    before = T5Encoder(str(folder), device="cpu").states(lengths)["a dog"]
    assert T5Encoder(str(folder), device="cpu")._parts is T5Encoder(folder, device="cpu")._parts
    model = transformers.T5EncoderModel.from_pretrained(folder)
    with torch.no_grad():
        model.encoder.block[0].layer[0].SelfAttention.v.weight.mul_(-2)
    model.save_pretrained(folder)
    after = T5Encoder(str(folder), device="cpu").states(lengths)["a dog"]
    t5.forget_models()
    fresh = T5Encoder(str(folder), device="cpu").states(lengths)["a dog"]
    assert np.array_equal(after, fresh) and not np.allclose(after, before, atol=1e-3)


def test_a_model_is_there_once_in_a_process(t5_folder, load_metric):
    from metrics.entity_score.scoring import T5Encoder as OfTheFolder

    loaded = sys.modules[type(load_metric("entity_score"))._scorer.__module__]
    encoders = [each(str(t5_folder), device="cpu") for each in (T5Encoder, OfTheFolder, loaded.T5Encoder)]
    assert len({type(encoder) for encoder in encoders}) == 3
    assert len({id(encoder._parts.model) for encoder in encoders}) == 1
