//! `hew doctor`: checks the configuration and whether each provider answers.

use crate::args::{DoctorArgs as Args, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::output;
use crate::output::color::ColorMode;
use backends::doctor::{CheckResult, DoctorCheck, diagnose};

pub(super) async fn doctor(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let version = format!(
        "{} on {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    let mut checks = vec![DoctorCheck::new("hew", CheckResult::Ok, version)];
    checks.extend(diagnose(global.cwd.as_deref(), args.offline, env).await);
    output::print_checked(&match args.json {
        true => output::pretty(&serde_json::json!({ "v": 1, "checks": checks }))?,
        false => render(&checks, ColorMode::of(&std::io::stdout(), env)),
    })?;
    let has_problem = checks.iter().any(|check| check.state == CheckResult::Problem);
    Ok(if has_problem {
        ExitStatus::Failed
    } else {
        ExitStatus::Done
    })
}

fn render(checks: &[DoctorCheck], paint: ColorMode) -> String {
    let mut out = String::new();
    for check in checks {
        let mark = match check.state {
            CheckResult::Ok => paint.green("✓"),
            CheckResult::Absent => paint.dim("·"),
            CheckResult::Problem => paint.red("✗"),
        };
        let name = format!("{:<14}", check.name);
        out.push_str(&format!("{mark} {} {}\n", paint.bold(name), check.detail));
        if let Some(hint) = &check.hint {
            let hint = hint.lines().next().unwrap_or_default();
            out.push_str(&format!("  {:<14} {}\n", "", paint.yellow(format!("hint: {hint}"))));
        }
    }
    out
}
