"""The compiled applier equals the reference interpreter on every URL of the corpora with labels, by rules learned from them:
one URL at a time, in batches, with the rules in memory, from rules.jsonl and from a compiled file.

Prints a line a corpus: URLs, changed, looked up, differences. The comparison is a test of the crate,
src/rules/equality_tests/corpora.rs."""
import glob, gzip, os, shutil, subprocess
from parts.common import Skipped, scratch

TEST = 'rules::equality_tests::corpora::the_compiled_applier_equals_the_interpreter_on_recorded_urls'


def options(parser, _):
    parser.add_argument('--corpus', action='append', metavar='NAME', help='may be given several times (default: all with labels)')
    parser.add_argument('--test-profile', default='dev', metavar='NAME', help='cargo profile of the test (default: dev)')


def labelled(path):
    """Whether a record has a label; without any there is nothing to learn from."""
    with gzip.open(path, 'rt', encoding='utf-8') as lines:
        return any('"cluster"' in line for line in lines)


def main(args):
    folder = os.path.join(args.shared, 'corpora')
    paths = [os.path.join(folder, name + '.jsonl.gz') for name in args.corpus or ()] or sorted(glob.glob(os.path.join(folder, '*.jsonl.gz')))
    paths = [path for path in paths if labelled(path)]
    if not paths:
        raise Skipped('no corpus with labels in %s' % folder)
    with scratch(args.keep, 'accept-equality') as out:
        pairs = []
        for path in paths:
            rules = out.resolve() / (os.path.basename(path).removesuffix('.jsonl.gz') + '.rules')
            shutil.rmtree(rules, ignore_errors=True)
            subprocess.run([args.binary, 'learn', path, '--out', rules, '--quiet'], check=True, stdout=subprocess.DEVNULL)
            pairs.append('%s=%s' % (rules, os.path.realpath(path)))
        command = ['cargo', 'test', '--quiet', '--locked', '--profile', args.test_profile, '--lib', '--', '--nocapture', '--exact', TEST]
        return subprocess.run(command, env=dict(os.environ, UNDUST_EQUALITY_CORPORA=','.join(pairs))).returncode
