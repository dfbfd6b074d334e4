//! What the unit tests of this crate share.

use model::{Features, Info, Limits, Wire};
use serde_json::Map;

/// A model that can do everything.
pub(crate) fn info(wire: Wire, id: &str) -> Info {
    Info {
        provider: "p".into(),
        id: id.into(),
        wire,
        limits: Limits {
            window: 200_000,
            output: 64_000,
        },
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
