//! Decodes the bytes of a file.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Decodes a file to text with lines that end with `\n`, and adds a note if the encoding is a guess.
///
/// A byte order mark determines the encoding; otherwise it is UTF-8 if valid, else Windows-1252, which includes the
/// printable part of Latin-1.
///
/// # Errors
/// If the file contradicts its byte order mark, is UTF-16 without one, or has a zero byte.
pub fn decode(bytes: &[u8]) -> Result<(String, Option<String>), String> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((UTF_8, 0));
    let (text, note) = match encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..]) {
        Some(text) => (text, None),
        None if mark == 0 => {
            let at = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
            let note = format!("not UTF-8 at byte {at}: read as Windows-1252 (Latin-1)");
            (WINDOWS_1252.decode_without_bom_handling(bytes).0, Some(note))
        }
        None => return Err(format!("is not {}, as its byte order mark says", encoding.name())),
    };
    match text.find('\0') {
        // In UTF-16, ASCII text has a zero byte among the first bytes.
        Some(_) if mark == 0 && matches!(bytes, [_, 0, _, 0, ..] | [0, _, 0, _, ..]) => {
            Err("is UTF-16 without a byte order mark, or UTF-32; save it as UTF-8".into())
        }
        Some(at) => Err(format!("is not text: character {} is zero; save it as UTF-8", text[..at].chars().count())),
        None if text.contains('\r') => Ok((text.replace("\r\n", "\n").replace('\r', "\n"), note)),
        None => Ok((text.into_owned(), note)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_line_ends_are_no_part_of_the_text() {
        let utf16 = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
            mark.into_iter().chain("ä\r\nb".encode_utf16().flat_map(unit)).collect::<Vec<_>>()
        };
        let files = [
            "ä\nb".as_bytes().to_vec(),
            "ä\rb".as_bytes().to_vec(),
            "\u{feff}ä\r\nb".as_bytes().to_vec(),
            utf16([0xff, 0xfe], u16::to_le_bytes),
            utf16([0xfe, 0xff], u16::to_be_bytes),
        ];
        for file in files {
            assert_eq!(decode(&file).unwrap(), ("ä\nb".into(), None), "{file:?}");
        }
    }

    #[test]
    fn latin_1_is_a_guess_that_is_noted() {
        // 0xe9 is é in both encodings; 0x92 is an apostrophe in Windows-1252 and a control character in Latin-1.
        let (text, note) = decode(b"Caf\xe9 O\x92Neil").unwrap();
        assert_eq!(text, "Café O’Neil");
        assert_eq!(note.unwrap(), "not UTF-8 at byte 3: read as Windows-1252 (Latin-1)");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let file: Vec<u8> = "name".encode_utf16().flat_map(unit).collect();
            assert_eq!(decode(&file).unwrap_err(), "is UTF-16 without a byte order mark, or UTF-32; save it as UTF-8");
        }
        assert_eq!(decode(b"ab\0c").unwrap_err(), "is not text: character 2 is zero; save it as UTF-8");
        assert_eq!(decode(b"\xef\xbb\xbfa\xff").unwrap_err(), "is not UTF-8, as its byte order mark says");
        assert_eq!(decode(b"\xff\xfea").unwrap_err(), "is not UTF-16LE, as its byte order mark says");
    }
}
