//! Parses the output of checkers.

use std::path::Path;

use serde_json::Value;

use super::select::CheckerFormat;
use crate::support::code_server::{Diagnostic, DiagnosticSeverity};

/// Maximum number of diagnostics.
const MAX_FOUND: usize = 5_000;

/// Parses diagnostics. Paths become relative to the project root.
pub(crate) fn read(output: CheckerFormat, printed: &str, cwd: &Path, root: &Path) -> Vec<Diagnostic> {
    let mut found = match output {
        CheckerFormat::Cargo => printed
            .lines()
            .filter_map(json)
            .filter_map(|line| cargo(&line))
            .take(MAX_FOUND)
            .collect(),
        CheckerFormat::Ruff => printed
            .lines()
            .filter_map(json)
            .filter_map(|line| ruff(&line))
            .take(MAX_FOUND)
            .collect(),
        CheckerFormat::Pyright => pyright(printed),
        CheckerFormat::Tsc => printed.lines().filter_map(tsc).take(MAX_FOUND).collect(),
        CheckerFormat::Colons => colons(printed),
        CheckerFormat::Node => node(printed).into_iter().collect(),
        CheckerFormat::Bash => printed.lines().filter_map(bash).take(MAX_FOUND).collect(),
    };
    for diagnostic in &mut found {
        diagnostic.path = relative_path(&diagnostic.path, cwd, root);
    }
    found
}

/// Whether the output has the expected format, even if it has no relevant diagnostics.
pub(crate) fn is_expected_format(output: CheckerFormat, printed: &str) -> bool {
    match output {
        CheckerFormat::Cargo | CheckerFormat::Ruff => printed.lines().any(|line| json(line).is_some()),
        CheckerFormat::Pyright => object(printed).is_some(),
        CheckerFormat::Tsc => printed.lines().any(|line| tsc(line).is_some()),
        CheckerFormat::Colons => !colons(printed).is_empty(),
        CheckerFormat::Node | CheckerFormat::Bash => false,
    }
}

fn relative_path(path: &str, cwd: &Path, root: &Path) -> String {
    let path = cwd.join(path.trim_start_matches("./"));
    path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned()
}

