"""Shows the page of `undust compare` to a real headless Chromium: it opens, asks the network for nothing, runs no script,
keeps hostile URLs text, its trees open and close, and it fits light, dark, a desk and a phone.

Called by scripts/accept-report; prints a row a check. Exit codes: 0 all hold, 1 a check failed, 2 cannot run."""
import argparse, pathlib, shutil, subprocess, sys, tempfile
from playwright.sync_api import sync_playwright

HOSTILE = [
    '"><script>window.pwned=1</script>', "'><img src=x onerror=window.pwned=1>", '</style><script>window.pwned=1</script>',
    '</summary></details><svg onload=window.pwned=1>', '&lt;script&gt;window.pwned=1&lt;/script&gt;', '\u202egnp.exe', 'javascript:window.pwned=1',
]

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

def main():
    p = argparse.ArgumentParser()
    p.add_argument('--binary', default='target/release/undust')
    p.add_argument('--keep', help='folder for the report and the screenshots')
    p.add_argument('--input', action='append', default=[], help='records to compare on beside the hostile ones')
    args = p.parse_args()
    if not pathlib.Path(args.binary).exists() or not shutil.which('chromium'):
        print(f'accept-report: {args.binary} or chromium is not there', file=sys.stderr)
        return 2
    out = pathlib.Path(args.keep or tempfile.mkdtemp(prefix='accept-report-'))
    out.mkdir(parents=True, exist_ok=True)
    records(out / 'hostile.tsv')
    shutil.rmtree(out / 'compared', ignore_errors=True)
    done = subprocess.run([args.binary, 'compare', str(out / 'hostile.tsv'), *args.input, '--out', str(out / 'compared'), '--train-share', '0.5', '-q'], capture_output=True, text=True)
    if done.returncode:
        print(f'accept-report: compare left with {done.returncode}: {done.stderr}', file=sys.stderr)
        return 2
    page_url = (out / 'compared' / 'report.html').resolve().as_uri()
    failed = 0
    def check(name, ok, detail=''):
        nonlocal failed
        failed += not ok
        print(f'{"ok  " if ok else "FAIL"}  {name}{": " + str(detail) if detail != "" else ""}', flush=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which('chromium'), args=['--no-sandbox'])
        for scheme in ('light', 'dark'):
            for name, width, height, touch in (('desk', 1280, 900, False), ('phone', 390, 844, True)):
                context = browser.new_context(viewport={'width': width, 'height': height}, color_scheme=scheme, has_touch=touch, is_mobile=touch, device_scale_factor=2 if touch else 1)
                page, said, asked = context.new_page(), [], []
                page.on('console', lambda m: said.append(m.text))
                page.on('pageerror', lambda e: said.append(str(e)))
                page.on('dialog', lambda d: (said.append('dialog: ' + d.message), d.dismiss()))
                page.on('request', lambda r: asked.append(r.url))
                page.goto(page_url)
                where = f'{scheme}, {name}'
                check(f'{where}: no script error, nothing said', not said, said[:3] if said else '')
                check(f'{where}: asks for nothing but itself', asked == [page_url], len(asked))
                check(f'{where}: no script ran and none is there', page.evaluate('window.pwned === undefined && document.scripts.length === 0 && document.images.length === 0'))
                on = page.evaluate('[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on/i.test(a.name) || /^\\s*javascript:/i.test(a.value))).length')
                check(f'{where}: no handler and no script address', on == 0, on)
                check(f'{where}: no sideways scrolling', page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'), page.evaluate('[document.documentElement.scrollWidth, window.innerWidth].join(" of ")'))
                page.screenshot(path=str(out / f'{scheme}-{name}-top.png'))
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
                check(f'{where}: all that opens does', count > 20 and opened == count, f'{opened} of {count}')
                check(f'{where}: no sideways scrolling with all open', page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
                text = page.inner_text('body')
                # Safe syntax escapes what it must; the text of labels' URLs stays as found.
                seen = [h for h in HOSTILE[:5] if h in text]
                check(f'{where}: hostile URLs are text', len(seen) >= 3, f'{len(seen)} of 5 shown')
                check(f'{where}: nothing turns the direction of writing', '\u202e' not in text)
                low = page.evaluate('''() => {
                    const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
                    const back = lum(getComputedStyle(document.body).backgroundColor);
                    const ratio = e => { const f = lum(getComputedStyle(e).color); return (Math.max(f, back) + .05) / (Math.min(f, back) + .05); };
                    return Math.min(...[...document.querySelectorAll("p,td,th,li,summary,a,code,h1,h2,h3,figcaption")].map(ratio));
                }''')
                check(f'{where}: contrast of text at least 4.5', low >= 4.5, f'{low:.1f}')
                site = page.locator('details.site').first
                site.scroll_into_view_if_needed()
                page.evaluate('document.querySelector("details.site").scrollIntoView()')
                page.screenshot(path=str(out / f'{scheme}-{name}-site.png'))
                page.evaluate('document.querySelector(".charts").scrollIntoView()')
                page.screenshot(path=str(out / f'{scheme}-{name}-charts.png'))
                check(f'{where}: precision at k is there, as a chart and as tables', page.evaluate('document.querySelectorAll("#precision + .charts svg[role=img], #precision-at-k td, #precision-by-site td, #likely-rules td").length > 20'))
                for part in ('precision', 'precision-at-k', 'likely-rules'):
                    page.evaluate(f'document.getElementById("{part}").scrollIntoView()')
                    page.screenshot(path=str(out / f'{scheme}-{name}-{part}.png'))
                context.close()
        # By hand, that is, with the keyboard: a summary takes the focus and opens.
        context = browser.new_context()
        page = context.new_page()
        page.goto(page_url)
        first = page.locator('details.site > summary').first
        before = first.evaluate('s => s.parentElement.open')
        first.focus()
        page.keyboard.press('Enter')
        check('keyboard: Enter opens a site', first.evaluate('s => s.parentElement.open') != before)
        context.close()
        browser.close()
    print(f'{"all checks hold" if not failed else f"{failed} checks failed"}; report and screenshots in {out}')
    return 1 if failed else 0

sys.exit(main())
