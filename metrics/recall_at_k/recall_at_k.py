# Copyright 2026 The multimodal-metrics authors.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""R@K of image-text retrieval in both directions, with ranks and fair ties, for about the price of the product."""

import datasets
import evaluate

from ._shared import Asked, Checked
from .arrays import as_matrix
from .buffered import NewText, pair_ids, paired_rows, read, similarity_rows
from .device import DeviceArithmetic
from .images import image_of_rows
from .inputs import Ranked, check_pairs
from .products import ProductBlocks
from .queries import queries_of
from .ranks import count
from .rounding import compare
from .scoring import Scorer, check_items
from .ties import hits
from .vectors import Vectors

# The loader copies only the siblings that this script imports, also those that only the others use.
_SIBLINGS = (as_matrix, compare, count, DeviceArithmetic, hits, image_of_rows, ProductBlocks, queries_of, Vectors)

_CITATION = """\
@article{hodosh2013framing,
  title={Framing Image Description as a Ranking Task: Data, Models and Evaluation Metrics},
  author={Hodosh, Micah and Young, Peter and Hockenmaier, Julia},
  journal={Journal of Artificial Intelligence Research},
  volume={47},
  pages={853--899},
  year={2013}
}
@inproceedings{mcsherry2008computing,
  title={Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores},
  author={McSherry, Frank and Najork, Marc},
  booktitle={ECIR},
  year={2008}
}
"""

