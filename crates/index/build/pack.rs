//! Extracts the parse tables from a generated parser and compresses them.

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;

use lzma_rust2::{LzmaOptions, LzmaWriter};

/// A parser without its tables, and the tables.
pub(crate) struct Packed {
    /// The C source, with the tables as separately named zeroed memory.
    pub(crate) source: Vec<u8>,
    /// All tables as little-endian 16-bit numbers, the large one first, compressed.
    pub(crate) tables: Vec<u8>,
    /// The function that returns the language.
    pub(crate) symbol: String,
    /// The length of the large table.
    pub(crate) large: usize,
    /// The length of the small table and those appended to it.
    pub(crate) small: usize,
}

const LARGE: &[u8] = b"static const uint16_t ts_parse_table[LARGE_STATE_COUNT][SYMBOL_COUNT] = {";
const SMALL: &[u8] = b"static const uint16_t ts_small_parse_table[] = {";
const END: &[u8] = b"\n};";
/// All tables of a parser except the large one share memory with a common alignment.
const ALIGN: &str = "_Alignas(8)";
/// The number of 16-bit numbers in one `ALIGN` unit.
const ALIGNED: usize = 4;

/// Why a generated parser could not be packed.
#[derive(Debug)]
pub(crate) enum PackError {
    Invalid(&'static str),
    Undefined(String),
    NotANumber(String),
    Unexpected(String),
}

type Result<T> = std::result::Result<T, PackError>;

impl PackError {
    fn unexpected(text: &[u8]) -> Self {
        PackError::Unexpected(String::from_utf8_lossy(text).into_owned())
    }
}

impl From<&'static str> for PackError {
    fn from(problem: &'static str) -> Self {
        PackError::Invalid(problem)
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackError::Invalid(problem) => f.write_str(problem),
            PackError::Undefined(name) => write!(f, "{name} is not defined"),
            PackError::NotANumber(name) => write!(f, "{name} is not a number"),
            PackError::Unexpected(text) => write!(f, "unexpected text {text:?}"),
        }
    }
}

/// How much time the build spends on a small result.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effort {
    /// For development and first builds: an eighth more bytes in a fifth of the time.
    Fast,
    /// For distributed binaries.
    Small,
}

pub(crate) fn pack(source: &[u8], effort: Effort) -> Result<Packed> {
    let names = enumerators(source);
    let columns = defined(source, "SYMBOL_COUNT")?;
    let rows = defined(source, "LARGE_STATE_COUNT")?;
    let symbol = language_function(source)?;
    let mut rest = Vec::new();
    let source = &optimised(source);
    let (before, inside, after) = cut(source, LARGE).ok_or("no parse table")?;
    let large = large_table(inside, &names, rows, columns)?;
    rest.extend_from_slice(before);
    declare(&mut rest, &format!("{symbol}_parse_table"), large.len());
    rest.extend_from_slice(
        format!("#define ts_parse_table ((uint16_t (*)[SYMBOL_COUNT]){symbol}_parse_table)\n").as_bytes(),
    );
    let mut small = match cut(after, SMALL) {
        Some((before, inside, after)) => {
            let small = small_table(inside, &names)?;
            rest.extend_from_slice(before);
            declare(&mut rest, &format!("{symbol}_small_parse_table"), small.len());
            rest.extend_from_slice(format!("#define ts_small_parse_table {symbol}_small_parse_table\n").as_bytes());
            rest.extend_from_slice(after);
            small
        }
        None => {
            declare(&mut rest, &format!("{symbol}_small_parse_table"), 1);
            rest.extend_from_slice(after);
            vec![0]
        }
    };
    let own = small.len();
    let rest = strip_states(rest, &symbol, &mut small)?;
    let rest = strip_map(rest, &symbol, &mut small, rows)?;
    let rest = strip_actions(rest, &symbol, &mut small, &names)?;
    let rest = lengthen(rest, &symbol, own, small.len())?;
    let bytes: Vec<u8> = large
        .iter()
        .chain(&small)
        .flat_map(|number| number.to_le_bytes())
        .collect();
    Ok(Packed {
        source: rest,
        tables: squeeze(&bytes, effort),
        symbol,
        large: large.len(),
        small: small.len(),
    })
}

/// Generated parsers disable compiler optimisation, which doubles the size of their lexers.
fn optimised(source: &[u8]) -> Vec<u8> {
    let mut text = source.to_vec();
    for pragma in [&b"#pragma GCC optimize (\"O0\")"[..], b"#pragma clang optimize off"] {
        if let Some(at) = find(&text, pragma) {
            text.drain(at..at + pragma.len());
        }
    }
    text
}

