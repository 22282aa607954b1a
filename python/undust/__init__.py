"""Canonical URLs by rules that undust learned and proved.

>>> from undust import RuleSet
>>> rules = RuleSet.open("rules")
>>> rules.canonicalize("http://www.forum.example/topic/7?sid=1")
'http://www.forum.example/topic/7'
"""

from ._undust import Canonical, RulesError, RuleSet, SeenUrls, __version__, url_hash

__all__ = ["Canonical", "RuleSet", "RulesError", "SeenUrls", "__version__", "url_hash"]
