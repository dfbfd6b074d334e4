//! Which files are indexed.

/// Larger files are data.
pub(crate) const MAX_FILE: u64 = 2 * 1024 * 1024;

/// Extensions of files without searchable text.
const BINARY: &[&str] = &[
    "7z",
    "a",
    "avi",
    "avif",
    "bin",
    "bmp",
    "br",
    "bz2",
    "class",
    "db",
    "dat",
    "deb",
    "dll",
    "dmg",
    "doc",
    "docx",
    "dylib",
    "eot",
    "exe",
    "flac",
    "gif",
    "gz",
    "heic",
    "i8",
    "ico",
    "icns",
    "iso",
    "jar",
    "jpeg",
    "jpg",
    "jks",
    "keystore",
    "lib",
    "map",
    "mkv",
    "mov",
    "mp3",
    "mp4",
    "mpg",
    "o",
    "obj",
    "ogg",
    "onnx",
    "otf",
    "p12",
    "parquet",
    "pdf",
    "pfx",
    "png",
    "ppt",
    "pptx",
    "psd",
    "pyc",
    "rar",
    "rlib",
    "rpm",
    "safetensors",
    "so",
    "sqlite",
    "sqlite3",
    "swf",
    "tar",
    "tgz",
    "tif",
    "tiff",
    "ttf",
    "wasm",
    "wav",
    "webm",
    "webp",
    "woff",
    "woff2",
    "xls",
    "xlsx",
    "xz",
    "zip",
    "zst",
];

/// Extensions and names of files with secrets.
const SECRET_EXTENSIONS: &[&str] = &["pem", "key", "p8", "ppk", "gpg", "asc", "kdbx"];
const SECRET_NAMES: &[&str] = &[
    ".env",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials",
];

/// Whether a file with this path and size is indexed.
pub(crate) fn is_indexed(path: &str, size: u64) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
        .to_ascii_lowercase();
    let is_secret = SECRET_NAMES.contains(&name)
        || (name.starts_with(".env.") && !name.ends_with(".example") && !name.ends_with(".sample"))
        || SECRET_EXTENSIONS.contains(&extension.as_str());
    size <= MAX_FILE && !is_secret && !BINARY.contains(&extension.as_str())
}

/// The text of a file, unless it is binary. Invalid UTF-8 is replaced.
pub(crate) fn text_of(bytes: Vec<u8>) -> Option<String> {
    let head = bytes.get(..bytes.len().min(8 * 1024)).unwrap_or_default();
    if head.contains(&0) {
        return None;
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_binaries_and_large_files_are_not_indexed() {
        for path in [".env", "a/.env.local", "server.key", "logo.png", "home/.ssh/id_ed25519"] {
            assert!(!is_indexed(path, 10), "{path}");
        }
        for path in ["src/key.rs", ".env.example", "Makefile", "a.md", "image.svg"] {
            assert!(is_indexed(path, 10), "{path}");
        }
        assert!(!is_indexed("a.rs", MAX_FILE + 1));
        assert_eq!(text_of(b"a\0b".to_vec()), None);
        assert_eq!(text_of(b"a\xFFb".to_vec()).as_deref(), Some("a\u{FFFD}b"));
    }
}
