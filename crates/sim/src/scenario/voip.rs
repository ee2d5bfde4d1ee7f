//! Telephone calls: conversion of speech into packets, and the receiver's playout buffer.

use super::headers::{RTP_HEADER_BYTES, UDP_HEADER_BYTES};
use super::stop::StopParams;
use fairlane_schemes::base::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::{choices, params};

/// Speech in a packet is a multiple of this duration: a frame of G.729 (RFC 3551 4.5.6), or 80 samples of G.711.
const FRAME: Time = Time::from_millis(10);

choices! {
    /// Speech codec, with its impairment factors Ie and Bpl of ITU-T G.113, appendix I.
    pub enum Codec {
        /// ITU-T G.711, 64 kbit/s; the decoder plays silence for a lost packet: Ie 0, Bpl 4.3.
        G711 = "g711",
        /// ITU-T G.711 with the packet loss concealment of its appendix I: Ie 0, Bpl 25.1.
        G711Plc = "g711_plc",
        /// ITU-T G.729 annex A, 8 kbit/s: Ie 11, Bpl 19.
        G729a = "g729a",
    }
}

impl Codec {
    /// Bits of speech per second (RFC 3551 4.5.6 and 4.5.14).
    #[must_use]
    pub fn rate_bps(self) -> u64 {
        match self {
            Self::G711 | Self::G711Plc => 64_000,
            Self::G729a => 8_000,
        }
    }

    /// Look-ahead of the encoder; 5 ms in ITU-T G.729.
    #[must_use]
    pub fn lookahead(self) -> Time {
        match self {
            Self::G711 | Self::G711Plc => Time::ZERO,
            Self::G729a => Time::from_millis(5),
        }
    }

    /// Equipment impairment Ie, and robustness against random loss Bpl (ITU-T G.113 appendix I).
    #[must_use]
    pub fn impairment(self) -> (f64, f64) {
        match self {
            Self::G711 => (0.0, 4.3),
            Self::G711Plc => (0.0, 25.1),
            Self::G729a => (11.0, 19.0),
        }
    }
}

params! {
    /// A call of each user for the whole run: packets of equal size at equal gaps, without silence suppression.
    pub struct VoipParams {
        /// Codec: determines the packet size and the sensitivity to losses.
        codec: Codec = "g711", source "ITU-T G.711, G.729; G.113 appendix I";
        /// Packetisation interval: speech in a packet, and the gap between packets; a multiple of 10 ms.
        packet_interval: Time = "20 ms", in "10 ms"..="120 ms", source "RFC 3551 4.2";
        /// Delay that the receiver's buffer adds to the first measured packet. Later packets are played at equal gaps.
        /// Packets that arrive after their playout time are lost.
        buffer: Time = "50 ms", in "0 s"..="10 s", source "VoIPmonitor: a fixed buffer of 50 ms";
        with until: StopParams;
    }
}

impl VoipParams {
    pub(super) fn read_checked(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let params = Self::read(table)?;
        if params.packet_interval.0 % FRAME.0 != 0 {
            let problem = format!("\"{}\" is out of range, it must be a multiple of {FRAME}", params.packet_interval);
            return Err(ConfigError::new(table.key("packet_interval"), problem));
        }
        Ok(params)
    }

    /// Length of a packet on the wire: speech, RTP header, and the headers that every UDP packet has.
    #[must_use]
    pub fn packet_size(&self) -> Bytes {
        let speech = self.codec.rate_bps() * (self.packet_interval.0 / FRAME.0) / 8 / (Time::PER_SECOND / FRAME.0);
        Bytes(speech + u64::from(RTP_HEADER_BYTES + UDP_HEADER_BYTES))
    }

    /// Delay from the mouth to the first bit on the wire: packetisation and encoder look-ahead.
    #[must_use]
    pub fn coding_delay(&self) -> Time {
        self.packet_interval + self.codec.lookahead()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_sizes_of_rfc_3551() {
        // 20 ms are 160 B of G.711 or 20 B of G.729. Headers have 12 B of RTP, 8 of UDP, 20 of IP, 2 of PPP.
        let size = |codec, ms| {
            let packet_interval = Time::from_millis(ms);
            VoipParams { codec, packet_interval, ..VoipParams::default() }.packet_size()
        };
        assert_eq!(size(Codec::G711, 20), Bytes(202));
        assert_eq!(size(Codec::G711Plc, 30), Bytes(282));
        assert_eq!(size(Codec::G729a, 20), Bytes(62));
        let params = VoipParams { codec: Codec::G729a, ..VoipParams::default() };
        assert_eq!(params.coding_delay(), Time::from_millis(25));
    }
}
