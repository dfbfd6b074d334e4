//! Shared helpers for unit tests.

use model::{Features, Info, TokenLimits, Wire};
use serde_json::Map;

/// A model with all features.
pub(crate) fn info(wire: Wire, id: &str) -> Info {
    Info {
        provider: "p".into(),
        id: id.into(),
        wire,
        limits: TokenLimits {
            window: 200_000,
            output: 64_000,
        },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: true,
            pdf: true,
            reasoning: true,
            caching: true,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    }
}
