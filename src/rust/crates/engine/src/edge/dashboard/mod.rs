//! The dashboard at `/__drover__/`, for whoever runs the server: on the address that is theirs alone (`admin`).
//!
//! In reading order: here is what is below its path; `events` is the stream that the page shows; `actions` is what may
//! be done with it. What it shows is the server's `Snapshot`, the page itself is `web/dashboard`. Neighbour:
//! `pipeline/internal`, which has the path.

mod actions;
mod events;

pub use actions::Action;

use super::hosts::is_of_this_machine;
use super::web::WebPage;
use crate::config::Settings;
use crate::gauge::Gauge;
use crate::respond::text;
use actions::Actions;
use events::Lookers;
use http::header::{ALLOW, HOST, LOCATION};
use http::{Method, StatusCode};
use httpd::{Head, Response};
use std::sync::Arc;

/// Where it is. Without the last slash, clients are sent there.
pub const PATH: &str = "/__drover__/";

/// See the module.
pub struct Dashboard {
    page: WebPage,
    lookers: Arc<Lookers>,
    actions: Actions,
}

impl Dashboard {
    /// # Errors
    /// When the token cannot be read, or is none.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let actions = Actions::new(settings.admin_token.as_deref()).map_err(|e| format!("admin_token: {e}"))?;
        let lookers = Arc::new(Lookers::new(actions.are_on()));
        Ok(Dashboard { page: WebPage::read(settings.web.as_deref(), "dashboard"), lookers, actions })
    }

    /// It shows this server from now on.
    pub fn shows(&self, gauge: Gauge) {
        self.lookers.shows(gauge);
    }

    /// Actions are carried out so from now on.
    pub fn on_action(&self, act: Box<dyn Fn(Action) + Send + Sync>) {
        self.actions.are_done_by(act);
    }

    /// The server ends: so do the streams.
    pub fn end(&self) {
        self.lookers.end();
    }

    /// What is at this path, which begins with [`PATH`] or is it without its last slash. `is_from_here`: it comes by an
    /// address that only this machine has, as from a browser here.
    pub fn answer(&self, head: &Head, is_from_here: bool) -> Response {
        let Some(rest) = head.path().strip_prefix(PATH) else {
            let mut response = text(StatusCode::PERMANENT_REDIRECT, "");
            // wherever a proxy has put the address
            response.fields.set(&LOCATION, PATH.trim_start_matches('/'));
            return response;
        };
        if is_from_here && !is_of_this_machine(head.fields.get(&HOST).unwrap_or_default()) {
            let why = "from this machine, the dashboard is reached by a number or as localhost\n";
            return text(StatusCode::FORBIDDEN, why);
        }
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        match Action::read(rest) {
            Some(action) if head.method == Method::POST => self.actions.ask(action, head, self.lookers.jobs()),
            Some(_) => only("POST"),
            None if !reads => only("GET, HEAD"),
            None if rest == "events" => self.lookers.look(&head.method),
            None => self.page.answer(rest, head),
        }
    }
}

/// Another method is wanted.
fn only(methods: &'static str) -> Response {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, format!("the method must be {methods}\n"));
    response.fields.set(&ALLOW, methods);
    response
}
