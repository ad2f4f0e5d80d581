//! Samplers: one distribution a file, complete in its tails.
//!
//! A sampler draws real numbers as doubles; whoever adds them to data rounds them to the grid first
//! (see [`Grid`](crate::Grid)).

mod binomial;
mod exponential;
mod gaussian;
mod geometric;
mod gumbel;
mod laplace;
mod subset;
mod uniform;

pub use binomial::binomial;
pub use exponential::{exponential, probability_of_exponential_above};
pub(crate) use gaussian::{CHUNK, normals_of, size_of_block};
pub use gaussian::{fill_normal, fill_normal_f32, normal};
pub use geometric::{Hazard, geometric};
pub use gumbel::gumbel;
pub use laplace::{laplace, laplace_above};
pub use subset::{Skips, Subset, poisson_subset, uniform_subset};
pub use uniform::{below, coin, unit};
