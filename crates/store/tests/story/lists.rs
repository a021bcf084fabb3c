//! Lists: held against a plain filter over plain rows, on every replica, after every change.

use crate::plain::{facets, fails, order, plain};
use crate::world::{ONE, Place, TWO, add, change, item, later, name, new, now, scan};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use model::dns::{Provider, ProviderKind};
use model::inventory::{CertificateFilter, ExpiryFilter, Facet, ListQuery, Page, Row, SortKey};
use model::item::{Item, ItemPatch, Ownership};
use model::status::StatusKind;
use model::time::StatedTime;
use store::{Error, Store};

/// A small generator (xorshift) with a fixed seed: the same story every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let i = self.roll(of.len() as u64);
        &of[usize::try_from(i).unwrap()]
    }
    fn maybe<T>(&mut self, value: T) -> Option<T> {
        (self.roll(4) == 0).then_some(value)
    }
}

const REGISTRARS: [&str; 6] = ["NAMECHEAP INC", "gandi", "Gandi", "Ärger GmbH", "zebra", "Åse AS"];
const PROVIDERS: [&str; 3] = ["Digital Ocean", "Self-hosted", "ns.example"];
const TAGS: [&str; 4] = ["prod", "shop", "Prod", "über"];

fn random_row(d: &mut Dice, mut row: Row) -> Row {
    let day = |d: &mut Dice| now() + (24 * (i64::try_from(d.roll(120)).unwrap() - 40)).hours();
    row.expires = match d.roll(5) {
        0 => None,
        1 => Some(StatedTime::Date(day(d).to_string()[..10].parse::<Date>().unwrap())),
        // A few share one moment, so that ties are broken by name.
        2 => Some(StatedTime::utc(now())),
        _ => Some(StatedTime::utc(day(d) + 17.minutes())),
    };
    row.registrar = (d.roll(5) > 0).then(|| (*d.pick(&REGISTRARS)).to_string());
    row.provider = (d.roll(3) > 0)
        .then(|| Provider { name: (*d.pick(&PROVIDERS)).to_string(), kind: ProviderKind::Known });
    row.status.kind = *d.pick(&StatusKind::ALL);
    row.last_change_at = d.maybe(()).map(|()| day(d).min(now()));
    row.last_dns_change_at = d.maybe(()).map(|()| day(d).min(now()));
    row.modified = d.maybe(()).map(|()| StatedTime::utc(day(d)));
    row.certificate_ends = (d.roll(3) > 0).then(|| day(d));
    row
}

/// Fills an organisation with random rows through the store and answers them as a person would write them down.
async fn fill(s: &dyn Store, d: &mut Dice, n: usize) -> Vec<Row> {
    let syllables = ["ba", "ko", "shop", "xy", "example", "münchen", "-", "1"];
    let mut items = Vec::new();
    while items.len() < n {
        let label: String = (0..=d.roll(3)).map(|_| *d.pick(&syllables)).collect();
        let typed = format!("a{label}{}.{}", d.roll(900), d.pick(&["com", "de", "io"]));
        let Ok(read) = model::names::DomainName::read(&typed) else { continue };
        let mut i = new(read.name.as_str());
        i.tags = TAGS.iter().filter_map(|t| d.maybe((*t).to_string())).collect();
        i.ownership = if d.roll(3) == 0 { Ownership::Watched } else { Ownership::Owned };
        items.push(i);
    }
    s.add(ONE, &items, now()).await.unwrap();
    let mut rows = Vec::new();
    items.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    items.dedup_by(|a, b| a.name == b.name);
    for i in &items {
        // A scan of every name makes its row; one in ten stays as it was added.
        if d.roll(10) > 0 {
            let mut r = scan(s, i.name.as_str(), &[], now()).await;
            let row = random_row(d, r.outcomes[0].row.clone());
            r.outcomes[0].item.status = row.status.clone();
            r.outcomes[0].item.last_change_at = row.last_change_at;
            r.outcomes[0].item.last_dns_change_at = row.last_dns_change_at;
            r.outcomes[0].row = row;
            s.record(&r).await.unwrap();
        }
        rows.push(item(s, ONE, i.name.as_str()).await.1);
    }
    rows
}

