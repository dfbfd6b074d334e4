//! Settings: each with its value, where it comes from, and a line to change it.

use super::list::{Act, Fetch, Source};
use crate::house::Setting;
use crate::keys::Deed;
use crate::row::{Row, wrap};
use crate::view::{Cx, Place};

/// The settings.
pub(crate) struct Settings;

impl Source for Settings {
    type Entry = Setting;

    fn title(&self) -> String {
        "Settings".into()
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Setting> {
        Fetch::Later(cx.fetch(cx.house.settings()))
    }

    fn name(&self, setting: &Setting) -> String {
        setting.key.clone()
    }

    fn about(&self, setting: &Setting, cx: &Cx<'_>) -> (Row, Row) {
        let value = match setting.value.is_empty() {
            true => Row::of("–", cx.theme.dim),
            false => Row::of(&*setting.value, cx.theme.accent),
        };
        (value, Row::of(&*setting.origin, cx.theme.dim))
    }

    fn detail(&self, setting: &Setting, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut rows = vec![Row::of(&*setting.key, theme.strong)];
        rows.extend(wrap(&Row::of(&*setting.about, theme.text), width.into(), &Row::empty()));
        if !setting.choices.is_empty() {
            rows.push(Row::empty());
            let choices = Row::of(format!("one of: {}", setting.choices.join(", ")), theme.dim);
            rows.extend(wrap(&choices, width.into(), &Row::empty()));
        }
        rows
    }

    fn verb(&self) -> &'static str {
        "change"
    }

    fn choose(&mut self, setting: &Setting, cx: &Cx<'_>) -> Act {
        // What has two values is switched at once; anything else is written.
        if let [one, two] = setting.choices.as_slice() {
            let next = if setting.value == *one { two } else { one };
            return Act::Await(cx.fetch(cx.house.set(setting.key.clone(), next.clone())));
        }
        let value = setting.value.trim_matches('"').to_owned();
        Act::Ask(Deed::Choose, format!("{} =", setting.key), value)
    }

    fn said(&mut self, _: Deed, words: String, setting: &Setting, cx: &Cx<'_>) -> Act {
        Act::Await(cx.fetch(cx.house.set(setting.key.clone(), words)))
    }
}
