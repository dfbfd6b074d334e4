//! The variables that processes get by default: what shells, terminals and toolchains need.
//!
//! Names that are not listed are not passed on, because any of them may contain a secret.

/// Names of variables, in upper case.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    // The user, the shell and the session.
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION",
    "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "LOGNAME", "OSTYPE", "PATH",
    "SHELL", "SHLVL", "SSH_AUTH_SOCK", "TEMP", "TERM", "TERMINFO", "TERMINFO_DIRS", "TMP", "TMPDIR", "TZ", "TZDIR",
    "USER", "WAYLAND_DISPLAY", "XAUTHORITY",
    "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS", "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_STATE_HOME",
    // Windows and WSL.
    "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES",
    "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR", "WSL_DISTRO_NAME",
    // Certificates and proxies.
    "ALL_PROXY", "CURL_CA_BUNDLE", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NODE_EXTRA_CA_CERTS", "NO_PROXY",
    "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
    // Compilers, linkers and build systems.
    "AR", "AS", "CC", "CFLAGS", "CLASSPATH", "CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_BUILD_TYPE",
    "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_EXPORT_COMPILE_COMMANDS", "CMAKE_GENERATOR",
    "CMAKE_INSTALL_PREFIX", "CMAKE_PREFIX_PATH", "CMAKE_TOOLCHAIN_FILE", "CPATH", "CPLUS_INCLUDE_PATH", "CPP",
    "CPPFLAGS", "CXX", "CXXFLAGS", "C_INCLUDE_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "FC",
    "FFLAGS", "INCLUDE", "LD", "LDFLAGS", "LD_LIBRARY_PATH", "LD_RUN_PATH", "LIB", "LIBPATH", "LIBRARY_PATH",
    "LIBCLANG_PATH", "LLVM_CONFIG_PATH", "MACOSX_DEPLOYMENT_TARGET", "MAKEFLAGS", "MANPATH", "NINJA_STATUS", "NM",
    "NUMBER_OF_PROCESSORS", "OBJCOPY", "PKG_CONFIG", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_PATH",
    "PKG_CONFIG_SYSROOT_DIR", "RANLIB", "SDKROOT", "SOURCE_DATE_EPOCH", "STRIP", "CCACHE_DIR", "SCCACHE_DIR",
    "DEVELOPER_DIR", "EMSDK", "EM_CONFIG", "VCPKG_ROOT", "VSINSTALLDIR", "VCINSTALLDIR", "WINDOWSSDKDIR",
    "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PROTOC",
    // Rust.
    "CARGO", "CARGO_BUILD_JOBS", "CARGO_BUILD_TARGET", "CARGO_BUILD_TARGET_DIR", "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_NET_GIT_FETCH_WITH_CLI", "CARGO_NET_OFFLINE", "CARGO_TARGET_DIR",
    "CARGO_TERM_COLOR", "RUSTC", "RUSTC_BOOTSTRAP", "RUSTC_WRAPPER", "RUSTDOC", "RUSTDOCFLAGS", "RUSTFLAGS",
    "RUSTUP_DIST_SERVER", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTUP_UPDATE_ROOT", "RUST_BACKTRACE", "RUST_LOG",
    "RUST_MIN_STACK", "RUST_TEST_THREADS", "RUSTC_WORKSPACE_WRAPPER", "NEXTEST_PROFILE",
    // Go.
    "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_ENABLED", "CGO_LDFLAGS", "GO111MODULE", "GOARCH", "GOBIN", "GOCACHE",
    "GODEBUG", "GOENV", "GOEXPERIMENT", "GOFLAGS", "GOGC", "GOMAXPROCS", "GOMODCACHE", "GONOPROXY", "GONOSUMDB",
    "GOOS", "GOPATH", "GOPRIVATE", "GOPROXY", "GOROOT", "GOSUMDB", "GOTMPDIR", "GOTOOLCHAIN", "GOVCS", "GOWORK",
    // JavaScript.
    "BUN_INSTALL", "COREPACK_HOME", "DENO_DIR", "DENO_INSTALL", "DENO_INSTALL_ROOT", "FNM_ARCH", "FNM_DIR",
    "FNM_MULTISHELL_PATH", "FNM_VERSION_FILE_STRATEGY", "NODE_ENV", "NODE_OPTIONS", "NODE_PATH", "NODE_VERSION",
    "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "NPM_CONFIG_REGISTRY", "NVM_BIN", "NVM_DIR", "NVM_INC", "N_PREFIX",
    "PLAYWRIGHT_BROWSERS_PATH", "PNPM_HOME", "PUPPETEER_EXECUTABLE_PATH", "PUPPETEER_SKIP_DOWNLOAD", "TS_NODE_PROJECT",
    "VOLTA_HOME", "YARN_CACHE_FOLDER",
    // Python.
    "CONDA_DEFAULT_ENV", "CONDA_EXE", "CONDA_PREFIX", "CONDA_PYTHON_EXE", "CONDA_SHLVL", "MAMBA_ROOT_PREFIX",
    "PIPENV_VENV_IN_PROJECT", "PIPX_BIN_DIR", "PIPX_HOME", "PIP_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_INDEX_URL", "PIP_NO_CACHE_DIR", "POETRY_CACHE_DIR", "POETRY_HOME", "POETRY_VIRTUALENVS_CREATE",
    "POETRY_VIRTUALENVS_IN_PROJECT", "PYENV_ROOT", "PYENV_SHELL", "PYENV_VERSION", "PYENV_VIRTUALENV_INIT",
    "PYTEST_ADDOPTS", "PYTHONBREAKPOINT", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONHOME",
    "PYTHONIOENCODING", "PYTHONNOUSERSITE", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONSTARTUP", "PYTHONUNBUFFERED",
    "PYTHONUSERBASE", "PYTHONUTF8", "PYTHONWARNINGS", "UV_CACHE_DIR", "UV_INDEX_URL", "UV_LINK_MODE", "UV_NO_CACHE",
    "UV_OFFLINE", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON", "UV_TOOL_DIR", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT",
    "WORKON_HOME", "DJANGO_SETTINGS_MODULE", "TOKENIZERS_PARALLELISM",
    // JVM and Android.
    "ANDROID_HOME", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_SDK_ROOT", "ANT_HOME", "GRADLE_HOME",
    "GRADLE_OPTS", "GRADLE_USER_HOME", "JAVA_HOME", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_HOME", "JRE_HOME",
    "KOTLIN_HOME", "M2_HOME", "MAVEN_HOME", "MAVEN_OPTS", "SBT_OPTS", "SCALA_HOME", "SDKMAN_CANDIDATES_DIR",
    "SDKMAN_DIR", "SDKMAN_PLATFORM",
    // Other languages and version managers.
    "ASDF_DATA_DIR", "ASDF_DIR", "BUNDLE_GEMFILE", "BUNDLE_PATH", "BUNDLE_WITHOUT", "COMPOSER_HOME", "DOTNET_CLI_HOME",
    "DOTNET_CLI_TELEMETRY_OPTOUT", "DOTNET_NOLOGO", "DOTNET_ROOT", "ELIXIR_ERL_OPTIONS", "ERL_AFLAGS", "ERL_LIBS",
    "GEM_HOME", "GEM_PATH", "GHCUP_INSTALL_BASE_PREFIX", "GUILE_LOAD_PATH", "HEX_HOME", "IN_NIX_SHELL",
    "JULIA_DEPOT_PATH", "LEIN_HOME", "LUA_CPATH", "LUA_PATH", "MISE_CONFIG_DIR", "MISE_DATA_DIR", "MISE_SHELL",
    "MIX_ENV", "MIX_HOME", "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "NUGET_PACKAGES", "OPAMROOT",
    "OPAMSWITCH", "OPAM_SWITCH_PREFIX", "CAML_LD_LIBRARY_PATH", "OCAMLPATH", "OCAML_TOPLEVEL_PATH", "PERL5LIB",
    "PERL_LOCAL_LIB_ROOT", "PERL_MB_OPT", "PERL_MM_OPT", "PHP_INI_SCAN_DIR", "PUB_CACHE", "FLUTTER_ROOT", "RACK_ENV",
    "RAILS_ENV", "RBENV_ROOT", "RBENV_VERSION", "RUBYLIB", "RUBYOPT", "R_HOME", "R_LIBS", "R_LIBS_USER", "STACK_ROOT",
    "SWIFT_EXEC", "TEXINPUTS", "TEXMFHOME", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR",
    "HOMEBREW_CELLAR", "HOMEBREW_PREFIX", "HOMEBREW_REPOSITORY",
    // Git and continuous integration.
    "CI", "DEBUG", "GIT_AUTHOR_DATE", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM",
    "GITHUB_ACTIONS", "LOG_LEVEL", "VERBOSE",
];

