// node cases.js APPLIER FOLDER: the reference applier on the cases N.json and N.tsv (URL, tab, canonical URL) of a folder.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { load } = require(path.resolve(process.argv[2]));

const folder = process.argv[3];
const found = { sites: 0, urls: 0, changed: 0, differ: 0, examples: [] };
for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const canonical = load(fs.readFileSync(path.join(folder, name), "utf8"));
  found.sites += 1;
  for (const line of fs.readFileSync(path.join(folder, name.replace(".json", ".tsv")), "utf8").split("\n").slice(0, -1)) {
    const [url, expected] = line.split("\t");
    const made = canonical(url);
    found.urls += 1;
    found.changed += made !== url ? 1 : 0;
    // A URL with a malformed escape may be left alone: whether it is in normal form, a pattern cannot tell.
    if (made === expected || (made === url && /%(?![0-9A-F]{2})/.test(url))) continue;
    found.differ += 1;
    if (found.examples.length < 8) found.examples.push(`${name}: ${url} is ${made}, not ${expected}`);
  }
}
console.log(JSON.stringify(found));
