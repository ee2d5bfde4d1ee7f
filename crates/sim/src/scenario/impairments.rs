//! Impairments of a path: a policer, loss, duplication, corruption, slots, reordering, jitter, and detours, each for a
//! time.

use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use fairlane_schemes::base::units::{BitRate, Bytes, Probability, Time};
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json};

params! {
    /// Time in which a part of an impairment has an effect.
    pub struct Span {
        /// Start of the effect; by default the start of the run.
        from: Option<Time> = null, in "0 s"..="1440 h", source "our choice";
        /// End of the effect; by default the end of the run.
        until: Option<Time> = null, in "1 ps"..="1440 h", source "our choice";
    }
}

impl Span {
    /// Returns true if a packet that enters the path at `now` is affected.
    #[must_use]
    pub fn has(&self, now: Time) -> bool {
        self.from.is_none_or(|from| now >= from) && self.until.is_none_or(|until| now < until)
    }

    fn check(&self, table: &Table<'_>) -> Result<(), ConfigError> {
        let from = self.from.unwrap_or(Time::ZERO);
        match self.until.filter(|&until| until <= from) {
            Some(until) => {
                let problem = format!("\"{until}\" is out of range, it must be after from, {from}");
                Err(ConfigError::new(table.key("until"), problem))
            }
            None => Ok(()),
        }
    }
}

choices! {
    /// Models of loss.
    pub enum LossModel {
        /// Independent losses.
        Random = "random",
        /// Bursts of losses.
        GilbertElliott = "gilbert_elliott",
        /// Loss of every n-th packet.
        Periodic = "periodic",
    }
}

impl LossModel {
    pub(super) fn specs(self) -> Vec<ParamSpec> {
        match self {
            Self::Random => RandomLossParams::specs(),
            Self::GilbertElliott => GilbertElliottParams::specs(),
            Self::Periodic => PeriodicLossParams::specs(),
        }
    }

    /// Required keys, which have no generally useful default.
    pub(super) fn required(self) -> &'static [&'static str] {
        match self {
            Self::Random => &["probability"],
            Self::GilbertElliott => &["p", "r"],
            Self::Periodic => &["period"],
        }
    }
}

params! {
    /// Random loss.
    pub struct RandomLossParams {
        /// Probability that a packet is lost.
        probability: Probability = "1 %", in "0 %"..="100 %", source "tc-netem(8) loss random";
        with span: Span;
    }
}

params! {
    /// Bursts of losses: the Gilbert-Elliott chain. With the defaults of `bad_loss` and `good_loss`, bursts have `1/r`
    /// packets on average, and `p/(p + r)` of all packets are lost.
    pub struct GilbertElliottParams {
        /// Probability of a transition from the good to the bad state after a packet.
        p: Probability = "1 %", in "0 %"..="100 %", symbol "p", source "tc-netem(8) loss gemodel";
        /// Probability of a transition from the bad to the good state after a packet.
        r: Probability = "25 %", in "0 %"..="100 %", symbol "r", source "tc-netem(8) loss gemodel";
        /// Probability that a packet in the bad state is lost.
        bad_loss: Probability = "100 %", in "0 %"..="100 %", symbol "1-h", source "tc-netem(8) loss gemodel";
        /// Probability that a packet in the good state is lost.
        good_loss: Probability = "0 %", in "0 %"..="100 %", symbol "1-k", source "tc-netem(8) loss gemodel";
        with span: Span;
    }
}

params! {
    /// Periodic loss.
    pub struct PeriodicLossParams {
        /// Period in packets; the last packet of each period is lost.
        period: u32 = 100, in 1..=1000000000, source "our choice";
        with span: Span;
    }
}

/// Loss model of a path, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum LossConfig {
    /// Independent losses.
    Random(RandomLossParams),
    /// Bursts of losses.
    GilbertElliott(GilbertElliottParams),
    /// Loss of every n-th packet.
    Periodic(PeriodicLossParams),
}

