"""Rules made by hand whose names and values mean something to a format."""

import json

# Parts of names and values that mean something to a format, a pattern or a replacement, or that
# nobody sees.
HOSTILE = ["\u2028", "\u0085", "\u009b", "\u202e", "\ufeff", "\U000e0041", "\U0001f600", "\u00e9", '"', "'", "\\", "\\n", "\\E",
           "-->", "a--b", "]]>", "<x>", "{", "}", ";", "{};", "*/", "-", "?x", ":", "!", "@", "`", "|", "<<", "~", "yes", "null",
           "1e3", "0x1f", "(", ")", "[", "^", ".", "$1", "\\1", "\\g<1>", "x" * 1000]
# What no URL holds: the files must be whole all the same.
NEVER = ["\x1b[2J", "\x07", "\0", "\n", "\r", "\t", "\n# x\n", "\x7f", "\ufffe", "\uffff", "#", "&", "x" * 5000]


def hostile(folder):
    """Rules by hand whose keys, values and site hold hostile text, in a folder; gives URLs that they change."""
    folder.mkdir(exist_ok=True)
    evidence = {"good": 9, "bad": 0, "prior": 0, "support_pairs": 9, "false_positive_pairs": 0, "upper_bound_ppm": 9,
                "clusters": 9}
    lines, urls = [{"format": {"major": 1, "minor": 0}, "program": "undust", "version": "0", "params": {},
                    "input": {"records": 0, "urls": 0, "sites": 0}}], []
    for at, text in enumerate(HOSTILE + NEVER):
        host = f"h{at}.example"
        operations = [(f"query {text}=", {"ignore": "left-out"}), (f"query w{text}=", {"ignore": {"where-present": text}}),
                      ("query c=", {"classes": [[text, "plain"]]})]
        rules = [{"id": f"{100 * at + i:016x}", "kind": "ignore", "scope": [], "operations": [operation],
                  "evidence": {**evidence, "examples": [[text, text]]}} for i, operation in enumerate(operations)]
        lines.append({"site": f"h{at:03} {text}", "hosts": [host], "rules": rules})
        if text in HOSTILE:
            urls += [f"http://{host}/p?{query}" for query in
                     [f"{text}=1", f"a=1&{text}=1&b=2", f"w{text}=1", f"z=1&w{text}=1&y=2", f"c={text}", f"b{text}=1"]]
    (folder / "rules.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "_SUCCESS").write_text("")
    return urls
