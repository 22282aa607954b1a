//! The network: a GRU that reads a source, a GRU that writes a target, token embeddings that both share
//! (section 2.4).
//!
//! One layer each, no attention. The cell is that of Chung et al. (2014), which the paper cites: the
//! reset gate acts before the recurrent product. The last state of the encoder is the first one of the
//! decoder; the outputs have weights of their own, not those of the embeddings.

mod gru;

use crate::Result;
use crate::vocabulary::{EOS, GO};
use candle_core::{D, DType, Device, Tensor, Var};
use gru::{Cell, Gru};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Numbers of an embedding.
    pub embedding: usize,
    /// Units of each GRU.
    pub units: usize,
    /// The encoder reads a source from its end (Sutskever et al., 2014).
    pub reversed: bool,
}

/// Parameters by name, sorted.
pub type Parameters = BTreeMap<String, Var>;

/// A network with its parameters.
pub struct Network {
    sizes: Sizes,
    parameters: Parameters,
    embedding: Tensor,
    encoder: Gru,
    decoder: Gru,
    output: Tensor,
    output_bias: Tensor,
}

/// A pair of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Tokens of the source; of one length in a batch.
    pub source: &'a [u32],
    /// Tokens of the target, without its end.
    pub target: &'a [u32],
    /// Factor of its loss.
    pub weight: f64,
}

/// Shapes of all parameters.
fn shapes(sizes: Sizes) -> BTreeMap<String, (usize, usize)> {
    let mut shapes = BTreeMap::from([
        ("embedding".to_owned(), (sizes.vocabulary, sizes.embedding)),
        ("output.weight".to_owned(), (sizes.units, sizes.vocabulary)),
        ("output.bias".to_owned(), (1, sizes.vocabulary)),
    ]);
    for part in ["encoder", "decoder"] {
        shapes.extend(Gru::shapes(sizes).map(|(name, shape)| (format!("{part}.{name}"), shape)));
    }
    shapes
}

impl Network {
    /// A network with random parameters: embeddings uniform with variance one, matrices uniform by Glorot
    /// and Bengio (2010), biases zero but for those of both gates, which are one.
    ///
    /// A departure from the cell of TensorFlow 1 in the update gate. With its bias of one a new state keeps
    /// 27 % of the last one at first, since z is the weight of the candidate; in TensorFlow, where the gate
    /// is the weight of the last state and has the same bias, it keeps 73 %. The figures of `docs/method.md`
    /// are those of this network.
    pub fn random(sizes: Sizes, dtype: DType, random: &mut ChaCha8Rng) -> Result<Self> {
        let mut parameters = Parameters::new();
        for (name, (rows, columns)) in shapes(sizes) {
            let bound = if name == "embedding" { 3f64.sqrt() } else { (6.0 / (rows + columns) as f64).sqrt() };
            let values: Vec<f64> = match name.rsplit('.').next() {
                Some("gate_bias") => vec![1.0; rows * columns],
                Some("bias" | "candidate_bias") => vec![0.0; rows * columns],
                _ => (0..rows * columns).map(|_| random.random_range(-bound..bound)).collect(),
            };
            let values = Tensor::from_vec(values, (rows, columns), &Device::Cpu)?.to_dtype(dtype)?;
            parameters.insert(name, Var::from_tensor(&values)?);
        }
        Self::new(sizes, parameters)
    }

    /// A network with the given parameters; an error names one that lacks or has another shape.
    pub fn new(sizes: Sizes, parameters: Parameters) -> Result<Self> {
        let get = |name: &str| -> Result<Tensor> {
            let shape = shapes(sizes)[name];
            let parameter = parameters.get(name).ok_or_else(|| format!("no parameter {name}"))?;
            match parameter.dims() {
                [rows, columns] if (*rows, *columns) == shape => Ok(parameter.as_tensor().clone()),
                other => Err(format!("parameter {name} is {other:?}, not {shape:?}").into()),
            }
        };
        let gru = |part: &str| Gru::new(|name| get(&format!("{part}.{name}")));
        let (embedding, encoder, decoder) = (get("embedding")?, gru("encoder")?, gru("decoder")?);
        let (output, output_bias) = (get("output.weight")?, get("output.bias")?);
        Ok(Self { sizes, parameters, embedding, encoder, decoder, output, output_bias })
    }

