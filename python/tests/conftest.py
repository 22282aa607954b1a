"""Rules learned from the crawl sample of the repository by the binary that UNDUST names."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from undust import RuleSet

SAMPLE = Path(os.environ.get("UNDUST_SAMPLE") or Path(__file__).parents[2] / "tests" / "data" / "kb-sample.jsonl.gz")


@pytest.fixture(scope="session")
def binary() -> str:
    return os.environ["UNDUST"]


@pytest.fixture(scope="session")
def sample() -> Path:
    return SAMPLE


@pytest.fixture(scope="session")
def learned(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undust") / "rules"
    subprocess.run([binary, "learn", SAMPLE, "--out", out, "-q"], check=True, stdout=subprocess.DEVNULL)
    return out


@pytest.fixture
def folder(learned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(learned, tmp_path / "rules"))


@pytest.fixture
def rules(learned: Path) -> RuleSet:
    return RuleSet.open(learned)


@pytest.fixture(scope="session")
def expected(binary: str, learned: Path) -> dict[str, str]:
    with gzip.open(SAMPLE, "rt") as lines:
        urls = list(dict.fromkeys(json.loads(line)["url"] for line in lines))
    command: list[str | Path] = [binary, "normalize", "-q", "--rules", learned]
    done = subprocess.run(command, input="\n".join(urls) + "\n", capture_output=True, text=True, check=True)
    return dict(zip(urls, done.stdout.splitlines(), strict=True))
