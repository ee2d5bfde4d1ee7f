//! A table in CSV (RFC 4180) in which every row has as many cells as the header.

use crate::{Column, quoted};
use csv::{Position, Reader, ReaderBuilder, StringRecord, Trim};

/// A table that is read row by row. Empty rows and comments (`#`) are skipped; a line that may be either a row or a
/// comment is rejected.
pub struct Table<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// Line of the header, and its number of cells.
    header: (u64, usize),
    /// True if values of the first column may begin with `#`. Circuit IDs never do.
    may_begin_with_hash: bool,
    /// Names of the columns, without trailing empty ones.
    pub columns: Vec<String>,
    row: StringRecord,
}

impl<'a> Table<'a> {
    /// Reads the header of a text from [`crate::decode`].
    ///
    /// # Errors
    /// If there is no header, two columns have the same name, or a quote is not closed.
    pub fn open(text: &'a str) -> Result<Self, String> {
        check_quotes(text)?;
        let mut reader = ReaderBuilder::new();
        // Flexible: `next` checks the number of cells itself, since its error message is better than the `csv` crate's.
        reader.comment(Some(b'#')).trim(Trim::All).flexible(true);
        let mut reader = reader.from_reader(text.as_bytes());
        let start = reader.position().clone();
        let header = reader.headers().map_err(|error| error.to_string())?;
        let line = line_of(text, &start);
        let mut columns: Vec<String> = header.iter().map(str::to_string).collect();
        columns.truncate(filled(header));
        if columns.is_empty() {
            return Err("is empty: the first line must name the columns".into());
        }
        let mut names: Vec<_> = columns.iter().map(|name| name.to_lowercase()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
            return Err(format!("line {line}: {} is the name of two columns", quoted([twice[0].as_str()])));
        }
        let header = (line, header.len());
        let may_begin_with_hash = Column::CircuitId.find(&columns[..1]).is_none();
        Ok(Self { text, reader, header, may_begin_with_hash, columns, row: StringRecord::new() })
    }

    /// Reads the next row. Returns its line number and its cells, one per column.
    ///
    /// # Errors
    /// If the row has more or fewer cells than the header, with `hint` as explanation, or if a comment before the row
    /// may be a row.
    pub fn next(&mut self, hint: &str) -> Result<Option<(u64, &StringRecord)>, String> {
        loop {
            let before = self.reader.position().clone();
            let is_row = self.reader.read_record(&mut self.row).map_err(|error| error.to_string())?;
            self.check_comments(&before)?;
            if !is_row {
                return Ok(None);
            }
            if filled(&self.row) > 0 {
                break;
            }
        }
        let line = self.row.position().map_or(0, |start| line_of(self.text, start));
        let (cells, width) = (self.row.len(), self.header.1);
        if cells != width || filled(&self.row) > self.columns.len() {
            let s = if cells == 1 { "" } else { "s" };
            return Err(format!("line {line}: {cells} cell{s}, the header has {width}; {hint}"));
        }
        Ok(Some((line, &self.row)))
    }

    /// Rejects a comment that may be a row, because a name can begin with `#`.
    fn check_comments(&self, start: &Position) -> Result<(), String> {
        let cells = |line: &str| line.matches(',').count() + 1;
        let may_be_row = |line: &&str| line.starts_with('#') && !line.starts_with("# ") && cells(line) >= self.header.1;
        let mut lines = (start.line()..).zip(passed_over(self.text, start)).filter(|(_, line)| may_be_row(line));
        match lines.next().filter(|_| self.may_begin_with_hash) {
            Some((line, _)) => Err(format!(
                "line {line}: is a comment or a row: quote a first cell that begins with \"#\", or put a space behind \
                 the \"#\" of a comment"
            )),
            None => Ok(()),
        }
    }

    /// Error message for a missing column.
    #[must_use]
    pub fn missing(&self, column: &str) -> String {
        let (line, found) = (self.header.0, quoted(self.columns.iter().map(String::as_str)));
        format!("line {line}: there is no column \"{column}\", but {found}; commas separate columns")
    }
}

/// Number of cells up to the last non-empty one.
fn filled(row: &StringRecord) -> usize {
    row.iter().collect::<Vec<_>>().iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1)
}

/// Line of a row. The `csv` crate counts comments and empty lines before a row as a part of the row.
fn line_of(text: &str, start: &Position) -> u64 {
    start.line() + passed_over(text, start).count() as u64
}

/// Comments and empty lines from a position on.
fn passed_over<'a>(text: &'a str, start: &Position) -> impl Iterator<Item = &'a str> {
    text[start.byte() as usize..].lines().take_while(|line| line.is_empty() || line.starts_with('#'))
}

