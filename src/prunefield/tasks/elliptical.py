"""A Gaussian field scaled by a random radius: Student's t, a shell, or any radial distribution."""

import math
from typing import Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.tasks._latent import Latent
from prunefield.theory import fields, radial


class Elliptical(Latent):
    """Elliptical data (lufkin2024, Def. 1, §3.3 and Fig. 4): x = R √C u, u uniform on the sphere, E R² = N exactly.

    The covariance is C = exp(−d²/ξ²) for every radial law: Student's t with ν degrees of freedom, a shell (R fixed),
    the paper's `extreme` law (R − 2 = artanh U before scaling), or your own table of radii.

    >>> Elliptical(law="student-t", nu=5).kurtosis(), Elliptical(nu=4).kurtosis()
    (9.0, inf)
    """

    law: Literal["student-t", "shell", "extreme", "table"] = Field(
        default="student-t", description="distribution of the radius R"
    )
    nu: float = Field(default=3.0, le=1e4, description="degrees of freedom ν of student-t, above 2")
    radii: tuple[float, ...] = Field(
        default=(), description="for law = table: equally likely radii of any scale, such as quantiles"
    )

    @model_validator(mode="after")
    def _check(self) -> "Elliptical":
        if self.nu <= 2:
            raise UsageError(f"nu must be above 2, as the variance is infinite otherwise (got {self.nu:g})")
        if (self.law == "table") != bool(self.radii):
            raise UsageError(f"radii are for the law 'table' only (got {len(self.radii)} for {self.law!r})")
        if self.radii and (min(self.radii) < 0 or max(self.radii) == 0):
            raise UsageError(f"radii must not be negative nor all 0 (got {min(self.radii):g} to {max(self.radii):g})")
        return self

    @property
    def title(self) -> str:
        names = {
            "student-t": f"Student-t({self.nu:g})",
            "shell": "Shell",
            "extreme": "Extreme",
            "table": "Radial table",
        }
        return names[self.law]

    @property
    def _law(self) -> radial.Law:
        """Radii and weights of the laws that are not Student's, E R² = N."""
        if self.law == "extreme":
            return radial.normalise_law(radial.integrate_extreme(), self.sites)
        radii = torch.tensor(self.radii or (1.0,), dtype=torch.float64)
        return radial.normalise_law((radii, torch.full_like(radii, 1 / len(radii))), self.sites)

    def draw(self, labels: Tensor, *, generator: torch.Generator) -> Tensor:
        noise = torch.randn(len(labels), self.sites, dtype=torch.float64, generator=generator)
        stretch = self._stretch(noise.norm(dim=1), generator)
        return self.correlate_noise(noise.mul_(stretch[:, None]), labels)

    def _stretch(self, norm: Tensor, generator: torch.Generator) -> Tensor:
        """The factors by which rows of noise of norm `norm` are stretched."""
        if self.law == "student-t":
            # torch.distributions calls the same function, but accepts no generator.
            gamma = torch._standard_gamma  # pyright: ignore[reportPrivateImportUsage]
            half = gamma(torch.full_like(norm, self.nu / 2), generator=generator)
            return ((self.nu / 2 - 1) / half).sqrt()
        radii, weights = self._law
        if self.law == "extreme":
            plain, _ = radial.integrate_extreme()
            uniform = torch.rand(len(norm), dtype=torch.float64, generator=generator)
            return (radii[0] / plain[0]) * (2 + uniform.atanh()) / norm
        return radii[torch.randint(len(weights), (len(norm),), generator=generator)] / norm

    def covariance(self, label: int) -> Tensor:
        return fields.make_circulant(self.correlate(label))

    def kurtosis(self) -> float:
        """3(ν−2)/(ν−4) for Student's t with ν > 4, 3N/(N+2) for a shell."""
        if self.law == "student-t":
            return 3 * (self.nu - 2) / (self.nu - 4) if self.nu > 4 else math.inf
        return radial.measure_kurtosis(self._law, self.sites)

    def amplifier(self, a: Tensor) -> Tensor:
        if self.law == "student-t":
            return radial.amplify_student(a, self.nu)
        return radial.amplify_radial(a, self._law, self.sites)

    def cdf(self, x: Tensor) -> Tensor:
        if self.law != "student-t":
            return radial.compute_cdf(x, self._law, self.sites)
        from scipy.special import stdtr

        return torch.from_numpy(np.asarray(stdtr(self.nu, x.numpy() * math.sqrt(self.nu / (self.nu - 2)))))

    def density(self, x: Tensor) -> Tensor:
        """Student's t with unit variance, or `radial.compute_density` for the law of R."""
        if self.law != "student-t":
            return radial.compute_density(x, self._law, self.sites)
        nu = self.nu
        height = math.exp(math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2)) / math.sqrt((nu - 2) * math.pi)
        return height * (1 + x.square() / (nu - 2)) ** (-(nu + 1) / 2)