impl LossConfig {
    fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let model = table.optional("model", None)?.unwrap_or(LossModel::Random);
        for &key in model.required() {
            let missing = match model {
                _ if table.get(key).is_some() => continue,
                LossModel::Periodic => table.required::<u32>(key).map(drop),
                _ => table.required::<Probability>(key).map(drop),
            };
            missing.map_err(|error| with_model_meant(error, model, table))?;
        }
        let loss = match model {
            LossModel::Random => Self::Random(RandomLossParams::read(table)?),
            LossModel::GilbertElliott => Self::GilbertElliott(GilbertElliottParams::read(table)?),
            LossModel::Periodic => Self::Periodic(PeriodicLossParams::read(table)?),
        };
        loss.span().check(table)?;
        table.finish()?;
        Ok(loss)
    }

    /// Time in which packets are lost.
    #[must_use]
    pub fn span(&self) -> &Span {
        match self {
            Self::Random(params) => &params.span,
            Self::GilbertElliott(params) => &params.span,
            Self::Periodic(params) => &params.span,
        }
    }

    fn write(&self) -> Json {
        let mut map = Map::new();
        let model = match self {
            Self::Random(params) => (LossModel::Random, params.write(&mut map)).0,
            Self::GilbertElliott(params) => (LossModel::GilbertElliott, params.write(&mut map)).0,
            Self::Periodic(params) => (LossModel::Periodic, params.write(&mut map)).0,
        };
        map.insert("model".into(), model.to_json());
        Json::Object(map)
    }
}

/// Adds a hint to the error about a missing key of `model`: the model to which the present keys belong.
fn with_model_meant(error: ConfigError, model: LossModel, table: &mut Table<'_>) -> ConfigError {
    let own: Vec<_> = model.specs().iter().map(|spec| spec.name).collect();
    let others = LossModel::ALL.iter().flat_map(|&other| other.specs().into_iter().map(move |spec| (spec.name, other)));
    let mut of_others = others.filter(|(name, _)| !own.contains(name));
    match of_others.find(|(name, _)| table.get(name).is_some()) {
        Some((name, other)) => {
            let problem = format!("{}; {name} belongs to model = \"{}\"", error.problem, other.name());
            ConfigError::new(error.key, problem)
        }
        None => error,
    }
}

choices! {
    /// Distribution of a varying delay.
    pub enum JitterDistribution {
        /// Uniform, from minus to plus the deviation.
        Uniform = "uniform",
        /// Normal, truncated at four deviations.
        Normal = "normal",
        /// Pareto of shape 3 as in netem, with a tail towards longer delays, truncated at four deviations.
        Pareto = "pareto",
    }
}

