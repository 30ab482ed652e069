# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt
DATA := examples/data

.PHONY: help demo demo-entity examples test stress lint bundles manual push bench test-oldest clean

help:
	@echo "make demo         score the small files in $(DATA) and print a table (installs numpy only)"
	@echo "make examples     run the experiments of the README (those on real data skip where ../shared/data is missing)"
	@echo "make demo-entity  the row of entity_score (installs torch and transformers, downloads t5-base and NLTK's data)"
	@echo "make test         install everything, lint, check the generated files, run all tests"
	@echo "make stress       the long forms of the tests that have one: kills, damage, threads, random trials"
	@echo "make bundles      write _shared.py and _page.py of each metric from what they share"
	@echo "make manual       write docs/command_line.md from the parser of the command line"
	@echo "make push NAMESPACE=user  push all five metrics to the Hub, each as a Space (ARGS=--dry-run only lists)"
	@echo "make bench        compare speed and memory with other implementations"
	@echo "make test-oldest  run the tests with the oldest versions that requirements.txt allows"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python .ci/constraints.txt
	$(PIP) numpy
	@touch $@

# torch stands alone first: some machines have its CPU build at hand, and the rest must not pull in another.
$(VENV)/.entity: $(VENV)/.demo
	$(PIP) torch
	$(PIP) transformers nltk
	@touch $@

$(VENV)/.test: $(VENV)/.demo requirements.txt pyproject.toml
	$(PIP) torch
	$(PIP) -r requirements.txt pytest pytest-xdist hypothesis ruff scipy sacrebleu matplotlib rouge-score \
		"setuptools>=64" accelerate "trl; python_version >= '3.11'" "ray[data]" gradio playwright torchmetrics polars
	@touch $@

$(VENV)/.examples: $(VENV)/.demo pyproject.toml
	$(PIP) torch
	$(PIP) evaluate datasets nltk scipy matplotlib rouge-score transformers accelerate "trl; python_version >= '3.11'"
	@touch $@

demo: $(VENV)/.demo
	@$(VENV)/bin/python -m metrics score cider bleu4 --predictions $(DATA)/caption_predictions.json \
		--references $(DATA)/caption_references.json
	@$(VENV)/bin/python -m metrics score vqa_accuracy --predictions $(DATA)/vqa_results.json \
		--references $(DATA)/vqa_annotations.json
	@$(VENV)/bin/python -m metrics score recall_at_k --image-embeddings $(DATA)/image_embeddings.npy \
		--text-embeddings $(DATA)/text_embeddings.npy --references $(DATA)/retrieval_references.json
	@printf '\nentity_score needs torch, transformers and a T5 model: make demo-entity fetches them and prints its row.\n'

examples: $(VENV)/.examples
	$(VENV)/bin/python -m examples.learning_curve --seeds 0 1 2 3 4 5 6 7 8 9
	$(VENV)/bin/python -m examples.train_captioner
	$(VENV)/bin/python -m examples.grpo_caption_reward
	$(VENV)/bin/python -m examples.consensus
	$(VENV)/bin/python -m examples.human_correlation
	$(VENV)/bin/python -m examples.human_ceiling
	$(VENV)/bin/python -m examples.tokenizer_effect

demo-entity: $(VENV)/.entity
	@$(VENV)/bin/python -m metrics score entity_score --predictions $(DATA)/caption_predictions.json \
		--references $(DATA)/caption_references.json --model-path t5-base

lint: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/python -m metrics.publish.bundles --check

test: lint
	$(VENV)/bin/python -m pytest -q -n 2 --dist loadgroup -rs

stress: $(VENV)/.test
	STRESS=1 $(VENV)/bin/python -m pytest -q -n 2 --dist loadgroup -rs -m stress --durations=20

bundles: $(VENV)/.demo
	$(VENV)/bin/python -m metrics.publish.bundles

manual: $(VENV)/.demo
	$(VENV)/bin/python -m metrics.cli.manual > docs/command_line.md

push: $(VENV)/.demo
	$(PIP) huggingface_hub
	@$(VENV)/bin/python -m metrics push bleu4 cider entity_score recall_at_k vqa_accuracy \
		--namespace "$(NAMESPACE)" $(ARGS)

# aac-metrics wants an older numpy than datasets does, so it gets a venv of its own.
bench: $(VENV)/.test
	$(PIP) pycocoevalcap bleuscore
	test -x .venv-aac/bin/python || $(PYTHON) -m venv .venv-aac
	-.venv-aac/bin/python -m pip install --quiet torch==2.13.0 pycocoevalcap aac-metrics
	$(VENV)/bin/python -m tests.benchmarks.bench_captions --aac-python .venv-aac/bin/python
	$(VENV)/bin/python -m tests.benchmarks.bench_reward
	-$(PIP) --no-deps lmms-eval loguru
	$(VENV)/bin/python -m tests.benchmarks.bench_vqa
	$(VENV)/bin/python -m tests.benchmarks.bench_scale

test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet -r .ci/oldest.txt
	.venv-oldest/bin/python -m pytest -q -n 2 --dist loadgroup -rs

clean:
	rm -rf $(VENV) .venv-oldest .venv-aac .pytest_cache .ruff_cache .hypothesis
