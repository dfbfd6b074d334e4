//! Random work of tools and commands, taken back and made again, on a real disk with a real store and a real shell.

use super::*;
use crate::args::Global;
use crate::commands::past::Clash;
use bytes::Bytes;
use model::Features;
use serde_json::{Value, json};
use session::{BlobId, Change, Item, Kind, New, SessionId, Store, Time, Version};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::Sqlite;
use tool::{Content, Context, Registry};
use toolbox::Options;
use workspace::Workspace;
use workspace::checkpoint::{Checkpoints, Limits};

/// How many sequences are tried, half of them in a git repository.
const SEQUENCES: u64 = 300;
/// As many sequences share a project, which they leave as they found it.
const TOGETHER: u64 = 10;
const LIMITS: Limits = Limits {
    quota: 64 << 20,
    max_file: 16 << 20,
};

struct World {
    temp: tempfile::TempDir,
    root: PathBuf,
    tools: Registry,
    env: Environment,
    global: Global,
}

type Tree = BTreeMap<PathBuf, String>;

impl World {
    async fn new(in_git: bool) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        for (path, text) in [("a.txt", "a\n"), ("src/b.rs", "fn b() {}\n"), ("src/deep/c d", "c\n")] {
            fs::write(root.join(path), text).unwrap();
        }
        std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
        let data = temp.path().join("data");
        let config = temp.path().join("config.toml");
        let env = Environment::from([
            ("HEW_DATA_DIR", data.to_str().unwrap()),
            ("HEW_CONFIG", config.to_str().unwrap()),
        ]);
        let store = crate::wiring::open_store(&env).unwrap();
        let new = New {
            id: SessionId::new(),
            root: root.clone(),
            model: "p/m".into(),
            at: Time(1),
            parent: None,
        };
        let id = new.id;
        drop(store.create(new).await.unwrap());
        let first = Item {
            id: ItemId::new(),
            parent: None,
            at: Time(1),
            body: Body::Notice { text: "begun".into() },
        };
        store.append(id, Arc::new(first)).await.unwrap();
        let none: [&str; 0] = [];
        let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let options = Options {
            checkpoints: Some(Checkpoints::new(&root, store.files().limited(LIMITS))),
            ..Options::default()
        };
        let environment = sandbox::Environment::scrubbed([path], &none, &none);
        let tools = toolbox::fitted(Workspace::open(&root).unwrap(), environment, options);
        let global = Global {
            cwd: Some(root.clone()),
            ..Global::default()
        };
        let world = World {
            temp,
            root,
            tools,
            env,
            global,
        };
        if in_git {
            let line = "git init -q && git add a.txt src && git -c user.name=x -c user.email=x@x commit -qm x";
            world.tool("terminal", json!({"command": line})).await;
        }
        world
    }

    /// Runs a tool and gives back what it says it changed; a tool may refuse.
    async fn tool(&self, name: &str, input: Value) -> Vec<tool::Change> {
        let features = Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: false,
        };
        let tool = Arc::clone(self.tools.get(name).unwrap());
        let output = tool.run(input, Context::alone("c".into(), features)).await;
        output.map(|output| output.changes).unwrap_or_default()
    }

    async fn past(&self) -> Past {
        Past::open(None, Access::Write, &self.global, &self.env).await.unwrap()
    }

    /// A turn of random steps, kept in the session as the agent keeps it.
    async fn turn(&self, random: &mut Random) {
        let mut past = self.past().await;
        let message = Arc::new(Message::user("go"));
        past.append(Body::Prompt { message }).await.unwrap();
        for _ in 0..1 + random.below(4) {
            let (name, input) = self.step(random);
            let changes = self.tool(name, input).await;
            let changes = changes.into_iter().map(|change| keep(&past.store, change)).collect();
            past.append(Body::Result {
                message: Arc::new(Message::user("")),
                call: "c".into(),
                tool: name.into(),
                title: String::new(),
                summary: None,
                millis: 0,
                changes,
            })
            .await
            .unwrap();
        }
        let text = "done".into();
        past.append(Body::Notice { text }).await.unwrap();
    }

    fn step(&self, random: &mut Random) -> (&'static str, Value) {
        let tree = self.tree();
        let paths: Vec<&PathBuf> = tree.keys().filter(|path| !path.starts_with(".git")).collect();
        if random.below(4) == 0 {
            let path = random.name();
            return (
                "write_file",
                json!({"path": path, "content": format!("{}\n", random.below(1000))}),
            );
        }
        let commands: Vec<String> = (0..1 + random.below(3)).map(|_| random.command(&paths)).collect();
        ("terminal", json!({"command": format!("{} true", commands.concat())}))
    }

    /// Takes back or makes again, which must go well.
    async fn go(&self, doing: fn(&Past, usize) -> Option<Doing>, count: usize) {
        let mut past = self.past().await;
        let Some(doing) = doing(&past, count) else { return };
        let (plan, kept) = past.plan(doing.moves.clone(), Clash::Refuse).await.unwrap();
        assert_eq!(plan.conflicts, []);
        let plan = doing.carry_out(&mut past, plan, &kept).await.unwrap();
        assert_eq!(plan.left, Vec::<PathBuf>::new());
    }

    /// How many turns changed something.
    async fn standing(&self) -> usize {
        let past = self.past().await;
        let standing = history(&past.items).standing;
        standing.iter().filter(|turn| !turn.changes.is_empty()).count()
    }

    /// Everything in the project, that of git included, with kinds, permissions and bytes.
    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root, &self.root, &mut tree);
        tree
    }

    fn used(&self) -> u64 {
        Sqlite::open(&self.temp.path().join("data")).unwrap().files().used()
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        let told = if about.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if about.is_dir() {
            walk(root, &path, tree);
            format!("{:o}", about.mode())
        } else {
            let bytes = fs::read(&path).unwrap();
            let name = short_name(&bytes);
            format!("{:o} {} {name}", about.mode(), bytes.len())
        };
        tree.insert(path.strip_prefix(root).unwrap().to_owned(), told);
    }
}

