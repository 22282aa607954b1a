"""Rule sets and their answers in other processes: pickles, copies, process pools."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from undust import Canonical, RulesError, RuleSet

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def disable_all(folder: Path) -> None:
    line = {"site": "kb", "rule": "*", "reason": "a test"}
    (folder / "overrides.jsonl").write_text(json.dumps(line) + "\n")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_rule_set_is_pickled_by_path_and_digest(rules: RuleSet, expected: dict[str, str], protocol: int) -> None:
    pickled = pickle.dumps(rules, protocol)
    assert len(pickled) < 1000
    loaded = pickle.loads(pickled)
    assert loaded.digest == rules.digest and len(rules.digest) == 32
    assert loaded.canonicalize_many(expected) == list(expected.values())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_explain_gives_is_pickled_by_value(rules: RuleSet, expected: dict[str, str], protocol: int) -> None:
    for url in [*list(expected)[:50], "mailto:a@b"]:
        told = rules.explain(url)
        assert pickle.loads(pickle.dumps(told, protocol)) == told == copy.deepcopy(told) == copy.copy(told)
        assert eval(repr(told)) == told
    assert Canonical("http://a/") == Canonical(url="http://a/", site=None, rules=[], invalid=False)


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_processes_elsewhere(
    learned: Path, expected: dict[str, str], start: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(learned.parent)
    rules = RuleSet.open(learned.name)
    # Where the relative path names nothing.
    monkeypatch.chdir(tmp_path)
    urls = list(expected)[:400]
    with ProcessPoolExecutor(2, multiprocessing.get_context(start), initializer=os.chdir, initargs=("/",)) as pool:
        assert list(pool.map(rules.canonicalize, urls, chunksize=100)) == list(expected.values())[:400]
        assert list(pool.map(rules.explain, urls[:20], chunksize=10)) == [rules.explain(url) for url in urls[:20]]


def test_other_rules_than_those_pickled_are_refused(folder: Path) -> None:
    rules = RuleSet.open(folder)
    pickled, digest = pickle.dumps(rules), rules.digest
    # Disabled rules make other canonical URLs of the same rule file.
    disable_all(folder)
    now = RuleSet.open(folder).digest
    assert now != digest
    with pytest.raises(RulesError, match=f"{folder}.*{digest}.*{now}.*pickle the rule set again"):
        pickle.loads(pickled)
    assert pickle.loads(pickle.dumps(RuleSet.open(folder))).digest == now
    rules.reload()
    assert rules.digest == now, "the digest is that of the current rules"
    (folder / "overrides.jsonl").unlink()
    assert pickle.loads(pickled).digest == digest
    (folder / "rules.jsonl").write_bytes((folder / "rules.jsonl").read_bytes()[:-1])
    with pytest.raises(RulesError):
        pickle.loads(pickled)
    shutil.rmtree(folder)
    with pytest.raises(RulesError, match=f"{folder}: no such file or folder"):
        pickle.loads(pickled)


def test_options_of_opening_travel(folder: Path) -> None:
    (folder / "_SUCCESS").unlink()
    rules = RuleSet.open(folder, allow_partial=True)
    assert pickle.loads(pickle.dumps(rules)).sites == ["kb"]


def test_compiled_rules_are_pickled(binary: str, folder: Path, expected: dict[str, str]) -> None:
    import subprocess

    subprocess.run([binary, "rules", "compile", "--rules", folder, "--out", folder / "rules.bin"], check=True)
    rules = RuleSet.open(folder / "rules.bin")
    assert rules.digest != RuleSet.open(folder).digest
    assert pickle.loads(pickle.dumps(rules)).canonicalize_many(expected) == list(expected.values())


def test_copies_are_independent_and_read_nothing(folder: Path, expected: dict[str, str]) -> None:
    rules = RuleSet.open(folder)
    url = next(url for url, canonical in expected.items() if url != canonical)
    hidden = folder.rename(folder.with_name("hidden"))
    copies = [copy.copy(rules), copy.deepcopy({"rules": rules})["rules"]]
    hidden.rename(folder)
    disable_all(folder)
    copies[0].reload()
    assert copies[0].canonicalize(url) != expected[url] == copies[1].canonicalize(url) == rules.canonicalize(url)
    assert copies[0].digest != copies[1].digest == rules.digest


def test_pickles_while_rules_are_replaced(folder: Path, tmp_path: Path) -> None:
    rules, done = RuleSet.open(folder), threading.Event()
    digests, wrong = {rules.digest}, []

    def work() -> None:
        while not done.is_set():
            if rules.__reduce__()[1][2] not in digests:
                wrong.append(1)

    other = Path(shutil.copytree(folder, tmp_path / "other"))
    disable_all(other)
    digests.add(RuleSet.open(other).digest)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(20):
        if n % 2:
            (folder / "overrides.jsonl").unlink()
        else:
            shutil.copy(other / "overrides.jsonl", folder / "overrides.jsonl.new")
            os.replace(folder / "overrides.jsonl.new", folder / "overrides.jsonl")
        rules.reload()
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RulesError, match="neither a file nor a folder"):
        RuleSet.open(tmp_path / "pipe")
