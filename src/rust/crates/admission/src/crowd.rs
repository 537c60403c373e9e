//! How many of something each client has, and no more than it may.

use std::collections::HashMap;

/// See the module. It holds an entry for each client that has one, and nothing for the others.
#[derive(Debug)]
pub struct Crowd {
    most: u32,
    of: HashMap<u64, u32>,
}

impl Crowd {
    /// At most `most` for each client.
    pub fn new(most: u32) -> Self {
        Crowd { most, of: HashMap::new() }
    }

    /// One more for a client. `false` when it has as many as it may.
    pub fn enter(&mut self, client: u64) -> bool {
        let has = self.of.get(&client).copied().unwrap_or_default();
        if has >= self.most {
            return false;
        }
        self.of.insert(client, has + 1);
        true
    }

    /// One less, of a client that has entered.
    pub fn leave(&mut self, client: u64) {
        match self.of.get_mut(&client) {
            Some(has) if *has > 1 => *has -= 1,
            _ => drop(self.of.remove(&client)),
        }
        // what an attack from many addresses has needed is given back
        if self.of.capacity() > 1024 && self.of.len() * 8 < self.of.capacity() {
            self.of.shrink_to(self.of.len() * 2);
        }
    }

    /// Clients that have some.
    pub fn clients(&self) -> usize {
        self.of.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_has_what_it_entered_with(steps in proptest::collection::vec((0..4u64, any::<bool>()), 0..200)) {
            let mut crowd = Crowd::new(3);
            let mut model = [0u32; 4];
            for (client, enters) in steps {
                let has = &mut model[client as usize];
                if enters {
                    prop_assert_eq!(crowd.enter(client), *has < 3);
                    *has = (*has + 1).min(3);
                } else if *has > 0 {
                    crowd.leave(client);
                    *has -= 1;
                }
                prop_assert_eq!(crowd.clients(), model.iter().filter(|has| **has > 0).count());
            }
        }
    }

    #[test]
    fn memory_is_given_back() {
        let mut crowd = Crowd::new(1);
        (0..100_000).for_each(|client| assert!(crowd.enter(client)));
        (0..100_000).for_each(|client| crowd.leave(client));
        assert!(crowd.of.capacity() <= 2048, "{}", crowd.of.capacity());
    }
}
