"""Where the committed reference results lie."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOT = PROJECT / "results" / "reference"
