"""Writes the canonical URL of each URL on standard input.

python canonicalize.py RULES < urls.txt > canonical.txt
"""

from __future__ import annotations

import sys
from itertools import islice

from undust import RulesError, RuleSet


def main(path: str) -> None:
    try:
        rules = RuleSet.open(path)
    except RulesError as error:
        # Says what is wrong with the rules, and what to do.
        sys.exit(str(error))
    urls = (line.rstrip("\n") for line in sys.stdin)
    while block := list(islice(urls, 65_536)):
        print("\n".join(rules.canonicalize_many(block, threads=2)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
