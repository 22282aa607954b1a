//! Constant pages: one page behind URLs without end, the clusters of up to 314,465 URLs in table 1 of
//! WWW10 (log in first; page not found, served with status 200).

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::{Rng, mix};
use super::view::View;
use super::words;

/// `/account/edit?id=7`, `/private-message/set/amber17`, `/post/reply?to=17&q=3`: all ask to log in.
struct Login;

/// Draws a [`Login`].
pub fn login(_rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Login)
}

impl PageType for Login {
    fn name(&self) -> &'static str {
        "login"
    }
    fn forms(&self) -> u64 {
        u64::MAX
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let n = page.form / 3 + 1;
        match page.form % 3 {
            0 => url.seg("account").seg("edit").pair_n("id", n),
            1 => url.seg("private-message").seg("set").seg(words::word(n)).add_n(n),
            _ => url.seg("post").seg("reply").pair_n("to", n / 90).pair_n("q", n % 90),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            ["account", "edit"] | ["private-message", "set", _] | ["post", "reply"] => Some(0),
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        vec!["/account/edit?id=*, /private-message/set/*, /post/reply?to=*&q=* are one page".to_owned()]
    }
}

/// `/removed/amber-anchor-17` and `/notfound.php?url=amber-17`: one soft-404 page.
struct Soft404 {
    word: &'static str,
}

/// Draws a [`Soft404`].
pub fn soft404(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Soft404 { word: rng.pick(&["removed", "old", "expired"]) })
}

impl PageType for Soft404 {
    fn name(&self) -> &'static str {
        "soft404"
    }
    fn forms(&self) -> u64 {
        u64::MAX
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let n = page.form / 2;
        if page.form.is_multiple_of(2) {
            url.seg(self.word).seg_slug(n, 2).add("-").add_n(n);
        } else {
            url.seg("notfound.php").pair_with("url", |out| {
                words::slug(mix(n), 1, out);
                out.push(b'-');
                words::number(n, out);
            });
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            [word, _] if word == self.word => Some(0),
            ["notfound.php"] => Some(0),
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/{}/* and /notfound.php?url=* are one page", self.word)]
    }
}
