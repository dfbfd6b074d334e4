//! Captures the start and the end of a stream of any length.

use crate::CapturedOutput;

/// The captured size of an output, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureCap {
    /// The size of the start.
    pub head: usize,
    /// The size of the end.
    pub tail: usize,
}

/// The start and the end of a stream so far.
#[derive(Debug, Clone)]
pub struct OutputCapture {
    cap: CaptureCap,
    head: Vec<u8>,
    /// The end, and up to the same amount before it that is trimmed later.
    tail: Vec<u8>,
    cut: u64,
}

impl OutputCapture {
    /// An empty capture with this limit.
    pub fn new(cap: CaptureCap) -> Self {
        Self {
            cap,
            head: Vec::new(),
            tail: Vec::new(),
            cut: 0,
        }
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.cap.head - self.head.len()));
        self.head.extend_from_slice(first);
        let (removed, rest) = rest.split_at(rest.len().saturating_sub(self.cap.tail));
        self.cut += removed.len() as u64;
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * self.cap.tail {
            self.trim();
        }
    }

    /// Removes everything before the end.
    fn trim(&mut self) {
        let overflow = self.tail.len().saturating_sub(self.cap.tail);
        self.tail.drain(..overflow);
        self.cut += overflow as u64;
    }

    /// The captured text, cut at whole characters.
    pub fn finish(mut self) -> CapturedOutput {
        self.trim();
        if self.cut == 0 {
            self.head.extend_from_slice(&self.tail);
            return CapturedOutput {
                head: lossy(&self.head),
                ..CapturedOutput::default()
            };
        }
        let tail = self.tail.as_slice();
        let head_end = self.head.len() - incomplete_end(&self.head);
        let tail_start = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let trimmed = self.head.len() - head_end + tail_start;
        CapturedOutput {
            head: lossy(&self.head[..head_end]),
            tail: lossy(&tail[tail_start..]),
            omitted_bytes: self.cut + trimmed as u64,
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// The number of bytes at the end that start an incomplete character.
pub(crate) fn incomplete_end(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(3)..];
    match end.utf8_chunks().last() {
        // A character has at most four bytes, so a longer run of invalid bytes cannot be completed.
        Some(chunk) => {
            let start = bytes.len() - chunk.invalid().len();
            match std::str::from_utf8(&bytes[start..]) {
                Err(error) if error.error_len().is_none() => bytes.len() - start,
                Ok(_) | Err(_) => 0,
            }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(cap: CaptureCap, chunks: &[&str]) -> (String, String, u64) {
        let mut capture = OutputCapture::new(cap);
        chunks.iter().for_each(|chunk| capture.add(chunk.as_bytes()));
        let output = capture.finish();
        (output.head, output.tail, output.omitted_bytes)
    }

    #[test]
    fn the_start_and_the_end_are_captured_and_the_rest_is_counted() {
        let cap = CaptureCap { head: 3, tail: 4 };
        for (chunks, head, tail, cut) in [
            (&[][..], "", "", 0),
            (&["ab"], "ab", "", 0),
            (&["abcdefg"], "abcdefg", "", 0),
            (&["ab", "cd", "ef", "g"], "abcdefg", "", 0),
            (&["abcdefgh"], "abc", "efgh", 1),
            (&["a", "b", "c", "d", "e", "f", "g", "h", "i"], "abc", "fghi", 2),
            (&["abcdefghijklmnopqrstuvwxyz", "!"], "abc", "xyz!", 20),
            // A character at a cut is omitted on both sides.
            (&["abüdefgü!"], "ab", "gü!", 5),
            (&["abc", "日本語", "xyz"], "abc", "xyz", 9),
        ] {
            assert_eq!(captured(cap, chunks), (head.into(), tail.into(), cut), "{chunks:?}");
        }
    }
}
