//! Catalogue of metrics. Each metric is declared once, together with its record field.
//!
//! [`metrics!`](crate::metrics!) declares a record. A field is a metric (`unit`, `heading` and so on), one or several
//! nested records (`part`), or neither. Tables, data frames, pages, evaluations and documentation are generated from
//! [`catalogue`].

use crate::measure::derived::derived;
use crate::measure::metric::Metric;
use crate::measure::run_record::RunRecord;
use serde_json::Value as Json;

/// A field of a record declared with [`metrics!`](crate::metrics!).
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in the record.
    pub name: &'static str,
    /// Doc comment, with its leading space.
    pub doc: &'static str,
    /// Kind of the field's value.
    pub kind: Kind,
}

/// Kind of a field's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Neither a metric nor a nested record, for example a text.
    Other,
    /// One or several numbers, with the fields of [`Metric`].
    Number {
        /// Unit.
        unit: &'static str,
        /// Unit in tables; empty if it is the same.
        shown_as: &'static str,
        /// Better direction: `low`, `high`, or empty.
        better: &'static str,
        /// Heading.
        heading: &'static str,
        /// Heading in words; empty if `heading` suffices.
        words: &'static str,
        /// Symbol.
        symbol: &'static str,
        /// Source.
        source: &'static str,
        /// Scope, if different from that of the record.
        of: &'static str,
        /// Name, if different from that of the field.
        named: &'static str,
        /// Names of [`PLACES`](super::metric::PLACES), separated by spaces.
        shown: &'static str,
    },
    /// One or several nested records.
    Part {
        /// Name of the record's type.
        record: &'static str,
        /// Fields.
        fields: &'static [Field],
        /// Prefix of the names of the record's metrics, after the prefix of the enclosing record.
        prefix: &'static str,
        /// Prefix of the metrics' headings.
        heading: &'static str,
        /// Prefix of the metrics' headings, spelled out in words; empty if it equals `heading`.
        words: &'static str,
        /// Scope, if different from that of the enclosing record.
        of: &'static str,
        /// Field that distinguishes the nested records.
        by: &'static str,
        /// Names of [`PLACES`](super::metric::PLACES): the tables that show every number of the record, instead of
        /// those in `shown`. May be empty.
        every: &'static str,
    },
}

/// A record declared with [`metrics!`](crate::metrics!).
pub trait Record {
    /// Name of the type.
    const NAME: &'static str;
    /// The fields, in order.
    const FIELDS: &'static [Field];
}

impl<T: Record> Record for Option<T> {
    const NAME: &'static str = T::NAME;
    const FIELDS: &'static [Field] = T::FIELDS;
}

impl<T: Record> Record for Vec<T> {
    const NAME: &'static str = T::NAME;
    const FIELDS: &'static [Field] = T::FIELDS;
}

