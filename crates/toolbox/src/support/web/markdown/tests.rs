//! Tests of the conversion of pages.

use super::*;

fn check(html: &str) -> String {
    markdown(html, &Url::parse("https://host.example/docs/page.html").unwrap()).text
}

#[test]
fn markdown_keeps_the_structure_of_a_page() {
    for (html, text) in [
        ("plain  \n text", "plain text"),
        (
            "<h1>A</h1><p>one</p><p>two <b>bold</b>, <i>soft</i>.</p>",
            "# A\n\none\n\ntwo **bold**, *soft*.",
        ),
        ("<p>a<br>b<hr>c", "a\nb\n\n---\n\nc"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne"),
        ("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b"),
        ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"),
        (
            "<pre><code class='hljs language-rust'>fn a() {\n    &lt;b&gt;\n}\n</code></pre>x",
            "```rust\nfn a() {\n    <b>\n}\n```\n\nx",
        ),
        ("use <code>x</code> or <kbd>y</kbd>", "use `x` or `y`"),
        (
            "<a href='../b?c#d'>link</a> <a href=#top>top</a> <a href='javascript:x'>js</a>",
            "[link](https://host.example/b?c#d) top js",
        ),
        (
            "<a href=/x><img src=i.png alt='An  image'></a>",
            "[![An image](https://host.example/docs/i.png)](https://host.example/x)",
        ),
        (
            "<a href=/x><h2>Card</h2><p>text</p></a>",
            "## Card\n\ntext (https://host.example/x)",
        ),
        (
            "<table><tr><th>a<th>b<tr><td>1<td>x|y</table>z",
            "| a | b |\n|---|---|\n| 1 | x\\|y |\n\nz",
        ),
        ("<table><tr><td><p>one</p><p>two</p></td></tr></table>", "one\n\ntwo"),
        (
            "<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>",
            "a\n\nb c\n\nd",
        ),
        (
            "<script>if (a<b) {}</script><style>p{}</style>a<!-- c --><svg><text>x</text></svg>b",
            "ab",
        ),
        (
            "a<nav>menu</nav><div hidden>no<div>no</div></div><span aria-hidden=true>#</span>b<footer>f</footer>",
            "ab",
        ),
        ("<nav>only a menu</nav>", "only a menu"),
        ("<dl><dt>a<dd>b</dl>", "a\n: b"),
        ("a &amp; b &lt;c&gt; &nbsp;d", "a & b <c> d"),
        (
            "<base href='https://other.example/'><a href=x>y</a>",
            "[y](https://other.example/x)",
        ),
        ("<b></b><i> </i>a</p></div></b>", "a"),
        ("", ""),
    ] {
        assert_eq!(check(html), text, "{html}");
    }
}

#[test]
fn the_main_element_and_the_title_are_found() {
    let long = "word ".repeat(60);
    let page = format!("<title> The\n title </title><div>around</div><main><p>{long}</p></main><p>after</p>");
    let page = markdown(&page, &Url::parse("http://x").unwrap());
    assert_eq!(page.title.as_deref(), Some("The title"));
    assert_eq!(page.text, long.trim());
    assert_eq!(check("before<main>short</main>after"), "before\n\nshort\n\nafter");
    assert_eq!(one_line("a <strong>b</strong>\n &amp; c"), "a b & c");
}

#[test]
fn deep_nesting_has_bounded_cost() {
    for piece in [
        "<div>",
        "<b>",
        "<ul><li>",
        "<blockquote>",
        "<table><tr><td>",
        "<a href=x>",
        "<pre>",
        "<i>x",
        "<td>x",
    ] {
        let text = check(&format!("{}end", piece.repeat(20_000)));
        assert!(text.contains("end"), "{piece}");
        assert!(text.len() < 1_000_000, "{piece}: {}", text.len());
    }
}
