//! Context usage and cost: sections, cache hits, and requests that missed the cache.

use crate::action::KeyResponse;
use crate::format;
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext as Where};
use crate::row::StyledRow;
use crate::view::{ModalView, PendingResult, ViewContext, ViewPlacement};
use model::{Cost, Usage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::{Event, PromptDifference, RequestRecord};
use std::time::Duration;

/// Maximum bar width.
const MAX_BAR: usize = 40;
/// Smaller cache misses are not listed.
const MIN_MISS: u64 = 1_024;

/// The context view.
#[derive(Default)]
pub(crate) struct ContextView {
    records: Vec<RequestRecord>,
    loaded: bool,
    loading: Option<PendingResult<Vec<RequestRecord>>>,
    error: Option<String>,
    top: usize,
}

impl ContextView {
    fn apply_results(&mut self, cx: &ViewContext<'_>) {
        if !self.loaded && self.loading.is_none() {
            self.loading = Some(cx.start(cx.backend.request_records()));
        }
        if let Some(answer) = self.loading.as_ref().and_then(PendingResult::take) {
            self.loading = None;
            self.loaded = true;
            match answer {
                Ok(records) => self.records = records,
                Err(error) => self.error = Some(error.to_string()),
            }
        }
    }

    fn rows(&self, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let turns: Vec<&RequestRecord> = self.records.iter().filter(|record| record.purpose == "turn").collect();
        let Some(last) = turns.last() else {
            return vec![StyledRow::new("  no requests yet", theme.dim)];
        };
        let mut rows = self.window(last, width, cx);
        rows.push(StyledRow::empty());
        rows.extend(self.totals(cx));
        rows.push(StyledRow::empty());
        rows.extend(sections(last, width, cx));
        let broken = cache_misses(&turns);
        rows.push(StyledRow::empty());
        rows.push(StyledRow::new("Cache", theme.heading));
        if broken.is_empty() {
            rows.push(StyledRow::new("  every request extended the previous one", theme.dim));
        }
        for (number, why) in broken.iter().rev().take(5) {
            rows.push(StyledRow::new(format!("  request {number}: "), theme.warn).push(why.as_str(), theme.text));
        }
        rows.push(StyledRow::empty());
        rows.extend(requests(&turns, cx));
        rows
    }

    /// Usage of the context window.
    fn window(&self, last: &RequestRecord, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let used = last.usage.prompt_tokens() + last.usage.output;
        let window = cx.state.info.context_window;
        let head = StyledRow::new("Window", theme.heading);
        if window == 0 {
            return vec![head.push(format!("  {} tokens", format::tokens(used)), theme.text)];
        }
        let of = format!(
            "  {} of {} tokens, {}",
            format::tokens(used),
            format::tokens(window),
            format::window_percent(used, window)
        );
        let style = match used * 100 / window {
            0..60 => theme.good,
            60..85 => theme.warn,
            _ => theme.bad,
        };
        vec![head.push(of, theme.text), bar(used, window, width, style, cx)]
    }

    /// Totals by purpose.
    fn totals(&self, cx: &ViewContext<'_>) -> Vec<StyledRow> {
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
            StyledRow::new("Cost", theme.heading)
                .push(format!("  {}", format::dollars(cost)), theme.strong)
                .push(
                    format!(
                        "  {} in, {} out",
                        format::tokens(total.prompt_tokens()),
                        format::tokens(total.output)
                    ),
                    theme.text,
                )
                .push(
                    format!(
                        "  {} from the cache",
                        format::percent(total.cache_read, total.prompt_tokens())
                    ),
                    theme.good,
                ),
        ];
        for (purpose, count, usage, cost) in purposes {
            let line = format!(
                "  {purpose:<12} {count:>4} × {:>7} in {:>7} out  {}",
                format::tokens(usage.prompt_tokens()),
                format::tokens(usage.output),
                format::dollars(cost)
            );
            rows.push(StyledRow::new(line, theme.dim));
        }
        rows
    }
}

impl ModalView for ContextView {
    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse {
        let Input::Key(event) = input else {
            return KeyResponse::Handled;
        };
        match cx.keys.action(Where::List, KeyChord::from(event)) {
            Some(KeyAction::ListUp) => self.top = self.top.saturating_sub(1),
            Some(KeyAction::ListDown) => self.top += 1,
            Some(KeyAction::ListPageUp) => self.top = self.top.saturating_sub(10),
            Some(KeyAction::ListPageDown) => self.top += 10,
            Some(KeyAction::ListTop) => self.top = 0,
            Some(KeyAction::ListBottom) => self.top = usize::MAX / 2,
            Some(KeyAction::Close | KeyAction::Interrupt | KeyAction::Cancel | KeyAction::Leave) => {
                return KeyResponse::close();
            }
            Some(KeyAction::Suspend | KeyAction::Redraw) => return KeyResponse::Ignored,
            Some(_) | None => {}
        }
        KeyResponse::Handled
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        self.apply_results(cx);
        if area.height < 3 {
            return None;
        }
        let theme = cx.theme;
        StyledRow::new("Context", theme.title)
            .push(format!("  {}", cx.state.info.model), theme.dim)
            .truncate(area.width.into())
            .draw(area.x, area.y, area.width, buf);
        let body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
        let rows = match (&self.error, self.loaded) {
            (Some(error), _) => vec![StyledRow::new(error.as_str(), theme.bad)],
            (None, false) => vec![StyledRow::new("  …", theme.dim)],
            (None, true) => self.rows(area.width, cx),
        };
        self.top = self.top.min(rows.len().saturating_sub(body.height.into()));
        for (row, y) in rows.into_iter().skip(self.top).zip(body.top()..body.bottom()) {
            row.truncate(body.width.into()).draw(body.x, y, body.width, buf);
        }
        let foot = super::list::hints(&[KeyAction::Close], "", area.width, cx)
            .push("   ↑↓", theme.strong)
            .push(" scroll", theme.dim);
        foot.truncate(area.width.into())
            .draw(area.x, area.bottom() - 1, area.width, buf);
        None
    }

