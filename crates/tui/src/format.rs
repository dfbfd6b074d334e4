//! Formatting of numbers, durations and times.

use session::Time;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A count of tokens: `950`, `14.2k`, `1.3M`.
pub fn tokens(count: u64) -> String {
    let short = |number: f64, unit: &str| {
        let tenths = (number * 10.0).round() / 10.0;
        match tenths >= 100.0 || tenths.fract() == 0.0 {
            true => format!("{tenths:.0}{unit}"),
            false => format!("{tenths:.1}{unit}"),
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_950 => short(count as f64 / 1e3, "k"),
        _ => short(count as f64 / 1e6, "M"),
    }
}

/// A note about lines that are not shown: `+4,997 lines (ctrl+o)`.
pub(crate) fn hidden_lines(count: usize, key: &str) -> String {
    let noun = if count == 1 { "line" } else { "lines" };
    match key {
        "" => format!("+{} {noun}", grouped(count)),
        key => format!("+{} {noun} ({key})", grouped(count)),
    }
}

/// A number with separators: `4,997`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What a tool does, for its card. Tools of other programs keep their names.
pub fn tool_label(tool: &str) -> &str {
    match tool {
        "read_file" | "code_definitions" | "Read" | "read" | "view" => "Read",
        "edit_file" | "apply_patch" | "insert" | "Edit" | "edit" | "str_replace" | "replace_in_file" => "Edit",
        "write_file" | "Write" | "write" | "create_file" | "write_to_file" => "Write",
        "terminal" | "Bash" | "bash" | "shell" | "run_command" | "execute_command" | "run_shell_command"
        | "run_in_terminal" | "exec_command" => "Run",
        "grep" => "Search",
        "find_path" => "Find",
        "list_directory" => "List",
        "fetch" => "Fetch",
        "web_search" => "Search the web",
        "download" => "Download",
        "delete_path" => "Delete",
        "move_path" => "Move",
        "copy_path" => "Copy",
        "create_directory" => "Create",
        "format_file" => "Format",
        "diagnostics" => "Check",
        "todo" => "To-dos",
        "new_task" => "Subtask",
        "search_agent" => "Research",
        "ask_question" => "Ask",
        "switch_mode" => "Switch mode",
        "skill" => "Skill",
        "memory" => "Memory",
        "job_output" => "Read job",
        "job_kill" => "Stop job",
        "job_list" => "List jobs",
        "watch" => "Watch",
        "remind" => "Remind",
        "thinking" => "Think",
        "definition" => "Go to definition",
        "references" => "Find references",
        "rename_symbol" => "Rename",
        "hover" => "Look up",
        "code_action" => "Fix",
        "browser_action" => "Browse",
        "generate_image" => "Create image",
        "attempt_completion" => "Finish",
        "call_tool" => "Call",
        "find_tools" => "Find tools",
        other => other,
    }
}

/// A cost: `$0`, `$0.0042`, `$1.37`.
pub fn dollars(cost: model::Cost) -> String {
    let usd = cost.usd();
    match usd {
        _ if cost.nano_usd == 0 => "$0".into(),
        _ if usd < 0.0001 => "<$0.0001".into(),
        _ if usd < 0.1 => format!("${usd:.4}"),
        _ => format!("${usd:.2}"),
    }
}

/// A duration: `40ms`, `3.2s`, `2m05s`.
pub fn duration(time: Duration) -> String {
    let millis = time.as_millis();
    match millis {
        0..1_000 => format!("{millis}ms"),
        1_000..10_000 => format!("{:.1}s", time.as_secs_f64()),
        10_000..60_000 => format!("{}s", millis / 1_000),
        60_000..3_600_000 => format!("{}m{:02}s", millis / 60_000, millis / 1_000 % 60),
        _ => format!("{}h{:02}m", millis / 3_600_000, millis / 60_000 % 60),
    }
}

/// Time since: `now`, `5m`, `3h`, `2d`.
pub(crate) fn age(then: Time, now: Time) -> String {
    match now.0.saturating_sub(then.0) / 60_000 {
        0 => "now".into(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes @ 60..1_440 => format!("{}h", minutes / 60),
        minutes @ 1_440..43_200 => format!("{}d", minutes / 1_440),
        minutes @ 43_200..525_600 => format!("{}mo", minutes / 43_200),
        minutes => format!("{}y", minutes / 525_600),
    }
}

/// The current time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 is wrong in any case.
    Time(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// The used part of a context window: `0.2%`, `37%`.
pub(crate) fn window_percent(used: u64, window: u64) -> String {
    match (used * 100).checked_div(window) {
        Some(0..10) => format!("{:.1}%", used as f64 * 100.0 / window as f64),
        Some(whole) => format!("{whole}%"),
        None => percent(used, window),
    }
}

/// A percentage: `0%`, `37%`, `100%`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".into(),
        _ => format!("{}%", (part as f64 * 100.0 / whole as f64).round()),
    }
}

/// The first line of a text, sanitised for the terminal.
pub(crate) fn first_line(text: &str) -> String {
    let clean = crate::row::sanitise(text.trim());
    clean.lines().next().unwrap_or_default().trim_end().to_owned()
}

/// Sanitises untrusted text for the terminal: removes escape sequences, control characters other than line breaks and tabs, and
/// characters that hide or reorder text. A carriage return becomes a space: it can neither hide the text before it nor start a line.
pub fn sanitise(text: &str) -> String {
    remove_controls(text, |clean| clean.push(' '))
}

/// Like [`sanitise`], for the output of programs: of a line that a carriage return overwrites, only the last state is kept.
pub fn sanitise_output(text: &str) -> String {
    remove_controls(text, |clean| clean.truncate(clean.rfind('\n').map_or(0, |at| at + 1)))
}

fn remove_controls(text: &str, carriage_return: impl Fn(&mut String)) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\x1b' => skip_sequence(&mut chars),
            '\r' if matches!(chars.peek(), None | Some('\n')) => {}
            '\r' => carriage_return(&mut clean),
            c if is_active(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// Whether a character controls the terminal, or hides or reorders text.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{200e}' | '\u{200f}')
}

/// Skips an escape sequence. One that does not end hides at most the rest of its line.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if ('\x40'..='\x7e').contains(&c) {
                    return;
                }
            }
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            chars.next();
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if c == '\x07' {
                    return;
                }
                if c == '\x1b' {
                    if chars.peek() == Some(&'\\') {
                        chars.next();
                    }
                    return;
                }
            }
        }
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

/// A count of things: `1 file`, `2 files`.
pub fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
