//! Starts and confines processes; the only crate that may.
