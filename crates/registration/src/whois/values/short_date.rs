//! Dates with years of two digits, read only where something says which number is which. In: a value; out: a bare date or
//! its parts.

use super::date::{date, month, num, re};
use crate::whois::vocabulary::tables::Order;
use model::time::StatedTime;
use regex::Regex;
use std::sync::LazyLock;

static SHORT: LazyLock<Regex> = LazyLock::new(|| re(r"^(\d{2})-([^\W\d_]{3,12})-(\d{2})\.?$"));

/// A date with two digits for day and year, `04-Sep-05`, as its three parts. Which is which the form does not say.
pub(crate) fn short(value: &str) -> Option<(i8, i8, i8)> {
    let c = SHORT.captures(value.trim())?;
    Some((num(&c[1]), month(&c[2]).ok()?, num(&c[3])))
}

/// True when one of the two numbers of `15-Jul-85` is no day: the last one, so the day comes first.
pub(crate) fn day_shown(value: &str) -> bool {
    short(value).is_some_and(|(_, _, last)| last > 31 || last == 0)
}

/// Reads `04-Sep-05` where it is known that the day comes first.
pub(crate) fn parse_short(value: &str) -> Option<StatedTime> {
    let (day, month, year) = short(value)?;
    date(&century(year).to_string(), month, day).ok().map(StatedTime::Date)
}

static SHORT_NUMERIC: LazyLock<Regex> = LazyLock::new(|| re(r"^(\d{1,2})[-./](\d{1,2})[-./](\d{2})$"));

/// Reads `04/03/12` where its label states the order (`dd/mm/yy`).
pub(crate) fn parse_short_numeric(value: &str, order: Order) -> Option<StatedTime> {
    let c = SHORT_NUMERIC.captures(value.trim())?;
    let (a, b, year) = (num(&c[1]), num(&c[2]), num(&c[3]));
    let (day, month) = match order {
        Order::Dmy => (a, b),
        Order::Mdy => (b, a),
        Order::Ymd => return None,
    };
    date(&century(year).to_string(), month, day).ok().map(StatedTime::Date)
}

/// Years of two digits from 70 are of the last century.
fn century(year: i8) -> i16 {
    i16::from(year) + if year >= 70 { 1900 } else { 2000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_years_are_read_only_when_asked() {
        assert!(super::super::date::parse("04-Sep-05", Some(Order::Dmy)).is_err());
        assert_eq!(parse_short("04-Sep-05").unwrap().to_string(), "2005-09-04");
        assert_eq!(parse_short("17-DEC-98").unwrap().to_string(), "1998-12-17");
        assert_eq!(parse_short("2005-09-04"), None);
        assert!(day_shown("15-Jul-85") && day_shown("15-Jul-00") && !day_shown("04-Sep-05"));
        assert_eq!(parse_short_numeric("04/03/12", Order::Dmy).unwrap().to_string(), "2012-03-04");
        assert_eq!(parse_short_numeric("04/03/12", Order::Mdy).unwrap().to_string(), "2012-04-03");
    }
}
