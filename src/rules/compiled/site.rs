//! The compiled rules of one site: a shared template, and its own part.

use super::hosts::Hosts;
use super::ranges::Ranges;
use super::{ByHash, Template, Templates, sorted};
use crate::rules::types::Urls;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The rules of one site, compiled: a template shared with other sites, and the site's own part.
#[derive(Debug)]
pub struct CompiledSite {
    pub(super) template: Arc<Template>,
    pub(super) own: Own,
}

/// The part of a site that is not shared.
#[derive(Debug, Serialize, Deserialize)]
pub struct Own {
    pub(super) hosts: Hosts,
    /// Data of single pages.
    pub(super) pages: Option<Box<Pages>>,
}

/// A front and the directory that takes its place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mirror {
    pub(super) rule: u16,
    pub(super) source: Vec<u8>,
    pub(super) target: Vec<u8>,
}

/// Exceptions, look-ups and mirrored directories of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Pages {
    /// Rule that is left out, by the identity of the reduced URL; [`ALL`](super::ALL) leaves out every rule.
    #[serde(with = "sorted")]
    pub(super) exceptions: ByHash<u16>,
    /// Number of a page by the identity of the reduced URL.
    #[serde(with = "sorted")]
    pub(super) lookups: ByHash<u32>,
    /// Pages that look-ups and value ranges lead to, sorted: each its own canonical URL, or unused.
    pub(super) targets: Urls,
    pub(super) ranges: Ranges,
    /// Longest first.
    pub(super) mirrors: Box<[Mirror]>,
}

impl CompiledSite {
    /// Joins a template and the site's own part.
    pub fn new(template: Arc<Template>, own: Own) -> CompiledSite {
        CompiledSite { template, own }
    }

    /// True where the normal form is canonical.
    pub fn is_trivial(&self) -> bool {
        self.template.programs.is_empty() && self.own.pages.is_none()
    }

    /// True where the site has an origin.
    pub fn has_origin(&self, origin: &[u8]) -> bool {
        let scheme = memchr::memchr(b':', origin).unwrap_or(0);
        self.own.hosts.has_origin(&origin[..scheme], origin.get(scheme + 3..).unwrap_or_default())
    }

    /// Replaces the template by the equal one of another site, where one has it.
    pub fn share(&mut self, templates: &mut Templates) {
        templates.share(&mut self.template);
    }

    /// The part shared with other sites.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// The site's own part.
    #[cfg(feature = "compiled-format")]
    pub fn own(&self) -> &Own {
        &self.own
    }
}
