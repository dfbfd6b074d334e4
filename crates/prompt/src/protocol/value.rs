//! The value of a parameter as it is read from a model's text.

use super::grammar::Kind;
use serde_json::Value as Json;

/// A value that is being read.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// What has arrived and is not told yet: all of it, or only what may turn out not to belong to it.
    held: String,
    /// Whether anything has arrived.
    begun: bool,
    /// Whether what was told of it has several lines.
    lines: bool,
}

impl Value {
    pub(super) fn new(name: &str, kind: Kind) -> Self {
        Value {
            name: name.into(),
            kind,
            held: String::new(),
            begun: false,
            lines: false,
        }
    }

    /// Whether it is told while it arrives.
    pub(super) fn streams(&self) -> bool {
        match self.kind {
            Kind::Verbatim | Kind::File => true,
            Kind::Short | Kind::Lines | Kind::Data => false,
        }
    }

    /// Whether it has several lines.
    pub(super) fn has_lines(&self) -> bool {
        match self.streams() {
            true => self.lines,
            false => self.held.trim().contains('\n'),
        }
    }

    /// Takes in more of it; what can be told of it now.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        if !self.streams() {
            return String::new();
        }
        if !self.begun {
            // One line break after the opening tag is only layout.
            match self.held.as_str() {
                "" | "\r" => return String::new(),
                held if held.starts_with('\n') => drop(self.held.drain(..1)),
                held if held.starts_with("\r\n") => drop(self.held.drain(..2)),
                _ => {}
            }
            self.begun = true;
        }
        let told = match self.kind {
            Kind::File => std::mem::take(&mut self.held),
            // One line break before the closing tag is only layout, too.
            Kind::Verbatim | Kind::Short | Kind::Lines | Kind::Data => {
                let kept = match self.held.as_str() {
                    held if held.ends_with("\r\n") => 2,
                    held if held.ends_with(['\n', '\r']) => 1,
                    _ => 0,
                };
                let rest = self.held.split_off(self.held.len() - kept);
                std::mem::replace(&mut self.held, rest)
            }
        };
        self.lines |= told.contains('\n');
        told
    }

    /// What is still to be told at the end of one that is told while it arrives.
    pub(super) fn rest(&self) -> String {
        match self.held.as_str() {
            "\n" | "\r\n" => String::new(),
            held => held.into(),
        }
    }

    /// The value of one that is told at its end.
    pub(super) fn read(&self) -> Json {
        let text = self.held.trim();
        match self.kind {
            Kind::Short | Kind::Verbatim | Kind::File => text.into(),
            Kind::Data => data(text).unwrap_or_else(|| text.into()),
            Kind::Lines => match data(text) {
                Some(list @ Json::Array(_)) => list,
                Some(_) | None => text.lines().map(str::trim).filter(|line| !line.is_empty()).collect(),
            },
        }
    }
}

fn data(text: &str) -> Option<Json> {
    let plain = serde_json::from_str(text).ok();
    plain.or_else(|| {
        let looks_like_json = text.starts_with(['{', '[']) || matches!(text, "True" | "False" | "None");
        model::json::repair(text).ok().filter(|_| looks_like_json)
    })
}

/// A text as it stands between the quotes of a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let json = Json::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}
