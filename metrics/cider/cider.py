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
"""CIDEr-D, CIDEr and CIDEr-R for image captions, with the numbers of COCO's evaluation and without Java."""

import datasets
import evaluate

from ._shared import Asked, Checked, check_references, features_of
from .chat_messages import completion_text
from .document_frequencies import DocumentFrequencies
from .foreign_tables import read_pickle
from .packed_vectors import cosines
from .repetition import repetition_penalty
from .reward import CiderReward
from .scoring import Scorer
from .table_checks import check_table

# The loader copies only the siblings that this script imports, also those that only the others use.
_SIBLINGS = (check_table, completion_text, cosines, read_pickle, repetition_penalty)

_CITATION = """\
@inproceedings{vedantam2015cider,
  title={CIDEr: Consensus-based Image Description Evaluation},
  author={Vedantam, Ramakrishna and Zitnick, C. Lawrence and Parikh, Devi},
  booktitle={CVPR},
  year={2015}
}
"""

_DESCRIPTION = """\
CIDEr measures how well a caption agrees with the consensus of several reference captions: the TF-IDF weighted cosine
of their n-grams (n = 1..4), mean over references, images and n. The default is CIDEr-D, which is what COCO's
evaluation and papers report as CIDEr, with COCO's tokenization in pure Python.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one caption per image (str), or one list of token ids.
    references: the reference captions of each image (list of str; one str is one reference), or lists of token ids.
    variant: "cider_d" (default), "cider" (the paper's formula) or "cider_r".
    n: highest order of n-grams, 4.
    sigma: width of the length penalty of cider_d, 6.0 tokens.
    scale: 10.0, so that scores are 0..10.
    tokenizer: "ptb" (default, COCO's), "13a", "whitespace", "char", "none" (token ids) or a callable str -> list[str].
    stem: maps words to Porter stems (the paper's form of "cider"); False.
    end_token: appended to every caption, a str for texts and an int for ids; None.
    document_frequencies: "corpus" (of the references passed), a saved table's path, or a table or its to_dict().
    per_sample: adds the scores of every image in input order; False.
    confidence_level: such as 0.95, adds percentile bootstrap intervals of all values; None adds none.
    n_resamples, seed: of the bootstrap; 1000, 0.
    clusters: one label (str or int) per image; whole clusters are resampled. None.
    by: one label (str or int) per image; adds the scores of each label. None.
Returns:
    cider: the mean over images, 0..scale.
    cider_1 ... cider_n: the means of each order, on the same scale; cider is their mean.
    confidence_interval (on request): key -> [low, high].
    by (on request): label -> the same keys, and count.
    per_sample (on request): dict of lists with the same keys.
Examples:
    >>> import evaluate
    >>> cider = evaluate.load("metrics/cider")
    >>> results = cider.compute(
    ...     predictions=["a cat sits on a mat", "two dogs run in the park"],
    ...     references=[["a cat is sitting on a mat", "the cat sat on the mat"], ["two dogs play in a park"]],
    ... )
    >>> round(results["cider"], 4)
    2.3832
    >>> cider.signature()
    'cider_d|n:4|sigma:6|df:corpus|tok:ptb|stem:no|refs:1-2|v:0.1.0'
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Cider(Checked, evaluate.Metric):
    """The evaluate module; what CIDEr is stands in scoring.py."""

    _scorer = Scorer

    def _info(self):
        text, ids = datasets.Value("string"), datasets.Sequence(datasets.Value("int64"))
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=features_of(text, ids),
            codebase_urls=["https://github.com/tylin/coco-caption", "https://github.com/vrama91/cider"],
            reference_urls=["https://arxiv.org/abs/1411.5726", "https://aclanthology.org/2021.wnut-1.39"],
        )

    def _compute(
        self,
        predictions,
        references,
        variant="cider_d",
        n=4,
        sigma=6.0,
        scale=10.0,
        tokenizer="ptb",
        stem=False,
        end_token=None,
        document_frequencies="corpus",
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
    ):
        # The table is opened once: for the score and for the signature.
        scorer = Scorer(variant, n, sigma, scale, tokenizer, stem, end_token, document_frequencies).opened()
        scorer = scorer.of(not isinstance(predictions[0], str))
        asked = Asked(per_sample, confidence_level, n_resamples, seed, clusters, by)
        return self._scored(scorer, scorer.find(predictions, references), asked)

    def document_frequencies(self, references, **options):
        """Counts a reference corpus once, for scores of single images, batches and rewards.

        Args:
            references: The references of each image, as in `compute`.
            options: n, tokenizer, stem and end_token, as in `compute`, where the table must meet the same values.

        Returns:
            A table with `merge`, `save(path, final=False)` and `to_dict`; `compute(document_frequencies=...)` takes
            the table, its dict or its path.

        Raises:
            ValueError, TypeError: As `compute`, for references and these options; there are no others.
        """
        return Scorer.for_table(**options).frequencies(check_references(references))

    def import_document_frequencies(self, path, num_images=None, tokenizer="ptb", end_token=None):
        """Reads a table that other CIDEr-D code pickled, without running anything in the file.

        Args:
            path: {"document_frequency", "ref_len"} of self-critical training, or the bare dict of coco-val-df.p.
            num_images: N; needed by the bare dict, which does not hold it (coco-val-df was made of 40504 images).
            tokenizer: How its captions were tokenized; "none" reads its tokens as ids.
            end_token: The token that its captions end with, or None.

        Returns:
            A table as from `document_frequencies`.

        Raises:
            ValueError: The file is no such pickle, or N is missing, impossible or below a document frequency.
        """
        return DocumentFrequencies.from_pickle(path, num_images, tokenizer, end_token)

    def reward(self, document_frequencies, *options, references="references", cache_size=1 << 14, **named_options):
        """A reward for training: one float per completion, as TRL's GRPOTrainer calls it, or None without references.

        Args:
            document_frequencies: A table of the training references, from `document_frequencies`.
            options, named_options: variant, n, sigma, scale, tokenizer, stem and end_token, as in `compute`, and as
                the table was made.
            references: The dataset's column that holds the references.
            cache_size: Images whose references' vectors are kept.

        Returns:
            A `reward.CiderReward`, whose `self_critical` is the form of SCST.

        Raises:
            ValueError: The table was made with other settings or of one image, or an option is out of range.
        """
        how = {"references": references, "cache_size": cache_size}
        return CiderReward(document_frequencies, *options, **how, **named_options)
