//! Statistics on which edit format works best for each model.

use std::sync::{Arc, Mutex, PoisonError};

use edit::EditFormat;
use serde_json::{Map, Value, json};

/// Minimum attempts before the family's format is replaced.
const MIN_TRIES: u32 = 8;
/// At this number of attempts, all counts are halved, so that older ones count less.
const MAX_TRIES: u32 = 64;
/// Maximum number of models; the least recently used is dropped first.
const MAX_MODELS: usize = 64;

/// How often each model's first attempt succeeded in each edit format. Clones share state. An untried format counts as
/// succeeding half of the time, so another one is tried as soon as the default fails more often than not.
#[derive(Debug, Clone, Default)]
pub struct EditFormatStats {
    models: Arc<Mutex<Vec<ModelStats>>>,
}

#[derive(Debug)]
struct ModelStats {
    name: String,
    forms: Vec<(EditFormat, FormatTally)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FormatTally {
    tries: u32,
    successes: u32,
}

impl EditFormatStats {
    /// Parses the output of [`EditFormatStats::to_json`]. Unknown entries, such as removed formats, are ignored.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let models: Map<String, Value> = serde_json::from_str(text)?;
        let models = models.into_iter().map(|(name, forms)| ModelStats {
            name,
            forms: forms.as_object().into_iter().flatten().filter_map(form).collect(),
        });
        let models: Vec<ModelStats> = models.filter(|model| !model.forms.is_empty()).collect();
        Ok(Self {
            models: Arc::new(Mutex::new(models)),
        })
    }

    /// Serializes to JSON, for [`EditFormatStats::from_json`].
    pub fn to_json(&self) -> String {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let models = models.iter().map(|model| {
            let forms = model.forms.iter().map(|(format, tally)| {
                let tally = json!({"tries": tally.tries, "successes": tally.successes});
                (format.name().to_owned(), tally)
            });
            (model.name.clone(), Value::Object(forms.collect()))
        });
        Value::Object(models.collect()).to_string()
    }

    /// The format to request: one of `forms`, of which the first is the family's.
    pub(crate) fn choose(&self, model: &str, forms: &[EditFormat]) -> EditFormat {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let known = models.iter().find(|known| known.name == model);
        let tally = |form: EditFormat| known.map(|known| known.tally(form)).unwrap_or_default();
        let usual = forms.first().copied().unwrap_or(EditFormat::Whole);
        if tally(usual).tries < MIN_TRIES {
            return usual;
        }
        forms.iter().copied().fold(usual, |best, form| {
            if tally(form).rate() > tally(best).rate() {
                form
            } else {
                best
            }
        })
    }

    /// Counts a first attempt.
    pub(crate) fn count(&self, model: &str, form: EditFormat, placed: EditPlacement) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = match models.iter().position(|known| known.name == model) {
            Some(at) => models.remove(at),
            None => ModelStats {
                name: model.to_owned(),
                forms: Vec::new(),
            },
        };
        known.count(form, placed);
        models.push(known);
        if models.len() > MAX_MODELS {
            models.remove(0);
        }
    }
}

/// Whether an edit could be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditPlacement {
    Placed,
    Refused,
}

impl ModelStats {
    fn tally(&self, form: EditFormat) -> FormatTally {
        let tally = self.forms.iter().find(|(known, _)| *known == form);
        tally.map(|(_, tally)| *tally).unwrap_or_default()
    }

    fn count(&mut self, form: EditFormat, placed: EditPlacement) {
        let mut tally = self.tally(form);
        tally.tries += 1;
        tally.successes += u32::from(placed == EditPlacement::Placed);
        if tally.tries >= MAX_TRIES {
            tally.tries /= 2;
            tally.successes /= 2;
        }
        self.forms.retain(|(known, _)| *known != form);
        self.forms.push((form, tally));
    }
}

impl FormatTally {
    /// The success rate, with one success and one failure added.
    fn rate(self) -> f64 {
        f64::from(self.successes + 1) / f64::from(self.tries + 2)
    }
}

fn form((name, tally): (&String, &Value)) -> Option<(EditFormat, FormatTally)> {
    let number = |key: &str| {
        let number = tally[key].as_u64()?;
        u32::try_from(number).ok().map(|number| number.min(MAX_TRIES))
    };
    let tries = number("tries")?;
    let successes = number("successes")?.min(tries);
    Some((EditFormat::from_name(name)?, FormatTally { tries, successes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [EditFormat; 3] = [EditFormat::Xml, EditFormat::SearchReplace, EditFormat::ApplyPatch];

    fn count(learned: &EditFormatStats, form: EditFormat, placed: EditPlacement, times: usize) {
        (0..times).for_each(|_| learned.count("p/m", form, placed));
    }

    #[test]
    fn the_family_format_is_used_until_it_fails_too_often() {
        let learned = EditFormatStats::default();
        assert_eq!(learned.choose("p/m", &FORMS), EditFormat::Xml);
        count(&learned, EditFormat::Xml, EditPlacement::Refused, 7);
        assert_eq!(learned.choose("p/m", &FORMS), EditFormat::Xml);
        count(&learned, EditFormat::Xml, EditPlacement::Refused, 1);
        assert_eq!(learned.choose("p/m", &FORMS), EditFormat::SearchReplace);
        // A format that fails as well is replaced by an untried one; one that works is kept.
        count(&learned, EditFormat::SearchReplace, EditPlacement::Refused, 1);
        assert_eq!(learned.choose("p/m", &FORMS), EditFormat::ApplyPatch);
        count(&learned, EditFormat::ApplyPatch, EditPlacement::Placed, 3);
        assert_eq!(learned.choose("p/m", &FORMS), EditFormat::ApplyPatch);
        assert_eq!(learned.choose("p/other", &FORMS), EditFormat::Xml);
    }

    #[test]
    fn a_format_that_mostly_works_is_kept() {
        let learned = EditFormatStats::default();
        count(&learned, EditFormat::Xml, EditPlacement::Placed, 12);
        count(&learned, EditFormat::Xml, EditPlacement::Refused, 8);
        assert_eq!(learned.choose("p/m", &FORMS), EditFormat::Xml);
    }

    #[test]
    fn statistics_are_saved_loaded_and_limited() {
        let learned = EditFormatStats::default();
        count(&learned, EditFormat::Xml, EditPlacement::Refused, 9);
        let json = r#"{"p/m":{"xml":{"tries":9,"successes":0}}}"#;
        assert_eq!(learned.to_json(), json);
        let again = EditFormatStats::from_json(json).unwrap();
        assert_eq!(again.choose("p/m", &FORMS), EditFormat::SearchReplace);
        count(&again, EditFormat::Xml, EditPlacement::Placed, 1_000);
        (0..200).for_each(|n| again.count(&format!("m{n}"), EditFormat::Xml, EditPlacement::Placed));
        assert!(again.to_json().len() < 64 * 60);
        let damaged = r#"{"a":{"xml":{"tries":1,"successes":9},"removed":{"tries":1,"successes":1}},"b":3,"c":{"xml":{"tries":-1}}}"#;
        assert_eq!(
            EditFormatStats::from_json(damaged).unwrap().to_json(),
            r#"{"a":{"xml":{"tries":1,"successes":1}}}"#
        );
        assert!(EditFormatStats::from_json("[]").is_err());
    }
}