/// A required key, which has no generally useful default, and the error if it is missing.
type Required = (&'static str, fn(&mut Table<'_>, &'static str) -> Result<(), ConfigError>);

const fn required<T: ConfigValue>(key: &'static str) -> Required {
    (key, |table, key| table.required::<T>(key).map(drop))
}

/// A part of an impairment other than loss: a table of parameters.
pub trait Part: ParamSet {
    /// Required keys.
    const REQUIRED: &'static [Required];

    /// Time in which the part has an effect.
    fn span(&self) -> &Span;
}

/// Reads the table `key` of a part, if there is one.
fn read_part<P: Part>(table: &mut Table<'_>, key: &'static str) -> Result<Option<P>, ConfigError> {
    let Some(mut table) = table.table(key)? else { return Ok(None) };
    for &(key, require) in P::REQUIRED {
        if table.get(key).is_none() {
            require(&mut table, key)?;
        }
    }
    let part = P::read(&mut table)?;
    part.span().check(&table)?;
    table.finish()?;
    Ok(Some(part))
}

fn write_part<P: Part>(part: Option<&P>, map: &mut Map<String, Json>, key: &str) {
    if let Some(part) = part {
        let mut table = Map::new();
        part.write(&mut table);
        map.insert(key.into(), Json::Object(table));
    }
}

params! {
    /// Random variation of the link's delay. The total delay is never negative.
    pub struct JitterParams {
        /// Deviation: half the width of a uniform distribution, the standard deviation of a normal one, or the scale of
        /// a Pareto distribution.
        deviation: Time = "1 ms", in "0 s"..="1 h", source "tc-netem(8) delay";
        /// Distribution of the variation.
        distribution: JitterDistribution = "uniform", source "Linux sch_netem.c tabledist, without a table";
        /// Allows packets to overtake each other. Otherwise each packet arrives after the previous one.
        reorder: bool = false, source "our choice: netem reorders";
        with span: Span;
    }
}

impl Part for JitterParams {
    const REQUIRED: &'static [Required] = &[required::<Time>("deviation")];

    fn span(&self) -> &Span {
        &self.span
    }
}

params! {
    /// A longer route that packets take for some time. Packets that later take the shorter route overtake them.
    pub struct DetourParams {
        /// Additional delay of the longer route.
        delay: Time = "50 ms", in "1 ns"..="1 h", source "our choice";
        with span: Span;
    }
}

impl Part for DetourParams {
    const REQUIRED: &'static [Required] = &[required::<Time>("delay"), required::<Time>("from")];

    fn span(&self) -> &Span {
        &self.span
    }
}

params! {
    /// Random choice of packets.
    pub struct ChanceParams {
        /// Probability that a packet is affected.
        probability: Probability = "1 %", in "0 %"..="100 %", source "tc-netem(8)";
        /// Weight of the last random number in the next one.
        correlation: Probability = "0 %", in "0 %"..="100 %", source "Linux sch_netem.c get_crandom";
        with span: Span;
    }
}

impl Part for ChanceParams {
    const REQUIRED: &'static [Required] = &[required::<Probability>("probability")];

    fn span(&self) -> &Span {
        &self.span
    }
}

params! {
    /// Single packets that skip the delay of the link, and so overtake others.
    pub struct ReorderParams {
        /// The last of every `gap` packets may skip the delay.
        gap: u32 = 1, in 1..=1000000000, source "tc-netem(8) reorder";
        with chance: ChanceParams;
    }
}

impl Part for ReorderParams {
    const REQUIRED: &'static [Required] = ChanceParams::REQUIRED;

    fn span(&self) -> &Span {
        self.chance.span()
    }
}

params! {
    /// Slots in which packets leave. All packets that arrive between two slots wait.
    pub struct SlotParams {
        /// Shortest time until the next slot.
        min: Time = "10 ms", in "1 ns"..="1 h", source "tc-netem(8) slot";
        /// Longest time until the next slot; by default `min`.
        max: Option<Time> = null, in "1 ns"..="1 h", source "tc-netem(8) slot";
        /// Most packets of a slot; by default any number.
        packets: Option<u32> = null, in 1..=1000000000, source "tc-netem(8) slot";
        /// Bytes after which a slot ends; by default any number.
        bytes: Option<Bytes> = null, in "1 B"..="1000 GB", source "tc-netem(8) slot";
        with span: Span;
    }
}

impl Part for SlotParams {
    const REQUIRED: &'static [Required] = &[required::<Time>("min")];

    fn span(&self) -> &Span {
        &self.span
    }
}

params! {
    /// A policer, which drops packets above a rate. A token bucket lets bursts pass.
    pub struct PolicerParams {
        /// Rate at which the bucket fills.
        rate: BitRate = "10 Mbit/s", in "1 kbit/s"..="1 Tbit/s", source "tc-police(8)";
        /// Size of the bucket, which is full at the start of the run.
        burst: Bytes = "100 kB", in "1 B"..="1 GB", source "tc-police(8)";
        /// Rate at which a second bucket fills. Packets must find tokens in both.
        peak_rate: Option<BitRate> = null, in "1 kbit/s"..="1 Tbit/s", source "tc-police(8) peakrate";
        /// Size of the second bucket; required with `peak_rate`. Longer packets are dropped.
        peak_burst: Option<Bytes> = null, in "1 B"..="1 GB", source "tc-police(8) mtu";
        with span: Span;
    }
}

impl PolicerParams {
    /// Rate and size of the second bucket, if there is one.
    #[must_use]
    pub fn peak(&self) -> Option<(BitRate, Bytes)> {
        self.peak_rate.zip(self.peak_burst)
    }

    /// A key of the second bucket that does not fit the others, and why.
    fn problem(&self) -> Option<(&'static str, String)> {
        match (self.peak_rate, self.peak_burst) {
            (Some(_), None) => Some(("peak_burst", "missing, peak_rate needs it".into())),
            (None, Some(_)) => Some(("peak_rate", "missing, peak_burst needs it".into())),
            (Some(peak), _) if peak < self.rate => {
                Some(("peak_rate", format!("\"{peak}\" is out of range, it must be at least rate, {}", self.rate)))
            }
            _ => None,
        }
    }
}

impl Part for PolicerParams {
    const REQUIRED: &'static [Required] = &[required::<BitRate>("rate"), required::<Bytes>("burst")];

    fn span(&self) -> &Span {
        &self.span
    }
}

/// Impairments of a path besides its delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Losses, in the order in which packets meet them.
    pub loss: Vec<LossConfig>,
    /// Jitter, if any.
    pub jitter: Option<JitterParams>,
    /// Detour, if any.
    pub detour: Option<DetourParams>,
    /// Reordering of single packets, if any.
    pub reorder: Option<ReorderParams>,
    /// Duplication, if any.
    pub duplicate: Option<ChanceParams>,
    /// Corruption, if any.
    pub corrupt: Option<ChanceParams>,
    /// Slots, if any.
    pub slot: Option<SlotParams>,
    /// Policer, if any.
    pub policer: Option<PolicerParams>,
}