/// Extracts two more tables with a row per state and appends them to the small table. In C they are parts of the same
/// memory.
fn strip_states(source: Vec<u8>, symbol: &str, small: &mut Vec<u16>) -> Result<Vec<u8>> {
    let states = defined(&source, "STATE_COUNT")?;
    let mut text = source;
    for (head, kind, name, fields) in [
        (
            &b"static const TSStateId ts_primary_state_ids[STATE_COUNT] = {"[..],
            "TSStateId",
            "ts_primary_state_ids",
            1,
        ),
        (
            b"static const TSLexMode ts_lex_modes[STATE_COUNT] = {",
            "TSLexMode",
            "ts_lex_modes",
            2,
        ),
        (
            b"static const TSLexerMode ts_lex_modes[STATE_COUNT] = {",
            "TSLexerMode",
            "ts_lex_modes",
            3,
        ),
    ] {
        let Some((before, inside, after)) = cut(&text, head) else {
            continue;
        };
        let start = small.len();
        small.resize(start + states * fields, 0);
        for line in inside.split(|byte| *byte == b'\n') {
            let Some((key, rest)) = designated(line.trim_ascii()) else {
                continue;
            };
            let state: usize = number(key).ok_or("a state without a number")?;
            for (field, value) in fields_of(rest)? {
                let at = start + state * fields + field;
                *small
                    .get_mut(at)
                    .filter(|_| field < fields)
                    .ok_or("a state out of bounds")? = value;
            }
        }
        text = [before, &behind(symbol, kind, name, start), after].concat();
    }
    Ok(text)
}

/// Extracts the position of each state in the small table: 32-bit numbers, the lower half first.
fn strip_map(source: Vec<u8>, symbol: &str, small: &mut Vec<u16>, rows: usize) -> Result<Vec<u8>> {
    let head = b"static const uint32_t ts_small_parse_table_map[] = {";
    let Some((before, inside, after)) = cut(&source, head) else {
        return Ok(source);
    };
    small.resize(small.len().next_multiple_of(ALIGNED), 0);
    let start = small.len();
    for line in inside.split(|byte| *byte == b'\n') {
        let Some((key, rest)) = designated(line.trim_ascii()) else {
            continue;
        };
        let state = key
            .strip_prefix(b"SMALL_STATE(")
            .and_then(|key| number::<usize>(key.strip_suffix(b")")?));
        if state.and_then(|state| state.checked_sub(rows)) != Some((small.len() - start) / 2) {
            return Err("the map of the small table has a gap".into());
        }
        let offset: u32 = number(rest.strip_suffix(b",").unwrap_or(rest)).ok_or("a state without an offset")?;
        small.extend([offset as u16, (offset >> 16) as u16]);
    }
    Ok([
        before,
        &behind(symbol, "uint32_t", "ts_small_parse_table_map", start),
        after,
    ]
    .concat())
}

/// Extracts the parse actions: entries of eight bytes, each count followed by its actions.
fn strip_actions(source: Vec<u8>, symbol: &str, small: &mut Vec<u16>, names: &HashMap<&[u8], u16>) -> Result<Vec<u8>> {
    let head = b"static const TSParseActionEntry ts_parse_actions[] = {";
    let Some((before, inside, after)) = cut(&source, head) else {
        return Err("no actions".into());
    };
    small.resize(small.len().next_multiple_of(ALIGNED), 0);
    let start = small.len();
    for line in inside.split(|byte| *byte == b'\n') {
        let Some((key, rest)) = designated(line.trim_ascii()) else {
            continue;
        };
        if number::<usize>(key) != Some((small.len() - start) / 4) {
            return Err("the actions have a gap".into());
        }
        let (count, mut rest) = counted(rest).ok_or_else(|| PackError::unexpected(rest))?;
        small.extend([count, 0, 0, 0]);
        while !rest.is_empty() {
            let (action, more) = action(rest, names)?;
            small.extend(action);
            rest = more;
        }
    }
    Ok([
        before,
        &behind(symbol, "TSParseActionEntry", "ts_parse_actions", start),
        after,
    ]
    .concat())
}

/// Parses `{.entry = {.count = 1, .reusable = true}}, ` and returns the rest.
fn counted(text: &[u8]) -> Option<(u16, &[u8])> {
    let inside = text.strip_prefix(b"{.entry = {.count = ")?;
    let end = find(inside, b"}}")?;
    let (count, reusable) = inside[..end].split_at(find(&inside[..end], b", .reusable = ")?);
    let reusable = match &reusable[b", .reusable = ".len()..] {
        b"true" => 1,
        b"false" => 0,
        _ => return None,
    };
    let rest = inside[end + 2..].trim_ascii().strip_prefix(b",").unwrap_or_default();
    Some((pair(number(count)?, reusable), rest.trim_ascii()))
}

