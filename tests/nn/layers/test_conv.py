"""Convolution layers: worked numbers, sizes, parity with torch, equivariance."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # nets this small lose time to a second thread

from pansophy import nn, signal  # noqa: E402
from pansophy.nn.layers.conv import same_padding  # noqa: E402

FILTER = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
ROWS = ["100001", "010010", "001100", "100010", "010010", "001010"]
IMAGE = [[int(c) for c in row] for row in ROWS]
TABLE = [[35, 19, 25, 6], [13, 22, 16, 53], [4, 3, 7, 10], [9, 8, 1, 3]]


def tensor(values):
    return torch.tensor(np.array(values, float))[None, None]


def response(image, kernel, **options):
    layer = nn.Conv(1, 1, np.shape(kernel), bias=False, **options).double()
    layer.weight.data = tensor(kernel)
    return layer(tensor(image))[0, 0].tolist()


def test_filter_response_of_the_worked_example():
    found = response(IMAGE, FILTER)
    assert found == [[3, -1, -3, -1], [-3, 1, 0, -3], [-3, -3, 0, 1], [3, -2, -2, -1]]
    assert response(IMAGE, FILTER, stride=3) == [[3, -1], [3, -1]]


def test_layers_correlate_and_do_not_turn_the_kernel():
    image, kernel = [[1, 2, 0], [0, 1, 3], [4, 0, 1]], [[1, 0], [2, -1]]
    assert response(image, kernel) == [[0, 1], [8, 0]]
    turned = np.flip(kernel).copy()
    assert response(image, turned) == [[4, 1], [2, 6]]
    assert signal.convolve(image, kernel, "valid").tolist() == [[4, 1], [2, 6]]


def test_valid_and_same_sums_of_the_worked_example():
    ones = np.ones((3, 3))
    assert response(TABLE, ones) == [[144, 161], [83, 123]]
    assert response(TABLE, ones, padding="same")[0] == [89, 130, 141, 100]
    assert response(TABLE, ones, padding=1)[0] == [89, 130, 141, 100]
    kernel = [[1, 2], [3, 4]]
    assert response(TABLE, kernel) == [[200, 199, 297], [81, 91, 183], [69, 45, 42]]
    turned = np.flip(kernel).copy()
    assert response(TABLE, turned) == [[245, 211, 203], [129, 149, 247], [51, 50, 63]]


def test_transposed_convolution_of_the_worked_example():
    layer = nn.ConvTranspose(1, 1, 2, bias=False).double()
    layer.weight.data[:] = 1.0
    found = layer(tensor([[1, 2], [3, 4]]))[0, 0].tolist()
    assert found == [[1, 3, 2], [4, 10, 6], [3, 7, 4]]
    assert nn.transposed_output_size(14, 2, stride=2) == 28


@pytest.mark.parametrize(
    ("n", "padding", "kernel", "stride", "found"),
    [(32, 0, 5, 1, 28), (28, 2, 5, 1, 28), (7, 1, 3, 2, 4), (227, 0, 11, 4, 55),
     (32, 2, 5, 1, 32), (28, 0, 2, 2, 14), (7, 0, 2, 2, 3)],
)  # fmt: skip
def test_output_sizes_of_the_worked_examples(n, padding, kernel, stride, found):
    assert nn.conv_output_size(n, kernel, stride, padding) == found
    layer = nn.Conv(1, 1, kernel, ndim=1, stride=stride, padding=padding)
    assert layer(torch.zeros(1, 1, n)).shape[2] == found


def test_parameters_of_shared_local_and_dense_layers():
    assert nn.count_parameters(nn.Conv(3, 6, 5)) == 456
    assert nn.count_parameters(nn.Conv(3, 6, 5, bias=False)) == 450
    local = nn.LocallyConnected((32, 32), 3, 6, 5)
    assert nn.count_parameters(local) == 357504
    dense = torch.nn.Linear(32 * 32 * 3, 28 * 28 * 6, device="meta")
    assert nn.count_parameters(dense) == 14455392


SHAPES = {1: (9,), 2: (9, 8), 3: (6, 5, 7)}
TORCH = {1: torch.nn.Conv1d, 2: torch.nn.Conv2d, 3: torch.nn.Conv3d}
TORCH_TRANSPOSED = {
    1: torch.nn.ConvTranspose1d,
    2: torch.nn.ConvTranspose2d,
    3: torch.nn.ConvTranspose3d,
}


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"groups": 2}],
    ids=["plain", "stride", "dilation", "groups"],
)
def test_parity_with_torch_by_copied_weights(ndim, options):
    ours = nn.Conv(4, 6, 3, ndim=ndim, **options).double()
    peer = TORCH[ndim](4, 6, 3, **options).double()
    peer.load_state_dict(ours.state_dict())
    x = torch.randn(2, 4, *SHAPES[ndim], dtype=torch.float64, requires_grad=True)
    found, wanted = ours(x), peer(x)
    torch.testing.assert_close(found, wanted)
    assert found.shape[2:] == ours.output_size(SHAPES[ndim])
    weight = torch.randn_like(found)
    mine = torch.autograd.grad((found * weight).sum(), [x, ours.weight, ours.bias])
    its = torch.autograd.grad((wanted * weight).sum(), [x, peer.weight, peer.bias])
    for a, b in zip(mine, its, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_transposed_parity_with_torch_and_sizes(ndim):
    options = {"stride": 2, "padding": 1, "output_padding": 1}
    ours = nn.ConvTranspose(4, 2, 3, ndim=ndim, **options).double()
    peer = TORCH_TRANSPOSED[ndim](4, 2, 3, **options).double()
    peer.load_state_dict(ours.state_dict())
    x = torch.randn(2, 4, *SHAPES[ndim], dtype=torch.float64)
    torch.testing.assert_close(ours(x), peer(x))
    assert ours(x).shape[2:] == ours.output_size(SHAPES[ndim])


@pytest.mark.parametrize(
    ("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2)]
)
def test_transposed_convolution_is_the_adjoint(stride, padding, dilation):
    options = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "bias": False,
    }
    conv = nn.Conv(3, 5, 3, **options).double()
    back = nn.ConvTranspose(5, 3, 3, **options).double()
    back.weight.data = conv.weight.data
    x = torch.randn(1, 3, 9, 9, dtype=torch.float64)
    y = torch.randn_like(conv(x))
    with torch.no_grad():
        there, here = float((conv(x) * y).sum()), float((x * back(y)).sum())
    assert there == pytest.approx(here, abs=1e-10)


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # of torch's own
@pytest.mark.parametrize("n", [5, 8])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_same_padding_keeps_the_ceiling_and_puts_the_odd_zero_last(n, kernel, stride):
    assert nn.conv_output_size(n, kernel, stride, "same") == -(-n // stride)
    layer = nn.Conv(1, 1, kernel, ndim=1, stride=stride, padding="same", bias=False)
    x = torch.randn(1, 1, n)
    before, after = same_padding(n, kernel, stride)
    assert after - before in (0, 1)
    padded = torch.nn.functional.pad(x, (before, after))
    wanted = torch.nn.functional.conv1d(padded, layer.weight, stride=stride)
    torch.testing.assert_close(layer(x), wanted)
    if stride == 1:
        wanted = torch.nn.functional.conv1d(x, layer.weight, padding="same")
        torch.testing.assert_close(layer(x), wanted)


def test_equivariant_at_stride_one_and_subsampled_at_two():
    layer = nn.Conv(1, 2, 3, bias=True).double()
    x = torch.randn(1, 1, 10, 10, dtype=torch.float64)
    shifted = torch.roll(x, (1, 2), (2, 3))
    inside = layer(shifted)[:, :, 1:, 2:]
    torch.testing.assert_close(inside, layer(x)[:, :, :-1, :-2])
    wide = nn.Conv(1, 2, 3, stride=2).double()
    wide.load_state_dict(layer.state_dict())
    torch.testing.assert_close(wide(x), layer(x)[:, :, ::2, ::2])


def test_one_by_one_convolution_is_a_dense_layer_at_each_pixel():
    layer = nn.Conv(3, 2, 1)
    x = torch.randn(2, 3, 4, 5)
    dense = torch.einsum("fc,nchw->nfhw", layer.weight[:, :, 0, 0], x)
    torch.testing.assert_close(layer(x), dense + layer.bias[:, None, None])


def test_gradient_by_hand():
    """dw is the correlation of x with the gradient, db its sum, dx its transpose."""
    x = torch.arange(9.0, dtype=torch.float64).reshape(1, 1, 3, 3).requires_grad_()
    layer = nn.Conv(1, 1, 2).double()
    g = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)[None, None]
    inputs = (x, layer.weight, layer.bias)
    dx, dw, db = torch.autograd.grad(layer(x), inputs, g)
    w = layer.weight.detach()[0, 0]
    wanted_w, wanted_x = torch.zeros(2, 2).double(), torch.zeros(3, 3).double()
    for i in range(2):
        for j in range(2):
            wanted_w += g[0, 0, i, j] * x.detach()[0, 0, i : i + 2, j : j + 2]
            wanted_x[i : i + 2, j : j + 2] += g[0, 0, i, j] * w
    torch.testing.assert_close(dw[0, 0], wanted_w)
    torch.testing.assert_close(dx[0, 0], wanted_x)
    assert db.tolist() == [2.5]


def test_gradient_check_of_the_transpose():
    layer = nn.ConvTranspose(2, 3, 2, stride=2).double()
    x = torch.randn(1, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    run = lambda x, w, b: torch.func.functional_call(
        layer, {"weight": w, "bias": b}, (x,)
    )
    assert torch.autograd.gradcheck(run, (x, layer.weight, layer.bias))


def test_gradient_check():
    layer = nn.Conv(2, 3, 2, stride=2, padding="same").double()
    x = torch.randn(1, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w, b: nn.convolve_channels(
        x, w, b, stride=2, padding="same"), (x, layer.weight, layer.bias))  # fmt: skip


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.Conv(1, 1, 3, padding="full"), 'padding must be "same"'),
        (lambda: nn.Conv(1, 1, 3, ndim=4), "ndim must be 1, 2 or 3"),
        (lambda: nn.Conv(3, 4, 3, groups=2), "groups must divide"),
        (lambda: nn.Conv(1, 1, (3, 3, 3)), "kernel_size must have 2 numbers"),
        (lambda: nn.Conv(1, 1, 3)(torch.zeros(1, 2, 5, 5)), "expected, got"),
        (lambda: nn.Conv(1, 1, 7)(torch.zeros(1, 1, 5, 5)), "does not fit into 5"),
        (lambda: nn.conv_output_size(3, 5), "a kernel of size 5"),
        (lambda: nn.conv_output_size(3, 2, 0), "stride must be a whole number"),
    ],
)
def test_bad_arguments_are_told_in_a_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
