"""Linear algebra and Fourier transforms: what can be said of the results of whole matrices."""

from __future__ import annotations

from nanlint.core.formats import Format
from nanlint.ranges import reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, constant, unknown

L = "torch.linalg."


def _finite(forward: Forward) -> Forward:
    """As `forward` where the operands are finite; NaN may occur elsewhere."""

    def passing(args: Args, params: Params, fmt: Format) -> Interval:
        bad = any(x is not None and not (x.is_finite and (x.is_empty or x.magnitude < fmt.max**0.2)) for x in args)
        result = forward(args, params, fmt)
        return Interval(min(result.lo, -INF), INF, True) if bad else result

    return passing


def _singular(args: Args, params: Params, fmt: Format) -> Interval:
    """Any value; infinities and NaN where the matrix is singular."""
    return Interval(-INF, INF, True)


REAL = _finite(lambda args, params, fmt: Interval(-fmt.max, fmt.max))
NONNEGATIVE = _finite(lambda args, params, fmt: Interval(0.0, fmt.max))
UNITARY = _finite(lambda args, params, fmt: Interval(-1 - 64 * fmt.eps, 1 + 64 * fmt.eps))
ANY = _finite(constant(-INF, INF))


def _transform(args: Args, params: Params, fmt: Format) -> Interval:
    """Sums of the elements times numbers on the unit circle."""
    x = args[0]
    top = reduce.sum_of(Interval(0.0, x.magnitude, x.nan), *reduce.counts(params), fmt)
    return Interval(-top.hi, top.hi, top.nan or x.has_infinity or top.hi == INF) if not top.is_empty else top


def _row(name: str, signature: str, forward: Forward, operands: int = 1, also: tuple[str, ...] = (), trigger: bool = False,
         parts: tuple[Forward, ...] = (), slope: tuple[str | None, ...] | None = None, produces: str = "", notes: str = "") -> Op:
    call = L + name.removeprefix("linalg_")
    spelled = (call, *also)
    return Op(name, signature, operands, forward, slope or (None,) * operands, call, spelled, "linalg", trigger=trigger,
        parts=parts,
              produces=produces, notes=notes)


def _fft(name: str) -> Op:
    size = "s" if name[-1] in "2n" else "n"
    return Op(f"fft_{name}", f"input, {size}=None, dim=None, norm=None", 1, _transform, (None,), f"torch.fft.{name}",
        (f"torch.fft.{name}",), "linalg")


DEGENERATE = "the gradient divides by differences of eigenvalues: NaN or infinite where two are equal"
TABLE.add(
    _row("linalg_inv", "input", _singular, also=("torch.inverse", "torch.Tensor.inverse"), trigger=True),
    _row("linalg_pinv", "input, atol=None, rtol=None, hermitian=False", ANY, also=("torch.pinverse", "torch.Tensor.pinverse"),
         trigger=True),
    _row("linalg_det", "input", ANY, also=("torch.det", "torch.Tensor.det"), trigger=True,
         produces="a singular matrix has determinant 0"),
    Op("logdet", "input", 1, _singular, (None,), family="linalg", trigger=True),
    _row("linalg_slogdet", "input", ANY, also=("torch.slogdet", "torch.Tensor.slogdet"), trigger=True,
         parts=(_finite(constant(-1.0, 1.0)), _finite(constant(-INF, INF)))),
    _row("linalg_cholesky", "input, upper=False", REAL, also=("torch.cholesky", "torch.Tensor.cholesky"), trigger=True,
         notes="raises for a matrix that is not positive definite"),
    _row("linalg_cholesky_ex", "input, upper=False, check_errors=False", REAL, trigger=True,
         parts=(REAL, constant(0.0, INF, True))),
    Op("cholesky_solve", "input, L, upper=False", 2, _singular, (None, None), family="linalg", trigger=True),
    Op("cholesky_inverse", "L, upper=False", 1, _singular, (None,), family="linalg", trigger=True),
    _row("linalg_solve", "A, B, left=True", _singular, 2, trigger=True),
    _row("linalg_solve_triangular", "A, B, upper, left=True, unitriangular=False", _singular, 2, trigger=True),
    _row("linalg_lstsq", "A, B, rcond=None, driver=None", ANY, 2, trigger=True,
         parts=(ANY, ANY, constant(0.0, INF, True), NONNEGATIVE)),
    _row("linalg_svd", "A, full_matrices=True", REAL, also=(), trigger=True, parts=(UNITARY, NONNEGATIVE, UNITARY),
         notes=DEGENERATE,
         slope=("degenerate()",)),
    Op("svd", "input, some=True, compute_uv=True", 1, REAL, ("degenerate()",), family="linalg", trigger=True,
       parts=(UNITARY, NONNEGATIVE, UNITARY), notes=DEGENERATE),
    _row("linalg_svdvals", "A", NONNEGATIVE, produces="a singular matrix has singular value 0"),
    _row("linalg_eigh", "A, UPLO='L'", REAL, trigger=True, parts=(REAL, UNITARY), notes=DEGENERATE, slope=("degenerate()",)),
    _row("linalg_eigvalsh", "A, UPLO='L'", REAL),
    _row("linalg_eig", "A", REAL, trigger=True, parts=(REAL, UNITARY), notes=DEGENERATE, slope=("degenerate()",)),
    _row("linalg_eigvals", "A", REAL, trigger=True),
    _row("linalg_qr", "A, mode='reduced'", REAL, also=("torch.qr", "torch.Tensor.qr"), trigger=True, parts=(UNITARY, REAL)),
    _row("linalg_lu", "A, pivot=True", REAL, parts=(constant(0.0, 1.0, True), _finite(constant(-1.0, 1.0)), REAL)),
    Op("matrix_exp", "input", 1, unknown, (None,), also=(L + "matrix_exp",), family="linalg", trigger=True),
    Op("matrix_power", "input, n", 1, unknown, (None,), also=(L + "matrix_power",), family="linalg", trigger=True),
    _row("linalg_matrix_rank", "A, tol=None, hermitian=False", constant(0.0, INF, True)),
    _row("linalg_cond", "A, p=None", lambda a, p, f: Interval(0.0, INF, True), trigger=True),
    Op("lu_solve", "b, LU_data, LU_pivots", 2, _singular, (None, None), family="linalg", trigger=True),
    *(_fft(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn",
    "ifftn")),
    *(Op(f"fft_{name}", "input, dim=None", 1, lambda a, p, f: a[0], ("1",), f"torch.fft.{name}", (f"torch.fft.{name}",), "view")
      for name in ("fftshift", "ifftshift")),
    Op("stft", "input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False",
       1,
       _transform, (None,), family="linalg", also=("torch.functional.stft",)),
    Op("istft", "input, n_fft, hop_length=None, win_length=None, window=None, center=True", 1, unknown, (None,), family="linalg"),
    Op("angle", "input", 1, lambda a, p, f: Interval(0.0, f.nearest(3.141592653589793) if a[0].lo <= 0 else 0.0, a[0].nan),
       ("0",)),
    Op("view_as_real", "input", 1, lambda a, p, f: a[0], ("1",), family="view"),
    Op("view_as_complex", "input", 1, lambda a, p, f: a[0], ("1",), family="view"),
    Op("complex", "real, imag", 2, lambda a, p, f: a[0].hull(a[1]), ("1", "1"), family="view"),
    Op("polar", "abs, angle", 2, lambda a, p, f: Interval(-a[0].magnitude, a[0].magnitude,
       not a[0].is_finite or not a[1].is_finite),
       (None, None)),
    Op("imag", "input", 1, lambda a, p, f: a[0], ("1",), family="view"),
)
