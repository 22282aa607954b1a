"""A function for DataFrame.mapInPandas of Spark, and for anything that maps batches of rows in other processes.

The rules are pickled with the function, as their path and digest: each worker opens them once, and raises RulesError
where the files have changed since. The path must be one that all workers see.

    rules = RuleSet.open("/shared/rules")
    frame.mapInPandas(Canonical(rules, "url"), schema=frame.schema.add("canonical", "string"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from undust import RuleSet


class Canonical:
    """Adds a column `canonical` to batches of rows: pandas DataFrames, or dicts of lists."""

    def __init__(self, rules: RuleSet, column: str) -> None:
        self.rules = rules
        self.column = column

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            batch["canonical"] = self.rules.canonicalize_many(batch[self.column])
            yield batch
