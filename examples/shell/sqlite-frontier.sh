#!/usr/bin/env bash
# A frontier in SQLite, keyed by canonical URL: links go in, each page is queued once.
#   sqlite-frontier.sh RULES FRONTIER.db < links.txt
# UNDUST: the program. Needs sqlite3.
set -euo pipefail
rules=${1:?name the folder of the rules} frontier=${2:?name the database}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${UNDUST:-undust}" normalize --rules "$rules" --output tsv --quiet | sed '/^[[:space:]]*$/d' >"$work/links.tsv"
# Links cross into SQL as data of an import, never as text of a statement.
sqlite3 -batch "$frontier" <<SQL
CREATE TABLE IF NOT EXISTS frontier (canonical TEXT PRIMARY KEY, found TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'new') WITHOUT ROWID;
CREATE TEMP TABLE links (found TEXT, canonical TEXT);
.mode ascii
.separator "\t" "\n"
.import '$work/links.tsv' links
INSERT OR IGNORE INTO frontier (canonical, found) SELECT canonical, found FROM links WHERE canonical <> '';
SELECT count(*) || ' pages, ' || sum(state = 'new') || ' to fetch' FROM frontier;
SQL
