"""The package on rules that the binary of the same build learned from the crawl sample (see conftest.py)."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import undust
from undust import RulesError, RuleSet, SeenUrls


def test_one_url_and_many_are_what_the_binary_says(rules: RuleSet, expected: dict[str, str]) -> None:
    assert len(expected) > 4000
    assert sum(a != b for a, b in expected.items()) > 1000
    assert {url: rules.canonicalize(url) for url in expected} == expected
    for threads in (1, 2, 3, 7):
        assert rules.canonicalize_many(list(expected), threads=threads) == list(expected.values())
    assert rules.canonicalize_many([]) == []
    assert rules.canonicalize_many(["x"], threads=9) == ["x"]


def test_what_is_no_url_comes_back(rules: RuleSet) -> None:
    for text in ("", "mailto:a@b", "ftp://a/", "http://", "\0", "caf\u00e9", "//kb.example.com/"):
        assert rules.canonicalize(text) == text
        assert rules.canonicalize_many([text]) == [text]
        assert rules.explain(text) == rules.explain(text) and rules.explain(text).invalid
    with pytest.raises(UnicodeEncodeError):
        rules.canonicalize("http://a/\ud800")
    with pytest.raises(TypeError):
        rules.canonicalize(b"http://a/")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        rules.canonicalize_many([], threads=0)


def test_many_takes_any_iterable(rules: RuleSet, expected: dict[str, str]) -> None:
    class Name(str):
        pass

    wanted = list(expected.values())
    for urls in (tuple(expected), expected, expected.keys(), iter(expected), (url for url in expected)):
        assert rules.canonicalize_many(urls, threads=2) == wanted
    assert set(rules.canonicalize_many(set(expected))) == set(wanted)
    assert rules.canonicalize_many(map(Name, expected)) == wanted
    assert rules.canonicalize_many(iter(())) == []
    # The iterable may use the rules.
    assert rules.canonicalize_many(rules.canonicalize(url) for url in expected) == wanted


def test_many_names_the_bad_item(rules: RuleSet) -> None:
    url = "http://kb.example.com/start"
    for bad, kind in ((None, "NoneType"), (7, "int"), (b"http://a/", "bytes"), (float("nan"), "float")):
        with pytest.raises(TypeError, match=f"item 2 is of type {kind}, not str"):
            rules.canonicalize_many([url, url, bad, url])  # type: ignore[list-item]
    with pytest.raises(UnicodeEncodeError, match=r"surrogates not allowed \(item 1 of urls\)"):
        rules.canonicalize_many(iter([url, "http://a/\ud800"]))
    for single, kind in ((url, "str"), (url.encode(), "bytes"), (bytearray(b"a"), "bytearray")):
        with pytest.raises(TypeError, match=f"a single {kind}, not an iterable of str"):
            rules.canonicalize_many(single)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not iterable"):
        rules.canonicalize_many(5)  # type: ignore[arg-type]

    def broken() -> Iterator[str]:
        yield url
        raise KeyError("a fault of the caller")

    with pytest.raises(KeyError, match="a fault of the caller"):
        rules.canonicalize_many(broken())
    untouched = iter([url])
    with pytest.raises(ValueError, match="threads"):
        rules.canonicalize_many(untouched, threads=0)
    assert next(untouched) == url


def test_explain_names_site_and_rules(rules: RuleSet, expected: dict[str, str]) -> None:
    url = next(url for url, canonical in expected.items() if "purge=1" in url and url != canonical)
    told = rules.explain(url)
    assert (told.url, told.site, told.invalid) == (expected[url], "kb", False)
    assert told.rules and all(len(rule) == 16 for rule in told.rules)
    assert told == rules.explain(url) and told.url in repr(told)
    assert rules.sites == ["kb"] and "1 sites" in repr(rules)


def test_rules_are_reloaded_and_disabled_ones_do_not_act(folder: Path, expected: dict[str, str]) -> None:
    rules = RuleSet.open(folder)
    url = next(url for url, canonical in expected.items() if url != canonical)
    lines = [{"site": "kb", "rule": "*", "reason": "a test"}]
    (folder / "overrides.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert rules.canonicalize(url) == expected[url], "not before it is asked"
    rules.reload()
    assert rules.explain(url).rules == []
    (folder / "overrides.jsonl").write_text("broken\n")
    with pytest.raises(RulesError, match="overrides.jsonl: line 1"):
        rules.reload()
    assert rules.explain(url).rules == [], "a failed reload leaves the rules as they were"
    (folder / "overrides.jsonl").unlink()
    rules.reload()
    assert rules.canonicalize(url) == expected[url]


def test_faulty_rules_are_refused_with_a_way_out(folder: Path, tmp_path: Path) -> None:
    text = (folder / "rules.jsonl").read_bytes()
    (folder / "rules.jsonl").write_bytes(text + b"\n")
    with pytest.raises(RulesError, match="undust rules seal"):
        RuleSet.open(folder)
    (folder / "rules.jsonl").write_bytes(text)
    (folder / "_SUCCESS").unlink()
    with pytest.raises(RulesError, match="_SUCCESS"):
        RuleSet.open(folder)
    assert RuleSet.open(folder, allow_partial=True).sites == ["kb"]
    with pytest.raises(RulesError, match="nowhere"):
        RuleSet.open(tmp_path / "nowhere")
    with pytest.raises(RulesError) as refused:
        RuleSet.open(tmp_path / "a\x1b[2J\u202e\nundust: done")
    assert r"a\u{1b}[2J\u{202e}\u{a}undust: done" in str(refused.value), "a name drives no terminal"


def test_a_batch_lets_other_threads_run(rules: RuleSet, expected: dict[str, str]) -> None:
    urls = list(expected) * 100
    ticks, done = 0, threading.Event()

    def work() -> None:
        rules.canonicalize_many(urls)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 20


def test_reload_under_load(rules: RuleSet, expected: dict[str, str]) -> None:
    urls, wanted, done = list(expected)[:500], list(expected.values())[:500], threading.Event()
    wrong: list[list[str]] = []

    def work() -> None:
        while not done.is_set():
            found = rules.canonicalize_many(urls)
            if found != wanted:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        rules.reload()
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_seen_urls(folder: Path, binary: str, expected: dict[str, str], sample: Path) -> None:
    import subprocess

    assert SeenUrls.open(folder) is None
    subprocess.run([binary, "rules", "seen", "--rules", folder, sample, "-q"], check=True)
    seen = SeenUrls.open(folder)
    assert seen is not None and len(seen) > 150
    canonical = set(expected.values())
    assert sum(url in seen for url in canonical) > 150
    assert sum(f"http://kb.example.com/made-up/{i}" in seen for i in range(1000)) < 30


def test_hash_is_stable() -> None:
    assert undust.url_hash("http://a/") == undust.url_hash("http://a/") != undust.url_hash("http://b/")
