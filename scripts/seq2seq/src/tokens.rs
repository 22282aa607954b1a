//! URLs as sequences of tokens (section 2.1 of the paper).

/// True for the tokens `?`, `=` and `&`, which the paper calls dynamic delimiters.
fn is_delimiter(token: &str) -> bool {
    matches!(token, "?" | "=" | "&")
}

/// Tokens of a URL: split at `/`, which is dropped, and around `?`, `=` and `&`, which are tokens.
///
/// Empty pieces give no token, so URLs that differ in repeated or trailing slashes alone have the same
/// tokens.
pub fn tokenize(url: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for piece in url.split('/') {
        let mut rest = piece;
        while let Some(at) = rest.find(['?', '=', '&']) {
            tokens.extend([&rest[..at], &rest[at..=at]]);
            rest = &rest[at + 1..];
        }
        tokens.push(rest);
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// Text of a sequence of tokens: `/` between two tokens that are no delimiters, `//` after a leading
/// scheme.
///
/// [`tokenize`] gives the tokens back, so two sequences have the same text only if they are equal.
pub fn join<T: AsRef<str>>(tokens: &[T]) -> String {
    let mut text = String::new();
    for (i, token) in tokens.iter().enumerate() {
        let token = token.as_ref();
        if i > 0 && !is_delimiter(token) && !is_delimiter(tokens[i - 1].as_ref()) {
            let scheme = i == 1 && tokens[0].as_ref().ends_with(':');
            text.push_str(if scheme { "//" } else { "/" });
        }
        text.push_str(token);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use rand::SeedableRng;

    #[test]
    fn slashes_are_dropped_and_delimiters_kept() {
        let url = "http://test.com/question/view?id=1&sort=";
        assert_eq!(tokenize(url), ["http:", "test.com", "question", "view", "?", "id", "=", "1", "&", "sort", "="]);
        assert_eq!(tokenize("http://test.com//a/"), tokenize("http://test.com/a"));
        assert_eq!(tokenize("/a?b=c/d"), ["a", "?", "b", "=", "c", "d"]);
        assert!(tokenize("").is_empty() && tokenize("///").is_empty());
    }

    #[test]
    fn joined_tokens_read_as_a_url() {
        for url in ["http://test.com/a/b?c=d&e=f/g", "http://test.com", "a?b", "https://ü.example/?x", "?&=="] {
            let expected = url.replace("/?", "?");
            assert_eq!(join(&tokenize(url)), expected);
        }
    }

    #[test]
    fn joined_tokens_give_the_tokens_back() {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let letters = ['/', '/', '?', '=', '&', 'a', ':', 'é', '#'];
        for _ in 0..20_000 {
            let length = random.random_range(0..12);
            let url: String = (0..length).map(|_| letters[random.random_range(0..letters.len())]).collect();
            let tokens = tokenize(&url);
            assert_eq!(tokenize(&join(&tokens)), tokens, "{url:?}");
        }
    }
}
