#!/usr/bin/env python3
"""Cuts a deterministic sample of whole clusters out of a crawl file: how tests/data/kb-sample.jsonl.gz was made.
usage: sample.py IN.jsonl.gz OUT.jsonl.gz SHARE

A cluster is in when the SHA-1 of its label falls into the first SHARE of the hash space; a record without a label is
drawn by its URL. Lines stay in file order. Same input, same bytes."""
import gzip, hashlib, json, sys

FIELDS = ('site', 'url', 'cluster', 'canonical', 'status')
LEFT_OUT = ('fuck',)  # the pages were filled from a dictionary; a README example should be fit to show


def drawn(record, share):
    label = record.get('cluster')
    key = 'url ' + record['url'] if label is None else 'cluster %s' % label
    return int.from_bytes(hashlib.sha1(key.encode()).digest()[:4], 'big') < share * 2**32


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        sys.exit(0 if {'-h', '--help'} & set(sys.argv) else 2)
    source, target, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with open(target, 'wb') as raw, gzip.GzipFile('', 'wb', 9, raw, mtime=0) as out:
        for line in gzip.open(source, 'rt', encoding='utf-8'):
            record = json.loads(line)
            if drawn(record, share) and not any(word in record['url'] for word in LEFT_OUT):
                kept = {k: record[k] for k in FIELDS if k in record}
                out.write((json.dumps(kept, separators=(',', ':'), ensure_ascii=False) + '\n').encode())


if __name__ == '__main__':
    main()
