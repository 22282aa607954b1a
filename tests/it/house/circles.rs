//! Circles of files: within a room (a module of the library, or `jobs`), files that need each other
//! cannot be read or changed one by one.
//!
//! A file needs another where its code, tests left out, names an item that the other defines: by an
//! import or a path, through the modules that re-export it. A parent that declares or re-exports what its
//! children define does not need them for that; a child that names an item defined in the file of its
//! parent needs that file. Not seen: methods called on a value.

use super::source::{self, Token, closing, import, named};
use super::{File, MAY_IMPORT, fail_on, files, module_of};
use std::collections::{BTreeMap, BTreeSet};

/// Circles that stay: the folder, their files in order, and the reason. No circle is added, and one that is
/// gone fails the test, too. A file is added to a circle where its reason is that of the file: a method of
/// `src/baselines`, a kind of pages of `src/synth`.
const KNOWN: &[(&str, &str, &str)] = &[
    ("src/url/", "host.rs positions.rs syntax.rs", "`syntax` defines the terms and calls what works on them"),
    ("src/platforms/", "read.rs recognise.rs", "a line is checked by the code that recognises it"),
    (
        "src/synth/",
        "aliases.rs comma_lists.rs constant.rs facets.rs kind.rs lists.rs mapping.rs negatives.rs shapes.rs syntax.rs titles.rs traps.rs \
         traps/copies.rs traps/groups.rs traps/keys.rs traps/lists.rs traps/state.rs value_ends.rs views.rs",
        "`kind` defines the type of a page and lists the functions that make one",
    ),
    (
        "src/baselines/",
        "catalogue.rs decision_tree/apply.rs decision_tree/mod.rs drop_query.rs dustbuster/canonize.rs \
         dustbuster/method.rs dustbuster/validate.rs fan_out/apply.rs fan_out/evidence.rs fan_out/lattice.rs \
         fan_out/mod.rs fan_out/raw.rs fan_out/select.rs keep_all.rs mod.rs name.rs outside.rs protocol.rs \
         published.rs results.rs rfc3986.rs rule_set.rs tracking.rs",
        "the traits of methods are in the file that declares these",
    ),
    (
        "src/baselines/dustbuster/",
        "likely.rs mod.rs parameters.rs redundant.rs",
        "the terms of the paper are in the file that runs its steps",
    ),
    (
        "src/runtime/mesh/",
        "dial.rs join.rs listener.rs mod.rs responder.rs",
        "the terms of a handshake are in the file of the mesh",
    ),
    ("src/runtime/mesh/", "link.rs watch.rs", "a link counts the signs of life that its watch looks at"),
    ("src/report/", "joined.rs page.rs", "a page of joined tables is a part of the page"),
    (
        "src/report/",
        "run.rs run/head.rs run/keys.rs run/rejected.rs run/rules.rs run/site.rs run/traps.rs",
        "what a page shows is defined where pages are made",
    ),
];

type Path = Vec<String>;

/// One module of a room.
struct Module {
    file: String,
    /// Names of the items that the file defines.
    defined: BTreeSet<String>,
    /// Imports and re-exports: name (`*` of a glob) and absolute path.
    imports: Vec<(String, Path)>,
    /// Paths that the file names, re-exports left out.
    named: Vec<Path>,
}

impl Module {
    fn of(file: &File) -> (Path, Module) {
        let module = module_of(&file.path);
        let mut tokens = file.tokens.clone();
        if file.path.starts_with("jobs/") {
            // Else a module of the library and one of the binary of equal name would be one.
            tokens.iter_mut().filter(|t| t.text == "undust").for_each(|t| t.text = "library".to_owned());
        }
        let (tokens, inner) = without_inner_modules(&tokens);
        let mut imports = Vec::new();
        for at in (0..tokens.len()).filter(|&at| tokens[at].text == "use") {
            import(&tokens, at + 1, &[], &mut imports);
        }
        let imports = imports.into_iter().map(|(name, to)| (name, source::absolute(&to.path, &module))).collect();
        let item = |t: &Token| {
            matches!(t.text.as_str(), "struct" | "enum" | "fn" | "trait" | "type" | "const" | "static" | "union")
        };
        let defined = tokens.windows(2).filter(|w| item(&w[0])).map(|w| w[1].text.clone()).collect();
        let mut found = named(&without_reexports(&tokens), &module);
        for (name, tokens) in inner {
            found.extend(named(&tokens, &[&module[..], &[name]].concat()));
        }
        let named = found.into_iter().map(|named| named.path).collect();
        (module, Module { file: file.path.clone(), defined, imports, named })
    }
}

