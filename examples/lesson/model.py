"""A small vision-language model: convolutional encoder, projection, and a decoder with cross-attention.

The decoder writes captions and answers questions; the mean of the projected picture and the mean of the words meet in
one space for retrieval.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.lesson.world import END, PAD, START, Batch


class VisionLanguageModel(nn.Module):
    """Embeds pictures and captions, writes captions, answers questions.

    Args:
        vocab_size: Number of token ids.
        max_len: Length of captions and questions.
        width: Size of every hidden vector.
    """

    def __init__(self, vocab_size: int = 128, max_len: int = 12, width: int = 96):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(64, width, 3, stride=2, padding=1),
            nn.GELU(),
        )
        self.patch_place = nn.Parameter(torch.randn(16, width) * 0.1)
        self.projection = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.words = nn.Embedding(vocab_size, width, padding_idx=PAD)
        self.word_place = nn.Parameter(torch.randn(max_len, width) * 0.1)
        layer = nn.TransformerDecoderLayer(width, 4, 2 * width, 0.0, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoder(layer, num_layers=1, norm=nn.LayerNorm(width))
        self.next_word = nn.Linear(width, vocab_size)
        self.image_head, self.text_head = nn.Linear(width, width), nn.Linear(width, width)
        self.log_temperature = nn.Parameter(torch.tensor(np.log(0.1), dtype=torch.float32))
        self.max_len = max_len

    def encode_image(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Pictures (n, 3, 32, 32) -> patches (n, 16, width) for the decoder, and embeddings (n, width) of length 1."""
        patches = self.encoder(images).flatten(2).transpose(1, 2) + self.patch_place
        patches = self.projection(patches)
        return patches, functional.normalize(self.image_head(patches.mean(dim=1)), dim=-1)

    def encode_text(self, ids: Tensor) -> Tensor:
        """Token ids (n, length) -> embeddings (n, width) of length 1; PAD and END do not count."""
        is_word = ((ids != PAD) & (ids != END)).unsqueeze(-1)
        mean = (self.words(ids) * is_word).sum(dim=1) / is_word.sum(dim=1)
        return functional.normalize(self.text_head(mean), dim=-1)

    def decode(self, ids: Tensor, patches: Tensor) -> Tensor:
        """Scores of the next token behind every token of `ids` (n, length) -> (n, length, vocabulary)."""
        length = ids.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(length)
        hidden = self.words(ids) + self.word_place[:length]
        return self.next_word(self.decoder(hidden, patches, tgt_mask=causal, tgt_is_causal=True))

    def answer(self, questions: Tensor, patches: Tensor) -> Tensor:
        """Scores of the answer (n, vocabulary), read at the last word of each question (n, length)."""
        last = (questions != PAD).sum(dim=1) - 1
        return self.decode(questions, patches)[torch.arange(len(questions)), last]

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """The three losses of a batch: `contrastive`, `caption` and `answer`."""
        images, captions, questions, answers = map(torch.from_numpy, batch)
        patches, embeddings = self.encode_image(images)
        similarity = embeddings @ self.encode_text(captions).T / self.log_temperature.exp()
        own = torch.arange(len(images))
        both = functional.cross_entropy(similarity, own) + functional.cross_entropy(similarity.T, own)
        before = functional.pad(captions[:, :-1], (1, 0), value=START)
        written = self.decode(before, patches).transpose(1, 2)
        return {
            "contrastive": both / 2,
            "caption": functional.cross_entropy(written, captions, ignore_index=PAD),
            "answer": functional.cross_entropy(self.answer(questions, patches), answers),
        }

    @torch.no_grad()
    def write(self, images: Tensor) -> list[list[int]]:
        """Writes a caption for each picture, the likeliest word each time, up to END or max_len words."""
        patches, _ = self.encode_image(images)
        ids = torch.full((len(images), 1), START)
        for _ in range(self.max_len):
            scores = self.decode(ids[:, -self.max_len :], patches)[:, -1]
            scores[:, [PAD, START]] = -torch.inf
            ids = torch.cat([ids, scores.argmax(dim=1, keepdim=True)], dim=1)
        return [row[: row.index(END)] if END in row else row for row in ids[:, 1:].tolist()]


def make_model(seed: int, vocab_size: int = 128, max_len: int = 12) -> VisionLanguageModel:
    """A model with random weights of a seed; torch's own random state stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return VisionLanguageModel(vocab_size, max_len)
