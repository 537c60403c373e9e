//! Several apps at the same addresses, each with processes of its own.

use crate::inbox::Command;
use crate::outlet::Wake;
use crate::service::{Prepared, Service};
use crate::{PoolOptions, Source};
use engine::{Address, Server, Settings, StartError};
use shm::Alarm;
use std::fmt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// One of them, to be started.
pub struct AppStart {
    /// what is its own, and where it is: a base path, hosts
    pub settings: Settings,
    /// its processes
    pub options: PoolOptions,
    /// where they come from
    pub source: Source,
    /// called when it has something to tell
    pub wake: Wake,
}

/// The addresses that they share. Dropping it ends what is left.
pub struct House(Server);

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("House").field(&self.0.addresses()).finish()
    }
}

impl House {
    /// Binds the addresses that `settings` has and starts all apps, in their order; returns before anything is ready.
    /// An app that cannot be loaded is no concern of the others: it is tried again when it is asked for.
    ///
    /// # Errors
    /// When the settings are wrong or an address cannot be bound. Nothing is then left running.
    pub fn start(settings: Settings, apps: Vec<AppStart>) -> Result<(House, Vec<Service>), StartError> {
        let (mut of_apps, mut starts) = (Vec::new(), Vec::new());
        for AppStart { settings, options, source, wake } in apps {
            starts.push(Prepared::new(&settings, PoolOptions { revives: true, ..options }, source, wake)?);
            of_apps.push(settings);
        }
        let (server, servers) = Server::bind_all(settings, of_apps)?;
        let services: Result<Vec<Service>, StartError> =
            servers.into_iter().zip(starts).map(|(server, start)| Service::over(server, start)).collect();
        let services = services?;
        let orders: Vec<(Sender<Command>, Arc<Alarm>)> = services.iter().map(Service::commands).collect();
        let orders = Mutex::new(orders);
        server.on_action(move |action| {
            for (commands, alarm) in &*orders.lock().unwrap_or_else(|e| e.into_inner()) {
                // one that does not have the process does nothing
                if let Some(command) = Command::of(&action) {
                    let _ = commands.send(command);
                    alarm.sound();
                }
            }
        });
        Ok((House(server), services))
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn listen(&self) -> Result<(), StartError> {
        self.0.listen().map_err(StartError::Listen)
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[Address] {
        self.0.addresses()
    }

    /// Where it listens for others than clients, by the names of the settings.
    pub fn apart(&self) -> Vec<(&'static str, String)> {
        self.0.apart()
    }
}
