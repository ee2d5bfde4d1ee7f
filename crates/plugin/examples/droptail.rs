//! The built-in drop-tail as a library, which `make bench-scheme-lib` compares with the original.

fairlane_plugin::export! { "my-droptail" = fairlane_schemes::aqm::droptail::DropTailScheme }
