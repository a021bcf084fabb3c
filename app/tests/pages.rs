//! What a person reads on rendered pages.

mod support;

use support::backend::Sample;
use support::{page, router, text};

#[tokio::test]
async fn the_inventory_reads_without_javascript() {
    let (status, html) = page(&router(Sample::story(), ""), "/domains").await;
    let text = text(&html);
    assert_eq!(status, 200);
    for words in ["q7.io", "NAMECHEAP INC", "Jul 6, 2029", "Digital Ocean", "Aug 17, 2019"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}
