"""Mistakes to plant in exported files: each makes the file act where undust does not, and must be found."""

import json
import re


def without_sections(text):
    """Without the look-aheads that ask the first directory."""
    mark = "(?=https?://[^/?#]*/+"
    out, at = [], 0
    while (start := text.find(mark, at)) >= 0:
        out.append(text[at:start])
        depth, at = 0, start
        while True:
            if text[at] == "\\":
                at += 2
                continue
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    return "".join(out) + text[at:]


def without_normal(text):
    """Without the look-aheads of the normal form."""
    start = text.find("(?=[!")
    end = text.find("7[0-9AE]))", start) + len("7[0-9AE]))")
    return text.replace(text[start:end], "") if start >= 0 else text


def json_change(change):
    def of(text):
        file = json.loads(text)
        for site in file["sites"]:
            change(site)
        return json.dumps(file)

    return of


def more_origins(site):
    site["origins"] += [o + ":8443" for o in site["origins"] if o.count(":") == 1]


def no_sections(site):
    for rule in site["rules"]:
        rule["when"] = [test for test in rule["when"] if test["key"] != "section"]


PLANTS = {
    "nutch": {
        "ports are matched and dropped": lambda text: text.replace("(?=/)", "(?::[0-9]+)?(?=/)"),
        "user information is matched": lambda text: text.replace("://", "://(?:[^/?#]*@)?"),
        "any scheme": lambda text: re.sub(r"(?<![a-z.])https?(?!\?)://", "https?://", text),
        "any host below": lambda text: re.sub(r"(https?\??://)(?!\[)", r"\1(?:[a-z.]*\\.)?", text),
        "sections are not asked": without_sections,
        "URLs that are not in normal form": without_normal,
    },
    "heritrix": {"sections are not asked": without_sections},
    "nginx": {"URLs that are not in normal form": without_normal, "sections are not asked": without_sections},
    "pywb": {
        "any port": lambda text: text.replace(r"\)", r"(?::[0-9]+)?\)"),
        "any host below": lambda text: text.replace(r"\)", r"(?:,[a-z]+)?\)"),
    },
    "clearurls": {
        "URLs that are not in normal form": lambda text: re.sub(r'"exceptions": \[[^\n]*\n[^\n]*\n +\]', '"exceptions": []', text)
    },
    "yandex-clean-param": {
        "all names of a robots.txt": lambda text: re.sub("(Clean-param: .*)", r"\1&do&id&f&t&p&start", text),
    },
    "json-rules": {"ports that were not met": json_change(more_origins), "sections are not asked": json_change(no_sections)},
}
