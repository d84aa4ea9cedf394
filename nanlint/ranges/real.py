"""Scalar functions with IEEE results: an overflow is an infinity, log(0) is -inf, and the infinities are valid arguments."""

from __future__ import annotations

import math

INF = math.inf
PI = math.pi
SQRT_HALF = math.sqrt(0.5)


def exp(x: float) -> float:
    return math.exp(x) if x < 709.782712893384 else INF


def exp2(x: float) -> float:
    return 2.0**x if x < 1024 else INF


def expm1(x: float) -> float:
    return math.expm1(x) if x < 709.782712893384 else INF


def log(x: float) -> float:
    return math.log(x) if x > 0 else -INF


def log2(x: float) -> float:
    return math.log2(x) if x > 0 else -INF


def log10(x: float) -> float:
    return math.log10(x) if x > 0 else -INF


def log1p(x: float) -> float:
    return math.log1p(x) if x > -1 else -INF


def sinh(x: float) -> float:
    return math.sinh(x) if abs(x) < 710.4 else math.copysign(INF, x)


def cosh(x: float) -> float:
    return math.cosh(x) if abs(x) < 710.4 else INF


def acosh(x: float) -> float:
    return math.acosh(x) if x < INF else INF


def atanh(x: float) -> float:
    return math.atanh(x) if abs(x) < 1 else math.copysign(INF, x)


def square(x: float) -> float:
    return x * x


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -709 else exp(x)


def softplus(x: float) -> float:
    return x + math.log1p(exp(-x)) if x > 0 else math.log1p(exp(x))


def logsigmoid(x: float) -> float:
    return -softplus(-x)


def ndtr(x: float) -> float:
    """The distribution function of the normal distribution."""
    return 0.5 * math.erfc(-x * SQRT_HALF)


def log_ndtr(x: float) -> float:
    if x > -1:
        return math.log1p(-0.5 * math.erfc(x * SQRT_HALF))
    if x > -20:
        return math.log(0.5 * math.erfc(-x * SQRT_HALF))
    return log(erfcx(-x * SQRT_HALF) / 2) - x * x / 2 if x > -INF else -INF


def erfcx(x: float) -> float:
    """exp(x * x) * erfc(x)."""
    if x < 10:
        return math.exp(x * x) * math.erfc(x) if x > -26.6 else INF
    if x > 1e8:
        return 1 / x / math.sqrt(PI)
    term = total = 1.0
    for k in range(1, 20):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * math.sqrt(PI))


def ndtri(p: float) -> float:
    """The inverse of `ndtr`, by bisection and Newton's method."""
    if p <= 0 or p >= 1:
        return -INF if p <= 0 else INF
    if p > 0.5:
        return -ndtri(1 - p) if 1 - p > 0 else INF
    x = -math.sqrt(-2 * math.log(p)) if p < 0.02 else 0.0
    for _ in range(60):
        slope = math.exp(-x * x / 2) / math.sqrt(2 * PI)
        value = ndtr(x)
        step = (value - p) / slope if p > 0.1 else value * math.log(value / p) / slope
        x -= step
        if abs(step) < 1e-15 * max(1.0, abs(x)):
            break
    return x


def erfinv(y: float) -> float:
    if abs(y) >= 1:
        return math.copysign(INF, y)
    if abs(y) < 1e-8:
        return y * math.sqrt(PI) / 2
    x = ndtri((1 + y) / 2) * SQRT_HALF if y < 0 else -ndtri((1 - y) / 2) * SQRT_HALF
    for _ in range(2):
        x -= (math.erf(x) - y) * math.sqrt(PI) / 2 * math.exp(x * x)
    return x


def logit(p: float) -> float:
    return log(p) - log1p(-p) if 0 < p < 1 else -INF if p <= 0 else INF


def lgamma(x: float) -> float:
    if x == INF or x == -INF or (x <= 0 and x == math.floor(x)):
        return INF
    try:
        return math.lgamma(x)
    except OverflowError:
        return INF


def digamma(x: float) -> float:
    """The logarithmic derivative of gamma, for x >= 0."""
    if x == 0:
        return -INF
    if x == INF:
        return INF
    shift = 0.0
    while x < 12:
        shift -= 1 / x
        x += 1
    r = 1 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r / 132))))
    return math.log(x) - 0.5 / x - series + shift


def i0e(x: float) -> float:
    """exp(-|x|) times the modified Bessel function of order 0."""
    return _bessel_scaled(abs(x), 0)


def i1e(x: float) -> float:
    """exp(-|x|) times the modified Bessel function of order 1."""
    return math.copysign(_bessel_scaled(abs(x), 1), x)


def i0(x: float) -> float:
    return _bessel(abs(x), 0)


def i1(x: float) -> float:
    return math.copysign(_bessel(abs(x), 1), x)


def _bessel(x: float, order: int) -> float:
    if x < 30:
        return _bessel_series(x, order)
    scaled = _bessel_scaled(x, order)
    return scaled * math.exp(x - 10) * math.exp(10.0) if x < 714 else INF


def _bessel_series(x: float, order: int) -> float:
    term = total = (x / 2) ** order
    k = 1
    while term > 1e-18 * total:
        term *= (x / 2) ** 2 / (k * (k + order))
        total += term
        k += 1
    return total


def _bessel_scaled(x: float, order: int) -> float:
    if x == INF:
        return 0.0
    if x < 30:
        return _bessel_series(x, order) * math.exp(-x)
    mu, term, total = 4.0 * order * order, 1.0, 1.0
    for k in range(1, 20):
        term *= -(mu - (2 * k - 1) ** 2) / (k * 8 * x)
        total += term
    return total / math.sqrt(2 * PI) / math.sqrt(x)


def silu(x: float) -> float:
    return x * sigmoid(x) if x > -INF else 0.0


def gelu(x: float) -> float:
    return x * ndtr(x) if x > -INF else 0.0


def gelu_tanh(x: float) -> float:
    if x == -INF:
        return 0.0
    return x * sigmoid(2 * math.sqrt(2 / PI) * (x + 0.044715 * x * x * x)) if abs(x) < 100 else max(x, 0.0)


def mish(x: float) -> float:
    return x * math.tanh(softplus(x)) if x > -INF else 0.0


def selu(x: float) -> float:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return scale * x if x > 0 else scale * alpha * math.expm1(x)


def sinc(x: float) -> float:
    return math.sin(PI * x) / (PI * x) if x else 1.0


def entr(x: float) -> float:
    """-x log(x), for x >= 0."""
    return -x * math.log(x) if 0 < x < INF else -INF if x else 0.0


def power(x: float, y: float) -> float:
    """x ** y for x >= 0."""
    if x == 0 and y < 0:
        return INF
    try:
        return float(x**y)
    except OverflowError:
        return INF


def fraction(x: float) -> float:
    return x - math.trunc(x)


def ceil(x: float) -> float:
    return float(math.ceil(x)) if abs(x) < INF else x


def floor(x: float) -> float:
    return float(math.floor(x)) if abs(x) < INF else x


def trunc(x: float) -> float:
    return float(math.trunc(x)) if abs(x) < INF else x


def nearest_whole(x: float) -> float:
    return float(round(x)) if abs(x) < INF else x
