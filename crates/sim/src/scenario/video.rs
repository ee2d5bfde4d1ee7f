//! Video that adapts its bitrate to the playback buffer.

use super::stop::StopParams;
use fairlane_schemes::base::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;

const MOST_RUNGS: usize = 100;
/// Range of a bitrate.
const RUNGS: [BitRate; 2] = [BitRate(1_000), BitRate(1_000_000_000_000)];

params! {
    /// A video of each user over one TCP connection, chunk by chunk, for the whole run.
    pub struct VideoParams {
        /// Available bitrates of the video, in ascending order.
        ladder: Vec<BitRate> = ["235 kbit/s", "375 kbit/s", "560 kbit/s", "750 kbit/s", "1050 kbit/s", "1750 kbit/s",
            "2350 kbit/s", "3 Mbit/s", "4.3 Mbit/s", "5.8 Mbit/s"], symbol "R_1 ... R_m", source "Netflix, 2015";
        /// Playing time of a chunk.
        chunk: Time = "4 s", in "100 ms"..="60 s", symbol "V", source "Huang et al., SIGCOMM 2014, 4";
        /// Capacity of the player's buffer, in playing time.
        buffer: Time = "240 s", in "1 s"..="1 h", symbol "B_max", source "Huang et al., SIGCOMM 2014, 4";
        /// Reservoir: buffered time up to which the lowest bitrate is chosen.
        reservoir: Time = "90 s", in "0 s"..="1 h", symbol "r", source "Huang et al., SIGCOMM 2014, 4";
        /// Cushion: buffered time above the reservoir over which the bitrate rises from the lowest to the highest.
        cushion: Time = "126 s", in "100 ms"..="1 h", symbol "cu", source "Huang et al., SIGCOMM 2014, 4";
        with until: StopParams;
    }
}

impl VideoParams {
    pub(super) fn read_checked(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let params = Self::read(table)?;
        let [least, most] = RUNGS;
        if params.ladder.is_empty() || params.ladder.len() > MOST_RUNGS {
            let problem = format!("{} bitrates are out of range, there may be 1 to {MOST_RUNGS}", params.ladder.len());
            return Err(ConfigError::new(table.key("ladder"), problem));
        }
        for (index, &rung) in params.ladder.iter().enumerate() {
            let key = || format!("{}[{index}]", table.key("ladder"));
            if !(least..=most).contains(&rung) {
                return Err(ConfigError::new(
                    key(),
                    format!("\"{rung}\" is out of range, it must be from {least} to {most}"),
                ));
            }
            if index > 0 && rung <= params.ladder[index - 1] {
                let before = params.ladder[index - 1];
                return Err(ConfigError::new(
                    key(),
                    format!("\"{rung}\" is out of range, it must be above the one before, {before}"),
                ));
            }
        }
        let room = params.buffer.saturating_sub(params.chunk);
        if params.reservoir.saturating_add(params.cushion) > room {
            let problem = format!(
                "\"{}\" is out of range, it must have room for reservoir, cushion and a chunk, {}: the highest \
                 bitrate would never be chosen",
                params.buffer,
                params.reservoir.saturating_add(params.cushion).saturating_add(params.chunk)
            );
            return Err(ConfigError::new(table.key("buffer"), problem));
        }
        Ok(params)
    }

    /// Number of segments with this payload in a chunk of bitrate `rung`, rounded up.
    #[must_use]
    pub fn segments(&self, rung: usize, segment_payload: u32) -> u32 {
        let bits = u128::from(self.ladder[rung].0) * u128::from(self.chunk.0) / u128::from(Time::PER_SECOND);
        let segments = bits.div_ceil(8 * u128::from(segment_payload));
        u32::try_from(segments).unwrap_or(u32::MAX).max(1)
    }
}
