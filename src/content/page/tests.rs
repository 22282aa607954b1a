use super::*;

/// Title, canonical, and the fingerprint.
fn read(html: &str) -> (String, Option<String>, Fingerprint) {
    let mut reader = Reader::default();
    let page = reader.read(html);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (page.title.to_owned(), page.canonical.map(text), page.text)
}

const BODY: &str =
    "<h1>Nine lives</h1><p>A cat has nine lives, as they say, and this one has used up four of them.</p>";

#[test]
fn boilerplate_scripts_nonces_times_and_hidden_fields_make_no_difference() {
    let plain = read(&format!("<title>Cats</title><body>{BODY}"));
    assert_eq!(plain.2.tokens, 19);
    let dressed = [
        format!(
            "<!DOCTYPE html><html><head><title>Cats</title><style>p {{ x: y }}</style></head><body><nav><ul><li>Home<li>Cats</ul></nav>{BODY}</body></html>"
        ),
        format!(
            "<title>Cats</title><script nonce=8b6f777e>if (a<b) {{ '<p>x' }}</script>{BODY}<footer>Copyright <p>2026</footer>"
        ),
        format!("<title>Cats</title><header>Site <header>x</header> name</header>{BODY}<aside>Ads</aside>"),
        format!(
            "<title>Cats</title>{BODY}<form><input type=hidden name=csrf value=8b6f777eec2885a2a406da8675><select><option>a<option>b</select><button>Go</button></form>"
        ),
        format!("<title>Cats</title>{BODY}<p><time datetime=x>yesterday</time> 19:42:50</p><!-- generated in 3 s -->"),
        format!(
            "<title>Cats</title><div role=navigation><div>a</div>b</div><div style='color: red; Display : None'>c</div>{BODY}<p hidden>d</p>"
        ),
        format!(
            "<title>Cats</title><template><p>x</template><svg><title>Icon</title></svg>{BODY}<noscript>Enable it</noscript>"
        ),
        format!("<title>Cats</title>{}", BODY.replace("A cat", "<b>A</b>\n  &#99;at")),
    ];
    for html in dressed {
        assert_eq!(read(&html), plain, "{html}");
    }
    let other = read(&format!("<title>Cats</title>{}", BODY.replace("nine", "eight")));
    assert_ne!(other.2.text, plain.2.text);
}

#[test]
fn headers_of_articles_stay() {
    let with = read(&format!("<article><header><h1>One</h1></header>{BODY}</article>"));
    let without = read(&format!("<article>{BODY}</article>"));
    assert_eq!(with.2.tokens, without.2.tokens + 1);
}

#[test]
fn an_element_that_is_never_closed_takes_nothing_with_it() {
    let plain = read(BODY);
    assert_eq!(read(&format!("<nav>{BODY}")).2, plain.2);
    assert_eq!(read(&format!("<div hidden><div></div>{BODY}")).2, plain.2);
}

#[test]
fn titles_and_declarations() {
    let title = |html: &str| read(html).0;
    assert_eq!(title("<title> a\n <b> &amp; \u{a0} c</title><title>d</title>"), "a <b> & c");
    assert_eq!(title("<p>a"), "");
    let canonical = |html: &str| read(html).1;
    assert_eq!(canonical("<link rel=canonical href=' /a?b&amp;c '>").as_deref(), Some("/a?b&c"));
    assert_eq!(canonical("<head><LINK HREF='/a' REL='x Canonical'></head>").as_deref(), Some("/a"));
    assert_eq!(canonical("<link rel=canonical href=/a><link rel=canonical href=/a>").as_deref(), Some("/a"));
    assert_eq!(canonical("<link rel=canonical href=/a><link rel=canonical href=/b>"), None, "two that differ");
    assert_eq!(canonical("<body><link rel=canonical href=/a>"), None, "below the head");
    assert_eq!(canonical("<a rel=canonical href=/a><link rel=alternate href=/a><link rel=canonical>"), None);
    let mut reader = Reader::default();
    assert_eq!(reader.read("<base href=/x/><base href=/y/>").base, Some(&b"/x/"[..]));
    assert!(reader.read("<form><textarea>a</textarea>b</form>").text.edits);
    assert_eq!(reader.read("<form><textarea>a</textarea>b</form>").text.tokens, 1);
}

#[test]
fn nesting_of_a_hundred_thousand_is_survived() {
    let plain = read(BODY);
    for tag in ["div", "b", "table", "nav", "svg", "select", "ul><li"] {
        let open = format!("<{tag}>").repeat(100_000);
        let close = format!("</{}>", tag.split('>').next().unwrap()).repeat(100_000);
        assert_eq!(read(&format!("{open}{close}{BODY}")).2, plain.2, "{tag}");
        assert_eq!(read(&format!("{open}{BODY}")).2.text, plain.2.text, "{tag}, never closed");
    }
    for rubbish in ["<", "<!--", "<a ", "<a b=\"", "&", "</", "<![CDATA[", "<title>", "<script>"] {
        read(&rubbish.repeat(100_000));
    }
}
