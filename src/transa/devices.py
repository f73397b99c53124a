"""The check that torch can compute on a device, before anything is computed."""

from __future__ import annotations

from transa.errors import InputError, quote


def check_device(name: str) -> None:
    """Raise an `InputError` if there is no device of this name, or torch cannot use it on this machine."""
    import torch

    try:
        torch.zeros(1, device=name).cpu()
    except (AssertionError, ImportError, RuntimeError, TypeError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(
            f"device: expected cpu or a device that torch can use here, found {quote(name)} ({why})"
        ) from None
