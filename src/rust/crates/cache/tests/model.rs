//! What must hold for any response and any request, however they are put together: against the rules as RFC 9111 states
//! them, one by one, and not as the code has them.

use cache::{keep, look, Directives, Lifetime, Request, Response, Rules, Standing};
use proptest::prelude::*;

fn control() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "no-store",
        "no-cache",
        "private",
        "public",
        "must-revalidate",
        "proxy-revalidate",
        "max-age=0",
        "max-age=7",
        "max-age=40",
        "s-maxage=0",
        "s-maxage=20",
        "stale-while-revalidate=9",
        "stale-if-error=30",
        "min-fresh=3",
        "x",
    ]);
    prop::collection::vec(names, 0..4).prop_map(|names| names.join(", "))
}

fn read(text: &str) -> Directives {
    Directives::read([text.as_bytes()].into_iter())
}

prop_compose! {
    fn rules()(ttl in prop::option::of(0u64..50), stale_while_revalidate in 0u64..30, stale_if_error in 0u64..30,
               credentials: bool, obey_clients: bool) -> Rules {
        Rules { ttl, stale_while_revalidate, stale_if_error, credentials, obey_clients }
    }
}

prop_compose! {
    fn request()(is_get_or_head: bool, has_range: bool, has_content: bool, has_credentials: bool,
                 said in control()) -> (Request, String) {
        (Request { is_get_or_head, has_range, has_content, has_credentials, control: read(&said) }, said)
    }
}

prop_compose! {
    fn response()(status in prop::sample::select(vec![200u16, 203, 204, 206, 301, 304, 404, 500, 503]),
                  expires_in in prop::option::of(-5i64..50), age in 0u64..20, sets_cookie: bool, varies_by_all: bool,
                  said in control()) -> (Response, String) {
        (Response { status, control: read(&said), expires_in, age, sets_cookie, varies_by_all }, said)
    }
}

/// For how long it is fresh, by section 4.2.1; the rules' time where it says nothing.
fn freshness(rules: &Rules, response: &Response, said: &str) -> Option<u64> {
    let time = |name: &str| said.split(", ").filter_map(|one| one.strip_prefix(name)?.parse::<u64>().ok()).min();
    let usual = rules.ttl.filter(|_| [200, 203, 301, 308].contains(&response.status));
    time("s-maxage=").or(time("max-age=")).or(response.expires_in.map(|n| n.max(0) as u64)).or(usual)
}

proptest! {
    #[test]
    fn nothing_is_kept_that_must_not_be(rules in rules(), (asked, asks) in request(), (response, said) in response()) {
        let has = |name: &str| said.split(", ").any(|one| one == name || one.starts_with(&format!("{name}=")));
        let Ok(lifetime) = keep(&rules, &asked, &response) else {
            // and what may be kept is: nothing else stands against it
            let allowed = !has("no-store") && !has("no-cache") && !has("private") && !response.sets_cookie
                && !response.varies_by_all && ![206, 304].contains(&response.status)
                && !(rules.obey_clients && asks.contains("no-store"))
                && (!asked.has_credentials || rules.credentials || has("public") || has("s-maxage"))
                && freshness(&rules, &response, &said).is_some_and(|fresh| fresh > response.age);
            prop_assert!(!allowed, "{said} after {asks}");
            return Ok(());
        };
        prop_assert!(!has("no-store") && !has("no-cache") && !has("private"));
        prop_assert!(!response.sets_cookie && !response.varies_by_all);
        prop_assert!(!asked.has_credentials || rules.credentials || has("public") || has("s-maxage"));
        prop_assert_eq!(Some(lifetime.fresh), freshness(&rules, &response, &said));
        prop_assert_eq!(lifetime.for_all, has("public") || has("s-maxage"));
        if has("must-revalidate") || has("proxy-revalidate") || has("s-maxage") {
            prop_assert_eq!((lifetime.while_revalidating, lifetime.if_error), (0, 0));
        }
    }

    #[test]
    fn nothing_is_given_to_whom_it_is_not_for_or_after_its_time(
        rules in rules(), (asked, _) in request(), fresh in 0u64..50, while_revalidating in 0u64..30,
        if_error in 0u64..30, for_all: bool, age in 0u64..20, since in 0u64..150,
    ) {
        let kept = Lifetime { fresh, while_revalidating, if_error, for_all, age };
        let now = age + since;
        match kept.stands(&rules, &asked, since) {
            Standing::Fresh(left) => prop_assert_eq!(now + left, fresh),
            Standing::Stale(ago) => prop_assert!(now == fresh + ago && ago < while_revalidating),
            Standing::IfError(_) => prop_assert!(now < fresh + if_error),
            Standing::Useless => {}
        }
        if asked.has_credentials && !for_all && !rules.credentials {
            prop_assert_eq!(kept.stands(&rules, &asked, since), Standing::Useless);
        }
        // it only grows worse
        let worth = |since| match kept.stands(&rules, &asked, since) {
            Standing::Fresh(_) => 3,
            Standing::Stale(_) => 2,
            Standing::IfError(_) => 1,
            Standing::Useless => 0,
        };
        prop_assert!(worth(since + 1) <= worth(since));
    }

    #[test]
    fn only_plain_requests_are_looked_up(rules in rules(), (asked, asks) in request()) {
        let plain = asked.is_get_or_head && !asked.has_range && !asked.has_content;
        let wants_none = rules.obey_clients && asks.contains("no-store");
        prop_assert_eq!(look(&rules, &asked).is_ok(), plain && !wants_none);
    }
}
