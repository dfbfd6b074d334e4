//! Adds up measurements in groups.

use super::{StatsData, StatsGrouping};
use crate::dates::day;
use host::sessions::short_id;
use model::Cost;
use serde_json::{Value, json};
use session::{
    ApprovalOutcome, CallEnd, CallRecord, ItemId, LineCounts, RequestEnd, RequestRecord, SessionId, SurvivalPoint,
    SurvivalRecord, TurnRecord,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The figures of one group.
#[derive(Debug, Default)]
pub(super) struct StatsSum {
    sessions: BTreeSet<SessionId>,
    pub(super) turns: u64,
    pub(super) requests: u64,
    failed_requests: u64,
    pub(super) prompt: u64,
    pub(super) cached: u64,
    cacheable: u64,
    pub(super) output: u64,
    thinking: u64,
    pub(super) cost: Cost,
    unpriced: u64,
    offered: u64,
    request_millis: Vec<u64>,
    first_chunk_millis: Vec<u64>,
    assembly_micros: Vec<u64>,
    pub(super) calls: u64,
    pub(super) failed_calls: u64,
    invalid_calls: u64,
    approvals: u64,
    refusals: u64,
    call_millis: Vec<u64>,
    files: u64,
    lines: LineCounts,
    pub(super) edits: u64,
    refused_edits: u64,
    survival: BTreeMap<SurvivalPoint, (f64, u64)>,
}

/// Groups and adds up. Returns the rows by name, and the sum of all.
pub(super) fn aggregate(data: &StatsData, by: StatsGrouping) -> (BTreeMap<String, StatsSum>, StatsSum) {
    let mut rows: BTreeMap<String, StatsSum> = BTreeMap::new();
    let mut total = StatsSum::default();
    for (session, record) in &data.requests {
        total.add_request(*session, record);
        if let Some(name) = data.request_group(by, *session, record) {
            rows.entry(name).or_default().add_request(*session, record);
        }
    }
    for (session, record) in &data.measured.turns {
        total.add_turn(*session);
        if let Some(name) = data.turn_group(by, *session, record) {
            rows.entry(name).or_default().add_turn(*session);
        }
    }
    let mut by_item: HashMap<(SessionId, ItemId), &CallRecord> = HashMap::new();
    for (session, record) in &data.measured.calls {
        by_item.insert((*session, record.item), record);
        total.add_call(*session, record);
        for name in data.call_groups(by, *session, record) {
            rows.entry(name).or_default().add_call(*session, record);
        }
    }
    for record in &data.measured.survival {
        total.add_survival(record);
        let Some(call) = by_item.get(&(record.session, record.item)) else {
            continue;
        };
        for name in data.call_groups(by, record.session, call) {
            rows.entry(name).or_default().add_survival(record);
        }
    }
    (rows, total)
}

impl StatsData {
    fn request_group(&self, by: StatsGrouping, session: SessionId, record: &RequestRecord) -> Option<String> {
        match by {
            StatsGrouping::Model => Some(record.model.clone()),
            StatsGrouping::Day => Some(day(record.at)),
            StatsGrouping::Mode if record.facts.mode.is_empty() => Some(format!("({})", record.purpose)),
            StatsGrouping::Mode => Some(record.facts.mode.clone()),
            StatsGrouping::Purpose => Some(record.purpose.clone()),
            StatsGrouping::Project | StatsGrouping::Session => self.session_group(by, session),
            StatsGrouping::Tool | StatsGrouping::Edit | StatsGrouping::Ending => None,
        }
    }

    fn turn_group(&self, by: StatsGrouping, session: SessionId, record: &TurnRecord) -> Option<String> {
        match by {
            StatsGrouping::Model => Some(record.model.clone()),
            StatsGrouping::Day => Some(day(record.at)),
            StatsGrouping::Mode => Some(record.mode.clone()),
            StatsGrouping::Ending => Some(record.ending.clone()),
            StatsGrouping::Project | StatsGrouping::Session => self.session_group(by, session),
            StatsGrouping::Tool | StatsGrouping::Edit | StatsGrouping::Purpose => None,
        }
    }

    fn call_groups(&self, by: StatsGrouping, session: SessionId, record: &CallRecord) -> Vec<String> {
        match by {
            StatsGrouping::Model => vec![record.model.clone()],
            StatsGrouping::Day => vec![day(record.at)],
            StatsGrouping::Mode => vec![record.mode.clone()],
            StatsGrouping::Tool => vec![record.tool.clone()],
            StatsGrouping::Edit => {
                let names = record
                    .edits
                    .iter()
                    .map(|edit| format!("{} {}", edit.format, edit.method));
                names.collect::<BTreeSet<String>>().into_iter().collect()
            }
            StatsGrouping::Project | StatsGrouping::Session => self.session_group(by, session).into_iter().collect(),
            StatsGrouping::Purpose | StatsGrouping::Ending => Vec::new(),
        }
    }

    fn session_group(&self, by: StatsGrouping, session: SessionId) -> Option<String> {
        let meta = self.sessions.get(&session)?;
        match by {
            StatsGrouping::Project => Some(meta.root.display().to_string()),
            _ => Some(short_id(session)),
        }
    }
}

impl StatsSum {
    fn add_request(&mut self, session: SessionId, record: &RequestRecord) {
        self.sessions.insert(session);
        let usage = &record.usage;
        self.requests += 1;
        self.failed_requests += u64::from(matches!(record.outcome, RequestEnd::Failed { .. }));
        self.prompt += usage.prompt_tokens();
        self.cached += usage.cache_read;
        let expected = record.prompt.as_ref().map_or(0, |prompt| prompt.cached);
        self.cacheable += expected.max(usage.cache_read);
        self.output += usage.output;
        self.thinking += usage.thinking;
        self.cost += record.cost.unwrap_or_default();
        self.unpriced += u64::from(record.cost.is_none() && usage.prompt_tokens() > 0);
        self.request_millis.push(record.total);
        self.first_chunk_millis.extend(record.first_chunk);
        if record.facts.round > 0 {
            self.assembly_micros.push(record.facts.assembled_in);
            self.offered += u64::from(record.facts.tools);
        }
    }

    fn add_turn(&mut self, session: SessionId) {
        self.sessions.insert(session);
        self.turns += 1;
    }

    fn add_call(&mut self, session: SessionId, record: &CallRecord) {
        self.sessions.insert(session);
        self.calls += 1;
        self.failed_calls += u64::from(record.end != CallEnd::Done);
        self.invalid_calls += u64::from(record.end.is_invalid());
        self.approvals += u64::from(record.approval != ApprovalOutcome::NotAsked);
        self.refusals += u64::from(matches!(record.end, CallEnd::Refused | CallEnd::Denied));
        self.call_millis.push(record.millis);
        self.files += record.files;
        self.lines += record.lines;
        self.edits += record.edits.len() as u64;
        let is_refused = |edit: &&session::EditFact| edit.method == "refused";
        self.refused_edits += record.edits.iter().filter(is_refused).count() as u64;
    }

    fn add_survival(&mut self, record: &SurvivalRecord) {
        let (sum, count) = self.survival.entry(record.point).or_default();
        *sum += record.share;
        *count += 1;
    }

    /// The average share of edits that remained at a point.
    pub(super) fn survival(&self, point: SurvivalPoint) -> Option<f64> {
        let (sum, count) = self.survival.get(&point)?;
        Some(sum / *count as f64)
    }

    /// The share of the cacheable tokens that the provider read from its cache.
    pub(super) fn cache_hits(&self) -> Option<f64> {
        (self.cacheable > 0).then(|| self.cached as f64 / self.cacheable as f64)
    }

    pub(super) fn median_request(&self) -> Option<u64> {
        percentile(&self.request_millis, 50)
    }

    pub(super) fn median_first_chunk(&self) -> Option<u64> {
        percentile(&self.first_chunk_millis, 50)
    }

    pub(super) fn median_call(&self) -> Option<u64> {
        percentile(&self.call_millis, 50)
    }

    pub(super) fn lines(&self) -> LineCounts {
        self.lines
    }

    pub(super) fn unpriced(&self) -> u64 {
        self.unpriced
    }

    pub(super) fn refusals(&self) -> u64 {
        self.refusals
    }

    pub(super) fn invalid_calls(&self) -> u64 {
        self.invalid_calls
    }

    pub(super) fn request_times(&self) -> &[u64] {
        &self.request_millis
    }

    pub(super) fn as_json(&self) -> Value {
        let spread = |values: &[u64]| {
            json!({
                "median": percentile(values, 50), "p95": percentile(values, 95), "max": values.iter().max(),
            })
        };
        let survival = SurvivalPoint::ALL.into_iter().filter_map(|point| {
            let (_, count) = self.survival.get(&point)?;
            Some((
                point.name().to_owned(),
                json!({"share": self.survival(point), "edits": count}),
            ))
        });
        json!({
            "sessions": self.sessions.len(),
            "turns": self.turns,
            "requests": self.requests,
            "failed_requests": self.failed_requests,
            "prompt_tokens": self.prompt,
            "cached_tokens": self.cached,
            "cacheable_tokens": self.cacheable,
            "output_tokens": self.output,
            "reasoning_tokens": self.thinking,
            "cost_usd": self.cost.usd(),
            "unpriced_requests": self.unpriced,
            "tools_offered": self.offered,
            "request_ms": spread(&self.request_millis),
            "first_chunk_ms": spread(&self.first_chunk_millis),
            "assembly_us": spread(&self.assembly_micros),
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "invalid_calls": self.invalid_calls,
            "approvals_asked": self.approvals,
            "refused_calls": self.refusals,
            "call_ms": spread(&self.call_millis),
            "files_changed": self.files,
            "lines_added": self.lines.added,
            "lines_removed": self.lines.removed,
            "edits": self.edits,
            "refused_edits": self.refused_edits,
            "survival": Value::Object(survival.collect()),
        })
    }
}

/// The value below which this percentage of the values lies.
pub(super) fn percentile(values: &[u64], percent: usize) -> Option<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    values.get((last * percent).div_ceil(100)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_list() {
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&[7], 95), Some(7));
        assert_eq!(percentile(&[4, 1, 3, 2, 5], 50), Some(3));
        assert_eq!(percentile(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 95), Some(10));
    }
}
