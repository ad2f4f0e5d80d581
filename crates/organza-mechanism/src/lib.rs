//! mechanisms
