#!/usr/bin/env bash
# From a folder of WARC files to a list of URLs to fetch next time: one URL a page.
#   warc-folder.sh WARCS OUT
# UNDUST: the program.
set -euo pipefail
warcs=${1:?name the folder of WARC files} out=${2:?name the folder for the results}
undust=${UNDUST:-undust}
mkdir -p "$out"
# Pages are compared once, by their main text; both the records with their labels and the rules are kept.
"$undust" clusters "$warcs" --cluster-by simhash --out "$out/records.jsonl.gz" --quiet
"$undust" learn "$out/records.jsonl.gz" --out "$out/rules" --quiet >"$out/rules.txt"
# The URL of each record, its escapes undone; `jq -r .url` does the same where jq is there.
gzip -dc "$out/records.jsonl.gz" | sed -nE 's/^\{("cluster":"[^"]*",)?"url":"(([^"\\]|\\.)*)".*/\2/p' | sed -E 's/\\(["\\/])/\1/g' \
    | "$undust" normalize --rules "$out/rules" --quiet | LC_ALL=C sort -u >"$out/urls.txt"
echo "$out/urls.txt: $(wc -l <"$out/urls.txt") URLs"
