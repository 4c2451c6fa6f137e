"""Networks for images of `torchvision` and `timm`, with random weights. Needs the extras `torch` and `vision`.

Each name is the library's own; those of `torchvision` come first. Statistics of batch normalisation are not 0 and 1, so
that a mistake in them shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..pytorch.tensors import torch_module
from .table import SEED, TEST, Size

TORCHVISION = (
    "convnext_tiny deeplabv3_resnet50 densenet121 efficientnet_b0 efficientnet_v2_s fcn_resnet50 googlenet "
    "inception_v3 lraspp_mobilenet_v3_large maxvit_t mc3_18 mnasnet1_0 mobilenet_v3_large r3d_18 regnet_y_400mf "
    "resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_1 swin_t swin_v2_t vit_b_32 wide_resnet50_2"
)
TIMM = (
    "cait_xxs24_224 coatnet_nano_rw_224 convnextv2_nano crossvit_tiny_240 cspresnet50 darknet53 davit_tiny "
    "deit_tiny_patch16_224 dla34 ecaresnet26t edgenext_small efficientformer_l1 efficientvit_b0 fastvit_t8 "
    "focalnet_tiny_srf gcvit_xxtiny gernet_s ghostnetv2_100 hardcorenas_a hrnet_w18_small inception_v4 lcnet_100 "
    "levit_128 maxxvit_rmlp_nano_rw_256 mixer_s32_224 mobilenetv4_conv_small mobileone_s1 mobilevit_s nfnet_l0 "
    "poolformer_s12 pvt_v2_b0 regnetz_b16 repvgg_a0 repvit_m0_9 res2net50_26w_4s resmlp_12_224 sequencer2d_s "
    "skresnet18 tf_efficientnet_lite0 tiny_vit_5m_224 tinynet_a visformer_tiny volo_d1_224 vovnet39a xception41 "
    "xcit_nano_12_p16_224"
)
VIDEO = ("mc3_18", "r3d_18")
SIDES = {"inception_v3": 299}  # of images, where it is not 224


@dataclass(frozen=True)
class Network:
    """One network: `library` and its name there."""

    library: str
    name: str
    limit: float = 1e-2  # of `compare`: a ten thousandth of the largest value; tens of layers amplify what is rounded

    def build(self, size: Size = TEST) -> tuple[Any, dict[str, Any]]:
        """The module, in evaluation mode, and so many images; the same at every call."""
        torch = torch_module()
        torch.manual_seed(SEED)
        if self.library == "timm":
            model = __import__("timm").create_model(self.name, pretrained=False)
            image = model.default_cfg["input_size"]
        else:
            models = __import__("torchvision.models").models
            segments = models.get_model_builder(self.name).__module__.startswith("torchvision.models.segmentation")
            own = {"weights_backbone": None} if segments else {}
            model = models.get_model(self.name, weights=None, **own)
            side = SIDES.get(self.name, 224)
            image = (3, 8, 112, 112) if self.name in VIDEO else (3, side, side)
        return finished(model), {"image": torch.randn(size.batch, *image)}


def finished(model: Any) -> Any:
    """The model in evaluation mode, its norms not 0 and 1, with a tuple of one tensor as its result."""
    torch = torch_module()
    for layer in model.modules():
        if getattr(layer, "running_var", None) is not None:
            torch.nn.init.uniform_(layer.running_mean, -0.1, 0.1)
            torch.nn.init.uniform_(layer.running_var, 0.8, 1.2)
    model.eval()

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, *inputs: Any) -> Any:
            result = self.inner(*inputs)
            return (result["out"] if isinstance(result, dict) else result,)

    return Wrapped().eval()


NETWORKS = {
    name: Network(library, name)
    for library, names in (("torchvision", TORCHVISION), ("timm", TIMM))
    for name in names.split()
}
