"""Models written by hand, in the form that frontends produce: generated modules are partly made of
them, as of the models that a user passes with `--seeds`.

Each is a function without arguments that builds a module with the real sizes of the model. Its
docstring names the frontend, the paper or the family that the code comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import tvm

from . import compiled, encoders, exported, imported, llm, quantized, recurrent, training, vision

_MODELS: tuple[Callable[[], tvm.IRModule], ...] = (
    llm.decoder_layer,
    llm.grouped_query_attention,
    llm.mixture_of_experts,
    llm.sampling,
    llm.cache_update,
    llm.group_quantized_linear,
    encoders.cross_attention,
    encoders.speech_encoder,
    vision.training_convolution,
    vision.depthwise_separable,
    vision.upsampling_decoder,
    vision.pooling_heads,
    vision.preprocessing,
    vision.detection_head,
    vision.region_features,
    vision.diffusion_block,
    recurrent.gru,
    training.training_step,
    training.written_out_gradients,
    training.optimizer_step,
    quantized.quantize_dequantize,
    quantized.integer_matmul,
    imported.shape_arithmetic,
    imported.exported_program,
    exported.packed_attention,
    exported.gated_block,
    exported.cached_attention,
    exported.selective_scan,
    exported.top_k_sampling,
    compiled.partitioned,
    compiled.two_devices,
    compiled.symbolic_kernels,
    compiled.scheduled_kernels,
    compiled.in_place_updates,
    compiled.lowered,
)

MODELS: Mapping[str, Callable[[], tvm.IRModule]] = MappingProxyType(
    {build.__name__: build for build in _MODELS}
)
"""All models, by name."""
assert len(MODELS) == len(_MODELS), "each model has a name of its own"
