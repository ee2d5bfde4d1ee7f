//! The private extension module `fairlane._fairlane`.