fn random_query(d: &mut Dice) -> ListQuery {
    let text = |s: &&str| (*s).to_string();
    let search = match d.roll(6) {
        0 => (*d.pick(&["sho", "xample", "MÜNCH", "ünch", "xn--", "ba", "k", "nothing-has-this", "1.de"]))
            .into(),
        _ => String::new(),
    };
    let day = |d: &mut Dice| -> Date {
        let days = i64::try_from(d.roll(120)).unwrap() - 40;
        (now() + (24 * days).hours()).to_string()[..10].parse().unwrap()
    };
    let expires = match d.roll(11) {
        0 => Some(ExpiryFilter::Unknown),
        1 => Some(ExpiryFilter::Within(u32::try_from(d.roll(60)).unwrap())),
        2 => Some(ExpiryFilter::Between(Some(day(d)), None)),
        3 => Some(ExpiryFilter::Between(Some(day(d)), Some(day(d)))),
        4 => Some(ExpiryFilter::Next(u32::try_from(d.roll(60)).unwrap())),
        5 => Some(ExpiryFilter::Expired),
        _ => None,
    };
    ListQuery {
        search,
        sort: *d.pick(&SortKey::ALL),
        descending: d.roll(2) == 0,
        page: u32::try_from(1 + d.roll(3)).unwrap(),
        per_page: *d.pick(&[1, 7, 50, 500]),
        status: (0..d.roll(6).saturating_sub(3)).map(|_| *d.pick(&StatusKind::ALL)).collect(),
        registrar: match d.roll(5) {
            0 => vec![text(d.pick(&REGISTRARS)), String::new()],
            1 => vec![text(d.pick(&REGISTRARS)), text(d.pick(&REGISTRARS)), "Nobody".into()],
            _ => vec![],
        },
        provider: d.maybe(()).map(|()| text(d.pick(&PROVIDERS))).into_iter().collect(),
        tag: match d.roll(5) {
            0 => vec![text(d.pick(&TAGS)), text(d.pick(&TAGS))],
            _ => vec![],
        },
        ownership: d.maybe(Ownership::Owned),
        expires,
        changed_days: d.maybe(()).map(|()| u32::try_from(d.roll(30)).unwrap()),
        dns_changed_days: d.maybe(()).map(|()| u32::try_from(d.roll(30)).unwrap()),
        certificate: match d.roll(8) {
            0 => Some(CertificateFilter::Unseen),
            1 => Some(CertificateFilter::Ended),
            2 => Some(CertificateFilter::Within(u32::try_from(d.roll(60)).unwrap())),
            _ => None,
        },
    }
}

fn names(page: &Page) -> Vec<&str> {
    page.rows.iter().map(|r| r.name.as_str()).collect()
}

pub async fn lists_answer_as_a_plain_filter_would(place: &Place) {
    let s = place.open().await;
    let mut d = Dice(0x5EED_0F57_0A1E);
    let rows = fill(&*s, &mut d, 250).await;
    assert!(rows.len() > 200 && rows.iter().any(|r| r.unicode != r.name.as_str()));
    add(&*s, TWO, &["shop-of-another.com"]).await;
    let mut narrow = 0;
    for round in 0..400 {
        let q = random_query(&mut d);
        let mut want: Vec<&Row> = rows.iter().filter(|r| fails(&q, r).is_empty()).collect();
        let by_name: Vec<&str> = want.iter().map(|r| r.name.as_str()).collect();
        let all = s.names(ONE, &q, 1000, now()).await.unwrap();
        assert_eq!(
            all.iter().map(model::names::DomainName::as_str).collect::<Vec<_>>(),
            by_name,
            "round {round}: {q:?}"
        );

        want.sort_by(|a, b| order(&q, a, b));
        let page = s.list(ONE, &q, now()).await.unwrap();
        let last = want.len().div_ceil(q.per_page as usize).max(1);
        let shown = (q.page as usize).min(last);
        let on_page: Vec<&Row> =
            want.iter().skip((shown - 1) * q.per_page as usize).take(q.per_page as usize).copied().collect();
        assert_eq!(page.rows.iter().collect::<Vec<_>>(), on_page, "round {round}: {q:?}");
        assert_eq!((page.total, page.page as usize), (want.len() as u64, shown), "round {round}: {q:?}");
        assert_eq!(plain(page.facets), plain(facets(&rows, &q)), "round {round}: {q:?}");
        narrow += usize::from(!want.is_empty() && want.len() < rows.len());
    }
    assert!(narrow > 60, "the queries say something: {narrow}");

    // The strip above the list, by the same plain counting.
    let strip = s.summary(ONE, now()).await.unwrap();
    let owned: Vec<_> = rows.iter().filter(|r| r.ownership == Ownership::Owned).collect();
    let counted = |f: &dyn Fn(&Row) -> bool| owned.iter().filter(|r| f(r)).count() as u64;
    assert_eq!((strip.total, strip.owned), (rows.len() as u64, owned.len() as u64));
    assert_eq!(strip.watched, strip.total - strip.owned);
    assert_eq!(strip.critical, counted(&|r| r.status.kind == StatusKind::Critical));
    assert_eq!(strip.warning, counted(&|r| r.status.kind == StatusKind::Warning));
    let left = |days: std::ops::Range<i64>| {
        counted(&|r| r.expires.is_some_and(|e| days.contains(&e.days_from(now()))))
    };
    assert_eq!(strip.expired, left(i64::MIN..0));
    assert_eq!(strip.calendar.iter().map(|c| c.count).sum::<u64>(), left(0..91));
    assert_eq!(strip.changed, counted(&|r| r.changed_recently(now())));
    assert_eq!(strip.dns_changed, counted(&|r| r.dns_changed_recently(now())));
    let ahead = counted(&|r| r.expires.is_some_and(|e| (0..=90).contains(&e.days_from(now()))));
    assert_eq!(strip.calendar.iter().map(|c| c.count).sum::<u64>(), ahead);
    assert!(strip.calendar.windows(2).all(|w| w[0].day < w[1].day) && ahead > 10);
}

