//! Impairments of a path: loss, jitter, and temporary detours.

use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use fairlane_schemes::base::units::{Probability, Time};
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json};

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
    }
}

params! {
    /// Periodic loss.
    pub struct PeriodicLossParams {
        /// Period in packets; the last packet of each period is lost.
        period: u32 = 100, in 1..=1000000000, source "our choice";
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
        table.finish()?;
        Ok(loss)
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
    }
}

params! {
    /// A longer route that packets take for some time. Packets that later take the shorter route overtake them.
    pub struct DetourParams {
        /// Additional delay of the longer route.
        delay: Time = "50 ms", in "1 ns"..="1 h", source "our choice";
        /// Time from which packets take the longer route.
        from: Time = "0 s", in "0 s"..="1440 h", source "our choice";
        /// Time from which packets take the shorter route again. If absent, packets keep the longer route.
        until: Option<Time> = null, in "1 ps"..="1440 h", source "our choice";
    }
}

impl DetourParams {
    /// Additional delay of a packet that enters the path at `now`.
    #[must_use]
    pub fn delay_at(&self, now: Time) -> Time {
        if now >= self.from && self.until.is_none_or(|until| now < until) { self.delay } else { Time::ZERO }
    }
}

/// Impairments of a path besides its delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Losses, if any.
    pub loss: Option<LossConfig>,
    /// Jitter, if any.
    pub jitter: Option<JitterParams>,
    /// Detour, if any.
    pub detour: Option<DetourParams>,
}

/// Names of the three tables of [`Impairments`]: loss, jitter, detour.
pub(super) type ImpairmentKeys = [&'static str; 3];

impl Impairments {
    /// Returns true if there is any impairment.
    #[must_use]
    pub fn any(&self) -> bool {
        self.loss.is_some() || self.jitter.is_some() || self.detour.is_some()
    }

    pub(super) fn read(table: &mut Table<'_>, [loss, jitter, detour]: ImpairmentKeys) -> Result<Self, ConfigError> {
        let loss = table.table(loss)?.map(|mut table| LossConfig::read(&mut table)).transpose()?;
        let jitter = table.table(jitter)?.map(|mut table| read_jitter(&mut table)).transpose()?;
        let detour = table.table(detour)?.map(|mut table| read_detour(&mut table)).transpose()?;
        Ok(Self { loss, jitter, detour })
    }

    pub(super) fn write(&self, map: &mut Map<String, Json>, [loss, jitter, detour]: ImpairmentKeys) {
        if let Some(config) = &self.loss {
            map.insert(loss.into(), config.write());
        }
        if let Some(config) = &self.jitter {
            let mut table = Map::new();
            config.write(&mut table);
            map.insert(jitter.into(), Json::Object(table));
        }
        if let Some(config) = &self.detour {
            let mut table = Map::new();
            config.write(&mut table);
            map.insert(detour.into(), Json::Object(table));
        }
    }
}

fn read_jitter(table: &mut Table<'_>) -> Result<JitterParams, ConfigError> {
    if table.get("deviation").is_none() {
        table.required::<Time>("deviation")?;
    }
    let params = JitterParams::read(table)?;
    table.finish()?;
    Ok(params)
}

fn read_detour(table: &mut Table<'_>) -> Result<DetourParams, ConfigError> {
    for key in ["delay", "from"] {
        if table.get(key).is_none() {
            table.required::<Time>(key)?;
        }
    }
    let params = DetourParams::read(table)?;
    if let Some(until) = params.until.filter(|&until| until <= params.from) {
        let problem = format!("\"{until}\" is out of range, it must be after from, {}", params.from);
        return Err(ConfigError::new(table.key("until"), problem));
    }
    table.finish()?;
    Ok(params)
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