    /// All parameters by name.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Sizes of this network.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Sum over the rows of weight times mean cross-entropy of the tokens of the target, its end included.
    ///
    /// Decoder inputs are the tokens of the target (teacher forcing). Shorter targets are padded with ends
    /// of weight zero.
    pub fn loss(&self, rows: &[Row]) -> Result<Tensor> {
        let sources: Vec<&[u32]> = rows.iter().map(|row| row.source).collect();
        let mut state = self.encode(&self.encoder.cell(&self.embedding)?, &sources)?;
        let steps = rows.iter().map(|row| row.target.len()).max().unwrap_or(0) + 1;
        let (mut expected, mut weights) = (Vec::new(), Vec::new());
        for step in 0..steps {
            for row in rows {
                expected.push(row.target.get(step).copied().unwrap_or(EOS));
                let length = row.target.len() + 1;
                weights.push(if step < length { row.weight / length as f64 } else { 0.0 });
            }
        }
        let cell = self.decoder.cell(&self.embedding)?;
        let mut states = Vec::with_capacity(steps);
        for step in 0..steps {
            let written = |row: &Row| match step {
                0 => GO,
                _ => row.target.get(step - 1).copied().unwrap_or(EOS),
            };
            state = cell.step(&rows.iter().map(written).collect::<Vec<_>>(), &state)?;
            states.push(state.clone());
        }
        let log = candle_nn::ops::log_softmax(&self.scores(&Tensor::cat(&states, 0)?)?, D::Minus1)?;
        let count = expected.len();
        let expected = Tensor::from_vec(expected, (count, 1), &Device::Cpu)?;
        let weights = Tensor::from_vec(weights, (count, 1), &Device::Cpu)?.to_dtype(log.dtype())?;
        Ok(log.gather(&expected, 1)?.mul(&weights)?.sum_all()?.neg()?)
    }

    /// Greedy translations of sources of one length: the most probable token of each step, up to the end,
    /// which is not part of the result. `None` where there is no end within `longest` tokens.
    pub fn translate(&self, sources: &[&[u32]], longest: usize) -> Result<Vec<Option<Vec<u32>>>> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let embedding = self.embedding.detach();
        let mut state = self.encode(&self.encoder.detached().cell(&embedding)?, sources)?;
        let cell = self.decoder.detached().cell(&embedding)?;
        let mut last = vec![GO; sources.len()];
        let mut written: Vec<Vec<u32>> = vec![Vec::new(); sources.len()];
        let mut ended = vec![false; sources.len()];
        for _ in 0..=longest {
            state = cell.step(&last, &state)?;
            last = self.scores(&state)?.detach().argmax(D::Minus1)?.to_vec1()?;
            for (row, token) in last.iter().enumerate().filter(|(row, _)| !ended[*row]).collect::<Vec<_>>() {
                match *token {
                    EOS => ended[row] = true,
                    token => written[row].push(token),
                }
            }
            if ended.iter().all(|ended| *ended) {
                break;
            }
        }
        Ok(written.into_iter().zip(ended).map(|(tokens, ended)| ended.then_some(tokens)).collect())
    }

    /// Last states of the encoder, a row a source.
    fn encode(&self, cell: &Cell, sources: &[&[u32]]) -> Result<Tensor> {
        let length = sources.first().map_or(0, |source| source.len());
        if let Some(other) = sources.iter().find(|source| source.len() != length) {
            return Err(format!("sources of {length} and of {} tokens in a batch", other.len()).into());
        }
        let mut state = Tensor::zeros((sources.len(), self.sizes.units), self.embedding.dtype(), &Device::Cpu)?;
        for step in 0..length {
            let at = if self.sizes.reversed { length - 1 - step } else { step };
            state = cell.step(&sources.iter().map(|source| source[at]).collect::<Vec<_>>(), &state)?;
        }
        Ok(state)
    }

    /// Logarithms of the odds of every token, up to a constant a row.
    fn scores(&self, states: &Tensor) -> Result<Tensor> {
        Ok(states.matmul(&self.output)?.broadcast_add(&self.output_bias)?)
    }
}

#[cfg(test)]
mod tests;
