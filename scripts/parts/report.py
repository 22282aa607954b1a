"""Shows the pages of `undust compare` and `undust learn` to a real headless Chromium: each opens, asks the network for nothing,
runs no script, keeps hostile text of records text, its trees open and close, and it fits light, dark, a desk and a phone.

Hostile are URLs and labels; for learn also the site's own name, names of parameters, and the name of the shard. Prints a
row a check; --keep keeps pages and screenshots."""
import shutil, subprocess
from parts.common import chromium, scratch

HOSTILE = [
    '"><script>window.pwned=1</script>', "'><img src=x onerror=window.pwned=1>", '</style><script>window.pwned=1</script>',
    '</summary></details><svg onload=window.pwned=1>', '&lt;script&gt;window.pwned=1&lt;/script&gt;', '\u202egnp.exe', 'javascript:window.pwned=1',
]

# The name of a file cannot hold a slash.
SHARD = '"><img src=x onerror=window.pwned=1>.tsv'


def records(path):
    """Three sites; each hostile text in a path, in a query value and in a label; duplicates that methods miss and mix."""
    with open(path, 'w') as f:
        for site in ('a.example.com', 'b.example.org', 'c.example.net'):
            for i in range(120):
                for url in (f'http://{site}/show/{i}?view={i % 3}', f'http://{site}/show/{i}?view={i % 3}&sid=x{i * 7}', f'http://{site}/show/{i}?sid=y{i}&view={i % 3}'):
                    f.write(f'{url}\t{site} {i}\n')
            for n, text in enumerate(HOSTILE):
                for i in range(12):
                    f.write(f'http://{site}/{text}/{i}?q={text}\t{text}{n}\n')
                    f.write(f'http://{site}/h?n={i}&q={text}\t{text}{i % 2}\n')


def named_sites(path):
    """A site a hostile text, which is its name, a directory, and the name of a parameter that means nothing."""
    with open(path, 'w') as f:
        for n, text in enumerate(HOSTILE):
            for i in range(60):
                for session in range(3):
                    f.write(f'http://h{n}.example/{text}/{i}?{text}=v{session}{i}&view={i % 2}\t{n} {i}\t{text}\n')


