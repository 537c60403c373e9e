//! Pages of the server itself, before anything of the app. On the listener for whoever runs the server
//! ([`Role::Admin`]) they are all there is; on the others there are those that the settings want there.
//!
//! A page is one line of [`PAGES`].

use super::state::State;
use crate::context::Context;
use crate::edge::cache::purge;
use crate::edge::{dashboard, docs};
use crate::jobs::Answering;
use crate::respond::text;
use ::http::header::ALLOW;
use ::http::{HeaderValue, Method, StatusCode};
use httpd::{Failure, Response, Role};

/// See the module.
struct Page {
    path: &'static str,
    /// that it is asked for with; none where it looks at them by itself
    methods: &'static [Method],
    /// whether clients of the app get it, too
    for_clients: fn(&Context) -> bool,
    /// `None` where it is not wanted
    answer: fn(&State, &Context) -> Option<Answer>,
}

/// What a page answers.
pub enum Answer {
    Now(Response),
    /// once the store of jobs has said what the page needs
    Later(Answering),
}

const PAGES: [Page; 8] = [
    Page {
        path: "/livez",
        methods: READING,
        for_clients: |context| context.health.is_public(),
        answer: |_, context| Some(Answer::Now(context.health.live())),
    },
    Page {
        path: "/readyz",
        methods: READING,
        for_clients: |context| context.health.is_public(),
        answer: |_, context| Some(Answer::Now(context.health.ready())),
    },
    Page {
        path: "/metrics",
        methods: READING,
        for_clients: |context| context.metrics.as_ref().is_some_and(|metrics| metrics.for_clients),
        answer: |state, context| {
            let metrics = context.metrics.as_ref().filter(|metrics| metrics.is_wanted)?;
            Some(Answer::Later(metrics.page(&state.head, state.connection().server())))
        },
    },
    Page {
        path: dashboard::PATH,
        methods: &[],
        for_clients: |_| false,
        answer: |state, context| {
            let is_from_here = state.connection().remote_addr().ip().is_some_and(|ip| ip.to_canonical().is_loopback());
            context.dashboard.as_ref().map(|dashboard| Answer::Now(dashboard.answer(&state.head, is_from_here)))
        },
    },
    Page {
        path: "/cache/purge",
        methods: &[Method::POST],
        for_clients: |_| false,
        answer: |state, context| Some(Answer::Now(purge::page(context.pool(), &state.head))),
    },
    // clients get these behind all that the app has at their paths: see `route`
    Page { path: docs::JSON, methods: READING, for_clients: |_| false, answer: documents },
    Page { path: docs::YAML, methods: READING, for_clients: |_| false, answer: documents },
    Page { path: docs::PAGE, methods: READING, for_clients: |_| false, answer: documents },
];

const READING: &[Method] = &[Method::GET, Method::HEAD];

impl Page {
    /// Whether this path is its. One that ends with a slash has what is below it, too.
    fn has(&self, path: &str) -> bool {
        let is_below = || path.starts_with(self.path) || self.path.strip_suffix('/') == Some(path);
        path == self.path || (self.path.ends_with('/') && is_below())
    }

    fn takes(&self, method: &Method) -> bool {
        self.methods.is_empty() || self.methods.contains(method)
    }

    /// Its methods, as a field says them.
    fn allow(&self) -> HeaderValue {
        let names: Vec<_> = self.methods.iter().map(Method::as_str).collect();
        HeaderValue::try_from(names.join(", ")).unwrap_or(HeaderValue::from_static(""))
    }
}

/// The answer, if the request is for one of them.
pub fn answer(state: &State, context: &Context) -> Option<Result<Answer, Failure>> {
    let head = &state.head;
    let is_admin = state.connection().role() == Role::Admin;
    let page = PAGES.iter().find(|page| page.has(head.path()));
    let page = page.filter(|page| is_admin || (page.for_clients)(context));
    match page {
        None if is_admin => Some(Ok(nothing_here())),
        None => None,
        Some(page) if page.takes(&head.method) => Some(Ok((page.answer)(state, context).unwrap_or_else(nothing_here))),
        // not in the app's form
        Some(page) if is_admin => {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "another method is wanted\n");
            response.fields.set(&ALLOW, page.allow());
            Some(Ok(Answer::Now(response)))
        }
        Some(page) => Some(Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "").with(&ALLOW, page.allow()))),
    }
}

/// What documents the app.
fn documents(state: &State, context: &Context) -> Option<Answer> {
    let app = context.app();
    let description = app.description.as_ref().filter(|_| context.docs.for_admin())?;
    Some(Answer::Now(context.docs.answer(description, &state.head, true)))
}

/// What there is instead.
fn nothing_here() -> Answer {
    let paths: Vec<_> = PAGES.iter().map(|page| page.path).collect();
    Answer::Now(text(StatusCode::NOT_FOUND, format!("there are {}\n", paths.join(", "))))
}
