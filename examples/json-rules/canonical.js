// node canonical.js RULES.json < urls > canonical: canonical URLs of URLs, one a line.
"use strict";
const fs = require("node:fs");
const { load } = require("./apply.js");

const canonical = load(fs.readFileSync(process.argv[2], "utf8"));
const lines = fs.readFileSync(0, "utf8").split("\n");
if (lines.at(-1) === "") lines.pop();
process.stdout.write(lines.map((url) => canonical(url.replace(/\r$/, "")) + "\n").join(""));
