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
"""Corpus BLEU-1..4 over captions or token ids, with the numbers of COCO's evaluation and without Java."""

import datasets
import evaluate

from ._shared import Asked, Checked, features_of
from .scoring import Scorer

_CITATION = """\
@inproceedings{papineni2002bleu,
  title={Bleu: a Method for Automatic Evaluation of Machine Translation},
  author={Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing},
  booktitle={ACL},
  year={2002}
}
"""

_DESCRIPTION = """\
BLEU-4 is the geometric mean of the clipped precisions of 1- to 4-grams over a corpus, times a penalty for candidates
shorter than their references. Tokenization and reference length are those of COCO's caption evaluation.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one caption per image (str), or one list of token ids.
    references: the reference captions of each image (list of str; one str is one reference), or lists of token ids.
    max_order: highest order of n-grams, 4.
    smoothing: what becomes of an order without a match: True (default, 1 / (total + 1), at most the least precision
        of the orders below it), False (0), "epsilon", "add-k", "exp" (methods 1, 2, 3 of Chen and Cherry) or "coco"
        (bleu_scorer.py, to the digit).
    effective_order: leaves out orders without any n-gram, so that a short exact match is 1.0; False.
    tokenizer: "ptb" (default, COCO's), "13a", "whitespace", "char", "none" (token ids) or a callable str -> list[str].
    per_sample: adds scores and statistics of every sample in input order; False.
    confidence_level: such as 0.95, adds percentile bootstrap intervals of all values; None adds none.
    n_resamples, seed: of the bootstrap; 1000, 0.
    clusters: one label (str or int) per sample; whole clusters are resampled. None.
    by: one label (str or int) per sample; adds the scores of each label. None.
Returns:
    bleu4: 0..1 (when max_order >= 4), and bleu1 ... bleu{max_order}.
    precisions: list of the precision of each order, as smoothed.
    brevity_penalty, length_ratio, translation_length, reference_length: as in evaluate's bleu, for the reference
        closest in length.
    confidence_interval (on request): key -> [low, high].
    by (on request): label -> the same keys, and count.
    per_sample (on request): dict of lists.
Examples:
    >>> import evaluate
    >>> bleu4 = evaluate.load("metrics/bleu4")
    >>> results = bleu4.compute(
    ...     predictions=["a cat sits on a mat", "two dogs run in the park"],
    ...     references=[["a cat is sitting on a mat", "the cat sat on the mat"], ["two dogs run in a park"]],
    ... )
    >>> round(results["bleu4"], 4)
    0.4204
    >>> bleu4.signature()
    'bleu4|smooth:capped|eff:no|tok:ptb|len:closest|refs:1-2|v:0.1.0'
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Bleu4(Checked, evaluate.Metric):
    """The evaluate module; what BLEU is stands in scoring.py."""

    _scorer = Scorer

    def _info(self):
        text, ids = datasets.Value("string"), datasets.Sequence(datasets.Value("int64"))
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=features_of(text, ids),
            codebase_urls=["https://github.com/tylin/coco-caption"],
            reference_urls=["https://aclanthology.org/P02-1040", "https://aclanthology.org/W14-3346"],
        )

    def _compute(
        self,
        predictions,
        references,
        max_order=4,
        smoothing=True,
        effective_order=False,
        tokenizer="ptb",
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
    ):
        scorer = Scorer(max_order, smoothing, effective_order, tokenizer).of(not isinstance(predictions[0], str))
        asked = Asked(per_sample, confidence_level, n_resamples, seed, clusters, by)
        return self._scored(scorer, scorer.find(predictions, references), asked)