pub async fn lists_follow_every_change_on_every_replica(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    let q = ListQuery { sort: SortKey::Name, ..ListQuery::default() };
    let of = |s: &std::sync::Arc<dyn Store>| {
        let (s, q) = (s.clone(), q.clone());
        async move { s.list(ONE, &q, now()).await.unwrap() }
    };
    assert_eq!(of(&b).await.total, 0);
    add(&*a, ONE, &["b.example", "a.example"]).await;
    assert_eq!(names(&of(&b).await), ["a.example", "b.example"]);
    // More at once than are put in one by one.
    let many: Vec<_> = (0..40).map(|i| new(&format!("m{i:02}.example"))).collect();
    let added = b.add(ONE, &[many.clone(), many.clone()].concat(), now()).await.unwrap();
    assert_eq!(added.iter().filter(|x| **x).count(), 40, "each once");
    assert!(added[..40].iter().all(|x| *x));
    assert_eq!(of(&a).await.total, 42);
    let gone: Vec<_> = many[1..].iter().map(|i| i.name.clone()).collect();
    assert_eq!(a.remove(ONE, &gone, now()).await.unwrap(), 39);
    assert_eq!(names(&of(&b).await), ["a.example", "b.example", "m00.example"]);
    let patch = ItemPatch { tags: Some(vec!["t".into()]), ..ItemPatch::default() };
    b.patch(ONE, &name("a.example"), &patch, now()).await.unwrap();
    let page = of(&a).await;
    assert_eq!(page.facets.tag, [Facet { value: "t".into(), count: 1 }]);
    assert_eq!(page.rows[0].tags, ["t"]);
    let mut r = scan(&*a, "b.example", &[change("X")], later(1)).await;
    r.outcomes[0].row.registrar = Some("X".into());
    let rv = a.record(&r).await.unwrap();
    let page = of(&b).await;
    assert_eq!((page.rv, page.rows[1].registrar.as_deref()), (rv, Some("X")));
    let x = ListQuery { registrar: vec!["X".into()], changed_days: Some(7), ..q.clone() };
    assert_eq!(names(&b.list(ONE, &x, later(2)).await.unwrap()), ["b.example"]);
    // Added again, it is a new holding: nothing said before clings to it.
    assert_eq!(a.remove(ONE, &[name("a.example"), name("b.example")], now()).await.unwrap(), 2);
    add(&*b, ONE, &["a.example"]).await;
    assert!(of(&a).await.rows[0].tags.is_empty());

    // A list longer than one transaction takes.
    let long: Vec<_> = (0..2300).map(|i| new(&format!("l{i:04}.example"))).collect();
    assert_eq!(a.add(TWO, &long, now()).await.unwrap().iter().filter(|x| **x).count(), 2300);
    assert_eq!(b.names(TWO, &q, 10_000, now()).await.unwrap().len(), 2300);
    let out: Vec<_> = long[..2200].iter().map(|i| i.name.clone()).collect();
    assert_eq!(b.remove(TWO, &out, now()).await.unwrap(), 2200);
    assert_eq!(a.names(TWO, &q, 10_000, now()).await.unwrap().len(), 100);

    // Lists asked for while the other replica writes are whole: no gap, no double, in order.
    let writer = {
        let a = a.clone();
        tokio::spawn(async move {
            for i in 0..30 {
                let n = format!("w{i:02}.example");
                a.add(ONE, &[new(&n)], now()).await.unwrap();
                if i % 3 == 0 {
                    a.remove(ONE, &[name(&n)], now()).await.unwrap();
                }
            }
        })
    };
    // A task like the writer that lets others pass: asked without a pause from the test's own thread, the writer's
    // answers were left lying for half a minute where there was one core.
    let reader = {
        let (b, q) = (b.clone(), q.clone());
        tokio::spawn(async move {
            while !writer.is_finished() {
                let page = b.list(ONE, &q, now()).await.unwrap();
                assert_eq!(page.rows.len() as u64, page.total);
                assert!(names(&page).windows(2).all(|w| w[0] < w[1]));
                tokio::task::yield_now().await;
            }
            writer.await.unwrap();
        })
    };
    reader.await.unwrap();
    assert_eq!(of(&b).await.total, 2 + 20);
}