/// Declares a record: struct, schema and metrics in one place. All fields are public.
///
/// ```
/// # use fairlane_sim::measure::catalogue::Record;
/// # use fairlane_sim::metrics;
/// # use schemars::JsonSchema;
/// metrics! {
///     /// Measurements of a toy.
///     #[derive(JsonSchema)]
///     pub struct ToyRecord {
///         /// Name.
///         name: String;
///         /// Time that it ran.
///         running_s: f64, unit "s" as "ms", better "low", heading "running", symbol "t", shown "columns groups";
///     }
/// }
/// assert_eq!(ToyRecord::FIELDS[1].name, "running_s");
/// ```
#[macro_export]
macro_rules! metrics {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)*)])?
                $field:ident : $Type:ty
                    $(, unit $unit:literal $(as $shown_as:literal)?
                        $(, better $better:literal)?
                        , heading $heading:literal $(or $words:literal)?
                        $(, symbol $symbol:literal)?
                        $(, source $source:literal)?
                        $(, of $of:literal)?
                        $(, named $named:literal)?
                        $(, shown $shown:literal)?)?
                    $(, part $prefix:literal
                        $(heading $begin:literal $(or $begin_words:literal)?)?
                        $(of $scope:literal)?
                        $(by $by:literal)?
                        $(every $every:literal)?)?;
            )*
        }
    ) => {
        $(#[$meta])*
        pub struct $Name {
            $(
                $(#[doc = $doc])+
                $(#[serde($($serde)*)])?
                $(
                    #[schemars(extend("x-unit" = $unit))]
                    $(#[schemars(extend("x-better" = $better))])?
                    $(#[schemars(extend("x-symbol" = $symbol))])?
                    $(#[schemars(extend("x-source" = $source))])?
                )?
                pub $field: $Type,
            )*
        }

        impl $crate::measure::catalogue::Record for $Name {
            const NAME: &'static str = stringify!($Name);
            const FIELDS: &'static [$crate::measure::catalogue::Field] = &[$(
                $crate::measure::catalogue::Field {
                    name: stringify!($field),
                    doc: concat!($($doc,)+),
                    kind: $crate::metrics!(@kind
                        $(Number [$unit] [$($shown_as)?] [$($better)?] [$heading] [$($words)?] [$($symbol)?]
                            [$($source)?] [$($of)?] [$($named)?] [$($shown)?])?
                        $(Part [$Type] [$prefix] [$($begin)?] [$($($begin_words)?)?] [$($scope)?] [$($by)?]
                            [$($every)?])?
                    ),
                },
            )*];
        }
    };
    (@kind) => { $crate::measure::catalogue::Kind::Other };
    (@kind Number [$unit:literal] [$($shown_as:literal)?] [$($better:literal)?] [$heading:literal] [$($words:literal)?]
        [$($symbol:literal)?] [$($source:literal)?] [$($of:literal)?] [$($named:literal)?] [$($shown:literal)?]) => {
        $crate::measure::catalogue::Kind::Number {
            unit: $unit,
            shown_as: concat!($($shown_as)?),
            better: concat!($($better)?),
            heading: $heading,
            words: concat!($($words)?),
            symbol: concat!($($symbol)?),
            source: concat!($($source)?),
            of: concat!($($of)?),
            named: concat!($($named)?),
            shown: concat!($($shown)?),
        }
    };
    (@kind Part [$Type:ty] [$prefix:literal] [$($begin:literal)?] [$($begin_words:literal)?] [$($scope:literal)?]
        [$($by:literal)?] [$($every:literal)?]) => {
        $crate::measure::catalogue::Kind::Part {
            record: <$Type as $crate::measure::catalogue::Record>::NAME,
            fields: <$Type as $crate::measure::catalogue::Record>::FIELDS,
            prefix: $prefix,
            heading: concat!($($begin)?),
            words: concat!($($begin_words)?),
            of: concat!($($scope)?),
            by: concat!($($by)?),
            every: concat!($($every)?),
        }
    };
}

/// Returns all metrics: first the metrics of a run's record, in the order of its fields, then the derived metrics.
#[must_use]
pub fn catalogue() -> Vec<Metric> {
    let mut found = Vec::new();
    collect(RunRecord::FIELDS, &Place { scope: "run", ..Place::default() }, &mut found);
    found.extend(derived());
    found
}

/// Returns the JSON Schema of a run's record.
#[must_use]
pub fn record_schema() -> Json {
    schemars::schema_for!(RunRecord).to_value()
}

/// Location of a nested record within the record of a run.
#[derive(Default)]
struct Place {
    scope: &'static str,
    path: Vec<&'static str>,
    prefix: String,
    heading: String,
    title: String,
    by: &'static str,
    about: &'static str,
    every: &'static str,
    /// True if an enclosing record set `every`, which then replaces `shown` of each field.
    is_within_every: bool,
}

fn collect(fields: &[Field], place: &Place, into: &mut Vec<Metric>) {
    for field in fields {
        let mut path = place.path.clone();
        path.push(field.name);
        match field.kind {
            Kind::Other => {}
            Kind::Number { unit, shown_as, better, heading, words, symbol, source, of, named, shown } => {
                let everywhere = if of.is_empty() { place.every } else { "" };
                let own = if place.is_within_every { "" } else { shown };
                let title = if words.is_empty() { format!("{} {heading}", place.title) } else { words.into() };
                into.push(Metric {
                    title: title.trim().into(),
                    heading: format!("{} {heading}", place.heading).trim().into(),
                    name: if named.is_empty() { format!("{}{}", place.prefix, field.name) } else { named.into() },
                    scope: if of.is_empty() { place.scope } else { of },
                    path,
                    unit,
                    shown_as: if shown_as.is_empty() { unit } else { shown_as },
                    better,
                    symbol,
                    source,
                    by: place.by,
                    shown: everywhere.split_whitespace().chain(own.split_whitespace()).collect(),
                    about: place.about.trim().into(),
                    doc: field.doc.trim().into(),
                });
            }
            Kind::Part { fields, prefix, heading, words, of, by, every, .. } => {
                let is_new = !of.is_empty();
                let within = Place {
                    scope: if is_new { of } else { place.scope },
                    path: if is_new { Vec::new() } else { path },
                    prefix: format!("{}{prefix}", place.prefix),
                    heading: if heading.is_empty() { place.heading.clone() } else { heading.into() },
                    title: match (words, heading) {
                        ("", "") => place.title.clone(),
                        ("", own) | (own, _) => own.into(),
                    },
                    by: if by.is_empty() { place.by } else { by },
                    about: if is_new { "" } else { field.doc },
                    every: if every.is_empty() { place.every } else { every },
                    is_within_every: !place.every.is_empty(),
                };
                collect(fields, &within, into);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::metric::PLACES;
    use std::collections::{BTreeMap, BTreeSet};

    /// Names of the declared numbers of each record, by record name.
    fn numbers_by_record() -> BTreeMap<&'static str, Vec<&'static str>> {
        fn add(name: &'static str, fields: &'static [Field], into: &mut BTreeMap<&'static str, Vec<&'static str>>) {
            let is_number = |field: &&Field| matches!(field.kind, Kind::Number { .. });
            into.insert(name, fields.iter().filter(is_number).map(|field| field.name).collect());
            for field in fields {
                if let Kind::Part { record, fields, .. } = field.kind {
                    add(record, fields, into);
                }
            }
        }
        let mut found = BTreeMap::new();
        add(RunRecord::NAME, RunRecord::FIELDS, &mut found);
        found
    }

    /// Returns true for a number, an optional number or a list of numbers.
    fn is_number(schema: &Json) -> bool {
        match schema.get("type") {
            Some(Json::String(kind)) if kind == "array" => is_number(&schema["items"]),
            Some(Json::String(kind)) if kind == "object" => is_number(&schema["additionalProperties"]),
            Some(Json::String(kind)) => kind == "number" || kind == "integer",
            Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "number" || kind == "integer"),
            _ => false,
        }
    }

    #[test]
    fn every_number_of_a_record_is_declared_and_everything_declared_is_a_number() {
        let schema = record_schema();
        let mut records: Vec<(&str, &Json)> =
            schema["$defs"].as_object().unwrap().iter().map(|(name, record)| (name.as_str(), record)).collect();
        records.push(("RunRecord", &schema));
        let declared = numbers_by_record();
        for (name, record) in records {
            let fields = record["properties"].as_object().unwrap();
            let numbers: BTreeSet<&str> =
                fields.iter().filter(|(_, field)| is_number(field)).map(|(name, _)| name.as_str()).collect();
            let found: BTreeSet<&str> = declared[name].iter().copied().collect();
            assert_eq!(numbers, found, "{name}: numbers of the record, and fields with a unit");
        }
    }

    #[test]
    fn a_metric_that_is_a_column_has_a_name_of_its_own_and_places_that_exist() {
        let all = catalogue();
        let columns = all.iter().filter(|metric| metric.shown.contains(&"columns"));
        let mut names = BTreeSet::new();
        for metric in columns {
            assert!(names.insert((metric.scope, &metric.name)), "{}: twice", metric.name);
        }
        for metric in &all {
            assert!(!metric.doc.is_empty() && !metric.heading.is_empty(), "{}", metric.name);
            assert!(!metric.doc.contains("TODO"), "{}: write its sentence, and its value in recorder.rs", metric.name);
            assert!(["", "high", "low"].contains(&metric.better), "{}", metric.name);
            assert!(metric.shown.iter().all(|place| PLACES.contains(place)), "{}: {:?}", metric.name, metric.shown);
        }
    }
}