class Page:
    """A page under examination: its checks, and the screenshots that it leaves."""

    def __init__(self, name, path, out, least_details, browser):
        self.name, self.url, self.out, self.browser = name, path.resolve().as_uri(), out, browser
        self.least_details, self.failed = least_details, 0

    def check(self, where, ok, detail=''):
        self.failed += not ok
        print(f'{"ok  " if ok else "FAIL"}  {self.name}, {where}{": " + str(detail) if detail != "" else ""}', flush=True)

    def shot(self, page, scheme, device, part):
        page.screenshot(path=str(self.out / f'{self.name}-{scheme}-{device}-{part}.png'))

    def examine(self, also):
        """All checks; `also` has those of this kind of page."""
        for scheme in ('light', 'dark'):
            for device, width, height, touch in (('desk', 1280, 900, False), ('phone', 390, 844, True)):
                context = self.browser.new_context(viewport={'width': width, 'height': height}, color_scheme=scheme, has_touch=touch, is_mobile=touch, device_scale_factor=2 if touch else 1)
                self.look(context.new_page(), scheme, device, also)
                context.close()
        # By hand, that is, with the keyboard: a summary takes the focus and opens.
        context = self.browser.new_context()
        page = context.new_page()
        page.goto(self.url)
        first = page.locator('details.site > summary').first
        before = first.evaluate('s => s.parentElement.open')
        first.focus()
        page.keyboard.press('Enter')
        self.check('keyboard: Enter opens a site', first.evaluate('s => s.parentElement.open') != before)
        context.close()

    def look(self, page, scheme, device, also):
        """The checks in one scheme of colours, on one device."""
        said, asked, where = [], [], f'{scheme}, {device}'
        page.on('console', lambda m: said.append(m.text))
        page.on('pageerror', lambda e: said.append(str(e)))
        page.on('dialog', lambda d: (said.append('dialog: ' + d.message), d.dismiss()))
        page.on('request', lambda r: asked.append(r.url))
        page.goto(self.url)
        self.check(f'{where}: no script error, nothing said', not said, said[:3] if said else '')
        self.check(f'{where}: asks for nothing but itself', asked == [self.url], len(asked))
        self.check(f'{where}: no script ran and none is there', page.evaluate('window.pwned === undefined && document.scripts.length === 0 && document.images.length === 0'))
        on = page.evaluate('[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on/i.test(a.name) || /^\\s*javascript:/i.test(a.value))).length')
        self.check(f'{where}: no handler and no script address', on == 0, on)
        self.check(f'{where}: no sideways scrolling', page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'), page.evaluate('[document.documentElement.scrollWidth, window.innerWidth].join(" of ")'))
        self.shot(page, scheme, device, 'top')
        # Every element that opens does, by its summary, and shows what it holds; then it closes.
        count = page.evaluate('document.querySelectorAll("details").length')
        opened = page.evaluate('''() => {
            let good = 0;
            for (const d of document.querySelectorAll("details")) {
                const before = d.open;
                d.querySelector("summary").click();
                const toggled = d.open !== before;
                d.open = true;
                good += toggled && [...d.children].slice(1).every(c => c.getClientRects().length > 0 || c.closest("details:not([open])"));
            }
            return good;
        }''')
        self.check(f'{where}: all that opens does', count > self.least_details and opened == count, f'{opened} of {count}')
        self.check(f'{where}: no sideways scrolling with all open', page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
        text = page.inner_text('body')
        # Normalization escapes what it must; the text of labels' URLs stays as found.
        seen = [h for h in HOSTILE[:5] if h in text]
        self.check(f'{where}: hostile text is text', len(seen) >= 3, f'{len(seen)} of 5 shown')
        self.check(f'{where}: nothing turns the direction of writing', '\u202e' not in text)
        low = page.evaluate('''() => {
            const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
            const back = lum(getComputedStyle(document.body).backgroundColor);
            const ratio = e => { const f = lum(getComputedStyle(e).color); return (Math.max(f, back) + .05) / (Math.min(f, back) + .05); };
            return Math.min(...[...document.querySelectorAll("p,td,th,li,summary,a,code,h1,h2,h3,figcaption")].map(ratio));
        }''')
        self.check(f'{where}: contrast of text at least 4.5', low >= 4.5, f'{low:.1f}')
        page.evaluate('document.querySelector("details.site").scrollIntoView()')
        self.shot(page, scheme, device, 'site')
        also(self, page, scheme, device)


def of_compare(self, page, scheme, device):
    """What the page of `compare` has besides."""
    page.evaluate('document.querySelector(".charts").scrollIntoView()')
    self.shot(page, scheme, device, 'charts')
    shown = page.evaluate('document.querySelectorAll("#precision + .charts svg[role=img], #precision-at-k td, #precision-by-site td, #likely-rules td").length > 20')
    self.check(f'{scheme}, {device}: precision at k is there, as a chart and as tables', shown)
    for part in ('precision', 'precision-at-k', 'likely-rules'):
        page.evaluate(f'document.getElementById("{part}").scrollIntoView()')
        self.shot(page, scheme, device, part)


def of_learn(self, page, scheme, device):
    """What the page of `learn` has besides: a rule, with the command that switches it off, on each site."""
    found = page.evaluate('[...document.querySelectorAll("details.site")].map(site => /undust rules disable --rules/.test(site.textContent))')
    self.check(f'{scheme}, {device}: every site has a rule', len(found) == len(HOSTILE) and all(found), f'{sum(found)} of {len(found)}')


def options(parser, _):
    parser.add_argument('--input', action='append', default=[], metavar='FILE', help='records to compare on beside the hostile ones')


def main(args):
    from playwright.sync_api import sync_playwright

    def undust(*words):
        done = subprocess.run([args.binary, *map(str, words), '-q'], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f'{words[0]} left with {done.returncode}: {done.stderr}')

    with scratch(args.keep, 'accept-report') as out:
        for made in ('compared', 'learned'):
            shutil.rmtree(out / made, ignore_errors=True)
        records(out / 'hostile.tsv')
        named_sites(out / SHARD)
        undust('compare', out / 'hostile.tsv', *args.input, '--out', out / 'compared', '--train-share', '0.5')
        undust('learn', out / SHARD, '--out', out / 'learned')
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium(), args=['--no-sandbox'])
            pages = [Page('compare', out / 'compared' / 'report.html', out, 20, browser), Page('learn', out / 'learned' / 'report.html', out, 20, browser)]
            for page, also in zip(pages, (of_compare, of_learn)):
                page.examine(also)
            browser.close()
        failed = sum(page.failed for page in pages)
        print(f'{"all checks hold" if not failed else f"{failed} checks failed"}{f"; pages and screenshots in {out}" if args.keep else ""}')
        return 1 if failed else 0
