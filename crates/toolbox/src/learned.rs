//! What experience says about the form in which each model writes edits best.

use std::sync::{Arc, Mutex, PoisonError};

use edit::Format;
use serde_json::{Map, Value, json};

/// The family's form is kept until it has been tried this often.
const MIN_TRIES: u32 = 8;
/// Older tries count for less: at this many, all are halved.
const MAX_TRIES: u32 = 64;
/// The model that was used longest ago is forgotten first.
const MAX_MODELS: usize = 64;

/// How often each model's edits in each form could be made at the first try. Clones share one memory.
///
/// A form that has not been tried is taken to work half of the time, so another one is tried as soon as the usual one fails more
/// often than not; whichever works best stays.
#[derive(Debug, Clone, Default)]
pub struct Learned {
    models: Arc<Mutex<Vec<Model>>>,
}

#[derive(Debug)]
struct Model {
    name: String,
    forms: Vec<(Format, Tally)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    tries: u32,
    successes: u32,
}

impl Learned {
    /// Reads what [`Learned::to_json`] wrote. What it does not know, such as a form that is no longer there, is left out.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let models: Map<String, Value> = serde_json::from_str(text)?;
        let models = models.into_iter().map(|(name, forms)| Model {
            name,
            forms: forms.as_object().into_iter().flatten().filter_map(form).collect(),
        });
        let models: Vec<Model> = models.filter(|model| !model.forms.is_empty()).collect();
        Ok(Self {
            models: Arc::new(Mutex::new(models)),
        })
    }

    /// All of it as JSON, for [`Learned::from_json`].
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

    /// The form to ask a model for: one of `forms`, of which the first is its family's.
    pub(crate) fn choose(&self, model: &str, forms: &[Format]) -> Format {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let known = models.iter().find(|known| known.name == model);
        let tally = |form: Format| known.map(|known| known.tally(form)).unwrap_or_default();
        let usual = forms.first().copied().unwrap_or(Format::Whole);
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

    /// Counts a first try.
    pub(crate) fn count(&self, model: &str, form: Format, placed: Placed) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = match models.iter().position(|known| known.name == model) {
            Some(at) => models.remove(at),
            None => Model {
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

/// Whether edits could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    Yes,
    No,
}

impl Model {
    fn tally(&self, form: Format) -> Tally {
        let tally = self.forms.iter().find(|(known, _)| *known == form);
        tally.map(|(_, tally)| *tally).unwrap_or_default()
    }

    fn count(&mut self, form: Format, placed: Placed) {
        let mut tally = self.tally(form);
        tally.tries += 1;
        tally.successes += u32::from(placed == Placed::Yes);
        if tally.tries >= MAX_TRIES {
            tally.tries /= 2;
            tally.successes /= 2;
        }
        self.forms.retain(|(known, _)| *known != form);
        self.forms.push((form, tally));
    }
}

impl Tally {
    /// The share of successes, as if one try had worked and one had failed before the first.
    fn rate(self) -> f64 {
        f64::from(self.successes + 1) / f64::from(self.tries + 2)
    }
}

fn form((name, tally): (&String, &Value)) -> Option<(Format, Tally)> {
    let number = |key: &str| {
        let number = tally[key].as_u64()?;
        u32::try_from(number).ok().map(|number| number.min(MAX_TRIES))
    };
    let tries = number("tries")?;
    let successes = number("successes")?.min(tries);
    Some((Format::from_name(name)?, Tally { tries, successes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Format; 3] = [Format::Xml, Format::SearchReplace, Format::ApplyPatch];

    fn count(learned: &Learned, form: Format, placed: Placed, times: usize) {
        (0..times).for_each(|_| learned.count("p/m", form, placed));
    }

    #[test]
    fn the_family_is_believed_until_enough_tries_say_otherwise() {
        let learned = Learned::default();
        assert_eq!(learned.choose("p/m", &FORMS), Format::Xml);
        count(&learned, Format::Xml, Placed::No, 7);
        assert_eq!(learned.choose("p/m", &FORMS), Format::Xml);
        count(&learned, Format::Xml, Placed::No, 1);
        assert_eq!(learned.choose("p/m", &FORMS), Format::SearchReplace);
        // What fails as well gives way to what has not been tried; what works stays.
        count(&learned, Format::SearchReplace, Placed::No, 1);
        assert_eq!(learned.choose("p/m", &FORMS), Format::ApplyPatch);
        count(&learned, Format::ApplyPatch, Placed::Yes, 3);
        assert_eq!(learned.choose("p/m", &FORMS), Format::ApplyPatch);
        assert_eq!(learned.choose("p/other", &FORMS), Format::Xml);
    }

    #[test]
    fn a_form_that_mostly_works_is_not_given_up() {
        let learned = Learned::default();
        count(&learned, Format::Xml, Placed::Yes, 12);
        count(&learned, Format::Xml, Placed::No, 8);
        assert_eq!(learned.choose("p/m", &FORMS), Format::Xml);
    }

    #[test]
    fn what_was_learned_is_kept_and_read_again_and_stays_small() {
        let learned = Learned::default();
        count(&learned, Format::Xml, Placed::No, 9);
        let json = r#"{"p/m":{"xml":{"tries":9,"successes":0}}}"#;
        assert_eq!(learned.to_json(), json);
        let again = Learned::from_json(json).unwrap();
        assert_eq!(again.choose("p/m", &FORMS), Format::SearchReplace);
        count(&again, Format::Xml, Placed::Yes, 1_000);
        (0..200).for_each(|n| again.count(&format!("m{n}"), Format::Xml, Placed::Yes));
        assert!(again.to_json().len() < 64 * 60);
        let odd = r#"{"a":{"xml":{"tries":1,"successes":9},"gone":{"tries":1,"successes":1}},"b":3,"c":{"xml":{"tries":-1}}}"#;
        assert_eq!(
            Learned::from_json(odd).unwrap().to_json(),
            r#"{"a":{"xml":{"tries":1,"successes":1}}}"#
        );
        assert!(Learned::from_json("[]").is_err());
    }
}
