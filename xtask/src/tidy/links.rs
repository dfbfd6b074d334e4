//! Relative links of the documentation lead to existing files, folders and headings.

use super::{File, Problem};

pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let is_page = |path: &str| path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'));
    let pages = files.iter().filter(|file| is_page(&file.path));
    pages.flat_map(|page| check_page(page, files)).collect()
}

fn check_page(page: &File, files: &[File]) -> Vec<Problem> {
    let text = without_fences(&page.text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let relative = targets.filter(|target| !target.contains(':') && !target.is_empty());
    let broken = relative.filter(|target| !leads_somewhere(&page.path, target, files));
    broken
        .map(|target| Problem::new(&page.path, format!("the link `{target}` leads nowhere")))
        .collect()
}

fn leads_somewhere(page: &str, target: &str, files: &[File]) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => page.to_owned(),
        path => resolved(page, path),
    };
    let file = files.iter().find(|file| file.path == path);
    match (file, anchor) {
        (Some(_), "") => true,
        (Some(file), anchor) => anchors(&file.text).any(|known| known == anchor),
        (None, _) => files.iter().any(|file| file.path.starts_with(&format!("{path}/"))),
    }
}

/// The path of a link from the root.
fn resolved(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of the headings, as GitHub derives them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let text = without_fences(text);
    let headings: Vec<String> = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix('#')
                .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        })
        .collect();
    headings.into_iter().map(|heading| {
        let kept = heading
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    })
}

fn without_fences(text: &str) -> String {
    let mut is_fenced = false;
    let outside = text.lines().filter(|line| {
        let is_mark = line.trim_start().starts_with("```");
        is_fenced ^= is_mark;
        !is_fenced && !is_mark
    });
    outside.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_missing_files_and_headings_are_reported() {
        let text = "[a](b.md) [b](b.md#the-rest-of-it) [c](b.md#other) [d](../x) [e](../y/) [f](https://h/x) [g](#own)\n\
            # Own\n```\n[h](nowhere.md)\n```\n";
        let files = [
            File::new("docs/a.md", text),
            File::new("docs/b.md", "## The `rest` of it\n```\n# Other\n```\n"),
            File::new("x/file", ""),
        ];
        let problems: Vec<String> = check(&files).into_iter().map(|problem| problem.message).collect();
        let expected = ["b.md#other", "../y/"].map(|target| format!("the link `{target}` leads nowhere"));
        assert_eq!(problems, expected);
    }
}
