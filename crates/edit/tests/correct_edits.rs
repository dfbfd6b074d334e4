//! Ordinary edits with the exact text of the file are applied as written, also where a check for mistakes is near.

#![allow(clippy::expect_used, reason = "a refused edit fails the test")]

use std::path::Path;

use edit::{EditFormat, FileChange, plan};
use serde_json::json;

fn check(path: &str, before: &str, old: &str, new: &str) {
    assert_eq!(before.matches(old).count(), 1, "{path}: {old}");
    let text = json!({"path": path, "edits": [{"old_text": old, "new_text": new}]}).to_string();
    let lookup = |_: &Path| Some(before.to_owned());
    let plan = plan(&text, EditFormat::Json, None, &lookup).map_err(|refused| format!("{path}: {refused}"));
    let plan = plan.expect("the edit is applied");
    let [FileChange::Update { after, .. }] = plan.files.as_slice() else {
        unreachable!("one file is changed: {plan:?}");
    };
    assert_eq!(*after, before.replacen(old, new, 1), "{path}");
}

#[test]
fn numbers_signs_and_escapes_that_are_meant_are_kept() {
    check(
        "a.md",
        "# A\n\nInstall foo\nRun bar\n",
        "Install foo\nRun bar",
        "1. Install foo\n2. Run bar",
    );
    check("a.txt", "one\nitems\n", "items", "2 items");
    check("docker.yml", "ports: 3000\n", "3000", "3000:3000");
    check("a.js", "log(\"hello \" name);\n", " name)", " + name)");
    check("a.py", "phone = \"49123\"\n", "49123", "+49123");
    check("b.md", "a\nb\n", "a\nb", "+ a\n+ b");
    check("a.rs", "fn f() {\n    count -= 1;\n}\n", "-= 1", "+= 1");
    check(
        "a.sh",
        "main() {\n  echo hello\n}\n",
        "echo hello",
        "echo \\\"hello\\\"",
    );
    check(
        "b.js",
        "const t = `\nUse foo to run\n`;\n",
        "Use foo to run",
        "Use \\`foo\\` to run",
    );
}

#[test]
fn elements_labels_and_templates_are_inserted() {
    let field =
        |name: &str| format!("      <TextField\n        control={{control}}\n        name=\"{name}\"\n      />\n");
    let form = format!(
        "  return (\n    <Form>\n{}{}    </Form>\n  );\n",
        field("first"),
        field("last")
    );
    let both = field("first") + &field("last");
    check(
        "a.tsx",
        &form,
        &both,
        &(field("first") + &field("middle") + &field("last")),
    );
    check(
        "a.c",
        "int f(void)\n{\n\tint ret = g();\n\n\tkfree(a);\n\treturn ret;\n}\n",
        "\tkfree(a);\n\treturn ret;\n",
        "\tkfree(a);\nerr_unlock:\n\tmutex_unlock(&m);\n\treturn ret;\n",
    );
    check(
        "a.sql",
        "SELECT *\n  FROM t\n  LEFT JOIN a\n    ON a.id = t.id\n",
        "  FROM t\n  LEFT JOIN a\n",
        "  FROM t\n INNER JOIN b\n    ON b.id = t.id\n  LEFT JOIN a\n",
    );
    check(
        "a.html",
        "<div>\n  <p>one</p>\n  <p>two</p>\n</div>\n",
        "  <p>one</p>\n  <p>two</p>\n",
        "  <p>one</p>\n{% if user %}\n  <p>user</p>\n{% endif %}\n  <p>two</p>\n",
    );
    check(
        "test_makefile.py",
        "def f():\n    return 0\n",
        "def f():\n    return 0\n",
        "def f():\n    return 0\n\n\ndef g():\n    return 1\n",
    );
    check(
        "a.py",
        "def f(self, x_min, x_max):\n    pass\n",
        "def f(self, x_min",
        "def f(self, x_min, x_mid",
    );
    check("b.py", "print(max(x, y))\n", "y))", "max(y, z)))");
}

#[test]
fn yaml_with_templates_scalars_and_flow_collections_is_changed() {
    check(
        "stack.yaml",
        "Resources:\n  A:\n    UserData:\n      Fn::Base64: !Sub |\n        #!/bin/bash\n        start\n",
        "        #!/bin/bash\n",
        "        #!/bin/bash\n          echo \"user data: done\"\n",
    );
    check(
        "deployment.yaml",
        "spec:\n  replicas: 1\n{{- if .Values.a }}\n  paused: true\n{{- end }}\n  selector:\n    app: x\n",
        "  selector:\n    app: x\n",
        "{{- if .Values.b }}\n  strategy: y\n{{- end }}\n  selector:\n    app: x\n",
    );
    check(
        "policy.yaml",
        "a:\n  b: 1\n  c: 2\n",
        "  b: 1\n",
        "  b: 1\n  policy: {\n    \"Version\": \"2012\"\n  }\n  text: \"see\n    Note: x\"\n",
    );
    check(
        "api.yaml",
        "properties:\n  Id:\n    type: string\n",
        "  Id:\n    type: string\n",
        "  UpdatedAt:\n    type: string\n  Id:\n    type: string\n",
    );
}
