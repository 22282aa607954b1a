//! Stochastic gradient descent over batches of pairs.

use crate::Result;
use crate::network::{Network, Row};
use candle_core::backprop::GradStore;
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW, SGD};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// Update rule of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Stochastic gradient descent without momentum, as in the paper.
    Sgd,
    /// Adam (Kingma and Ba, 2015): a departure.
    Adam,
}

/// How a network is trained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Update rule of the parameters.
    pub method: Method,
    /// Passes over all pairs.
    pub epochs: usize,
    /// Pairs of a batch.
    pub batch: usize,
    /// Learning rate of the first epoch.
    pub rate: f64,
    /// Factor of the learning rate after an epoch whose loss is over those of the three epochs before it.
    pub decay: f64,
    /// Most norm of the gradient of all parameters together.
    pub clip: f64,
}

/// One epoch of a training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Mean loss of a pair, measured before each update.
    pub loss: f64,
    /// Learning rate.
    pub rate: f64,
    /// Share of the batches whose gradient was clipped.
    pub clipped: f64,
}

/// Pairs by the length of their source; a batch is of one length, so that sources need no padding.
struct Batches<'a> {
    by_length: Vec<Vec<&'a (Vec<u32>, Vec<u32>)>>,
    size: usize,
}

impl<'a> Batches<'a> {
    fn of(pairs: &'a [(Vec<u32>, Vec<u32>)], size: usize) -> Self {
        let mut by_length: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for pair in pairs {
            by_length.entry(pair.0.len()).or_default().push(pair);
        }
        Self { by_length: by_length.into_values().collect(), size }
    }

    /// Batches of one epoch, pairs and batches in random order.
    ///
    /// Equal pairs of a batch are one row of their summed weight: the gradient is the same and costs less.
    /// A pair weighs `1 / size` in short batches, too, so that all pairs count the same.
    fn epoch(&mut self, random: &mut ChaCha8Rng) -> Vec<Vec<Row<'a>>> {
        let mut batches = Vec::new();
        for pairs in &mut self.by_length {
            shuffle(pairs, random);
            for chunk in pairs.chunks(self.size) {
                let mut counts: BTreeMap<&(Vec<u32>, Vec<u32>), usize> = BTreeMap::new();
                for pair in chunk {
                    *counts.entry(pair).or_default() += 1;
                }
                let row = |((source, target), count): (&'a (Vec<u32>, Vec<u32>), usize)| Row {
                    source,
                    target,
                    weight: count as f64 / self.size as f64,
                };
                batches.push(counts.into_iter().map(row).collect());
            }
        }
        shuffle(&mut batches, random);
        batches
    }
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.random_range(0..=i));
    }
}

/// Either optimizer of the library.
enum Optimizer {
    Sgd(SGD),
    Adam(AdamW),
}

impl Optimizer {
    fn of(network: &Network, schedule: Schedule) -> Result<Self> {
        let parameters = network.parameters().values().cloned().collect();
        let adam = ParamsAdamW { lr: schedule.rate, weight_decay: 0.0, ..ParamsAdamW::default() };
        Ok(match schedule.method {
            Method::Sgd => Self::Sgd(SGD::new(parameters, schedule.rate)?),
            Method::Adam => Self::Adam(AdamW::new(parameters, adam)?),
        })
    }

    fn set_rate(&mut self, rate: f64) {
        match self {
            Self::Sgd(sgd) => sgd.set_learning_rate(rate),
            Self::Adam(adam) => adam.set_learning_rate(rate),
        }
    }

    fn step(&mut self, gradients: &GradStore) -> Result<()> {
        match self {
            Self::Sgd(sgd) => sgd.step(gradients)?,
            Self::Adam(adam) => adam.step(gradients)?,
        }
        Ok(())
    }
}

/// Scales the gradient of all parameters together to a norm of at most `most`; gives the norm it had.
fn clip(network: &Network, gradients: &mut GradStore, most: f64) -> Result<f64> {
    let mut squares = 0.0;
    for parameter in network.parameters().values() {
        if let Some(gradient) = gradients.get(parameter) {
            squares += f64::from(gradient.sqr()?.sum_all()?.to_scalar::<f32>()?);
        }
    }
    let norm = squares.sqrt();
    if norm > most {
        for parameter in network.parameters().values() {
            if let Some(gradient) = gradients.remove(parameter) {
                gradients.insert(parameter, gradient.affine(most / norm, 0.0)?);
            }
        }
    }
    Ok(norm)
}

