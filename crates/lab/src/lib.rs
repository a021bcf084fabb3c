//! Placeholder while the house is being built.
