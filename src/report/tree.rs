//! A tree as nested `<details>`, and the bars of its nodes.

use std::fmt::Write as _;

/// Draws the bar of a node that holds `part` of `all`; for use before the text of the node.
pub(super) fn bar(out: &mut String, part: u64, all: u64) {
    let share = (part as f64 / all.max(1) as f64).min(1.0) * 100.0;
    let _ = write!(out, "<span class=bar style=\"background-size:max(1px,{share:.0}%)\"></span>");
}

/// Draws the tree in which `parents` holds the parent of each node, the root first; `label` writes the
/// text of a node. The root is open.
pub(super) fn nested(out: &mut String, parents: &[usize], label: impl Fn(&mut String, usize)) {
    if parents.is_empty() {
        return;
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    for (at, &parent) in parents.iter().enumerate().skip(1) {
        // Parents come first: a tree that says otherwise is damaged and not drawn in circles.
        if parent < at {
            children[parent].push(at);
        }
    }
    out.push_str("<div class=tree>");
    // Opened nodes and how to close them; no recursion, since the depth comes from a file.
    let mut work: Vec<Result<(usize, usize), &str>> = vec![Ok((0, 0))];
    while let Some(next) = work.pop() {
        let (at, depth) = match next {
            Ok(node) => node,
            Err(close) => {
                out.push_str(close);
                continue;
            }
        };
        if children[at].is_empty() {
            out.push_str("<div class=leaf>");
            label(out, at);
            out.push_str("</div>");
            continue;
        }
        out.push_str(if depth < 1 { "<details open><summary>" } else { "<details><summary>" });
        label(out, at);
        out.push_str("</summary>");
        work.push(Err("</details>"));
        work.extend(children[at].iter().rev().map(|&child| Ok((child, depth + 1))));
    }
    out.push_str("</div>");
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_damaged_tree_is_drawn_without_circles() {
        let mut out = String::new();
        super::nested(&mut out, &[0, 0, 1, 7, 4], |out, at| out.push_str(&at.to_string()));
        assert_eq!(
            out,
            "<div class=tree><details open><summary>0</summary><details><summary>1</summary>\
             <div class=leaf>2</div></details></details></div>"
        );
        super::nested(&mut out, &[], |_, _| unreachable!());
    }
}
