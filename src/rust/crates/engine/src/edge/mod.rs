//! What is done to requests and responses whatever answers them: one policy, one file.

pub mod access_log;