/// Rejects a quoted cell without an end or with text after its end. The `csv` crate would read the rows up to the next
/// quote, or the rest of the file, as a part of the cell.
fn check_quotes(text: &str) -> Result<(), String> {
    #[derive(PartialEq)]
    enum State {
        RowStart,
        CellStart,
        Plain,
        Quoted,
        Closed,
        Comment,
    }
    let (mut state, mut line, mut opened) = (State::RowStart, 1, 1);
    let unclosed = |line: u64| format!("line {line}: a cell begins with a quote that nothing closes before a comma");
    for byte in text.bytes() {
        state = match (state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => State::Quoted,
            (_, b'\n') => State::RowStart,
            (State::Comment, _) | (State::RowStart, b'#') => State::Comment,
            (State::RowStart | State::CellStart, b'"') => {
                opened = line;
                State::Quoted
            }
            // A doubled quote is a quote in the cell.
            (State::Closed, b'"') => State::Quoted,
            (_, b',') => State::CellStart,
            (State::Closed, b' ') => State::Closed,
            (State::Closed, _) => return Err(unclosed(opened)),
            _ => State::Plain,
        };
        line += u64::from(byte == b'\n');
    }
    if state == State::Quoted { Err(unclosed(opened)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut table = Table::open(text)?;
        let mut rows = Vec::new();
        while let Some((line, row)) = table.next("a hint")? {
            rows.push((line, row.iter().map(str::to_string).collect()));
        }
        Ok(rows)
    }

    #[test]
    fn a_row_knows_its_line_also_behind_comments_empty_rows_and_breaks_in_quotes() {
        let found =
            rows("# a \"comment\nx,y,,\n\n1,\"first\nsecond\",,\n , \n# more\n2,\"say \"\"hi\"\"\" ,,\n").unwrap();
        let cells = |cells: &[&str]| cells.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let expected = [(4, cells(&["1", "first\nsecond", "", ""])), (8, cells(&["2", "say \"hi\"", "", ""]))];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_comment_that_may_be_a_row_is_refused() {
        let problem = "is a comment or a row: quote a first cell that begins with \"#\", or put a space behind the \
                       \"#\" of a comment";
        for (text, line) in [("x,y\n#1,2\n", 2), ("x,y\n1,2\n\n# a\n#1,2\n3,4\n", 5), ("x,y\n1,2\n##,\n", 3)] {
            assert_eq!(rows(text).unwrap_err(), format!("line {line}: {problem}"), "{text}");
        }
        let found = rows("#a,b\nx,y\n# 1,2\n#no row\n\"#1\",2\n").unwrap();
        assert_eq!(found, [(5, vec!["#1".to_string(), "2".into()])]);
        // Circuit IDs do not begin with `#`, so this line is a comment.
        assert_eq!(rows("Circuit ID,y\n#1,2\n").unwrap(), []);
    }

    #[test]
    fn cells_are_counted_against_the_header() {
        assert_eq!(rows("x,y\n1,2,3\n").unwrap_err(), "line 2: 3 cells, the header has 2; a hint");
        assert_eq!(rows("x,y\n1\n").unwrap_err(), "line 2: 1 cell, the header has 2; a hint");
        // An extra empty cell is an error, too: the cells before it may be shifted.
        assert_eq!(rows("x,y\n1,2,\n").unwrap_err(), "line 2: 3 cells, the header has 2; a hint");
    }

    #[test]
    fn a_quote_that_swallows_rows_is_refused() {
        let problem = "line 2: a cell begins with a quote that nothing closes before a comma";
        // The cell with the unclosed quote extends to the end of the file, or to the quote of a later row.
        for text in ["x,y\n1,\"two\n2,three\n", "x,y\n1,\"two\n2,\"a, b\"\n"] {
            assert_eq!(rows(text).unwrap_err(), problem, "{text}");
        }
        // Within a cell, a quote is literal.
        assert_eq!(rows("x,y\n1,5\" pipe\n").unwrap()[0].1[1], "5\" pipe");
    }

    #[test]
    fn a_header_must_name_columns_and_each_once() {
        assert_eq!(rows("# nobody\n\n").unwrap_err(), "is empty: the first line must name the columns");
        assert_eq!(rows("# x\na,b,A\n").unwrap_err(), "line 2: \"a\" is the name of two columns");
        assert_eq!(
            Table::open("# x\na;b\n").unwrap().missing("name"),
            "line 2: there is no column \"name\", but \"a;b\"; commas separate columns"
        );
    }
}
