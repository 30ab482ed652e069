"""Small stand-ins for what entity_score downloads: NLTK's tagger and tokenizer, a T5 encoder and its vocabulary."""

import json
import random
import shutil
import zipfile
from pathlib import Path

TAGGED = """\
a/DT man/NN plays/VBZ a/DT guitar/NN ./.
a/DT man/NN with/IN a/DT red/JJ guitar/NN stands/VBZ on/IN a/DT stage/NN ./.
the/DT woman/NN speaks/VBZ and/CC a/DT dog/NN runs/VBZ in/IN the/DT park/NN ./.
two/CD dogs/NNS run/VBP on/IN green/JJ grass/NN ./.
he/PRP runs/VBZ quickly/RB ./.
it/PRP is/VBZ raining/VBG ./.
she/PRP is/VBZ talking/VBG ./.
a/DT train/NN passes/VBZ a/DT station/NN while/IN people/NNS talk/VBP ./.
the/DT children/NNS play/VBP with/IN a/DT kite/NN near/IN a/DT river/NN ,/, laughing/VBG ./.
water/NN runs/VBZ into/IN a/DT metal/NN sink/NN ./.
London/NNP has/VBZ old/JJ bridges/NNS and/CC a/DT wide/JJ river/NN ./.
the/DT driver/NN starts/VBZ the/DT engine/NN of/IN a/DT blue/JJ car/NN ./.
""".splitlines()

_WORDS = [" ".join(word.split("/")[0] for word in line.split()) for line in TAGGED]
TEXTS = [text.replace(" .", ".").replace(" ,", ",") for text in _WORDS]


def write_nltk_data(folder: Path, real: Path) -> Path:
    """Unpacks the real data, or trains a tagger on twelve sentences and leaves Punkt without abbreviations."""
    if real.is_dir():
        for kind, name in (("taggers", "averaged_perceptron_tagger_eng"), ("tokenizers", "punkt_tab")):
            with zipfile.ZipFile(real / kind / f"{name}.zip") as archive:
                archive.extractall(folder / kind)
        return folder
    punkt = folder / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (punkt / name).touch()
    target = folder / "taggers" / "averaged_perceptron_tagger_eng"
    target.mkdir(parents=True)
    for part, content in _trained_tagger().items():
        (target / f"averaged_perceptron_tagger_eng.{part}.json").write_text(json.dumps(content))
    return folder


def _trained_tagger() -> dict:
    from nltk.tag.perceptron import PerceptronTagger

    tagger, state = PerceptronTagger(load=False), random.getstate()
    random.seed(0)
    tagger.train([[tuple(word.split("/")) for word in line.split()] for line in TAGGED] * 4)
    random.setstate(state)
    return {"weights": tagger.model.weights, "tagdict": tagger.tagdict, "classes": sorted(tagger.classes)}


def write_t5(folder: Path, vocabulary: Path, seed: int = 0, **shape) -> Path:
    """Writes a random T5 encoder of a tiny shape (or the one given) and its tokenizer."""
    import torch
    from transformers import AutoTokenizer, T5Config, T5EncoderModel

    if vocabulary.is_dir():
        for path in vocabulary.iterdir():
            shutil.copyfile(path, folder / path.name)
    else:
        _write_tokenizer(folder)
    size = -(-len(AutoTokenizer.from_pretrained(folder)) // 128) * 128
    shape = shape or {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        T5EncoderModel(T5Config(vocab_size=size, **shape)).save_pretrained(folder)
    return folder


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    letters = [" ".join("abcdefghijklmnopqrstuvwxyz")]
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator((TEXTS + letters) * 4, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )
    fast.save_pretrained(folder)