/// Parses `SHIFT(12), ` and the like and returns the rest. The numbers are those of `enum TSParseActionType`.
fn action<'a>(text: &'a [u8], names: &HashMap<&[u8], u16>) -> Result<([u16; 4], &'a [u8])> {
    let unexpected = || PackError::unexpected(text);
    let open = find(text, b"(").ok_or_else(unexpected)?;
    let close = find(text, b")").ok_or_else(unexpected)?;
    let given: Vec<&[u8]> = text[open + 1..close].split(|byte| *byte == b',').collect();
    let first = || value(given[0], names);
    let action = match &text[..open] {
        b"SHIFT" => [pair(0, 0), first()?, 0, 0],
        b"SHIFT_REPEAT" => [pair(0, 0), first()?, pair(0, 1), 0],
        b"SHIFT_EXTRA" => [pair(0, 0), 0, pair(1, 0), 0],
        b"REDUCE" => {
            let children = given.get(1).and_then(|text| number(text)).ok_or_else(unexpected)?;
            let (mut precedence, mut production): (i16, u16) = (0, 0);
            // Newer generators write all fields in order, older ones only those that are not zero.
            for (at, text) in given.iter().enumerate().skip(2) {
                let text = text.trim_ascii();
                let named = |name: &[u8]| text.strip_prefix(name).map(|rest| rest.trim_ascii());
                if let Some(text) =
                    named(b".dynamic_precedence =").or((at == 2 && !text.starts_with(b".")).then_some(text))
                {
                    precedence = number(text).ok_or_else(unexpected)?;
                } else {
                    let text = named(b".production_id =").unwrap_or(text);
                    production = number(text).ok_or_else(unexpected)?;
                }
            }
            [pair(1, children), first()?, precedence as u16, production]
        }
        b"ACCEPT_INPUT" => [pair(2, 0), 0, 0, 0],
        b"RECOVER" => [pair(3, 0), 0, 0, 0],
        _ => return Err(unexpected()),
    };
    let rest = text[close + 1..].trim_ascii();
    Ok((action, rest.strip_prefix(b",").unwrap_or(rest).trim_ascii()))
}

/// Two adjacent bytes of C memory.
fn pair(first: u8, second: u8) -> u16 {
    u16::from_le_bytes([first, second])
}

/// The definition of a table in the memory after the small one.
fn behind(symbol: &str, kind: &str, name: &str, start: usize) -> Vec<u8> {
    let memory = format!("{symbol}_small_parse_table");
    format!("extern {ALIGN} uint16_t {memory}[];\n#define {name} ((const {kind} *)({memory} + {start}))\n").into_bytes()
}

/// The memory was declared before its length was known.
fn lengthen(text: Vec<u8>, symbol: &str, own: usize, length: usize) -> Result<Vec<u8>> {
    let short = format!("uint16_t {symbol}_small_parse_table[{own}];");
    let at = find(&text, short.as_bytes()).ok_or("no small table")?;
    let long = format!("uint16_t {symbol}_small_parse_table[{length}];");
    Ok([&text[..at], long.as_bytes(), &text[at + short.len()..]].concat())
}

/// The fields of `12,` or of `{.lex_state = 12, .external_lex_state = 3},` or of `{(TSStateId)(-1)},`.
fn fields_of(text: &[u8]) -> Result<Vec<(usize, u16)>> {
    let text = text.trim_ascii().strip_suffix(b",").unwrap_or(text).trim_ascii();
    let Some(inside) = text.strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}")) else {
        return Ok(vec![(0, number(text).ok_or("a state without a value")?)]);
    };
    let names: [&[u8]; 3] = [b".lex_state", b".external_lex_state", b".reserved_word_set_id"];
    let mut fields = Vec::new();
    for part in inside.split(|byte| *byte == b',') {
        let part = part.trim_ascii();
        if part.is_empty() {
            continue;
        }
        if part.starts_with(b"(TSStateId)(-1)") || part.starts_with(b"(TSStateId)-1") {
            fields.push((0, u16::MAX));
            continue;
        }
        let mut halves = part.split(|byte| *byte == b'=');
        let name = halves.next().unwrap_or_default().trim_ascii();
        let field = names.iter().position(|known| *known == name);
        let value = halves.next().and_then(number);
        match field.zip(value) {
            Some(pair) => fields.push(pair),
            None => return Err(PackError::unexpected(part)),
        }
    }
    Ok(fields)
}

fn declare(source: &mut Vec<u8>, name: &str, length: usize) {
    source.extend_from_slice(format!("{ALIGN} uint16_t {name}[{length}];\n").as_bytes());
}

/// The text before a definition, the inside of its braces, and the text after it.
fn cut<'a>(source: &'a [u8], head: &[u8]) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
    let start = find(source, head)?;
    let inside = &source[start + head.len()..];
    let end = find(inside, END)?;
    Some((&source[..start], &inside[..end], &inside[end + END.len()..]))
}