fn json(line: &str) -> Option<Value> {
    let line = line.trim();
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

/// The JSON object in a text with other content around it.
fn object(text: &str) -> Option<Value> {
    let inside = text.get(text.find('{')?..=text.rfind('}')?)?;
    serde_json::from_str(inside).ok()
}

fn severity(word: &str) -> DiagnosticSeverity {
    match word {
        "error" | "fatal error" | "error: internal compiler error" => DiagnosticSeverity::Error,
        "warning" => DiagnosticSeverity::Warning,
        _ => DiagnosticSeverity::Note,
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().map_or(0, |number| usize::try_from(number).unwrap_or(0))
}

fn text(value: &Value) -> Option<String> {
    value
        .as_str()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cargo(line: &Value) -> Option<Diagnostic> {
    let message = (line["reason"] == "compiler-message").then_some(&line["message"])?;
    let spans = message["spans"].as_array()?;
    let span = spans.iter().find(|span| span["is_primary"] == true).or(spans.first())?;
    let mut full = text(&message["message"])?;
    if let Some(label) = text(&span["label"]).filter(|label| !label.is_empty()) {
        full = format!("{full}: {label}");
    }
    for child in message["children"].as_array().into_iter().flatten() {
        if child["level"] == "help"
            && let Some(help) = text(&child["message"])
        {
            full = format!("{full}; help: {help}");
        }
    }
    Some(Diagnostic {
        severity: severity(message["level"].as_str().unwrap_or_default()),
        path: span["file_name"].as_str()?.to_owned(),
        line: number(&span["line_start"]),
        column: number(&span["column_start"]),
        code: message["code"]["code"].as_str().map(str::to_owned),
        message: full,
    })
}

fn ruff(line: &Value) -> Option<Diagnostic> {
    let code = line["code"].as_str().map(str::to_owned);
    Some(Diagnostic {
        // No code, or a syntax error: the code does not run.
        severity: match code.as_deref() {
            None | Some("E999" | "invalid-syntax" | "F821") => DiagnosticSeverity::Error,
            Some(_) => DiagnosticSeverity::Warning,
        },
        path: line["filename"].as_str()?.to_owned(),
        line: number(&line["location"]["row"]),
        column: number(&line["location"]["column"]),
        code,
        message: text(&line["message"])?,
    })
}

fn pyright(printed: &str) -> Vec<Diagnostic> {
    let Some(report) = object(printed) else {
        return Vec::new();
    };
    let one = |line: &Value| {
        Some(Diagnostic {
            severity: severity(line["severity"].as_str()?),
            path: line["file"].as_str()?.to_owned(),
            line: number(&line["range"]["start"]["line"]) + 1,
            column: number(&line["range"]["start"]["character"]) + 1,
            code: line["rule"].as_str().map(str::to_owned),
            message: text(&line["message"])?,
        })
    };
    let lines = report["generalDiagnostics"].as_array();
    lines.into_iter().flatten().filter_map(one).take(MAX_FOUND).collect()
}

/// `src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.`
fn tsc(line: &str) -> Option<Diagnostic> {
    let (place, rest) = line.split_once("): ")?;
    let (path, position) = place.rsplit_once('(')?;
    let (row, column) = position.split_once(',')?;
    let (head, message) = rest.split_once(": ")?;
    let (level, code) = head.split_once(' ')?;
    Some(Diagnostic {
        severity: severity(level),
        path: path.to_owned(),
        line: row.parse().ok()?,
        column: column.parse().ok()?,
        code: Some(code.to_owned()),
        message: message.to_owned(),
    })
}

/// `a.c:3:5: error: expected ';'`, `./a.go:3:5: undefined: x`, `a.rb:3: syntax error`.
fn colons(printed: &str) -> Vec<Diagnostic> {
    let one = |line: &str| {
        let line = line.trim_start_matches("vet: ");
        let mut parts = line.splitn(3, ':');
        let (path, row, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let row: usize = row.parse().ok()?;
        let (column, rest) = match rest.split_once(':').map(|(column, rest)| (column.parse(), rest)) {
            Some((Ok(column), rest)) => (column, rest),
            Some((Err(_), _)) | None => (0, rest),
        };
        let rest = rest.trim();
        let words = ["fatal error", "error", "warning", "note"];
        let level = words
            .iter()
            .find_map(|word| Some((*word, rest.strip_prefix(word)?.strip_prefix(':')?)));
        let (severity, message) = match level {
            Some((word, message)) => (severity(word), message.trim()),
            // Checkers without levels report only errors.
            None => (DiagnosticSeverity::Error, rest),
        };
        let (message, code) = match message.strip_suffix(']').and_then(|inside| inside.rsplit_once(" [-")) {
            Some((message, code)) => (message, Some(format!("-{code}"))),
            None => (message, None),
        };
        ((level.is_some() || !path.contains(' ')) && !message.is_empty()).then(|| Diagnostic {
            severity,
            path: path.to_owned(),
            line: row,
            column,
            code,
            message: message.to_owned(),
        })
    };
    printed.lines().filter_map(one).take(MAX_FOUND).collect()
}

/// `/p/a.js:3`, the line, a caret, an empty line, `SyntaxError: message`.
fn node(printed: &str) -> Option<Diagnostic> {
    let (path, row) = printed.lines().next()?.rsplit_once(':')?;
    let message = printed.lines().find(|line| line.contains("Error: "))?;
    let caret = printed
        .lines()
        .find(|line| !line.trim().is_empty() && line.trim().chars().all(|letter| letter == '^'));
    Some(Diagnostic {
        severity: DiagnosticSeverity::Error,
        path: path.to_owned(),
        line: row.parse().ok()?,
        column: caret.and_then(|line| line.find('^')).map_or(0, |at| at + 1),
        code: None,
        message: message.to_owned(),
    })
}

/// `a.sh: line 3: syntax error near unexpected token`.
fn bash(line: &str) -> Option<Diagnostic> {
    let (path, rest) = line.split_once(": line ")?;
    let (row, message) = rest.split_once(": ")?;
    Some(Diagnostic {
        severity: DiagnosticSeverity::Error,
        path: path.to_owned(),
        line: row.parse().ok()?,
        column: 0,
        code: None,
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The diagnostics, one per line.
    fn check(output: CheckerFormat, printed: &str) -> String {
        let found = read(output, printed, Path::new("/p/sub"), Path::new("/p"));
        let lines = found.into_iter().map(|one| {
            let code = one.code.unwrap_or_else(|| "-".into());
            format!(
                "{}:{}:{} {} {code} {}",
                one.path,
                one.line,
                one.column,
                one.severity.word(),
                one.message
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_checker_format_is_parsed() {
        let cargo = r#"{"reason":"compiler-artifact"}
garbage
{"reason":"compiler-message","message":{"level":"error","code":{"code":"E0308"},"message":"mismatched types","spans":[{"is_primary":false,"file_name":"b.rs","line_start":1,"column_start":1},{"is_primary":true,"file_name":"src/a.rs","line_start":2,"column_start":5,"label":"expected `u8`"}],"children":[{"level":"help","message":"try\n this"}]}}
{"reason":"compiler-message","message":{"level":"error","code":null,"message":"aborting due to 1 previous error","spans":[],"children":[]}}"#;
        assert_eq!(
            check(CheckerFormat::Cargo, cargo),
            "sub/src/a.rs:2:5 error E0308 mismatched types: expected `u8`; help: try this"
        );
        let ruff = r#"{"code":"F401","filename":"/p/sub/a.py","location":{"row":1,"column":8},"message":"`os` imported but unused"}
{"code":null,"filename":"/p/b.py","location":{"row":2,"column":1},"message":"SyntaxError: x"}"#;
        assert_eq!(
            check(CheckerFormat::Ruff, ruff),
            "sub/a.py:1:8 warning F401 `os` imported but unused\nb.py:2:1 error - SyntaxError: x"
        );
        let pyright = "No configuration file found.\n{\n \"generalDiagnostics\": [{\"file\":\"/p/a.py\",\"severity\":\"error\",\"message\":\"bad\",\"range\":{\"start\":{\"line\":0,\"character\":4}},\"rule\":\"reportX\"}]\n}\n";
        assert_eq!(check(CheckerFormat::Pyright, pyright), "a.py:1:5 error reportX bad");
        assert_eq!(
            check(
                CheckerFormat::Tsc,
                "src/a.ts(3,5): error TS2322: Type 'a' is: b.\n\nFound 1 error.\n"
            ),
            "sub/src/a.ts:3:5 error TS2322 Type 'a' is: b."
        );
        assert_eq!(
            check(
                CheckerFormat::Colons,
                "a.c: In function 'main':\na.c:3:5: error: expected ';' before 'x'\n    3 | y\na.c:9:1: warning: unused [-Wunused-variable]\n./b.go:4:2: undefined: x\n# pkg\nvet: c.go:1:1: expected 'package'\nd.rb:7: syntax error\n"
            ),
            "sub/a.c:3:5 error - expected ';' before 'x'\nsub/a.c:9:1 warning -Wunused-variable unused\nsub/b.go:4:2 error - undefined: x\nsub/c.go:1:1 error - expected 'package'\nsub/d.rb:7:0 error - syntax error"
        );
        assert_eq!(
            check(
                CheckerFormat::Node,
                "/p/sub/a.js:2\nlet = ;\n      ^\n\nSyntaxError: Unexpected token ';'\n    at x\n"
            ),
            "sub/a.js:2:7 error - SyntaxError: Unexpected token ';'"
        );
        assert_eq!(
            check(
                CheckerFormat::Bash,
                "a.sh: line 3: syntax error: unexpected end of file\n"
            ),
            "sub/a.sh:3:0 error - syntax error: unexpected end of file"
        );
    }
}
