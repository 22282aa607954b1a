//! A table, and how it is written: text, CSV, HTML.

use super::escape;
use crate::model::shown::{Page, cell, visible};
use std::fmt::Write as _;

/// Rows of cells under a heading; the first column is text, the others are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// File name without extension, and anchor.
    pub id: String,
    /// Title.
    pub title: String,
    /// Note for the reader, a sentence or two; may be empty.
    pub note: String,
    /// Column headings.
    pub head: Vec<String>,
    /// The rows; each has as many cells as the heading.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(id: &str, title: &str, note: &str, head: &[&str]) -> Table {
        let head = head.iter().map(|h| (*h).to_owned()).collect();
        Table { id: id.to_owned(), title: title.to_owned(), note: note.to_owned(), head, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
        assert_eq!(self.rows.last().map(Vec::len), Some(self.head.len()), "{}", self.title);
    }

    /// For a terminal: numbers to the right.
    pub fn text(&self) -> Page {
        let shown = |row: &Vec<String>| row.iter().map(|cell| visible(cell).into_owned()).collect::<Vec<_>>();
        let rows: Vec<Vec<String>> = std::iter::once(&self.head).chain(&self.rows).map(shown).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut out = Page::default();
        let _ = writeln!(out, "{}", self.title);
        for row in &rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                let _ = match column {
                    0 => write!(line, "  {cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        if !self.note.is_empty() {
            let _ = writeln!(out, "  {}", self.note);
        }
        out
    }

    /// RFC 4180, with a heading, lines ended by LF; hidden characters as escapes, nothing that a
    /// spreadsheet takes for a formula.
    pub fn csv(&self) -> String {
        let mut out = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.head).chain(&self.rows) {
            out.write_record(row.iter().map(|field| cell(field).into_owned())).expect("rows as long as the heading");
        }
        String::from_utf8(out.into_inner().expect("memory takes all")).expect("fields are text")
    }

    /// [`section`](Self::section) under a heading of level 3.
    pub fn html(&self) -> String {
        self.section(3)
    }

    /// A figure with its caption, a heading of this level unless the title is empty; wide tables scroll by
    /// themselves.
    pub fn section(&self, level: u8) -> String {
        let mut out = format!("<section class=table id=\"{}\">", escape::html(&self.id));
        if !self.title.is_empty() {
            let _ = write!(out, "<h{level}>{}</h{level}>", escape::html(&self.title));
        }
        out.push_str("<div class=scroll tabindex=0><table><thead><tr>");
        self.head.iter().for_each(|cell| _ = write!(out, "<th scope=col>{}</th>", escape::html(cell)));
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let cell = escape::html(cell);
                let _ = match column {
                    0 => write!(out, "<th scope=row>{cell}</th>"),
                    _ => write!(out, "<td>{cell}</td>"),
                };
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        if !self.note.is_empty() {
            let _ = write!(out, "<p class=note>{}</p>", escape::html(&self.note));
        }
        out.push_str("</section>\n");
        out
    }
}

/// A share with four digits; `-` where it is undefined.
pub fn share(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_three_notations() {
        let mut table = Table::new("t", "A <title>", "", &["name", "n"]);
        table.row(["a,b".to_owned(), "10".to_owned()]);
        table.row(["\u{1b}[31m".to_owned(), "5".to_owned()]);
        assert_eq!(table.text().as_str(), "A <title>\n  name         n\n  a,b         10\n  \\u{1b}[31m   5\n");
        assert_eq!(table.csv(), "name,n\n\"a,b\",10\n\\u{1b}[31m,5\n");
        assert!(table.html().contains("<h3>A &lt;title&gt;</h3>") && table.html().contains("<td>10</td>"));
        assert!(table.section(4).contains("<h4>A &lt;title&gt;</h4>"));
        assert!(!Table::new("t", "", "", &[]).html().contains("<h3>"));
        assert_eq!(share(f64::NAN), "-");
    }
}
