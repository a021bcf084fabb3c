//! What hostile clients do: bodies that drip, requests taken back, questions that make no sense. No network: the
//! answers come from a table, the time from a hand.

mod support;

use axum::http::StatusCode;
use doh::{Bounds, Exposure};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::table::{site, site_with};
use support::*;

/// A question whose body comes an octet a second, forever.
fn dripping(message: &'static [u8]) -> axum::http::Request<axum::body::Body> {
    let octets = futures::stream::unfold(0usize, move |at| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let octet = message.get(at).copied().unwrap_or(0);
        Some((Ok::<_, std::io::Error>(vec![octet]), at + 1))
    });
    let request = axum::http::Request::builder().method("POST").uri("/dns-query");
    request.header("content-type", MESSAGE).body(axum::body::Body::from_stream(octets)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_is_waited_for_and_not_forever() {
    let site = site();
    let start = tokio::time::Instant::now();
    let got = send(&site.router, dripping(b"")).await;
    assert_eq!((got.status, start.elapsed().as_secs()), (StatusCode::REQUEST_TIMEOUT, 10));
    assert!(got.words().contains("timed out"), "{}", got.words());
    let all = futures::future::join_all((0..200).map(|_| send(&site.router, dripping(b"")))).await;
    assert!(all.iter().all(|got| got.status == StatusCode::REQUEST_TIMEOUT));
    assert_eq!(start.elapsed().as_secs(), 20, "all at once: none waits for another");
    assert_eq!(get(&site.router, &plain("www.example", 1)).await.reply().answers.len(), 2);
    // One that breaks off is told what is wrong, if it still listens.
    let broken = futures::stream::iter([Ok(vec![0u8; 4]), Err(std::io::Error::other("gone"))]);
    let request = axum::http::Request::builder().method("POST").uri("/dns-query");
    let request =
        request.header("content-type", MESSAGE).body(axum::body::Body::from_stream(broken)).unwrap();
    assert_eq!(send(&site.router, request).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn questions_that_are_taken_back_at_once_leave_nothing_behind() {
    // What HTTP/2 calls a reset stream: the request begins, and its future is dropped.
    let bounds = Bounds { rate: 10, lookups: 8, ..Bounds::default() };
    let site = site_with(&bounds, Duration::from_secs(1), Exposure::All, false);
    for n in 0..2000 {
        let message = plain(&format!("n{n}.example"), 1);
        let asked = std::pin::pin!(get(&site.router, &message));
        let _ = futures::poll!(asked);
        tokio::task::yield_now().await;
    }
    assert!(site.asked() <= 8, "{} lookups: they count whether or not anybody waits", site.asked());
    tokio::time::sleep(Duration::from_secs(2)).await;
    site.hand.forward(60);
    assert_eq!(
        get(&site.router, &plain("www.example", 1)).await.reply().answers.len(),
        2,
        "all is free again"
    );
}

#[tokio::test]
async fn the_json_form_takes_odd_questions_with_composure() {
    let site = site();
    let long = "a".repeat(64);
    let deep = "a.".repeat(130);
    for (query, status, rcode) in [
        ("name=www.example&type=1", 200, Some(0)),
        ("name=www.example&type=a", 200, Some(0)),
        ("name=www.example&type=", 200, Some(0)),
        ("name=www.example.&type=TYPE1", 200, Some(0)),
        ("name=www.example&type=A&type=AXFR", 200, Some(0)),
        ("name=.&type=NS", 200, Some(2)),
        ("name=www.example&type=65535", 200, Some(2)),
        ("name=www.example&type=TYPE65399", 200, Some(2)),
        ("name=www.example&type=0", 200, Some(5)),
        ("name=www.example&type=OPT", 200, Some(5)),
        ("name=www.example&type=TSIG", 200, Some(5)),
        ("name=www.example&type=AXFR", 200, Some(5)),
        ("name=www.example&type=ANY", 200, Some(0)),
        ("name=www.example&type=65536", 400, None),
        ("name=www.example&type=-1", 400, None),
        ("name=www.example&type=1.0", 400, None),
        ("name=www.example&type=A%00", 400, None),
        ("name=%FF%FE&type=A", 400, None),
        ("name=&type=A", 400, None),
        ("name=a..b&type=A", 400, None),
        ("name=www.example&do=2", 400, None),
        (&format!("name={long}.example"), 400, None),
        (&format!("name={deep}"), 400, None),
    ] {
        let got = ask(&site.router, "GET", &format!("/resolve?{query}"), &[], &[]).await;
        assert_eq!(got.status.as_u16(), status, "{query}: {}", got.words());
        let document = got.json();
        assert_eq!(document["Status"].as_u64(), rcode, "{query}: {document}");
        assert_eq!(document["error"].is_string(), rcode.is_none(), "{query}: {document}");
    }
}

proptest! {
    #[test]
    fn no_json_question_breaks_it(name in "\\PC{0,80}", rtype in "\\PC{0,12}", more in "[a-z=&%0-9]{0,20}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("name", &name).append_pair("type", &rtype);
        let path = format!("/resolve?{}&{more}", query.finish());
        let got = runtime.block_on(async { ask(&site().router, "GET", &path, &[], &[]).await });
        prop_assert!(matches!(got.status.as_u16(), 200 | 400), "{}", got.words());
        prop_assert!(got.json().is_object());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_is_a_use_and_none_begins_while_it_is_off() {
    let site = site_with(&Bounds::default(), Duration::from_secs(5), Exposure::All, false);
    let (is_on, uses) = (Arc::new(AtomicBool::new(true)), Arc::new(()));
    let switch: doh::Switch = {
        let (is_on, uses) = (is_on.clone(), uses.clone());
        Arc::new(move || is_on.load(Ordering::SeqCst).then(|| Box::new(uses.clone()) as doh::Held))
    };
    let offered = doh::Site::with_switch(site.resolver.clone(), Exposure::All, false, switch);
    let ask = || {
        let request = axum::http::Request::get(path(&plain("www.example", 1)));
        offered.answer(request.body(axum::body::Body::empty()).unwrap(), [127, 0, 0, 1].into())
    };
    let mut under_way = Box::pin(ask());
    assert!(futures::poll!(&mut under_way).is_pending(), "the lookup takes five seconds");
    assert_eq!(Arc::strong_count(&uses), 3, "here, in the switch, and in the request");
    is_on.store(false, Ordering::SeqCst);
    let refused = ask().await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    let words = axum::body::to_bytes(refused.into_body(), 1 << 16).await.unwrap();
    assert!(String::from_utf8_lossy(&words).contains("feature doh-server"), "{words:?}");
    assert_eq!(under_way.await.status(), StatusCode::OK, "what had begun is answered");
    assert_eq!(Arc::strong_count(&uses), 2);
    is_on.store(true, Ordering::SeqCst);
    assert_eq!(ask().await.status(), StatusCode::OK);
}