/// `tokens` without modules in braces, and these by name; modules within them count as theirs.
fn without_inner_modules(tokens: &[Token]) -> (Vec<Token>, Vec<(String, Vec<Token>)>) {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let (mut kept, mut inner, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        if text(i) == "mod" && text(i + 2) == "{" {
            let end = closing(tokens, i + 2);
            inner.push((text(i + 1).to_owned(), tokens[i + 3..end].to_vec()));
            i = end + 1;
        } else {
            kept.push(tokens[i].clone());
            i += 1;
        }
    }
    (kept, inner)
}

/// `tokens` without the re-exports (`pub use`, `pub(super) use`) of names that the file itself does not
/// use.
fn without_reexports(tokens: &[Token]) -> Vec<Token> {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let (mut kept, mut reexports, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        let after = match (text(i), text(i + 1)) {
            ("pub", "(") => (i..tokens.len()).find(|&j| text(j) == ")").map_or(i, |j| j + 1),
            _ => i + 1,
        };
        if text(i) == "pub" && text(after) == "use" {
            let mut names = Vec::new();
            import(tokens, after + 1, &[], &mut names);
            let end = (i..tokens.len()).find(|&j| text(j) == ";").unwrap_or(i);
            reexports.push((names, &tokens[after..=end]));
            i = end + 1;
        } else {
            kept.push(tokens[i].clone());
            i += 1;
        }
    }
    let own: BTreeSet<String> = kept.iter().map(|t| t.text.clone()).collect();
    let used = reexports.iter().filter(|(names, _)| names.iter().any(|(name, _)| own.contains(name)));
    kept.extend(used.flat_map(|(_, statement)| statement.iter().cloned()));
    kept
}

/// The modules of a room by their paths.
struct Room(BTreeMap<Path, Module>);