    fn handle_event(&mut self, event: &Event, cx: &ViewContext<'_>) {
        if matches!(event, Event::Usage { .. }) && self.loading.is_none() {
            self.loading = Some(cx.start(cx.backend.request_records()));
        }
    }
}

/// Sections of the last request, in prompt order.
fn sections(last: &RequestRecord, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
    let theme = cx.theme;
    let prompt = last.usage.prompt_tokens();
    let mut rows = vec![StyledRow::new("Last request", theme.heading).push(
        format!(
            "  {} tokens, {} from the cache",
            format::tokens(prompt),
            format::percent(last.usage.cache_read, prompt)
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
    let room = usize::from(width).saturating_sub(widest + 20).min(MAX_BAR);
    for section in last.sections.iter().filter(|section| section.tokens > 0) {
        let share = |part: u64| (part as f64 / all.max(1) as f64 * room as f64).round() as usize;
        let whole = share(section.tokens).max(1);
        let cached = share(section.cached).min(whole);
        let name: String = section.name.chars().take(widest).collect();
        rows.push(
            StyledRow::new(
                format!("  {name:<widest$} {:>7}  ", format::tokens(section.tokens)),
                theme.text,
            )
            .push("█".repeat(cached), theme.good)
            .push("█".repeat(whole - cached), theme.accent)
            .push(format!(" {}", format::percent(section.tokens, all)), theme.dim),
        );
    }
    rows.push(
        StyledRow::new("  █", theme.good)
            .push(" cached  ", theme.dim)
            .push("█", theme.accent)
            .push(" fresh", theme.dim),
    );
    rows
}

/// The last requests, one per row.
fn requests(turns: &[&RequestRecord], cx: &ViewContext<'_>) -> Vec<StyledRow> {
    let theme = cx.theme;
    let mut rows = vec![StyledRow::new("Requests", theme.heading)];
    for (number, record) in turns.iter().enumerate().rev().take(50) {
        let usage = record.usage;
        let line = format!(
            "  {:>4} {:>7} in {:>4} cached {:>7} out {:>7}  {}",
            number + 1,
            format::tokens(usage.prompt_tokens()),
            format::percent(usage.cache_read, usage.prompt_tokens()),
            format::tokens(usage.output),
            format::duration(Duration::from_millis(record.total)),
            record.cost.map(format::dollars).unwrap_or_default(),
        );
        // What most requests end with needs no words.
        let outcome = match record.outcome.name() {
            "end" | "tool_use" => String::new(),
            _ => record.outcome.to_string(),
        };
        rows.push(StyledRow::new(line, theme.dim).push(format!("  {}", outcome.replace('_', " ")), theme.warn));
    }
    rows
}

/// Requests that changed the cached prefix or missed the provider's cache, with the reason.
fn cache_misses(turns: &[&RequestRecord]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    for (index, record) in turns.iter().enumerate() {
        let Some(prompt) = &record.prompt else { continue };
        let why = match &prompt.difference {
            PromptDifference::First => continue,
            PromptDifference::Extends => {
                let missed = prompt.cached.saturating_sub(record.usage.cache_read);
                if missed < MIN_MISS || missed * 2 < prompt.cached {
                    continue;
                }
                format!("the provider's cache missed {} expected tokens", format::tokens(missed))
            }
            PromptDifference::At { .. } | PromptDifference::CacheExpired { .. } => prompt.difference.describe(),
        };
        broken.push((index + 1, why));
    }
    broken
}

fn bar(part: u64, whole: u64, width: u16, style: ratatui::style::Style, cx: &ViewContext<'_>) -> StyledRow {
    let room = usize::from(width).saturating_sub(4).min(MAX_BAR * 2);
    let filled = ((part as f64 / whole.max(1) as f64) * room as f64).round() as usize;
    let filled = filled.clamp(usize::from(part > 0), room);
    StyledRow::new("  ", cx.theme.text)
        .push("█".repeat(filled), style)
        .push("░".repeat(room - filled), cx.theme.border)
}