/// Whether processes get a variable by default. A URL with credentials is not passed on, whatever its name.
pub(super) fn is_allowed(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) && !has_credentials(value)
}

/// Whether a text contains a URL with a user or a password, such as `https://user:password@host`.
fn has_credentials(text: &str) -> bool {
    text.match_indices("://").any(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let end = rest.find(['/', '?', '#', ' ', ',', '|']).unwrap_or(rest.len());
        rest[..end].contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_without_credentials_are_allowed() {
        for (name, value, allowed) in [
            ("PATH", "/bin", true),
            ("LC_ALL", "C", true),
            ("LC_SECRET", "C", false),
            ("http_proxy", "http://proxy:3128", true),
            ("http_proxy", "http://me:pw@proxy:3128", false),
            ("PIP_INDEX_URL", "https://token@host/simple", false),
            ("GOPROXY", "https://a.example,https://u:p@b.example", false),
            ("NO_PROXY", "a@b", true),
            ("DATABASE_URL", "postgres://localhost/x", false),
            ("STRIPE_KEY", "x", false),
            ("GITLAB_PAT", "x", false),
            ("SENTRY_DSN", "x", false),
            ("JWT", "x", false),
            ("CARGO_REGISTRY_TOKEN", "x", false),
            ("MY_OWN", "x", false),
        ] {
            assert_eq!(is_allowed(name, value), allowed, "{name}={value}");
        }
    }

    #[test]
    fn no_listed_name_looks_secret() {
        for name in NAMES {
            let looks_secret = crate::ProcessEnvironment::looks_secret(name);
            assert!(!looks_secret && *name == name.to_ascii_uppercase(), "{name}");
        }
    }
}