impl Room {
    fn of<'a>(files: impl Iterator<Item = &'a File>) -> Room {
        Room(files.filter(|file| !file.test).map(Module::of).collect())
    }

    /// The file that defines what `path` names in the module `from`; `None` outside of the room, and where
    /// only a module is named.
    fn definition(&self, from: &[String], path: &[String], depth: usize) -> Option<&str> {
        if depth > 8 {
            return None;
        }
        let child: Path = from.iter().chain(path.first()).cloned().collect();
        let absolute: Path = match path.first()?.as_str() {
            "crate" => path[1..].to_vec(),
            _ if self.0.contains_key(&child) => from.iter().chain(path).cloned().collect(),
            _ => return None,
        };
        let at = (0..=absolute.len()).rev().find(|&end| self.0.contains_key(&absolute[..end]))?;
        let (module, rest) = absolute.split_at(at);
        let (here, name) = (&self.0[module], rest.first()?);
        if here.defined.contains(name) {
            return Some(&here.file);
        }
        let through = |to: &[String]| {
            let whole: Path = to.iter().chain(&rest[1..]).cloned().collect();
            self.definition(module, &whole, depth + 1)
        };
        if let Some((_, to)) = here.imports.iter().find(|(imported, _)| imported == name && name != "*") {
            return through(to);
        }
        let globs = here.imports.iter().filter(|(imported, _)| imported == "*" && name != "*");
        let mut globs = globs.map(|(_, to)| to[..to.len() - 1].iter().chain(rest).cloned().collect::<Path>());
        if let Some(whole) = globs.find(|whole| self.defines(module, whole)) {
            return self.definition(module, &whole, depth + 1);
        }
        // A glob, an inner module, or what a macro makes.
        Some(&here.file)
    }

    /// True where the module that a glob names defines or imports the item behind it.
    fn defines(&self, from: &[String], path: &[String]) -> bool {
        let absolute: Path = match path[0].as_str() {
            "crate" => path[1..].to_vec(),
            _ => from.iter().chain(path).cloned().collect(),
        };
        (1..absolute.len()).any(|at| {
            let has = |here: &Module| {
                here.defined.contains(&absolute[at]) || here.imports.iter().any(|(name, _)| *name == absolute[at])
            };
            self.0.get(&absolute[..at]).is_some_and(has)
        })
    }

    /// What each file needs of which others.
    fn needs(&self) -> BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> {
        let mut needs: BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let of = needs.entry(&module.file).or_default();
            for named in &module.named {
                if let Some(file) = self.definition(path, named, 0).filter(|file| *file != module.file) {
                    of.entry(file).or_default().insert(named.last().expect("not empty").clone());
                }
            }
        }
        needs
    }

    /// The circles: files that need each other, directly or through others, and what they need of each
    /// other.
    fn circles(&self) -> BTreeMap<Vec<String>, String> {
        let needs = self.needs();
        let reach = |from| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(file) = open.pop() {
                open.extend(needs[file].keys().copied().filter(|file| seen.insert(*file)));
            }
            seen
        };
        let reached: BTreeMap<&str, BTreeSet<&str>> = needs.keys().map(|file| (*file, reach(*file))).collect();
        let mut circles = BTreeMap::new();
        for (file, reaches) in &reached {
            let circle: Vec<&str> = reaches.iter().copied().filter(|other| reached[other].contains(file)).collect();
            let inner = circle.iter().flat_map(|from| needs[from].iter().map(move |(to, names)| (from, to, names)));
            let text = inner.filter(|(_, to, _)| circle.contains(to)).map(|(from, to, names)| {
                format!("  {from} -> {to}: {}\n", names.iter().cloned().collect::<Vec<_>>().join(", "))
            });
            if circle.len() > 1 {
                circles.insert(circle.iter().map(|file| file.to_string()).collect(), text.collect());
            }
        }
        circles
    }
}

/// What to do about a file that would join a known circle.
const JOIN: &str = "add it to the files there, in order, if the reason of the circle is its own, or break one of:";
/// What to do about a new circle.
const BREAK: &str = "break it, for example by a file of its own for what both sides need; it consists of:";

/// Differences between the circles of the rooms in `all` and those `known`.
fn differences(all: &[File], known: &[(&str, &str, &str)]) -> Vec<String> {
    let rooms = MAY_IMPORT.iter().map(|(name, _)| format!("src/{name}")).chain(["jobs".to_owned()]);
    let (mut found, mut gone) = (Vec::new(), Vec::new());
    for (folder, files, _) in known {
        gone.push(files.split(' ').map(|file| format!("{folder}{file}")).collect::<Vec<_>>());
    }
    for name in rooms {
        let (one, folder) = (format!("{name}.rs"), format!("{name}/"));
        let room = Room::of(all.iter().filter(|file| file.path == one || file.path.starts_with(&folder)));
        for (circle, text) in room.circles() {
            match gone.iter().position(|known| *known == circle) {
                Some(at) => drop(gone.remove(at)),
                None => {
                    // Of a known circle that grew one message is enough.
                    let grown = gone.iter().position(|known| known.iter().all(|file| circle.contains(file)));
                    let known = grown.map(|at| gone.remove(at)).unwrap_or_default();
                    let more: Vec<&str> =
                        circle.iter().filter(|file| !known.contains(file)).map(String::as_str).collect();
                    let more = more.join(" ");
                    found.push(match grown {
                        Some(_) => format!(
                            "{name}: {more} would join a circle of KNOWN (tests/it/house/circles.rs): {JOIN}\n{text}"
                        ),
                        None => format!("{name}: a circle of files, not in KNOWN: {more}: {BREAK}\n{text}"),
                    });
                }
            }
        }
    }
    found.extend(gone.iter().map(|circle| format!("no circle any more, remove it from KNOWN: {}", circle.join(", "))));
    found
}

