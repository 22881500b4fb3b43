"""Models of torchvision and transformers with random weights, each for `relaxfuzz check`.

    relaxfuzz check bench/models/zoo.py:resnet18

Each function returns a torch.nn.Module, example arguments and keyword arguments. The twelve after
the first eighteen are of other families, and were chosen before any result was known. Language
models have two layers of width 64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import torch
import torchvision
import transformers
from torch import nn

Model: TypeAlias = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]

WORDS, WIDTH, LENGTH, IMAGE = 200, 64, 16, 224

SMALL: Mapping[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 64,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}

GROUPED: Mapping[str, Any] = {**SMALL, "num_key_value_heads": 2}


class First(nn.Module):
    """The first result of a model that returns its own structure."""

    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, *args: Any) -> Any:
        result = self.model(*args, **self.options)
        return next(iter(result.values())) if hasattr(result, "values") else result[0]


class Recurrent(nn.Module):
    """A recurrent layer and a linear one."""

    def __init__(self, layer: type[nn.RNNBase]) -> None:
        super().__init__()
        self.layer = layer(16, 32, batch_first=True)
        self.out = nn.Linear(32, 8)

    def forward(self, x: Any) -> Any:
        return self.out(self.layer(x)[0])


def _image(name: str, home: Any = torchvision.models, **options: Any) -> Model:
    model = getattr(home, name)(weights=None, **options)
    return model, (torch.randn(1, 3, IMAGE, IMAGE),), {}


def _text(config: str, model: str, *, cached: bool = True, **options: Any) -> Model:
    made = getattr(transformers, model)(getattr(transformers, config)(**options))
    tokens = torch.randint(3, WORDS, (1, LENGTH))
    return First(made, **({"use_cache": False} if cached else {})), (tokens,), {}


def _encoder_layer() -> Model:
    return nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (torch.randn(1, 8, 64),), {}


def _segmentation() -> Model:
    model, args, options = _image(
        "deeplabv3_mobilenet_v3_large", torchvision.models.segmentation, weights_backbone=None
    )
    return First(model), args, options


def _t5() -> Model:
    config = transformers.T5Config(
        vocab_size=WORDS, d_model=WIDTH, d_kv=16, d_ff=128, num_layers=2, num_heads=4
    )
    tokens = torch.randint(3, WORDS, (1, LENGTH))
    return First(transformers.T5EncoderModel(config)), (tokens,), {}


def _whisper() -> Model:
    config = transformers.WhisperConfig(
        vocab_size=WORDS,
        d_model=WIDTH,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        num_mel_bins=16,
        max_source_positions=32,
        max_target_positions=32,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
        decoder_start_token_id=0,
    )
    model = transformers.WhisperModel(config).encoder
    return First(model), (torch.randn(1, 16, 64),), {}


def _clip() -> Model:
    config = transformers.CLIPVisionConfig(
        hidden_size=WIDTH,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=32,
        patch_size=8,
    )
    return First(transformers.CLIPVisionModel(config)), (torch.randn(1, 3, 32, 32),), {}


EIGHTEEN: Mapping[str, Callable[[], Model]] = {
    "resnet18": lambda: _image("resnet18"),
    "mobilenet_v3": lambda: _image("mobilenet_v3_small"),
    "densenet121": lambda: _image("densenet121"),
    "efficientnet_b0": lambda: _image("efficientnet_b0"),
    "convnext_tiny": lambda: _image("convnext_tiny"),
    "swin_t": lambda: _image("swin_t"),
    "vit_b_32": lambda: _image("vit_b_32"),
    "squeezenet": lambda: _image("squeezenet1_1"),
    "shufflenet": lambda: _image("shufflenet_v2_x0_5"),
    "mnasnet": lambda: _image("mnasnet0_5"),
    "bert": lambda: _text("BertConfig", "BertModel", cached=False, **SMALL),
    "distilbert": lambda: _text(
        *("DistilBertConfig", "DistilBertModel"),
        cached=False,
        vocab_size=WORDS,
        dim=WIDTH,
        n_layers=2,
        n_heads=4,
        hidden_dim=128,
        max_position_embeddings=64,
    ),
    "gpt2": lambda: _text(
        *("GPT2Config", "GPT2LMHeadModel"),
        vocab_size=WORDS,
        n_embd=WIDTH,
        n_layer=2,
        n_head=4,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=1,
    ),
    "llama": lambda: _text("LlamaConfig", "LlamaForCausalLM", **GROUPED),
    "qwen2": lambda: _text("Qwen2Config", "Qwen2ForCausalLM", **GROUPED),
    "phi": lambda: _text("PhiConfig", "PhiForCausalLM", **SMALL),
    "lstm": lambda: (Recurrent(nn.LSTM), (torch.randn(1, 6, 16),), {}),
    "encoder_layer": _encoder_layer,
}

TWELVE: Mapping[str, Callable[[], Model]] = {
    "regnet_y_400mf": lambda: _image("regnet_y_400mf"),
    "googlenet": lambda: _image("googlenet", init_weights=False),
    "maxvit_t": lambda: _image("maxvit_t"),
    "deeplabv3": _segmentation,
    "gru": lambda: (Recurrent(nn.GRU), (torch.randn(1, 6, 16),), {}),
    "t5": _t5,
    "mamba": lambda: _text(
        *("MambaConfig", "MambaForCausalLM"),
        vocab_size=WORDS,
        hidden_size=WIDTH,
        state_size=8,
        num_hidden_layers=2,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    ),
    "gemma2": lambda: _text("Gemma2Config", "Gemma2ForCausalLM", head_dim=16, **GROUPED),
    "opt": lambda: _text(
        *("OPTConfig", "OPTForCausalLM"),
        **{name: value for name, value in SMALL.items() if name != "intermediate_size"},
        ffn_dim=128,
        word_embed_proj_dim=WIDTH,
    ),
    "bloom": lambda: _text(
        *("BloomConfig", "BloomForCausalLM"),
        vocab_size=WORDS,
        hidden_size=WIDTH,
        n_layer=2,
        n_head=4,
        bos_token_id=0,
        eos_token_id=1,
    ),
    "whisper": _whisper,
    "clip": _clip,
}

MODELS: Mapping[str, Callable[[], Model]] = MappingProxyType({**EIGHTEEN, **TWELVE})


def __getattr__(name: str) -> Callable[[], Model]:
    if name not in MODELS:
        raise AttributeError(name)

    def made() -> Model:
        torch.manual_seed(0)
        return MODELS[name]()

    return made
