//! The built-in drop-tail scheme as a library; `make bench-scheme-lib` compares it with the original.

fairlane_plugin::export! { "my-droptail" = fairlane_schemes::aqm::droptail::DropTailScheme }
