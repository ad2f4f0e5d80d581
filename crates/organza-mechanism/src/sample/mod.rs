//! Samplers: one distribution a file, complete in its tails.
//!
//! [`IntegerNoise`] draws whole numbers, exactly, and so does `RoundedNormals` in bulk, which is the noise of steps. The
//! other samplers draw real numbers as doubles; whoever adds them to data rounds them to the grid first (see
//! [`Grid`](crate::Grid)).

mod binomial;
mod discrete_laplace;
mod exponential;
mod gaussian;
mod geometric;
mod gumbel;
mod integer_noise;
mod laplace;
mod quantile;
mod rounded_exactly;
mod rounded_gaussian;
mod rounded_normals;
mod subset;
mod uniform;

pub use binomial::binomial;
#[cfg(test)]
pub(crate) use discrete_laplace::DiscreteLaplace;
pub use exponential::exponential;
pub(crate) use gaussian::{CHUNK, Scratch, size_of_block};
pub use gaussian::{fill_normal, fill_normal_f32, normal};
pub use geometric::{Hazard, geometric};
pub use gumbel::gumbel;
pub use integer_noise::{IntegerNoise, NoiseAbove};
pub use laplace::{laplace, laplace_above};
#[cfg(test)]
pub(crate) use quantile::normal_quantile;
#[cfg(test)]
pub(crate) use rounded_gaussian::RoundedGaussian;
pub(crate) use rounded_normals::RoundedNormals;
pub use subset::{Skips, Subset, poisson_subset, uniform_subset};
pub use uniform::{below, coin, unit};