/// A short stand-in for bytes, so that a difference can be read.
fn short_name(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn keep(store: &Sqlite, change: tool::Change) -> Change {
    let version = |version: tool::Version| {
        let (content, kept) = match version.content {
            Content::Bytes(bytes) => (Some(store.put_blob(Bytes::from(bytes))), true),
            Content::Kept(name) => (Some(BlobId(name)), true),
            Content::Lost(name) => (Some(BlobId(name)), false),
            Content::None => (None, true),
        };
        let kind = match version.kind {
            tool::Kind::File { mode } => Kind::File { mode },
            tool::Kind::Link => Kind::Link,
            tool::Kind::Folder { mode } => Kind::Folder { mode },
        };
        Version { kind, content, kept }
    };
    Change {
        path: change.path,
        before: change.before.map(version),
        after: change.after.map(version),
    }
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most
    }

    fn of<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn name(&mut self) -> String {
        let folder = self.of(&["", "", "src/", "new/", "new/deep er/", "src/deep/x/y/"]);
        let name = self.of(&["one", "two.txt", "three 3", "ü", "-x", "f.rs"]);
        format!("{folder}{name}{}", self.below(30))
    }

    fn path(&mut self, paths: &[&PathBuf]) -> String {
        match paths.is_empty() {
            true => "nothing".into(),
            false => paths[self.below(paths.len())].display().to_string(),
        }
    }

    /// One shell command; it may fail.
    fn command(&mut self, paths: &[&PathBuf]) -> String {
        let (one, two, new) = (self.path(paths), self.path(paths), self.name());
        let number = self.below(1_000_000);
        let folder = new.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
        match self.below(18) {
            0 => format!("printf '%s\\n' {number} >> './{one}';"),
            1 => format!("printf '%s' {number} > './{one}';"),
            2 => format!("rm -rf './{one}';"),
            3 => format!("mkdir -p './{folder}'; mv './{one}' './{new}';"),
            4 => format!("mv -f './{one}' './{two}';"),
            5 => format!("mv -fT './{one}' './{two}';"),
            6 => format!(
                "chmod {} './{one}';",
                self.of(&["755", "700", "711", "777", "1755", "2755"])
            ),
            7 => format!(
                "[ -f './{one}' ] && chmod {} './{one}';",
                self.of(&["600", "444", "4755", "640"])
            ),
            8 => format!("ln -s '{two}' './{new}';"),
            9 => format!("ln -sfn nowhere './{one}';"),
            10 => format!("mkdir -p './{folder}'; cp -a './{one}' './{new}';"),
            11 => format!("mkdir -p './{new}/inner/empty';"),
            12 => format!("rm -rf './{one}'; mkdir './{one}'; echo x > './{one}/x';"),
            13 => format!("rm -rf './{one}'; echo {number} > './{one}';"),
            14 => format!("yes {number} | head -c {} > './{one}.big';", 300_000 + number % 700_000),
            15 => format!("touch './{one}'; mkdir -p tmp; echo {number} > tmp/x; rm -r tmp;"),
            16 => format!("cp -p './{one}' save; echo {number} > './{one}'; mv save './{one}';"),
            _ => format!("ln './{one}' './hard{number}'; rm -f './{one}';"),
        }
    }
}

