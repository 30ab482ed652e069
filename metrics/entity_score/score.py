"""FAVDBench's command line: `python score.py --pred_path P --refe_path R --model_path t5-base`."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.argv[1:] = ["score", "entity_score", *sys.argv[1:]]
    runpy.run_module("metrics", run_name="__main__")
