//! The fields of a line before they are checked.

use crate::io::reason::{Reason, check_url};
use crate::model::{Record, RecordBatch};
use std::borrow::Cow;

impl Row<'_> {
    /// Adds the record of these fields to `batch`.
    ///
    /// # Errors
    /// The reason why they are none; `batch` is then as it was.
    pub(in crate::io) fn push(self, batch: &mut RecordBatch) -> Result<(), Reason> {
        let row = self;
        let url = row.url.ok_or(Reason::MissingUrl)?;
        check_url(url.as_bytes())?;

        let target = |field: &'_ Option<Cow<'_, str>>| field.as_ref().filter(|t| !t.is_empty()).map(|t| *t != url);
        let redirects = target(&row.redirect).unwrap_or(matches!(row.status, Some(301 | 302 | 303 | 307 | 308)));
        let declares = target(&row.canonical).unwrap_or(false);
        let leads_to = row.redirect.as_deref().filter(|t| !t.is_empty()).or(row.canonical.as_deref());
        let answered = row.status.is_none_or(|status| (200..400).contains(&status));
        let label = |field: &'_ Option<Cow<'_, str>>| field.as_ref().is_some_and(|text| !text.is_empty());
        batch.push(Record {
            url: url.as_bytes(),
            cluster: row.cluster.as_deref().map(str::as_bytes).filter(|_| label(&row.cluster) && answered),
            site: row.site.as_deref().map(str::as_bytes).filter(|_| label(&row.site)),
            elsewhere: redirects || declares,
        });
        if let Some(target) = leads_to.filter(|_| answered) {
            batch.note_target(target.as_bytes());
        }
        Ok(())
    }
}

/// The fields of a line before they are checked. Strings are borrowed from it where they hold no
/// escape.
#[derive(Debug, Default, PartialEq)]
pub(in crate::io) struct Row<'a> {
    pub(in crate::io) url: Option<Cow<'a, str>>,
    /// The string, or the text of the number.
    pub(in crate::io) cluster: Option<Cow<'a, str>>,
    pub(in crate::io) site: Option<Cow<'a, str>>,
    pub(in crate::io) canonical: Option<Cow<'a, str>>,
    pub(in crate::io) redirect: Option<Cow<'a, str>>,
    pub(in crate::io) status: Option<i64>,
}

/// A status code as it is written; an empty string or `-` is none.
pub(in crate::io) fn status(text: &str) -> Result<Option<i64>, Reason> {
    match text {
        "" | "-" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| Reason::WrongType),
    }
}
