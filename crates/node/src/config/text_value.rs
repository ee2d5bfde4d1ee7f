//! Configuration values written as strings, for types with `FromStr` and `Display`.

/// Implements the value trait for a type. Arguments: the type, its name in errors, and an example.
macro_rules! text_value {
    ($type:ty, $kind:literal, $example:literal) => {
        impl fairlane_schemes::base::config::ConfigValue for $type {
            const KIND: &'static str = $kind;
            const EXAMPLE: &'static str = $example;
            fn parse(value: &serde_json::Value) -> Option<Self> {
                value.as_str()?.parse().ok()
            }
            fn to_json(&self) -> serde_json::Value {
                serde_json::Value::String(self.to_string())
            }
            fn within(&self, _: &Self, _: &Self) -> bool {
                true
            }
        }
    };
}

pub(super) use text_value;
