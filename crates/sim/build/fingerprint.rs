//! Fingerprint of source files that ignores comments, layout and tests.
//!
//! The fingerprint is a 128-bit FNV-1a hash of the tokens. It guards against mistakes, not against attacks.

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// State of the hash.
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Returns the state before any input.
    pub const fn new() -> Self {
        Self(OFFSET_BASIS)
    }

    /// Adds a Rust file without its comments and `#[cfg(test)]` modules.
    pub fn source(&mut self, name: &str, text: &str) -> Result<(), String> {
        let tokens: TokenStream = text.parse().map_err(|error: LexError| format!("{name}: {error}"))?;
        self.add(name);
        self.tokens(tokens);
        Ok(())
    }

    /// Hashes a file's bytes.
    pub fn text(&mut self, name: &str, text: &str) {
        self.add(name);
        self.add(text);
    }

    /// Returns the hash as 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:032x}", self.0)
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            if let Some((length, attribute)) = attribute(&tokens[index..]) {
                if attribute.starts_with("doc=") {
                    index += length;
                    continue;
                }
                let rest = &tokens[index + length..];
                if attribute == "cfg(test)" && is_module(rest) {
                    index += length + module(rest);
                    continue;
                }
            }
            match &tokens[index] {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.add(open);
                    self.tokens(group.stream());
                    self.add(close);
                }
                // Distinguishes `a..b` from `a. .b`.
                TokenTree::Punct(punct) => self.add(&format!("{punct}{:?}", punct.spacing())),
                other => self.add(&other.to_string()),
            }
            index += 1;
        }
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
}

/// If the tokens start with an attribute (`#[...]` or `#![...]`), returns its length in tokens and its text without
/// spaces.
fn attribute(tokens: &[TokenTree]) -> Option<(usize, String)> {
    let (length, group) = match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..] if hash.as_char() == '#' => (2, group),
        [TokenTree::Punct(hash), TokenTree::Punct(inner), TokenTree::Group(group), ..]
            if hash.as_char() == '#' && inner.as_char() == '!' =>
        {
            (3, group)
        }
        _ => return None,
    };
    (group.delimiter() == Delimiter::Bracket).then(|| (length, group.stream().to_string().replace(' ', "")))
}

fn is_module(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Ident(word), ..] if *word == "mod")
}

/// Returns the length of a module in tokens, up to its closing brace or its semicolon.
fn module(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(_) => true,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    };
    tokens.iter().position(ends).map_or(tokens.len(), |last| last + 1)
}
