//! Families that are traps: their rows of the table, and those that have one cause as one row.

use super::pieces::{Part, Piece, Pieces};
use super::url::{TrapKind, Url};
use crate::site::Training;
use std::collections::BTreeMap;

/// Families that differ in the directories alone, with the same number or date that varies, that
/// are one row of the table: three have a template in common. Those with the same key that varies
/// always are.
const MIN_JOINED: usize = 3;

/// A family that is a trap, before families of neighbours are joined.
pub(super) struct TrapFamily {
    pub kind: TrapKind,
    pub pieces: Vec<(Part, String)>,
    pub varies: String,
    /// A pair of the query varies.
    is_key: bool,
    pub example: u32,
    pub urls: u64,
    pub new: u64,
}

/// A family as a trap of this kind; `varies` is the depth of the piece that does, if one does.
pub(super) fn found(kind: TrapKind, varies: Option<usize>, family: &[Url<'_>], training: &Training) -> TrapFamily {
    let pieces = Pieces::of(family[0].text);
    let varies = varies.and_then(|at| pieces.get(at));
    let is_key = varies.is_some_and(|piece| piece.part == Part::Pair);
    let varies = varies.map(|piece| if is_key { pieces.general(piece) } else { pieces.shape(piece) });
    let varies = varies.unwrap_or_default().to_owned();
    let kept = |(depth, piece): (usize, &Piece)| {
        let is_kept = family[0].kept >> depth & 1 == 1;
        (piece.part, if is_kept { pieces.shape(piece) } else { pieces.general(piece) }.to_owned())
    };
    let pieces = pieces.iter().enumerate().map(kept).collect();
    let repeats = family.iter().filter(|url| !url.is_new).map(|url| url.row);
    let example = repeats.min_by_key(|&row| by_length(training, row)).unwrap_or(family[0].row);
    let (urls, new) = (family.len() as u64, Url::new_of(family) as u64);
    TrapFamily { kind, pieces, varies, is_key, example, urls, new }
}

fn by_length(training: &Training, row: u32) -> (usize, &[u8]) {
    let url = training.url(row as usize);
    (url.len(), url)
}

/// Joins families of one cause: those with the same key that varies, and three or more that differ
/// in the directories alone.
pub(super) fn joined(found: Vec<TrapFamily>, training: &Training) -> Vec<TrapFamily> {
    type Cause = (TrapKind, String, Vec<(Part, Option<String>)>);
    let mut causes: BTreeMap<Cause, Vec<TrapFamily>> = BTreeMap::new();
    let mut out = Vec::new();
    for one in found {
        if matches!(one.kind, TrapKind::OnePage | TrapKind::RepeatedSegments) {
            out.push(one);
            continue;
        }
        let pair = |(part, text): &(Part, String)| (*part, Some(text.clone()).filter(|_| *part == Part::Pair));
        let shape = if one.is_key { Vec::new() } else { one.pieces.iter().map(pair).collect() };
        causes.entry((one.kind, one.varies.clone(), shape)).or_default().push(one);
    }
    for mut alike in causes.into_values() {
        if alike.len() < if alike[0].is_key { 2 } else { MIN_JOINED } {
            out.append(&mut alike);
            continue;
        }
        out.extend(alike.into_iter().reduce(|mut all, one| {
            all.pieces = common(all.pieces, one.pieces);
            let examples = [all.example, one.example].into_iter();
            all.example = examples.min_by_key(|&row| by_length(training, row)).unwrap_or(one.example);
            (all.urls, all.new) = (all.urls + one.urls, all.new + one.new);
            all
        }));
    }
    out
}

/// Pieces that hold for two families: place by place, or, of different shapes, their common
/// beginning and their common pairs, and `...` for the others.
fn common(a: Vec<(Part, String)>, b: Vec<(Part, String)>) -> Vec<(Part, String)> {
    let parts = |of: &[(Part, String)]| of.iter().map(|(part, _)| *part).collect::<Vec<_>>();
    let is_pair = |piece: &&(Part, String)| piece.0 == Part::Pair;
    let pairs = |of: &[(Part, String)]| of.iter().filter(is_pair).cloned().collect::<Vec<_>>();
    if parts(&a) == parts(&b) && pairs(&a) == pairs(&b) {
        let place = |(a, b): ((Part, String), (Part, String))| if a == b { a } else { (a.0, "/*".to_owned()) };
        return a.into_iter().zip(b).map(place).collect();
    }
    let path = |of: &[(Part, String)]| of.iter().filter(|piece| !is_pair(piece)).cloned().collect::<Vec<_>>();
    let (left, right) = (path(&a), path(&b));
    let mut out: Vec<_> = left.iter().zip(&right).take_while(|(a, b)| a == b).map(|(a, _)| a.clone()).collect();
    let rest = |part: Part, text: &str| (part, text.to_owned());
    if out.len() < left.len().max(right.len()) && out.last() != Some(&rest(Part::Path, "/...")) {
        out.push(rest(Part::Path, "/..."));
    }
    let (left, right) = (pairs(&a), pairs(&b));
    let shared: Vec<_> = left.iter().filter(|pair| right.contains(pair) && pair.1 != "...").cloned().collect();
    if shared.len() < left.len().max(right.len()) {
        out.push(rest(Part::Pair, "..."));
    }
    out.extend(shared);
    out
}

/// A family for people.
pub(super) fn text(pieces: &[(Part, String)]) -> String {
    let (mut out, mut before) = (String::new(), Part::Path);
    for (part, text) in pieces {
        match (before, part) {
            (Part::Path, Part::QueryPath | Part::Pair) => out.push('?'),
            (_, Part::Pair) => out.push('&'),
            _ => {}
        }
        out.push_str(text);
        before = *part;
    }
    out
}