fn find(source: &[u8], what: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + source[from..].iter().position(|byte| *byte == what[0])?;
        if source[at..].starts_with(what) {
            return Some(at);
        }
        from = at + 1;
    }
}

fn defined(source: &[u8], name: &str) -> Result<usize> {
    let head = format!("#define {name} ");
    let start = find(source, head.as_bytes()).ok_or_else(|| PackError::Undefined(name.to_owned()))? + head.len();
    let digits: String = source[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .map(|byte| char::from(*byte))
        .collect();
    digits.parse().map_err(|_| PackError::NotANumber(name.to_owned()))
}

fn language_function(source: &[u8]) -> Result<String> {
    // It is at the end of a file of many megabytes.
    let tail = &source[source.len().saturating_sub(20_000)..];
    let head = b"const TSLanguage *tree_sitter_";
    let start = find(tail, head).ok_or("no language function")? + head.len() - "tree_sitter_".len();
    Ok(tail[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .map(|byte| char::from(*byte))
        .collect())
}

/// The numbers of the symbols.
fn enumerators(source: &[u8]) -> HashMap<&[u8], u16> {
    let mut names = HashMap::from([(&b"ts_builtin_sym_end"[..], 0)]);
    let head = b"enum ts_symbol_identifiers {";
    if let Some((_, inside, _)) = cut(source, head) {
        for line in inside.split(|byte| *byte == b',') {
            let mut parts = line.trim_ascii().split(|byte| *byte == b'=');
            if let (Some(name), Some(value)) = (parts.next(), parts.next().and_then(number)) {
                names.insert(name.trim_ascii(), value);
            }
        }
    }
    names
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// The value of `12`, `sym_name`, `ACTIONS(12)`, `STATE(12)` or `SMALL_STATE(12)`.
fn value(text: &[u8], names: &HashMap<&[u8], u16>) -> Result<u16> {
    let text = text.trim_ascii();
    let inner = ["ACTIONS(", "STATE("]
        .iter()
        .find_map(|call| text.strip_prefix(call.as_bytes())?.strip_suffix(b")"));
    number(inner.unwrap_or(text))
        .or_else(|| names.get(text).copied())
        .ok_or_else(|| PackError::unexpected(text))
}

/// `[STATE(0)] = {` opens a row, `[sym] = ACTIONS(1),` is a cell of it, `},` closes it.
fn large_table(inside: &[u8], names: &HashMap<&[u8], u16>, rows: usize, columns: usize) -> Result<Vec<u16>> {
    let mut table = vec![0; rows * columns];
    let mut row = 0;
    for line in inside.split(|byte| *byte == b'\n') {
        let Some((key, rest)) = designated(line.trim_ascii()) else {
            continue;
        };
        let key = usize::from(value(key, names)?);
        match rest.strip_suffix(b",") {
            Some(cell) => *table.get_mut(row * columns + key).ok_or("a cell out of bounds")? = value(cell, names)?,
            None => row = key,
        }
    }
    Ok(table)
}

/// A list of values; a preceding `[12] = ` sets the index.
fn small_table(inside: &[u8], names: &HashMap<&[u8], u16>) -> Result<Vec<u16>> {
    let mut table = Vec::new();
    for item in inside.split(|byte| *byte == b',') {
        let item = item.trim_ascii();
        if item.is_empty() {
            continue;
        }
        let item = match designated(item) {
            Some((key, rest)) => {
                let key = std::str::from_utf8(key).ok().and_then(|key| key.parse().ok());
                if key != Some(table.len()) {
                    return Err("the small table has a gap".into());
                }
                rest
            }
            None => item,
        };
        table.push(value(item, names)?);
    }
    Ok(table)
}

/// Splits `[key] = rest`.
fn designated(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"[")?;
    let end = inner.iter().position(|byte| *byte == b']')?;
    let rest = inner[end + 1..].trim_ascii_start().strip_prefix(b"=")?;
    Some((&inner[..end], rest.trim_ascii_start()))
}

/// Compresses bytes of which every second one is the high half of a number.
fn squeeze(bytes: &[u8], effort: Effort) -> Vec<u8> {
    let preset = match effort {
        Effort::Fast => LzmaOptions::with_preset(1),
        Effort::Small => LzmaOptions {
            nice_len: LzmaOptions::NICE_LEN_MAX,
            ..LzmaOptions::with_preset(9)
        },
    };
    let options = LzmaOptions {
        dict_size: u32::try_from(bytes.len()).unwrap().max(lzma_rust2::DICT_SIZE_MIN),
        lc: 0,
        lp: 1,
        pb: 1,
        ..preset
    };
    let size = Some(bytes.len() as u64);
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, size).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}
