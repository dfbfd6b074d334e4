//! Background jobs: state, output and stopping.

use super::list::{ListItems, ListResponse, ListSource};
use crate::backend::JobRow;
use crate::keys::KeyAction;
use crate::row::{StyledRow, sanitise, sanitise_output};
use crate::view::{ViewContext, ViewPlacement};

/// Background jobs.
pub(crate) struct JobPicker;

impl ListSource for JobPicker {
    type Item = JobRow;

    fn title(&self) -> String {
        "Background jobs".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<JobRow> {
        ListItems::Pending(cx.start(cx.backend.jobs()))
    }

    fn name(&self, job: &JobRow) -> String {
        format!("{} {}", job.id, sanitise(&job.command).replace('\n', " "))
    }

    fn columns(&self, job: &JobRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let style = if job.running { cx.theme.accent } else { cx.theme.dim };
        (StyledRow::empty(), StyledRow::new(&*job.state, style))
    }

    fn detail(&self, job: &JobRow, _: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let printed = sanitise_output(&job.output);
        let lines: Vec<&str> = printed.lines().collect();
        let command = sanitise(&job.command);
        let mut rows: Vec<StyledRow> = command
            .lines()
            .map(|line| StyledRow::new(line, cx.theme.strong))
            .collect();
        rows.push(StyledRow::empty());
        if lines.is_empty() {
            rows.push(StyledRow::new("no output yet", cx.theme.dim));
        }
        let skip = lines.len().saturating_sub(200);
        rows.extend(lines.iter().skip(skip).map(|line| StyledRow::new(*line, cx.theme.text)));
        rows
    }

    fn choose(&mut self, _: &JobRow, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::Reload
    }

    fn perform(&mut self, action: KeyAction, job: &JobRow, cx: &ViewContext<'_>) -> Option<ListResponse> {
        (action == KeyAction::Stop && job.running).then(|| ListResponse::Await(cx.start(cx.backend.stop_job(job.id))))
    }

    fn key_hints(&self) -> &'static [KeyAction] {
        &[KeyAction::Close, KeyAction::Stop]
    }

    fn empty_text(&self) -> &'static str {
        "no background jobs"
    }

    fn is_live(&self) -> bool {
        true
    }
}