#[test]
fn no_circle_of_files_is_new() {
    let all = files(&["src", "jobs"]);
    assert!(all.iter().any(|f| f.path == "src/site/mod.rs"), "the check sees the source");
    fail_on(&differences(&all, KNOWN));
    assert!(KNOWN.iter().all(|(.., reason)| !reason.is_empty()), "each circle that stays says why");
}

#[test]
fn circles_are_found() {
    let room = |sources: &[(&str, &str)]| -> Vec<File> {
        let file = |(path, text): &(&str, &str)| File {
            path: path.to_string(),
            lines: 1,
            tokens: source::without_tests(&source::tokens(text)).0,
            test: false,
        };
        sources.iter().map(file).collect()
    };
    let circles = |sources: &[(&str, &str)]| -> Vec<String> {
        let files = room(sources);
        let found = Room::of(files.iter()).circles();
        found.into_keys().map(|circle| circle.join(" ")).collect()
    };
    let parent = ("src/site/mod.rs", "mod a; mod b; pub use a::A; pub use b::*; pub struct M;");
    // By import, by path, through a re-export, through a glob, from the file of the parent.
    for (a, b) in [
        ("use super::b::B; pub struct A;", "use crate::site::a::A; pub struct B;"),
        ("pub struct A; fn f() { super::b::B::new() }", "use super::a; pub struct B; fn f(x: a::A) {}"),
        ("use super::B; pub struct A;", "use super::A; pub struct B;"),
    ] {
        let found = circles(&[parent, ("src/site/a.rs", a), ("src/site/b.rs", b)]);
        assert_eq!(found, ["src/site/a.rs src/site/b.rs"], "{a} {b}");
    }
    let (a, child) = (("src/site/a.rs", "pub struct A;"), ("src/site/b.rs", "use super::M; pub struct B;"));
    let user = ("src/site/mod.rs", "mod a; mod b; pub struct M; fn f() -> b::B {}");
    assert_eq!(circles(&[user, a, child]), ["src/site/b.rs src/site/mod.rs"]);
    assert_eq!(circles(&[parent, a, child]), [""; 0], "a parent that re-exports needs nothing");
    // Circles of three are found; what only tests need is none.
    let three = [
        ("src/site/a.rs", "use super::b::B;"),
        ("src/site/b.rs", "use super::c::C; pub struct B;"),
        ("src/site/c.rs", "use super::a::f; pub struct C;"),
    ];
    assert_eq!(circles(&three), ["src/site/a.rs src/site/b.rs src/site/c.rs"]);
    let tests = "pub struct C; #[cfg(test)] mod tests { use super::super::a::f; }";
    assert_eq!(circles(&[three[0], three[1], ("src/site/c.rs", tests)]), [""; 0]);
    // Of an inner module the parent is the file.
    let inner =
        [("src/site/mod.rs", "mod a; fn f() { a::g() }"), ("src/site/a.rs", "fn g() {} mod m { use super::g; }")];
    assert_eq!(circles(&inner), [""; 0]);
    // One of the library and one of the binary of equal name are two.
    let jobs = [("jobs/rules.rs", "use undust::rules::R;"), ("jobs/rules/a.rs", "use undust::rules::R;")];
    assert_eq!(circles(&jobs), [""; 0]);
    // The list may only shrink, and must.
    let known = &[("src/site/", "a.rs b.rs c.rs", "a reason")];
    assert_eq!(differences(&room(&three), known), [""; 0]);
    assert!(differences(&room(&three), &[])[0].contains("src/site/c.rs -> src/site/a.rs: f"));
    assert!(differences(&room(&three[..2]), known)[0].contains("no circle any more"));
    // A file that joins is named, and the circle that it joins is not said to be gone.
    let [c, d] =
        [("src/site/c.rs", "use super::d::D; pub struct C;"), ("src/site/d.rs", "use super::a::f; pub struct D;")];
    let found = differences(&room(&[three[0], three[1], c, d]), known);
    assert!(found.len() == 1 && found[0].starts_with("src/site: src/site/d.rs would join"), "{found:?}");
}
