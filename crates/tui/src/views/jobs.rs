//! Commands in the background: what they do, what they printed, and stopping them.

use super::list::{Act, Fetch, Source};
use crate::house::Job;
use crate::keys::Deed;
use crate::row::{Row, tame};
use crate::view::{Cx, Place};

/// Commands in the background.
pub(crate) struct Jobs;

impl Source for Jobs {
    type Entry = Job;

    fn title(&self) -> String {
        "Background jobs".into()
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Job> {
        Fetch::Later(cx.fetch(cx.house.jobs()))
    }

    fn name(&self, job: &Job) -> String {
        format!("{} {}", job.id, tame(&job.command).replace('\n', " "))
    }

    fn about(&self, job: &Job, cx: &Cx<'_>) -> (Row, Row) {
        let style = if job.running { cx.theme.accent } else { cx.theme.dim };
        (Row::empty(), Row::of(&*job.state, style))
    }

    fn detail(&self, job: &Job, _: u16, cx: &Cx<'_>) -> Vec<Row> {
        let printed = tame(&job.printed);
        let lines: Vec<&str> = printed.lines().collect();
        let mut rows = vec![Row::of(&*job.state, cx.theme.dim), Row::empty()];
        if lines.is_empty() {
            rows.push(Row::of("it has printed nothing new", cx.theme.dim));
        }
        let skip = lines.len().saturating_sub(200);
        rows.extend(lines.iter().skip(skip).map(|line| Row::of(*line, cx.theme.text)));
        rows
    }

    fn choose(&mut self, _: &Job, _: &Cx<'_>) -> Act {
        Act::Again
    }

    fn act(&mut self, deed: Deed, job: &Job, cx: &Cx<'_>) -> Option<Act> {
        (deed == Deed::Stop && job.running).then(|| Act::Await(cx.fetch(cx.house.stop_job(job.id))))
    }

    fn hints(&self) -> &'static [Deed] {
        &[Deed::Close, Deed::Stop]
    }

    fn empty(&self) -> &'static str {
        "no command runs in the background"
    }

    fn is_live(&self) -> bool {
        true
    }
}