#[tokio::test]
async fn random_edits_and_commands_are_taken_back_to_the_byte_and_made_again() {
    let mut moved = 0;
    for group in 0..SEQUENCES / TOGETHER {
        let world = World::new(group % 2 == 0).await;
        for number in 0..TOGETHER {
            let seed = group * TOGETHER + number;
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let before = world.tree();
            let stood = world.standing().await;
            let turns = 1 + random.below(3);
            for _ in 0..turns {
                world.turn(&mut random).await;
            }
            let after = world.tree();
            let made = world.standing().await - stood;
            moved += u64::from(after != before);
            match random.below(2) {
                0 => world.go(Doing::undo, made).await,
                _ => {
                    for _ in 0..made {
                        world.go(Doing::undo, 1).await;
                    }
                }
            }
            assert_eq!(world.tree(), before, "sequence {seed}");
            world.go(Doing::redo, made).await;
            assert_eq!(world.tree(), after, "sequence {seed}, made again");
            world.go(Doing::undo, made).await;
            assert_eq!(world.tree(), before, "sequence {seed}, taken back again");
        }
        assert!(world.used() <= LIMITS.quota);
    }
    assert!(
        moved > SEQUENCES / 10 * 9,
        "nearly all of them change something: {moved}"
    );
}

/// A turn that made these changes.
async fn changed(past: &mut Past, changes: Vec<Change>) {
    let message = Arc::new(Message::user("go"));
    past.append(Body::Prompt { message }).await.unwrap();
    past.append(Body::Result {
        message: Arc::new(Message::user("")),
        call: "c".into(),
        tool: "terminal".into(),
        title: String::new(),
        summary: None,
        millis: 0,
        changes,
    })
    .await
    .unwrap();
}

fn file(past: &Past, text: &'static str) -> Option<Version> {
    Some(Version {
        kind: Kind::File { mode: None },
        content: Some(past.store.put_blob(Bytes::from(text))),
        kept: true,
    })
}

#[tokio::test]
async fn what_others_wrote_is_not_overwritten_when_it_cannot_be_kept() {
    let world = World::new(false).await;
    let others = "by others\n".repeat(200);
    for (quota, is_done) in [("1KB", false), ("1MB", true)] {
        fs::write(
            world.temp.path().join("config.toml"),
            format!("checkpoints.quota = \"{quota}\"\n"),
        )
        .unwrap();
        let mut past = world.past().await;
        let (before, after) = (file(&past, "a\n"), file(&past, "b\n"));
        let path = PathBuf::from("a.txt");
        changed(&mut past, vec![Change { path, before, after }]).await;
        fs::write(world.root.join("a.txt"), &others).unwrap();

        let doing = Doing::undo(&past, 1).unwrap();
        let (plan, kept) = past.plan(doing.moves.clone(), Clash::Overwrite).await.unwrap();
        plan.check(Clash::Overwrite).unwrap();
        let done = doing.carry_out(&mut past, plan, &kept).await;

        assert_eq!(done.is_ok(), is_done, "{quota}");
        let expected = if is_done { "a\n" } else { &others };
        assert_eq!(
            fs::read_to_string(world.root.join("a.txt")).unwrap(),
            expected,
            "{quota}"
        );
    }
}

#[tokio::test]
async fn a_path_of_version_control_does_not_keep_the_others_from_going_back() {
    let world = World::new(false).await;
    fs::create_dir(world.root.join(".git")).unwrap();
    for path in [".git/config", "a.txt"] {
        fs::write(world.root.join(path), "b\n").unwrap();
    }
    let mut past = world.past().await;
    let changes = [".git/config", "a.txt"].map(|path| Change {
        path: path.into(),
        before: file(&past, "a\n"),
        after: file(&past, "b\n"),
    });
    changed(&mut past, changes.to_vec()).await;

    let doing = Doing::undo(&past, 1).unwrap();
    for clash in [Clash::Refuse, Clash::Overwrite] {
        let (plan, _) = past.plan(doing.moves.clone(), clash).await.unwrap();
        plan.check(clash).unwrap_err();
    }
    let (plan, kept) = past.plan(doing.moves.clone(), Clash::Keep).await.unwrap();
    plan.check(Clash::Keep).unwrap();
    doing.carry_out(&mut past, plan, &kept).await.unwrap();

    assert_eq!(fs::read_to_string(world.root.join("a.txt")).unwrap(), "a\n");
    assert_eq!(fs::read_to_string(world.root.join(".git/config")).unwrap(), "b\n");
}
