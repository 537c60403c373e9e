//! Which certificate a client gets, by the name that it asks for (RFC 6066 section 3). One that asks for none, or for
//! a name that no certificate has, gets the first: it sees for itself whether that is the one it wants.

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// See the module.
pub struct Names {
    first: Arc<CertifiedKey>,
    /// lower case; those of a whole domain begin with `*.`
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl Names {
    /// With the names that each certificate has. Of two with the same name the first counts. `None` without any.
    pub fn new(all: impl IntoIterator<Item = (Arc<CertifiedKey>, Vec<String>)>) -> Option<Self> {
        let mut first = None;
        let mut by_name = HashMap::new();
        for (key, names) in all {
            first.get_or_insert_with(|| key.clone());
            for name in names {
                by_name.entry(name.to_ascii_lowercase()).or_insert_with(|| key.clone());
            }
        }
        Some(Names { first: first?, by_name })
    }

    fn find(&self, name: Option<&str>) -> &Arc<CertifiedKey> {
        let found = || {
            // the library gives it in lower case
            let name = name?;
            // a star stands for one label (RFC 6125 section 6.4.3)
            let of_domain = || self.by_name.get(&format!("*{}", &name[name.find('.')?..]));
            self.by_name.get(name).or_else(of_domain)
        };
        found().unwrap_or(&self.first)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.find(hello.server_name()).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

    fn key() -> Arc<CertifiedKey> {
        let key = rcgen::KeyPair::generate().unwrap();
        let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = rustls::crypto::aws_lc_rs::default_provider().key_provider.load_private_key(der).unwrap();
        Arc::new(CertifiedKey::new(vec![], key))
    }

    #[test]
    fn a_name_has_its_certificate_and_any_other_the_first() {
        let (first, second, third) = (key(), key(), key());
        let names = Names::new([
            (first.clone(), vec!["a.test".to_owned()]),
            (second.clone(), vec!["*.b.test".to_owned(), "B.test".to_owned()]),
            (third.clone(), vec!["x.b.test".to_owned(), "a.test".to_owned()]),
        ])
        .unwrap();
        let is = |name: Option<&str>, key: &Arc<CertifiedKey>| Arc::ptr_eq(names.find(name), key);
        assert!(is(None, &first) && is(Some("a.test"), &first) && is(Some("c.test"), &first));
        assert!(is(Some("b.test"), &second) && is(Some("y.b.test"), &second) && is(Some("x.b.test"), &third));
        assert!(is(Some("x.y.b.test"), &first) && is(Some("localhost"), &first) && is(Some("x.a.test"), &first));
        assert!(Names::new([]).is_none());
    }
}
