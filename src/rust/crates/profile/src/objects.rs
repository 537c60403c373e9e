//! The largest objects in the memory of a worker.

use crate::report::Sizes;

/// See the module.
#[derive(Debug)]
pub struct Objects(pub(crate) Sizes);

impl Objects {
    /// What a worker reported.
    ///
    /// # Errors
    /// When that is no such report.
    pub fn read(report: &str) -> Result<Objects, String> {
        let sizes: Sizes = sonic_rs::from_str(report).map_err(|e| format!("the report cannot be read: {e}"))?;
        let lengths = [sizes.name.len(), sizes.r#where.len(), sizes.class.len(), sizes.bytes.len()];
        if lengths.iter().any(|&n| n != lengths[0]) {
            return Err("the report cannot be read: its columns are of different lengths".to_owned());
        }
        Ok(Objects(sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_together() {
        let right = r#"{"objects":1,"total":8,"whole":true,"name":["x"],"where":["y"],"class":["z"],"bytes":[8]}"#;
        assert!(Objects::read(right).is_ok());
        assert!(Objects::read(&right.replace("[8]", "[]")).is_err() && Objects::read("[]").is_err());
    }
}