_DESCRIPTION = """\
R@K of image-text retrieval: the fraction of queries with a correct item among the K most similar, for images as
queries (i2t) and for texts (t2i), with mean reciprocal, median and mean rank. Tied items score as the mean over their
orders.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: similarity of each image (row) with each text (column); or
    image_embeddings, text_embeddings: (images, dimensions) and (texts, dimensions), NumPy arrays or torch tensors.
    references: the correct text of each image (int), or all of them (list of int); None: the diagonal of a square.
    backward_references: the correct images of each text, where they are other pairs; None.
    similarity: "cosine" (default) or "dot", of embeddings.
    k: numbers of items, (1, 5, 10).
    ties: "expected" (default: the mean over all orders of tied items), "pessimistic" or "optimistic".
    directions: "both" (default), "forward" (images as queries) or "backward".
    no_correct: queries without a correct item are left out ("skip"), score 0 ("zero") or are an "error"; "skip".
    recall_fraction: adds the fraction of correct items found among the K; False.
    exclude_self: image i and text i are the same item, left out of its own gallery (text to text); False.
    query_name, gallery_name: names of the two sides in the keys, "i" and "t".
    folds: also the mean over so many consecutive parts of the images with their texts; None. 5 for COCO 1K.
    per_sample: adds one row per query and direction; False.
    confidence_level: adds bootstrap intervals, such as 0.95; whole images are drawn, with their texts; None.
    n_resamples, seed: of the bootstrap; 1000, 0.
    clusters: one label per image, drawn as one; None.
    by: one label per image, adds the scores of each label; None.
Returns:
    rsum: the sum of all R@K.
    i2t_r@1 ... t2i_r@10: 0..1. i2t_mrr, i2t_median_rank, i2t_mean_rank, and the same of t2i; ranks from 1.
    num_i, num_t, num_skipped, num_zero_vectors: how many items, queries left out, and zero vectors there were.
    folds, per_sample (on request): dicts.
Examples:
    >>> import evaluate
    >>> recall_at_k = evaluate.load("metrics/recall_at_k")
    >>> results = recall_at_k.compute(predictions=[[0.9, 0.1, 0.3], [0.2, 0.2, 0.8]], references=[[0, 1], 2], k=1)
    >>> results["i2t_r@1"], round(results["t2i_r@1"], 4)
    (1.0, 0.6667)
    >>> recall_at_k.signature()
    'recall_at_k|k:1|ties:expected|sim:matrix|dir:both|no_correct:skip|refs:1-2|v:0.1.0'
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RecallAtK(Checked, evaluate.Metric):
    """The evaluate module; what recall at K is stands in scoring.py."""

    _scorer = Scorer
    _trainer_rows = "embeddings"

    def _info(self):
        row = datasets.Sequence(datasets.Value("float32"))
        wide_row = datasets.Sequence(datasets.Value("float64"))
        ids = datasets.Sequence(datasets.Value("int64"))
        text_ids = datasets.Sequence(datasets.Value("string"))
        kinds = [(datasets.Sequence(r), i) for r in (row, wide_row) for i in (ids, text_ids)]
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Pairs of embeddings with the ids of both sides; rows of similarities with their correct columns.
            features=[
                datasets.Features({"predictions": vectors, "references": items})
                for vectors, items in [*kinds, (row, ids), (wide_row, ids)]
            ],
            reference_urls=["https://arxiv.org/abs/1707.05612", "https://arxiv.org/abs/2103.00020"],
        )

    def compute(self, *, predictions=None, references=None, image_embeddings=None, text_embeddings=None, **kwargs):
        """Scores what is passed, or what was added before. Nothing that is passed here goes through files."""
        self._last_signature = None
        given = [predictions, references, image_embeddings, text_embeddings]
        if all(value is None for value in given):
            return super().compute(**kwargs)
        if self.num_process > 1:
            raise ValueError(
                f"num_process is {self.num_process}, expected 1 for data passed to compute: those of the "
                "other processes would be lost. Use add_batch"
            )
        if self.writer is not None:
            raise ValueError("there are batches already, expected compute() of these, or reset() before other data")
        return self._compute(check_items(predictions, image_embeddings, text_embeddings), references, **kwargs)

    def add_batch(
        self,
        *,
        predictions=None,
        references=None,
        image_embeddings=None,
        text_embeddings=None,
        image_ids=None,
        text_ids=None,
    ):
        """Stores rows of similarities with their correct columns, or paired embeddings with the ids of both sides."""
        paired = [image_embeddings, text_embeddings, image_ids, text_ids]
        if all(value is None for value in paired):
            self._store(similarity_rows(predictions, references))
        elif any(value is None for value in paired) or predictions is not None or references is not None:
            raise ValueError(
                "expected image_embeddings, text_embeddings, image_ids and text_ids, all four of them, "
                "or predictions and references"
            )
        else:
            self._store(paired_rows(*paired))

    def add(
        self,
        *,
        prediction=None,
        reference=None,
        predictions=None,
        references=None,
        image_embeddings=None,
        text_embeddings=None,
        image_ids=None,
        text_ids=None,
    ):
        """Stores one row of similarities with its correct columns, or one pair of embeddings with the ids of both."""
        paired = {
            "image_embeddings": image_embeddings,
            "text_embeddings": text_embeddings,
            "image_ids": image_ids,
            "text_ids": text_ids,
        }
        given = {name: [value] for name, value in paired.items() if value is not None}
        row = (prediction, reference, predictions, references)
        if not given:
            super().add(prediction=prediction, reference=reference, predictions=predictions, references=references)
        elif any(value is not None for value in row):
            raise ValueError(f"{next(iter(given))} stands beside a row of similarities, expected one of both")
        else:
            self.add_batch(**given)

    def _store(self, table):
        kind = tuple(table.schema.types)
        if self.writer is None:
            schemas = {tuple(features.arrow_schema.types): features for features in self.features}
            self.selected_feature_format = schemas[kind]
            # Read as Arrow arrays: lists would be Python objects.
            self.info.format = "arrow"
            self._init_writer()
        first = tuple(self.selected_feature_format.arrow_schema.types)
        if kind != first:
            found, expected = (" and ".join(map(str, types)) for types in (kind, first))
            raise ValueError(f"a batch holds {found}, expected {expected} as in the first batch")
        try:
            self.writer.write_table(table)
        except BaseException:
            self.reset()
            raise

    def _bind(self, references):
        return pair_ids(references)

    def _score_rows(self, predictions, references, **options):
        """Scores a Trainer's rows, pairs of embeddings with the ids of both."""
        self._last_signature = None
        if options.get("exclude_self") and isinstance(references[0], NewText):
            raise ValueError(
                "exclude_self is True and a Trainer's rows have the image's id alone, expected the ids "
                "of both sides: an item is left out of its gallery by its id"
            )
        table = paired_rows(*predictions, *zip(*references))
        return self._compute(table["predictions"], table["references"], **options)

    def _compute(
        self,
        predictions,
        references,
        backward_references=None,
        similarity="cosine",
        k=(1, 5, 10),
        ties="expected",
        directions="both",
        no_correct="skip",
        recall_fraction=False,
        query_name="i",
        gallery_name="t",
        folds=None,
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
        exclude_self=False,
    ):
        options = (similarity, k, ties, directions, no_correct, recall_fraction, query_name, gallery_name, folds)
        scorer = Scorer(*options, exclude_self)
        asked = Asked(per_sample, confidence_level, n_resamples, seed, clusters, by)
        ranked = self._ranked(predictions, references, backward_references, exclude_self)
        scorer = scorer.of_items(ranked.items)
        return self._scored(scorer, scorer.find(ranked), asked)

    def _ranked(self, predictions, references, backward_references, exclude_self):
        """What is ranked, of what was passed or of what was added."""
        if not hasattr(predictions, "chunks"):
            pairs = check_pairs(references, backward_references, *predictions.shape, exclude_self)
            return Ranked(predictions, pairs)
        if backward_references is not None:
            raise ValueError("backward_references are passed after add_batch, expected None: batches have pairs")
        return read(predictions, references, exclude_self)
