#!/usr/bin/env python3
"""Makes wan_tiny_bf16/expected_bf16.safetensors: diffusers' own forward of that checkpoint in bf16 on
a CPU, with its intermediates widened to fp32.

    pip install diffusers==0.42.1 torch==2.11.0 safetensors==0.8.0
    python3 tests/golden/make_wan_bf16.py OUT.safetensors
"""
import pathlib
import sys

import torch
from diffusers import WanTransformer3DModel
from safetensors.torch import load_file, save_file

FOLDER = pathlib.Path(__file__).resolve().parent / "wan_tiny_bf16"


def keep(store, name):
    """A forward hook that keeps a module's output under `name`."""
    def hook(_module, _arguments, output):
        store[name] = output
    return hook


def keep_input(store, name):
    """A forward pre-hook that keeps a module's first operand under `name`."""
    def hook(_module, arguments, keywords):
        store[name] = arguments[0] if arguments else keywords["hidden_states"]
    return hook


def watch(model, store):
    embedder = model.condition_embedder
    outputs = {"patch_embedding": model.patch_embedding, "timestep_sinusoid": embedder.timesteps_proj,
               "conditions": embedder, "rope": model.rope}
    for index, block in enumerate(model.blocks):
        outputs[f"block.{index}"] = block
        for part in ("attn1", "attn2", "ffn"):
            outputs[f"block.{index}.{part}"] = getattr(block, part)
    inputs = {"block.0.norm1_modulated": model.blocks[0].attn1, "before_final_norm": model.norm_out,
              "after_final_norm": model.proj_out}
    for name, module in outputs.items():
        module.register_forward_hook(keep(store, name))
    for name, module in inputs.items():
        module.register_forward_pre_hook(keep_input(store, name), with_kwargs=True)


def main():
    torch.set_num_threads(1)
    model = WanTransformer3DModel.from_pretrained(
        FOLDER / "checkpoint", subfolder="transformer", torch_dtype=torch.bfloat16).eval()
    inputs = load_file(FOLDER / "inputs.safetensors")
    taps = {}
    watch(model, taps)
    with torch.no_grad():
        taps["sample"] = model(
            hidden_states=inputs["latents"].bfloat16(), timestep=inputs["timestep"].to(torch.int64),
            encoder_hidden_states=inputs["encoder_hidden_states"].bfloat16(), return_dict=False)[0]
    taps["patch_embedding"] = taps["patch_embedding"].flatten(2).transpose(1, 2)
    taps["temb"], taps["timestep_proj"], taps["text_embeds"] = taps.pop("conditions")[:3]
    for part, table in zip(("cos", "sin"), taps.pop("rope")):
        taps[f"rope.{part}"] = table[0, :, 0]
    tensors = {name: value.detach().float().contiguous().clone() for name, value in taps.items()}
    save_file(tensors, sys.argv[1], metadata={"format": "pt"})


if __name__ == "__main__":
    main()
