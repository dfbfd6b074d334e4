//! `hew models`: lists models with their prices and capabilities.

use super::load;
use crate::args::{GlobalArgs, ModelsArgs as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::{ListingOptions, ModelRegistry};
use crate::output::table::{self, ColumnAlign};
use crate::output::{self, format::tokens};
use model::Info;
use serde::Serialize;

/// A model in the JSON of `hew models --json`.
#[derive(Serialize)]
struct ModelJson {
    name: String,
    wire: &'static str,
    usable: bool,
    window: Option<u64>,
    output: Option<u64>,
    usd_per_million_input: Option<f64>,
    usd_per_million_output: Option<f64>,
    usd_per_million_cache_read: Option<f64>,
    tools: bool,
    parallel_tools: bool,
    images: bool,
    pdf: bool,
    reasoning: bool,
    caching: bool,
    deprecated_on: Option<String>,
}

pub(super) async fn models(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (_, loaded) = load(global, env, Vec::new())?;
    let models = ModelRegistry::new(&loaded.config, env);
    if let Some(name) = &args.provider
        && models.provider(name).is_none()
    {
        let names: Vec<&str> = models.providers().iter().map(|provider| provider.name).collect();
        return Err(Failure::usage(format!("there is no provider `{name}`"))
            .hint(format!("known providers: {}", names.join(", "))));
    }
    let listing = models
        .list(&ListingOptions {
            provider: args.provider.as_deref(),
            filter: args.filter.as_deref(),
            discover: args.discover,
        })
        .await;
    for error in &listing.problems {
        match listing.asked {
            1 => output::print_stderr(&format!("note: {error}\nhint: {}\n", error.hint())),
            _ => output::print_stderr(&format!("note: {error}\n")),
        }
    }
    let rows: Vec<ModelJson> = listing
        .models
        .iter()
        .filter(|(_, is_usable)| *is_usable || !args.usable)
        .map(|(info, is_usable)| row(info, *is_usable))
        .collect();
    if args.json {
        output::print_checked(&output::pretty(&rows)?)?;
    } else if rows.is_empty() {
        output::print_stderr(
            "no matching model\nhint: `hew models` lists all, `hew models --discover` asks local servers\n",
        );
    } else {
        output::print_checked(&render(&rows))?;
        output::print_stderr("● available: the provider has a key or responded\n");
    }
    Ok(ExitStatus::Done)
}

fn row(info: &Info, usable: bool) -> ModelJson {
    let base = info.prices.as_ref().map(|prices| prices.base);
    let known = |count: u64| (count > 0).then_some(count);
    ModelJson {
        name: info.name(),
        wire: info.wire.name(),
        usable,
        window: known(info.limits.window),
        output: known(info.limits.output),
        usd_per_million_input: base.map(|tier| tier.input),
        usd_per_million_output: base.map(|tier| tier.output),
        usd_per_million_cache_read: base.and_then(|tier| tier.cache_read),
        tools: info.features.tools,
        parallel_tools: info.features.parallel_tools,
        images: info.features.images,
        pdf: info.features.pdf,
        reasoning: info.features.reasoning,
        caching: info.features.caching,
        deprecated_on: info.deprecated_on.clone(),
    }
}

fn render(rows: &[ModelJson]) -> String {
    let price = |usd: Option<f64>| usd.map_or("?".into(), |usd| format!("${usd}"));
    let size = |count: Option<u64>| count.map_or("?".into(), tokens);
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let features = [
                (row.tools, "tools"),
                (row.images, "images"),
                (row.pdf, "pdf"),
                (row.reasoning, "thinks"),
                (row.caching, "cache"),
            ];
            let mut words: Vec<&str> = features.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
            if row.deprecated_on.is_some() {
                words.push("(deprecated)");
            }
            vec![
                if row.usable { "●".into() } else { " ".into() },
                row.name.clone(),
                size(row.window),
                size(row.output),
                price(row.usd_per_million_input),
                price(row.usd_per_million_output),
                words.join(" "),
            ]
        })
        .collect();
    let columns = [
        ("", ColumnAlign::Left),
        ("MODEL", ColumnAlign::Left),
        ("WINDOW", ColumnAlign::Right),
        ("OUTPUT", ColumnAlign::Right),
        ("IN/M", ColumnAlign::Right),
        ("OUT/M", ColumnAlign::Right),
        ("ABLE TO", ColumnAlign::Left),
    ];
    table::render(&columns, &cells)
}
