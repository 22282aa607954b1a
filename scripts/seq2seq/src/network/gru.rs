//! Gated recurrent units.

use super::Sizes;
use crate::Result;
use candle_core::{Device, Tensor};

/// Parameters of a layer. For an input x and a state h, with σ the logistic function (Chung et al.,
/// 2014; TensorFlow 1 writes h' = u ⊙ h + (1 - u) ⊙ c):
///
/// ```text
/// z, r = σ(x Wg + h Ug + bg)      update and reset gate
/// c    = tanh(x Wc + (r ⊙ h) Uc + bc)
/// h'   = h + z ⊙ (c - h)
/// ```
pub struct Gru {
    gate_input: Tensor,
    gate_state: Tensor,
    gate_bias: Tensor,
    candidate_input: Tensor,
    candidate_state: Tensor,
    candidate_bias: Tensor,
}

/// A layer over one table of embeddings: the products of all embeddings and input weights are computed
/// once, since a vocabulary has few tokens and they return at every step.
pub struct Cell {
    gate_inputs: Tensor,
    gate_state: Tensor,
    candidate_inputs: Tensor,
    candidate_state: Tensor,
}

impl Gru {
    /// Names and shapes of the parameters.
    pub fn shapes(sizes: Sizes) -> impl Iterator<Item = (&'static str, (usize, usize))> {
        let Sizes { embedding, units, .. } = sizes;
        [
            ("gate_input", (embedding, 2 * units)),
            ("gate_state", (units, 2 * units)),
            ("gate_bias", (1, 2 * units)),
            ("candidate_input", (embedding, units)),
            ("candidate_state", (units, units)),
            ("candidate_bias", (1, units)),
        ]
        .into_iter()
    }

    /// A layer with the parameters that `get` names.
    pub fn new(get: impl Fn(&str) -> Result<Tensor>) -> Result<Self> {
        Ok(Self {
            gate_input: get("gate_input")?,
            gate_state: get("gate_state")?,
            gate_bias: get("gate_bias")?,
            candidate_input: get("candidate_input")?,
            candidate_state: get("candidate_state")?,
            candidate_bias: get("candidate_bias")?,
        })
    }

    /// The layer without a record of its operations, which only gradients need.
    pub fn detached(&self) -> Self {
        Self {
            gate_input: self.gate_input.detach(),
            gate_state: self.gate_state.detach(),
            gate_bias: self.gate_bias.detach(),
            candidate_input: self.candidate_input.detach(),
            candidate_state: self.candidate_state.detach(),
            candidate_bias: self.candidate_bias.detach(),
        }
    }

    /// The layer over a table of embeddings, a row a token.
    pub fn cell(&self, embeddings: &Tensor) -> Result<Cell> {
        Ok(Cell {
            gate_inputs: embeddings.matmul(&self.gate_input)?.broadcast_add(&self.gate_bias)?,
            gate_state: self.gate_state.clone(),
            candidate_inputs: embeddings.matmul(&self.candidate_input)?.broadcast_add(&self.candidate_bias)?,
            candidate_state: self.candidate_state.clone(),
        })
    }
}

impl Cell {
    /// States after one more token each; `state` has a row a token.
    pub fn step(&self, tokens: &[u32], state: &Tensor) -> Result<Tensor> {
        let tokens = Tensor::new(tokens, &Device::Cpu)?;
        let units = state.dim(1)?;
        let gates = self.gate_inputs.index_select(&tokens, 0)?.add(&state.matmul(&self.gate_state)?)?;
        let gates = candle_nn::ops::sigmoid(&gates)?;
        let (update, reset) = (gates.narrow(1, 0, units)?, gates.narrow(1, units, units)?);
        let recalled = reset.mul(state)?.matmul(&self.candidate_state)?;
        let candidate = self.candidate_inputs.index_select(&tokens, 0)?.add(&recalled)?.tanh()?;
        Ok(state.add(&update.mul(&candidate.sub(state)?)?)?)
    }
}