/// Names of the tables of [`Impairments`], in the order of its fields.
pub(super) type ImpairmentKeys = [&'static str; 8];

macro_rules! impairment_keys {
    ($prefix:literal) => {
        [
            concat!($prefix, "loss"),
            concat!($prefix, "jitter"),
            concat!($prefix, "detour"),
            concat!($prefix, "reorder"),
            concat!($prefix, "duplicate"),
            concat!($prefix, "corrupt"),
            concat!($prefix, "slot"),
            concat!($prefix, "policer"),
        ]
    };
}

/// Names of the tables of a link of a graph.
pub(super) const OF_LINK: ImpairmentKeys = impairment_keys!("");
/// Names of the tables of the bottleneck of a dumbbell.
pub(super) const OF_BOTTLENECK: ImpairmentKeys = impairment_keys!("bottleneck_");
/// Names of the tables of a group's access links.
pub(super) const OF_ACCESS: ImpairmentKeys = impairment_keys!("access_");

/// The span of a part of an impairment.
#[derive(Clone, Debug)]
pub struct Spanned {
    /// Key of the part's table.
    pub key: String,
    /// Name of the part, as on a link of a graph.
    pub part: &'static str,
    /// Index of the group, for a part of access links.
    pub group: Option<usize>,
    /// Index of the link, for a part of a link.
    pub link: Option<usize>,
    /// Span.
    pub span: Span,
}

/// Spans of the parts of an impairment. `key` returns the key of a part's table.
pub(super) fn spans(impairments: &Impairments, key: impl Fn(&'static str) -> String) -> impl Iterator<Item = Spanned> {
    let several = impairments.loss.len() > 1;
    let [of_loss, of_others @ ..] = OF_LINK;
    let losses = impairments.loss.iter().enumerate();
    let losses = losses.map(move |(index, loss)| (of_loss, several.then_some(index), loss.span()));
    let others = of_others.into_iter().zip(impairments.other_spans());
    losses.chain(others.filter_map(|(part, span)| Some((part, None, span?)))).map(move |(part, index, span)| {
        let key = index.map_or_else(|| key(part), |index| format!("{}[{index}]", key(part)));
        Spanned { key, part, group: None, link: None, span: span.clone() }
    })
}

impl Impairments {
    /// Returns true if there is any impairment.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Returns true if packets may be lost.
    #[must_use]
    pub fn may_lose(&self) -> bool {
        !self.loss.is_empty() || self.policer.is_some()
    }

    /// Returns true if packets wait in the impairment for the whole delay of the link.
    #[must_use]
    pub fn takes_delay(&self) -> bool {
        self.jitter.is_some() || self.reorder.is_some()
    }

    /// Span of each part except loss, if it is present, in the order of [`ImpairmentKeys`].
    fn other_spans(&self) -> [Option<&Span>; 7] {
        [
            self.jitter.as_ref().map(Part::span),
            self.detour.as_ref().map(Part::span),
            self.reorder.as_ref().map(Part::span),
            self.duplicate.as_ref().map(Part::span),
            self.corrupt.as_ref().map(Part::span),
            self.slot.as_ref().map(Part::span),
            self.policer.as_ref().map(Part::span),
        ]
    }

    pub(super) fn read(table: &mut Table<'_>, keys: ImpairmentKeys) -> Result<Self, ConfigError> {
        let [loss, jitter, detour, reorder, duplicate, corrupt, slot_key, policer_key] = keys;
        let losses = match table.get(loss) {
            Some(Json::Array(_)) => table.tables(loss)?,
            _ => table.table(loss)?.into_iter().collect(),
        };
        let slot: Option<SlotParams> = read_part(table, slot_key)?;
        if let Some(SlotParams { min, max: Some(max), .. }) = slot
            && max < min
        {
            let problem = format!("\"{max}\" is out of range, it must be at least min, {min}");
            return Err(ConfigError::new(format!("{}.max", table.key(slot_key)), problem));
        }
        let policer: Option<PolicerParams> = read_part(table, policer_key)?;
        if let Some((key, problem)) = policer.as_ref().and_then(PolicerParams::problem) {
            return Err(ConfigError::new(format!("{}.{key}", table.key(policer_key)), problem));
        }
        Ok(Self {
            loss: losses.into_iter().map(|mut table| LossConfig::read(&mut table)).collect::<Result<_, _>>()?,
            jitter: read_part(table, jitter)?,
            detour: read_part(table, detour)?,
            reorder: read_part(table, reorder)?,
            duplicate: read_part(table, duplicate)?,
            corrupt: read_part(table, corrupt)?,
            slot,
            policer,
        })
    }

    pub(super) fn write(&self, map: &mut Map<String, Json>, keys: ImpairmentKeys) {
        let [loss, jitter, detour, reorder, duplicate, corrupt, slot, policer] = keys;
        match &self.loss[..] {
            [] => {}
            [one] => drop(map.insert(loss.into(), one.write())),
            several => drop(map.insert(loss.into(), several.iter().map(LossConfig::write).collect())),
        }
        write_part(self.jitter.as_ref(), map, jitter);
        write_part(self.detour.as_ref(), map, detour);
        write_part(self.reorder.as_ref(), map, reorder);
        write_part(self.duplicate.as_ref(), map, duplicate);
        write_part(self.corrupt.as_ref(), map, corrupt);
        write_part(self.slot.as_ref(), map, slot);
        write_part(self.policer.as_ref(), map, policer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_of_another_model_of_loss_are_told_where_one_is_missing() {
        let refusal = |json: Json| {
            let mut table = Table::new("loss", &json).unwrap();
            LossConfig::read(&mut table).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(json!({"p": "1 %", "r": "20 %"})),
            "loss.probability: missing, must be a probability such as \"1 %\"; p belongs to model = \"gilbert_elliott\""
        );
        assert_eq!(
            refusal(json!({"model": "gilbert_elliott", "p": "1 %", "period": 5})),
            "loss.r: missing, must be a probability such as \"1 %\"; period belongs to model = \"periodic\""
        );
        assert_eq!(refusal(json!({})), "loss.probability: missing, must be a probability such as \"1 %\"");
    }
}
