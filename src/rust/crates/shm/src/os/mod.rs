//! What is asked of Linux here and that other systems have otherwise or not at all: memory without a name whose size is
//! sealed, descriptors that are nothing but a bell, and sockets of whole messages. A port begins with this folder, and
//! with the one of this name in `supervisor`.

mod alarm;
mod memory;
mod sockets;

pub use alarm::Alarm;
pub use memory::{back, is_sealed, sealed_addresses, sealed_memory};
pub use sockets::socket_pair;
