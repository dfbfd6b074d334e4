//! What the context is made of and what it costs: sections, cache, money, and what broke the cache.

use crate::input::Input;
use crate::keys::{Context as Where, Deed, Key};
use crate::row::Row;
use crate::view::{Cx, Errand, Outcome, Place, View};
use crate::words::{money, percent, tokens, took};
use model::{Cost, Usage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::{Difference, Event, Record};
use std::time::Duration;

/// The widest bar.
const BAR: usize = 40;
/// So many tokens that the cache should have held and did not are told of.
const WORTH_TELLING: u64 = 1_024;

/// What the context is made of and what it costs.
#[derive(Default)]
pub(crate) struct Context {
    records: Vec<Record>,
    begun: bool,
    fetching: Option<Errand<Vec<Record>>>,
    trouble: Option<String>,
    top: usize,
}

impl Context {
    fn settle(&mut self, cx: &Cx<'_>) {
        if !self.begun && self.fetching.is_none() {
            self.fetching = Some(cx.fetch(cx.house.records()));
        }
        if let Some(answer) = self.fetching.as_ref().and_then(Errand::take) {
            self.fetching = None;
            self.begun = true;
            match answer {
                Ok(records) => self.records = records,
                Err(trouble) => self.trouble = Some(trouble.to_string()),
            }
        }
    }

    fn rows(&self, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let turns: Vec<&Record> = self.records.iter().filter(|record| record.purpose == "turn").collect();
        let Some(last) = turns.last() else {
            return vec![Row::of("  nothing was asked yet", theme.dim)];
        };
        let mut rows = self.window(last, width, cx);
        rows.push(Row::empty());
        rows.extend(sections(last, width, cx));
        rows.push(Row::empty());
        rows.extend(self.sums(cx));
        let broken = breaks(&turns);
        rows.push(Row::empty());
        rows.push(Row::of("Cache", theme.heading));
        if broken.is_empty() {
            rows.push(Row::of(
                "  every request went on where the one before it ended",
                theme.dim,
            ));
        }
        for (number, why) in broken.iter().rev().take(5) {
            rows.push(Row::of(format!("  request {number}: "), theme.warn).and(why.as_str(), theme.text));
        }
        rows.push(Row::empty());
        rows.extend(requests(&turns, cx));
        rows
    }

    /// How full the model's window is.
    fn window(&self, last: &Record, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let used = last.usage.prompt() + last.usage.output;
        let window = cx.state.facts.window;
        let head = Row::of("Window", theme.heading);
        if window == 0 {
            return vec![head.and(format!("  {} tokens", tokens(used)), theme.text)];
        }
        let of = format!(
            "  {} of {} tokens, {}",
            tokens(used),
            tokens(window),
            percent(used, window)
        );
        let style = match used * 100 / window {
            0..60 => theme.good,
            60..85 => theme.warn,
            _ => theme.bad,
        };
        vec![head.and(of, theme.text), bar(used, window, width, style, cx)]
    }

    /// All requests together, by what they were for.
    fn sums(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut purposes: Vec<(&str, u64, Usage, Cost)> = Vec::new();
        for record in &self.records {
            let cost = record.cost.unwrap_or_default();
            match purposes.iter_mut().find(|(purpose, ..)| *purpose == record.purpose) {
                Some((_, count, usage, sum)) => {
                    *count += 1;
                    *usage += record.usage;
                    *sum += cost;
                }
                None => purposes.push((&record.purpose, 1, record.usage, cost)),
            }
        }
        let total: Usage = self.records.iter().map(|record| record.usage).sum();
        let cost: Cost = self.records.iter().filter_map(|record| record.cost).sum();
        let mut rows = vec![
            Row::of("Cost", theme.heading)
                .and(format!("  {}", money(cost)), theme.strong)
                .and(
                    format!("  {} in, {} out", tokens(total.prompt()), tokens(total.output)),
                    theme.text,
                )
                .and(
                    format!("  {} from the cache", percent(total.cache_read, total.prompt())),
                    theme.good,
                ),
        ];
        for (purpose, count, usage, cost) in purposes {
            let line = format!(
                "  {purpose:<12} {count:>4} × {:>7} in {:>7} out  {}",
                tokens(usage.prompt()),
                tokens(usage.output),
                money(cost)
            );
            rows.push(Row::of(line, theme.dim));
        }
        rows
    }
}

impl View for Context {
    fn place(&self) -> Place {
        Place::Full
    }

    fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Outcome {
        let Input::Key(event) = input else { return Outcome::Stay };
        match cx.keys.deed(Where::List, Key::from(event)) {
            Some(Deed::ListUp) => self.top = self.top.saturating_sub(1),
            Some(Deed::ListDown) => self.top += 1,
            Some(Deed::ListPageUp) => self.top = self.top.saturating_sub(10),
            Some(Deed::ListPageDown) => self.top += 10,
            Some(Deed::ListTop) => self.top = 0,
            Some(Deed::ListBottom) => self.top = usize::MAX / 2,
            Some(Deed::Close | Deed::Interrupt | Deed::Cancel | Deed::Leave) => return Outcome::Close,
            Some(Deed::Suspend | Deed::Redraw) => return Outcome::Pass,
            Some(_) | None => {}
        }
        Outcome::Stay
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        self.settle(cx);
        if area.height < 3 {
            return None;
        }
        let theme = cx.theme;
        Row::of("Context", theme.title)
            .and(format!("  {}", cx.state.facts.model), theme.dim)
            .cut(area.width.into())
            .draw(area.x, area.y, area.width, buf);
        let body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
        let rows = match (&self.trouble, self.begun) {
            (Some(trouble), _) => vec![Row::of(trouble.as_str(), theme.bad)],
            (None, false) => vec![Row::of("  …", theme.dim)],
            (None, true) => self.rows(area.width, cx),
        };
        self.top = self.top.min(rows.len().saturating_sub(body.height.into()));
        for (row, y) in rows.into_iter().skip(self.top).zip(body.top()..body.bottom()) {
            row.cut(body.width.into()).draw(body.x, y, body.width, buf);
        }
        let foot = super::list::hints(&[Deed::Close], "", area.width, cx)
            .and("   ↑↓", theme.strong)
            .and(" scroll", theme.dim);
        foot.cut(area.width.into())
            .draw(area.x, area.bottom() - 1, area.width, buf);
        None
    }

    fn hear(&mut self, event: &Event, cx: &Cx<'_>) {
        if matches!(event, Event::Usage { .. }) && self.fetching.is_none() {
            self.fetching = Some(cx.fetch(cx.house.records()));
        }
    }
}

/// What the newest request was made of, in the order in which the model saw it.
fn sections(last: &Record, width: u16, cx: &Cx<'_>) -> Vec<Row> {
    let theme = cx.theme;
    let prompt = last.usage.prompt();
    let mut rows = vec![Row::of("Last request", theme.heading).and(
        format!(
            "  {} tokens, {} from the cache",
            tokens(prompt),
            percent(last.usage.cache_read, prompt)
        ),
        theme.text,
    )];
    let all: u64 = last.sections.iter().map(|section| section.tokens).sum();
    let widest = last
        .sections
        .iter()
        .map(|section| section.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(28)
        .min(usize::from(width / 3));
    let room = usize::from(width).saturating_sub(widest + 20).min(BAR);
    for section in last.sections.iter().filter(|section| section.tokens > 0) {
        let share = |part: u64| (part as f64 / all.max(1) as f64 * room as f64).round() as usize;
        let whole = share(section.tokens).max(1);
        let cached = share(section.cached).min(whole);
        let name: String = section.name.chars().take(widest).collect();
        rows.push(
            Row::of(format!("  {name:<widest$} {:>7}  ", tokens(section.tokens)), theme.text)
                .and("█".repeat(cached), theme.good)
                .and("█".repeat(whole - cached), theme.accent)
                .and(format!(" {}", percent(section.tokens, all)), theme.dim),
        );
    }
    rows.push(
        Row::of("  █", theme.good)
            .and(" cached  ", theme.dim)
            .and("█", theme.accent)
            .and(" fresh", theme.dim),
    );
    rows
}

/// The newest requests, one a row.
fn requests(turns: &[&Record], cx: &Cx<'_>) -> Vec<Row> {
    let theme = cx.theme;
    let mut rows = vec![Row::of("Requests", theme.heading)];
    for (number, record) in turns.iter().enumerate().rev().take(50) {
        let usage = record.usage;
        let line = format!(
            "  {:>4} {:>7} in {:>4} cached {:>7} out {:>7}  {}",
            number + 1,
            tokens(usage.prompt()),
            percent(usage.cache_read, usage.prompt()),
            tokens(usage.output),
            took(Duration::from_millis(record.total)),
            record.cost.map(money).unwrap_or_default(),
        );
        rows.push(Row::of(line, theme.dim).and(format!("  {}", record.outcome), theme.dim));
    }
    rows
}

/// Requests that did not go on where the one before them ended, or that the provider's cache did not know, and why.
fn breaks(turns: &[&Record]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    for (index, record) in turns.iter().enumerate() {
        let Some(prompt) = &record.prompt else { continue };
        let why = match &prompt.difference {
            Difference::First => continue,
            Difference::Extends => {
                let missed = prompt.cached.saturating_sub(record.usage.cache_read);
                if missed < WORTH_TELLING || missed * 2 < prompt.cached {
                    continue;
                }
                format!(
                    "the provider did not find {} tokens that its cache should hold",
                    tokens(missed)
                )
            }
            Difference::At { .. } | Difference::Lost { .. } => prompt.difference.words(),
        };
        broken.push((index + 1, why));
    }
    broken
}

fn bar(part: u64, whole: u64, width: u16, style: ratatui::style::Style, cx: &Cx<'_>) -> Row {
    let room = usize::from(width).saturating_sub(4).min(BAR * 2);
    let filled = ((part as f64 / whole.max(1) as f64) * room as f64).round() as usize;
    let filled = filled.clamp(usize::from(part > 0), room);
    Row::of("  ", cx.theme.text)
        .and("█".repeat(filled), style)
        .and("░".repeat(room - filled), cx.theme.border)
}
