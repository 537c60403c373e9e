//! The decisions, as a table of what is said and what comes of it.

use cache::{keep, look, Bypass, Directives, Lifetime, NotKept, Request, Response, Rules, Standing};

const RULES: Rules =
    Rules { ttl: Some(60), stale_while_revalidate: 0, stale_if_error: 0, credentials: false, obey_clients: false };

fn control(text: &str) -> Directives {
    Directives::read([text.as_bytes()].into_iter())
}

fn get() -> Request {
    Request { is_get_or_head: true, ..Request::default() }
}

fn said(text: &str) -> Response {
    Response { status: 200, control: control(text), ..Response::default() }
}

#[test]
fn what_is_kept_and_for_how_long() {
    let none = Rules { ttl: None, ..RULES };
    let told = Rules { credentials: true, ..RULES };
    let known = Request { has_credentials: true, ..get() };
    let of = |status| Response { status, ..said("") };
    #[rustfmt::skip]
    let cases = [
        // the rules' time, and only where it is usual
        (&RULES, get(), said(""), Ok(60)),
        (&none, get(), said(""), Err(NotKept::NotFresh)),
        (&RULES, get(), of(301), Ok(60)),
        (&RULES, get(), of(404), Err(NotKept::NotFresh)),
        (&RULES, get(), of(500), Err(NotKept::NotFresh)),
        (&RULES, get(), of(206), Err(NotKept::Status)),
        (&RULES, get(), of(304), Err(NotKept::Status)),
        // the response's own time goes before it
        (&RULES, get(), said("max-age=5"), Ok(5)),
        (&none, get(), said("max-age=5"), Ok(5)),
        (&RULES, get(), said("max-age=5, s-maxage=7"), Ok(7)),
        (&RULES, get(), said("max-age=0"), Err(NotKept::NotFresh)),
        (&RULES, get(), Response { status: 404, ..said("max-age=5") }, Ok(5)),
        (&RULES, get(), Response { expires_in: Some(9), ..said("") }, Ok(9)),
        (&RULES, get(), Response { expires_in: Some(9), ..said("max-age=5") }, Ok(5)),
        (&RULES, get(), Response { expires_in: Some(-1), ..said("") }, Err(NotKept::NotFresh)),
        (&RULES, get(), Response { age: 5, ..said("max-age=5") }, Err(NotKept::NotFresh)),
        // what must not be kept
        (&RULES, get(), said("no-store"), Err(NotKept::Said)),
        (&RULES, get(), said("max-age=5, no-cache"), Err(NotKept::Said)),
        (&RULES, get(), said("private, max-age=5"), Err(NotKept::Private)),
        (&told, get(), said("private, max-age=5"), Err(NotKept::Private)),
        (&RULES, get(), Response { sets_cookie: true, ..said("public, max-age=5") }, Err(NotKept::Cookie)),
        (&told, get(), Response { sets_cookie: true, ..said("") }, Err(NotKept::Cookie)),
        (&RULES, get(), Response { varies_by_all: true, ..said("max-age=5") }, Err(NotKept::Varies)),
        // credentials
        (&RULES, known, said(""), Err(NotKept::Credentials)),
        (&RULES, known, said("max-age=5"), Err(NotKept::Credentials)),
        (&RULES, known, said("max-age=5, must-revalidate"), Err(NotKept::Credentials)),
        (&RULES, known, said("public"), Ok(60)),
        (&RULES, known, said("s-maxage=5"), Ok(5)),
        (&told, known, said(""), Ok(60)),
        // a client that wants nothing kept is heard where the rules say so
        (&RULES, Request { control: control("no-store"), ..get() }, said(""), Ok(60)),
        (&Rules { obey_clients: true, ..RULES }, Request { control: control("no-store"), ..get() }, said(""),
            Err(NotKept::Said)),
    ];
    for (i, (rules, request, response, expected)) in cases.into_iter().enumerate() {
        let got = keep(rules, &request, &response).map(|lifetime| lifetime.fresh);
        assert_eq!(got, expected, "case {i}: {response:?}");
    }
}

#[test]
fn stale_times_are_the_responses_or_the_rules_and_none_where_it_says_so() {
    let rules = Rules { stale_while_revalidate: 10, stale_if_error: 20, ..RULES };
    let stale = |text| keep(&rules, &get(), &said(text)).map(|l| (l.while_revalidating, l.if_error));
    assert_eq!(stale(""), Ok((10, 20)));
    assert_eq!(stale("stale-while-revalidate=1"), Ok((1, 20)));
    assert_eq!(stale("stale-if-error=0"), Ok((10, 0)));
    assert_eq!(stale("max-age=0"), Ok((10, 20)));
    for strict in ["must-revalidate", "proxy-revalidate", "s-maxage=5", "must-revalidate, stale-if-error=9"] {
        assert_eq!(stale(strict), Ok((0, 0)), "{strict}");
    }
}

#[test]
fn which_requests_a_cache_is_asked_for() {
    let obeys = Rules { obey_clients: true, ..RULES };
    let no_store = Request { control: control("no-store"), ..get() };
    assert_eq!(look(&RULES, &get()), Ok(()));
    assert_eq!(look(&RULES, &Request::default()), Err(Bypass::Method));
    assert_eq!(look(&RULES, &Request { has_range: true, ..get() }), Err(Bypass::Range));
    assert_eq!(look(&RULES, &Request { has_content: true, ..get() }), Err(Bypass::Content));
    assert_eq!(look(&RULES, &no_store), Ok(()));
    assert_eq!(look(&obeys, &no_store), Err(Bypass::Client));
}

#[test]
fn how_what_is_kept_stands_as_it_grows_old() {
    use Standing::{Fresh, IfError, Stale, Useless};
    let kept = Lifetime { fresh: 60, while_revalidating: 10, if_error: 20, for_all: false, age: 5 };
    let obeys = Rules { obey_clients: true, ..RULES };
    let asks = |text| Request { control: control(text), ..get() };
    let known = Request { has_credentials: true, ..get() };
    #[rustfmt::skip]
    let cases = [
        (&RULES, get(), 0, Fresh(55)),
        (&RULES, get(), 54, Fresh(1)),
        (&RULES, get(), 55, Stale(0)),
        (&RULES, get(), 64, Stale(9)),
        (&RULES, get(), 65, IfError(10)),
        (&RULES, get(), 74, IfError(19)),
        (&RULES, get(), 75, Useless),
        (&RULES, get(), u64::MAX, Useless),
        (&RULES, known, 0, Useless),
        (&Rules { credentials: true, ..RULES }, known, 0, Fresh(55)),
        // clients that want it fresher, where they are heard and where not
        (&RULES, asks("no-cache"), 0, Fresh(55)),
        (&obeys, asks("no-cache"), 0, IfError(0)),
        (&obeys, asks("max-age=5"), 0, Fresh(55)),
        (&obeys, asks("max-age=4"), 0, IfError(0)),
        (&obeys, asks("min-fresh=55"), 0, Fresh(55)),
        (&obeys, asks("min-fresh=56"), 0, IfError(0)),
        (&obeys, asks("min-fresh=0"), 55, IfError(0)),
    ];
    for (i, (rules, request, since, expected)) in cases.into_iter().enumerate() {
        assert_eq!(kept.stands(rules, &request, since), expected, "case {i}");
    }
    let public = Lifetime { for_all: true, ..kept };
    assert_eq!(public.stands(&RULES, &known, 0), Fresh(55));
}
