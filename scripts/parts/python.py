"""The Python package, from the wheel on: builds it, checks its types, runs its tests (those of Scrapy with the newest release
and the oldest that the package claims) and the examples, crawls a local site with a real Scrapy spider with and without
undust, and measures it beside w3lib on the sample and, where they are there, on two of the corpora."""
import os, re, shutil, subprocess, sys
from parts import common

SPEED_CORPORA = ('phpbb-forum', 'crawl-docs')


def oldest_scrapy():
    """The oldest release of Scrapy that the package claims."""
    with open('python/pyproject.toml', encoding='utf-8') as text:
        return re.search(r'^scrapy = \["scrapy>=([0-9.]+)"\]$', text.read(), re.M)[1]


def wheel(profile):
    """Builds the wheel and installs it into the environment."""
    folder = common.TARGET / 'wheels' / 'undust'
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, '-m', 'maturin', 'build', '--quiet', '--locked', '--profile', profile, '--manifest-path', 'python/Cargo.toml', '--out', folder],
                   check=True, env=dict(os.environ, CARGO_TARGET_DIR=str(common.TARGET)))
    made = next(folder.glob('*.whl'))
    common.pip('--force-reinstall', '--no-deps', made)
    print('wheel: %s, %d KiB' % (made.name, made.stat().st_size >> 10), flush=True)


def main(args):
    wheel(args.profile)
    oldest = common.apart('scrapy-oldest', 'scrapy==' + oldest_scrapy(), 'w3lib<2.2')
    failed = []
    # A folder of its own, so that it is the wheel that is imported.
    with common.scratch(args.keep, 'accept-python') as scratch:
        shutil.rmtree(scratch / 'rules', ignore_errors=True)
        for source in ('python/tests', 'examples/python'):
            shutil.copytree(source, scratch / os.path.basename(source), dirs_exist_ok=True)
        shutil.copy('python/pyproject.toml', scratch)
        environment = dict(os.environ, UNDUST=args.binary, UNDUST_SAMPLE=str(common.SAMPLE), TMPDIR=str(scratch))

        def run(name, *words, folder=scratch, **more):
            print('-- %s' % name, flush=True)
            if subprocess.run([sys.executable, *map(str, words)], cwd=folder, env=dict(environment, **more)).returncode:
                failed.append(name)

        run('tests', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests')
        # The oldest Scrapy needs a w3lib of its time.
        run('tests with the oldest Scrapy', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests/test_scrapy.py', PYTHONPATH=str(oldest))
        run('types', '-m', 'mypy', '--cache-dir', scratch / 'mypy', 'undust', 'tests', folder=common.ROOT / 'python')
        subprocess.run([args.binary, 'learn', common.SAMPLE, '--out', scratch / 'rules', '--quiet'], check=True, stdout=subprocess.DEVNULL)
        scripts = common.ROOT / 'scripts' / 'python'
        run('examples', scripts / 'examples.py', 'python', 'rules', common.SAMPLE)
        run('crawl', scripts / 'crawl.py')
        corpora = [os.path.join(args.shared, 'corpora', name + '.jsonl.gz') for name in SPEED_CORPORA]
        run('speed', scripts / 'speed.py', common.SAMPLE, *(os.path.realpath(path) for path in corpora if os.path.exists(path)))
    return common.ended(failed)
