#!/usr/bin/env bash
# From the index of a Common Crawl month to rules: captures with equal digests are one page.
#   common-crawl-month.sh INDEX OUT      INDEX: a folder of CDXJ files (.cdxj, .cdxj.gz; as cdx-00000.gz: name them so)
# UNDUST: the program, MEMORY: what it may hold in memory.
set -euo pipefail
index=${1:?name the folder of CDXJ files} out=${2:?name the folder for the rules}
"${UNDUST:-undust}" learn "$index" --format cdxj --cluster-by digest --out "$out" \
    --memory "${MEMORY:-1GiB}" --metrics "$out.prom" --log-format json 2>"$out.log" >"$out.txt" || {
    code=$?
    tail -n 3 "$out.log" >&2
    exit $code
}
echo "$out: $(sed 1d "$out/rules.jsonl" | grep -c "\"site\"") sites; the log is $out.log, the page for people $out/report.html"
