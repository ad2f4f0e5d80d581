//! The two systems that the paper compares itself with, with sound accounts.
//!
//! - [`SelectiveSgd`]: coordinates by the sparse vector technique, with Laplace noise (Shokri and Shmatikov 2015).
//! - [`PublicSubspace`]: DP-SGD whose noisy gradients are projected on a subspace that public samples show (Zhou, Wu and
//!   Banerjee 2020).
//!
//! [`Compared`] makes an application that trains by one of them of any other; whatever trains by the second has to have
//! samples that were declared public ([`WithPublic`]). They are here to be compared with: no command offers them but
//! `organza reproduce`.

mod application;
mod selective;
mod subspace;
mod words;

pub use application::{Compared, ComparedMethod, ComparedSettings, ComparedTask, WithPublic};
pub use selective::SelectiveSgd;
pub use subspace::{PublicSubspace, Subspace};
pub use words::PublicPairs;