pub async fn holdings_are_patched_and_judged(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    let n = name("a.example");
    let date: Date = "2030-01-02".parse().unwrap();
    let patch = ItemPatch {
        ownership: Some(Ownership::Watched),
        note: Some("ours".into()),
        manual_expires: Some(Some(date)),
        auto_renew: Some(Some(true)),
        ..ItemPatch::default()
    };
    let patched = s.patch(ONE, &n, &patch, now()).await.unwrap();
    let (stored, mut row) = item(&*s, ONE, "a.example").await;
    assert_eq!(patched, stored);
    assert_eq!(
        (stored.ownership, stored.note.as_str(), stored.manual_expires, stored.auto_renew),
        (Ownership::Watched, "ours", Some(date), Some(true))
    );
    assert_eq!((row.ownership, row.auto_renew), (Ownership::Watched, Some(true)));
    let head = s.head().await.unwrap();
    s.patch(ONE, &n, &ItemPatch::default(), now()).await.unwrap();
    assert_eq!(s.head().await.unwrap(), head, "nothing changed, nothing is said");
    assert!(matches!(s.patch(ONE, &name("zz.example"), &patch, now()).await, Err(Error::NotFound)));

    // Judged: due again at an instant, found then and not before, soonest first.
    let mut judged = stored.clone();
    judged.status.kind = StatusKind::Warning;
    judged.status.judge_again_at = Some(later(60));
    row.status = judged.status.clone();
    row.expires = Some(StatedTime::Date(date));
    s.update_judged(&[(judged.clone(), row.clone())], now()).await.unwrap();
    let (mut b, mut b_row) = item(&*s, ONE, "b.example").await;
    b.status.judge_again_at = Some(later(30));
    b_row.status = b.status.clone();
    let head = s.head().await.unwrap();
    s.update_judged(&[(b, b_row)], now()).await.unwrap();
    assert_eq!(s.head().await.unwrap(), head, "when to judge again is shown to nobody");
    assert!(s.due_for_judgement(later(29), 9).await.unwrap().is_empty());
    let due = |at: Timestamp, limit| {
        let s = s.clone();
        async move {
            let due = s.due_for_judgement(at, limit).await.unwrap();
            due.iter().map(|i| i.name.to_string()).collect::<Vec<_>>()
        }
    };
    assert_eq!(due(later(60), 9).await, ["b.example", "a.example"]);
    assert_eq!(due(later(60), 1).await, ["b.example"]);
    let q = ListQuery { status: vec![StatusKind::Warning], ..ListQuery::default() };
    assert_eq!(names(&s.list(ONE, &q, now()).await.unwrap()), ["a.example"]);

    // A judgement made before the owner spoke, or before a newer scan, is not written over what came after.
    s.patch(ONE, &n, &ItemPatch { auto_renew: Some(None), ..ItemPatch::default() }, now()).await.unwrap();
    judged.status.kind = StatusKind::Critical;
    row.status = judged.status.clone();
    s.update_judged(&[(judged.clone(), row.clone())], now()).await.unwrap();
    assert_eq!(item(&*s, ONE, "a.example").await.0.status.kind, StatusKind::Warning);
    let r = scan(&*s, "a.example", &[], later(1)).await;
    s.record(&r).await.unwrap();
    judged.auto_renew = None;
    s.update_judged(&[(judged, row)], now()).await.unwrap();
    assert_eq!(item(&*s, ONE, "a.example").await.0.status.kind, StatusKind::Warning);
}

