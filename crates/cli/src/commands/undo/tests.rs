//! Undo and redo of random tool calls and commands, with real files, a real store and a real shell.

use bytes::Bytes;
use model::{Features, Message};
use review::{ConflictPolicy, SessionAccess, SessionHistory, UndoOperation};
use serde_json::{Value, json};
use session::{Body, Change, Item, ItemId, NewSession, SessionId, Store, Time};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SqliteStore;
use tool::{CallContext, Registry};
use toolbox::Options;
use workspace::Workspace;
use workspace::checkpoint::{BlobLimits, Checkpointer};

/// Number of sequences, half of them in a git repository.
const SEQUENCES: u64 = 300;
/// Number of sequences that share a project; each restores its initial state.
const TOGETHER: u64 = 10;
const LIMITS: BlobLimits = BlobLimits {
    quota: 64 << 20,
    max_file: 16 << 20,
};

struct Fixture {
    _temp: tempfile::TempDir,
    root: PathBuf,
    tools: Registry,
    store: Arc<SqliteStore>,
    session: SessionId,
}

type Tree = BTreeMap<PathBuf, String>;

impl Fixture {
    async fn new(in_git: bool) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        for (path, text) in [("a.txt", "a\n"), ("src/b.rs", "fn b() {}\n"), ("src/deep/c d", "c\n")] {
            fs::write(root.join(path), text).unwrap();
        }
        std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
        let store = Arc::new(SqliteStore::open(&temp.path().join("data")).unwrap());
        let new = NewSession {
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
            body: Body::Notice { text: "started".into() },
        };
        store.append(id, Arc::new(first)).await.unwrap();
        let none: [&str; 0] = [];
        let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let options = Options {
            checkpoints: Some(Checkpointer::new(&root, store.files().with_limits(LIMITS))),
            ..Options::default()
        };
        let environment = sandbox::ProcessEnvironment::scrubbed([path], &none, &none);
        let tools = toolbox::build_registry(Workspace::open(&root).unwrap(), environment, options);
        let fixture = Fixture {
            _temp: temp,
            root,
            tools,
            store,
            session: id,
        };
        if in_git {
            let line = "git init -q && git add a.txt src && git -c user.name=x -c user.email=x@x commit -qm x";
            fixture.tool("terminal", json!({"command": line})).await;
        }
        fixture
    }

    /// Runs a tool and returns its changes; the tool may fail.
    async fn tool(&self, name: &str, input: Value) -> Vec<tool::UnsavedChange> {
        let features = Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: false,
        };
        let tool = Arc::clone(self.tools.get(name).unwrap());
        let output = tool
            .run(input.into(), CallContext::detached("c".into(), features))
            .await;
        output.map(|output| output.changes).unwrap_or_default()
    }

    async fn history(&self) -> SessionHistory {
        let (store, root) = (Arc::clone(&self.store), self.root.clone());
        let history = SessionHistory::open(store, self.session, root, LIMITS, SessionAccess::Write).await;
        history.unwrap()
    }

    /// A turn of random steps, recorded in the session like the agent does.
    async fn turn(&self, random: &mut Random) {
        let mut history = self.history().await;
        let message = Arc::new(Message::user("go"));
        history.append(Body::Prompt { message }, Time(1)).await.unwrap();
        for _ in 0..1 + random.below(4) {
            let (name, input) = self.step(random);
            let changes = self.tool(name, input).await;
            let changes = changes.into_iter().map(|change| stored(&self.store, change)).collect();
            let result = Body::Result {
                message: Arc::new(Message::user("")),
                call: "c".into(),
                tool: name.into(),
                title: String::new(),
                summary: None,
                exit: None,
                millis: 0,
                changes,
            };
            history.append(result, Time(1)).await.unwrap();
        }
        let text = "done".into();
        history.append(Body::Notice { text }, Time(1)).await.unwrap();
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

    /// Undoes or redoes turns, which must succeed.
    async fn restore(&self, operation: fn(&SessionHistory, usize) -> Option<UndoOperation>, count: usize) {
        let mut history = self.history().await;
        let Some(operation) = operation(&history, count) else {
            return;
        };
        let (plan, contents) = operation.plan(&history, ConflictPolicy::Abort).await.unwrap();
        assert_eq!(plan.conflicts, []);
        let plan = operation.apply_and_record(&mut history, plan, &contents, Time(1)).await;
        assert_eq!(plan.unwrap().nonempty_folders, Vec::<PathBuf>::new());
    }

    /// The number of turns with changes that are not undone.
    async fn applied_turns(&self) -> usize {
        let all = UndoOperation::undo(&self.history().await, usize::MAX);
        all.map_or(0, |operation| operation.items().len())
    }

    /// All files of the project, including those of git, with kinds, permissions and contents.
    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root, &self.root, &mut tree);
        tree
    }

    fn used(&self) -> u64 {
        self.store.files().used()
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        let entry = if about.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if about.is_dir() {
            walk(root, &path, tree);
            format!("{:o}", about.mode())
        } else {
            let bytes = fs::read(&path).unwrap();
            let name = short_name(&bytes);
            format!("{:o} {} {name}", about.mode(), bytes.len())
        };
        tree.insert(path.strip_prefix(root).unwrap().to_owned(), entry);
    }
}

/// A short hash, for readable differences.
fn short_name(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn stored(store: &SqliteStore, change: tool::UnsavedChange) -> Change {
    change.map(|version| version.store(|bytes| store.put_blob(Bytes::from(bytes))))
}

/// Reproducible pseudo-random numbers.
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
async fn random_edits_and_commands_are_undone_and_redone_exactly() {
    let mut moved = 0;
    for group in 0..SEQUENCES / TOGETHER {
        let fixture = Fixture::new(group % 2 == 0).await;
        for number in 0..TOGETHER {
            let seed = group * TOGETHER + number;
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let before = fixture.tree();
            let earlier = fixture.applied_turns().await;
            let turns = 1 + random.below(3);
            for _ in 0..turns {
                fixture.turn(&mut random).await;
            }
            let after = fixture.tree();
            let turns_with_changes = fixture.applied_turns().await - earlier;
            moved += u64::from(after != before);
            match random.below(2) {
                0 => fixture.restore(UndoOperation::undo, turns_with_changes).await,
                _ => {
                    for _ in 0..turns_with_changes {
                        fixture.restore(UndoOperation::undo, 1).await;
                    }
                }
            }
            assert_eq!(fixture.tree(), before, "sequence {seed}");
            fixture.restore(UndoOperation::redo, turns_with_changes).await;
            assert_eq!(fixture.tree(), after, "sequence {seed}, redone");
            fixture.restore(UndoOperation::undo, turns_with_changes).await;
            assert_eq!(fixture.tree(), before, "sequence {seed}, undone again");
        }
        assert!(fixture.used() <= LIMITS.quota);
    }
    assert!(moved > SEQUENCES / 10 * 9, "only {moved} sequences changed something");
}
