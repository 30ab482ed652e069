"""EntityScore one pair at a time, as the published script goes about it: the oracle of the tests and the benchmark."""

import nltk
import torch
import torch.nn.functional as F
from nltk.stem.porter import PorterStemmer

SMOOTHING = 1e-4


def nouns_of(text):
    tagged = nltk.pos_tag(nltk.word_tokenize(text))
    return list({PorterStemmer().stem(word) for word in {word for word, tag in tagged if "NN" in tag}})


def states_of(words, width, tokenizer, model):
    """One batch of words, padded to a width."""
    inputs = tokenizer(words, return_tensors="pt", padding=True, truncation=True)
    padded = {key: F.pad(inputs[key], (0, width - inputs[key].shape[1])) for key in ("input_ids", "attention_mask")}
    return model.encoder(**padded).last_hidden_state


def similarity_of(predicted, reference, tokenizer, model):
    width = max(len(tokenizer(word)["input_ids"]) for word in [*predicted, *reference])
    mine, theirs = (states_of(side, width, tokenizer, model) for side in (predicted, reference))
    closest = [min(max((F.cosine_similarity(p, r).mean().item() + 1) / 2 for r in theirs), 1.0) for p in mine]
    return sum(closest) / len(closest)


def pair_score(prediction, reference, tokenizer, model):
    """(score, recall, similarity), or None where a side has no noun."""
    predicted, wanted = nouns_of(prediction), nouns_of(reference)
    if not predicted or not wanted:
        return None
    recall = sum(noun in wanted for noun in predicted) / len(wanted)
    similarity = similarity_of(predicted, wanted, tokenizer, model)
    return 2 * similarity * (recall + SMOOTHING) / (similarity + recall + SMOOTHING), recall, similarity


def readme_score(prediction, reference, tokenizer, model):
    """(score, recall, similarity) by the README's formulas, an entity's states averaged over its own tokens."""
    predicted, wanted = nouns_of(prediction), nouns_of(reference)
    recall = len(set(predicted) & set(wanted)) / len(wanted)

    def embedding(words):
        rows = [torch.tensor([tokenizer(word)["input_ids"]]) for word in words]
        return torch.stack([model.encoder(input_ids=row).last_hidden_state[0].mean(0) for row in rows]).mean(0)

    similarity = (F.cosine_similarity(embedding(predicted), embedding(wanted), dim=0).item() + 1) / 2
    return 2 * similarity * recall / (similarity + recall), recall, similarity
