//! Frames of the vectors, written as short recipes such as `s8123,10.0.1.7,d46,t30`. The doc comments of the fields
//! give the letters.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Ethertype of the tags that carry labels.
pub const ETHERTYPE_8021AD: u16 = 0x88a8;
/// Ethertype of other VLAN tags.
pub const ETHERTYPE_8021Q: u16 = 0x8100;

/// Description of a frame. All bytes after the headers are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipe {
    /// Tags, outermost first: ethertype and control information (`s`: 802.1ad, `q`: 802.1Q, hexadecimal).
    pub tags: Vec<(u16, u16)>,
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address, of the same family as the source (`>`). The default is a fixed address without a route.
    pub destination: Option<IpAddr>,
    /// DSCP (`d`).
    pub dscp: u8,
    /// TTL or hop limit (`h`); 64 by default.
    pub hops: Option<u8>,
    /// First byte of the IP header, if it is wrong (`v`, hexadecimal).
    pub first_byte: Option<u8>,
    /// Ethertype, if not IP (`n`, hexadecimal).
    pub ethertype: Option<u16>,
    /// Length at which the frame is truncated (`t`).
    pub cut: Option<usize>,
    /// The whole frame except the destination (`x`, hexadecimal); replaces all other fields.
    pub raw: Option<Vec<u8>>,
}

impl Recipe {
    /// Creates a complete packet from a source.
    pub fn of(source: IpAddr) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    /// Creates the frame of `bytes` bytes, without tags, to a station.
    pub fn frame(&self, station: u8, bytes: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, station, 2, 0, 0, 0, 1, 0];
        if let Some(raw) = &self.raw {
            let mut raw = raw.clone();
            let known = raw.len().min(6);
            raw[..known].copy_from_slice(&frame[..known]);
            return raw;
        }
        for (ethertype, control) in &self.tags {
            frame.extend(ethertype.to_be_bytes());
            frame.extend(control.to_be_bytes());
        }
        let length = bytes + 4 * self.tags.len();
        self.extend(&mut frame, bytes);
        frame.resize(length.max(frame.len()), 0);
        frame.truncate(self.cut.unwrap_or(frame.len()));
        frame
    }

    /// Appends the ethertype and the IP header.
    fn extend(&self, frame: &mut Vec<u8>, bytes: usize) {
        let length = bytes.saturating_sub(14) as u16;
        let hops = self.hops.unwrap_or(64);
        match (self.source, self.ethertype) {
            (_, Some(ethertype)) => frame.extend(ethertype.to_be_bytes()),
            (Some(IpAddr::V4(source)), None) => {
                let destination = match self.destination {
                    Some(IpAddr::V4(address)) => address,
                    _ => Ipv4Addr::new(203, 0, 113, 1),
                };
                let mut header = vec![self.first_byte.unwrap_or(0x45), self.dscp << 2];
                header.extend(length.to_be_bytes());
                header.extend([0, 0, 0, 0, hops, 17, 0, 0]);
                header.extend(source.octets());
                header.extend(destination.octets());
                let checksum = checksum(&header);
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                frame.extend([8, 0]);
                frame.extend(header);
            }
            (Some(IpAddr::V6(source)), None) => {
                let destination = match self.destination {
                    Some(IpAddr::V6(address)) => address,
                    _ => Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1),
                };
                frame.extend([0x86, 0xdd, self.first_byte.unwrap_or(0x60) | self.dscp >> 2, self.dscp << 6, 0, 0]);
                frame.extend(length.saturating_sub(40).to_be_bytes());
                frame.extend([17, hops]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
            }
            (None, None) => {}
        }
    }
}

/// The Internet checksum, RFC 1071.
pub fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(raw) = &self.raw {
            let digits: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
            parts.push(format!("x{digits}"));
        }
        for (ethertype, control) in &self.tags {
            parts.push(format!("{}{control:04x}", if *ethertype == ETHERTYPE_8021AD { 's' } else { 'q' }));
        }
        parts.extend(self.source.map(|address| address.to_string()));
        parts.extend(self.ethertype.map(|ethertype| format!("n{ethertype:04x}")));
        parts.extend(self.destination.map(|address| format!(">{address}")));
        parts.extend((self.dscp > 0).then(|| format!("d{}", self.dscp)));
        parts.extend(self.hops.map(|hops| format!("h{hops}")));
        parts.extend(self.first_byte.map(|byte| format!("v{byte:02x}")));
        parts.extend(self.cut.map(|cut| format!("t{cut}")));
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Recipe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut recipe = Self::default();
        for part in text.split(',') {
            recipe.read(part).ok_or_else(|| format!("{part} of {text} is no part of a frame"))?;
        }
        Ok(recipe)
    }
}

impl Recipe {
    fn read(&mut self, part: &str) -> Option<()> {
        if let Ok(address) = part.parse() {
            self.source = Some(address);
            return Some(());
        }
        let (kind, value) = part.split_at_checked(1)?;
        match kind {
            "s" => self.tags.push((ETHERTYPE_8021AD, u16::from_str_radix(value, 16).ok()?)),
            "q" => self.tags.push((ETHERTYPE_8021Q, u16::from_str_radix(value, 16).ok()?)),
            ">" => self.destination = Some(value.parse().ok()?),
            "n" => self.ethertype = Some(u16::from_str_radix(value, 16).ok()?),
            "d" => self.dscp = value.parse().ok()?,
            "h" => self.hops = Some(value.parse().ok()?),
            "v" => self.first_byte = Some(u8::from_str_radix(value, 16).ok()?),
            "t" => self.cut = Some(value.parse().ok()?),
            "x" => {
                let bytes = (0..value.len() / 2).map(|i| u8::from_str_radix(&value[2 * i..2 * i + 2], 16));
                self.raw = Some(bytes.collect::<Result<_, _>>().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}