pub async fn what_was_taken_is_put_back_whole(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example", "c.example"]).await;
    let patch = ItemPatch {
        ownership: Some(Ownership::Watched),
        tags: Some(vec!["prod".into()]),
        note: Some("ours, paid by card".into()),
        manual_expires: Some(Some("2030-01-02".parse().unwrap())),
        auto_renew: Some(Some(false)),
        muted_until: Some(Some(later(99))),
        scan_interval: Some(Some(900)),
        expiry_days: Some(Some(vec![7])),
    };
    s.patch(ONE, &name("a.example"), &patch, now()).await.unwrap();
    let mut r = scan(&*s, "a.example", &[change("two")], later(1)).await;
    r.outcomes[0].item.was_delegated = true;
    r.outcomes[0].item.last_change_at = Some(later(1));
    r.outcomes[0].item.last_dns_change_at = Some(later(1));
    s.record(&r).await.unwrap();
    let before = item(&*s, ONE, "a.example").await.0;
    assert!(before.was_delegated && before.last_change_at.is_some());

    let names = ["b.example", "a.example", "zz.example"].map(name);
    let taken = s.delete_returning(ONE, &names, later(2)).await.unwrap();
    assert_eq!(taken.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["a.example", "b.example"]);
    assert_eq!(taken[0], before);
    assert_eq!(s.list(ONE, &ListQuery::default(), later(2)).await.unwrap().total, 1);

    // One of them is held anew meanwhile: what its holder says now counts.
    add(&*s, ONE, &["b.example"]).await;
    assert_eq!(s.restore(ONE, &taken, later(3)).await.unwrap(), [true, false]);
    let (after, row) = item(&*s, ONE, "a.example").await;
    assert_eq!(after, Item { status: after.status.clone(), next_scan_at: Some(later(3)), ..before.clone() });
    assert_eq!(
        (row.ownership, row.auto_renew, row.tags),
        (Ownership::Watched, Some(false), vec!["prod".into()])
    );
    assert_eq!(row.last_change_at, before.last_change_at);
    assert_eq!((row.last_dns_change_at, before.last_dns_change_at), (Some(later(1)), Some(later(1))));
    let job = s.lease(store::JobKind::Scan, "w", 9, later(3)).await.unwrap();
    assert!(job.iter().any(|j| j.job.key() == "a.example"), "it is scanned next");
    // Whoever it was taken from: it becomes a holding of the one who puts it back.
    assert_eq!(s.restore(TWO, &taken[..1], later(4)).await.unwrap(), [true]);
    assert_eq!(item(&*s, TWO, "a.example").await.0.org, TWO);
}

pub async fn empty_lists_have_empty_answers(place: &Place) {
    let s = place.open().await;
    let page = s.list(ONE, &ListQuery { page: 7, ..ListQuery::default() }, now()).await.unwrap();
    assert_eq!((page.rows.len(), page.total, page.page), (0, 0, 1));
    assert_eq!(s.summary(ONE, now()).await.unwrap(), model::inventory::Summary::default());
    assert_eq!(s.add(ONE, &[], now()).await.unwrap(), Vec::<bool>::new());
    assert_eq!(s.remove(ONE, &[], now()).await.unwrap(), 0);
    s.update_judged(&[], now()).await.unwrap();
    s.enqueue(&[], store::Priority::Scheduled).await.unwrap();
    assert_eq!(s.acknowledge(ONE, &[], "ann", now()).await.unwrap(), 0);
    assert_eq!(s.prune(now(), 400).await.unwrap(), 0);
    assert_eq!(s.head().await.unwrap(), model::ids::LogPosition(0));
    s.ping().await.unwrap();
}