/// Trains `network` in place; `report` sees each epoch as it ends, with its seconds.
///
/// A loss that is no number ends the training with an error, which names the epoch.
pub fn train(
    network: &Network,
    pairs: &[(Vec<u32>, Vec<u32>)],
    schedule: Schedule,
    random: &mut ChaCha8Rng,
    mut report: impl FnMut(usize, Epoch, f64),
) -> Result<Vec<Epoch>> {
    let mut optimizer = Optimizer::of(network, schedule)?;
    let mut batches = Batches::of(pairs, schedule.batch);
    let mut curve: Vec<Epoch> = Vec::new();
    let mut rate = schedule.rate;
    for number in 1..=schedule.epochs {
        let start = Instant::now();
        let batches = batches.epoch(random);
        let (mut sum, mut clipped) = (0.0, 0);
        for batch in &batches {
            let loss = network.loss(batch)?;
            let mut gradients = loss.backward()?;
            let norm = clip(network, &mut gradients, schedule.clip)?;
            sum += f64::from(loss.to_scalar::<f32>()?);
            if !(sum.is_finite() && norm.is_finite()) {
                return Err(
                    format!("epoch {number}: loss {sum}, norm of the gradient {norm}; a lower rate helps").into()
                );
            }
            clipped += usize::from(norm > schedule.clip);
            optimizer.step(&gradients)?;
        }
        let loss = sum * schedule.batch as f64 / pairs.len().max(1) as f64;
        let epoch = Epoch { loss, rate, clipped: clipped as f64 / batches.len().max(1) as f64 };
        let recent = &curve[curve.len().saturating_sub(3)..];
        if recent.len() == 3 && recent.iter().all(|before| before.loss < loss) {
            rate *= schedule.decay;
            optimizer.set_rate(rate);
        }
        curve.push(epoch);
        report(number, epoch, start.elapsed().as_secs_f64());
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Sizes;
    use candle_core::DType;
    use rand::SeedableRng;

    fn schedule(method: Method, rate: f64, epochs: usize) -> Schedule {
        Schedule { method, epochs, batch: 20, rate, decay: 0.99, clip: 5.0 }
    }

    fn network(vocabulary: usize) -> (Network, ChaCha8Rng) {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let sizes = Sizes { vocabulary, embedding: 16, units: 32, reversed: true };
        (Network::random(sizes, DType::F32, &mut random).expect("a network"), random)
    }

    #[test]
    fn a_batch_has_one_length_and_every_pair_its_weight() {
        let pairs: Vec<_> = (0..95).map(|i| (vec![3; 1 + i % 2], vec![i as u32 % 3])).collect();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let batches = Batches::of(&pairs, 20).epoch(&mut random);
        assert_eq!(batches.len(), 6);
        let weight: f64 = batches.iter().flatten().map(|row| row.weight).sum();
        assert!((weight - 95.0 / 20.0).abs() < 1e-9);
        assert!(batches.iter().all(|batch| batch.iter().all(|row| row.source.len() == batch[0].source.len())));
        assert!(batches.iter().all(|batch| batch.len() <= 3), "three targets, each once a batch");
    }

    #[test]
    fn long_gradients_are_scaled_and_short_ones_kept() {
        let (network, _) = network(6);
        let rows = [Row { source: &[3, 4], target: &[5, 3], weight: 1.0 }];
        let gradients = || network.loss(&rows).and_then(|loss| Ok(loss.backward()?)).expect("gradients");
        let norm = clip(&network, &mut gradients(), 1e9).expect("a norm");
        let mut clipped = gradients();
        assert_eq!(clip(&network, &mut clipped, norm / 4.0).expect("a norm"), norm);
        let after = clip(&network, &mut clipped, 1e9).expect("a norm");
        assert!((after - norm / 4.0).abs() < 1e-4 * norm, "{after} of {norm}");
    }

    /// Targets drop the second token of three, which is no constant: the network must copy two of them.
    #[test]
    fn either_method_learns_to_drop_a_token() {
        let pairs: Vec<_> = (0..256u32)
            .map(|i| {
                let (a, b, c) = (3 + i % 4, 3 + i / 4 % 4, 3 + i / 16 % 4);
                (vec![a, b, c], vec![a, c])
            })
            .collect();
        for schedule in [schedule(Method::Sgd, 0.5, 60), schedule(Method::Adam, 0.005, 20)] {
            let (network, mut random) = network(7);
            let curve = train(&network, &pairs, schedule, &mut random, |_, _, _| ()).expect("trained");
            let last = curve[curve.len() - 1];
            assert!(last.loss < 0.05 && curve[0].loss > 0.5, "{:?}: {} to {last:?}", schedule.method, curve[0].loss);
            let sources: Vec<&[u32]> = pairs.iter().map(|pair| pair.0.as_slice()).collect();
            let translated = network.translate(&sources, 3).expect("translations");
            assert!(pairs.iter().zip(translated).all(|(pair, tokens)| Some(&pair.1) == tokens.as_ref()));
        }
    }

    #[test]
    fn a_training_that_diverges_is_an_error() {
        let (network, mut random) = network(6);
        let pairs = vec![(vec![3, 4], vec![5, 3]), (vec![4, 4], vec![3])];
        let wild = Schedule { clip: 1e39, ..schedule(Method::Sgd, 1e39, 50) };
        let error = train(&network, &pairs, wild, &mut random, |_, _, _| ()).expect_err("no number").to_string();
        assert!(error.starts_with("epoch ") && error.contains("a lower rate helps"), "{error}");
    }
}
