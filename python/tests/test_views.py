"""Views of windows: numpy's functions work on them, and nothing shows bytes that are another clock's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tidegate import InvalidViewError, View
from tidegate._view import Lease


@pytest.fixture
def array() -> np.ndarray:
    return np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def view(array: np.ndarray) -> View:
    return View(Lease("w.value"), array)


def test_has_the_shape_of_its_table(view: View) -> None:
    assert (view.shape, view.ndim, view.size, view.nbytes, len(view)) == ((3, 4), 2, 12, 48, 3)
    assert view.dtype == np.float32


def test_takes_part_in_arithmetic(view: View, array: np.ndarray) -> None:
    other = np.ones((4, 2), np.float32)
    for outcome, expected in ((view + 1, array + 1), (2 * view, 2 * array), (view @ other, array @ other),
                              (array @ other, array @ other), (-view, -array), (np.sqrt(view), np.sqrt(array)),
                              (np.dot(view, other), array @ other), (other.T @ view.T, other.T @ array.T),
                              (np.concatenate([view, view]), np.concatenate([array, array])),
                              (view.sum(axis=0), array.sum(axis=0)), (np.mean(view), np.mean(array)),
                              (view == array, array == array), (view.copy(), array)):
        assert isinstance(outcome, np.ndarray) or np.isscalar(outcome)
        np.testing.assert_array_equal(outcome, expected)


def test_is_written_in_place(view: View, array: np.ndarray) -> None:
    view[0] = 7
    view[1:, ::2] += 1
    np.multiply(view, 2, out=view)
    np.copyto(view[2], [1, 2, 3, 4])
    view[1].fill(5)
    assert array[0].tolist() == [14] * 4
    assert array[1].tolist() == [5] * 4
    assert array[2].tolist() == [1, 2, 3, 4]


def test_what_lies_within_is_a_view_and_what_does_not_is_an_array(view: View, array: np.ndarray) -> None:
    for within in (view[1], view[:, 1:3], view.T, view.reshape(-1), np.ravel(view), np.split(view, 3)[1],
                   np.transpose(view), view[...], np.atleast_2d(view), view.swapaxes(0, 1)):
        assert isinstance(within, View)
    for copied in (view[[0, 2]], view[view > 3], np.asarray(view), np.array(view), view + 0, view.astype(np.float64),
                   np.where(view > 3, view, 0), pickle.loads(pickle.dumps(view))):
        assert type(copied) is np.ndarray and not np.may_share_memory(copied, array)


def test_every_use_after_its_end_raises(view: View) -> None:
    row = view[1]
    flat = view.reshape(-1)
    iterator = iter(view)
    view._lease.end("it was pushed")
    for use in (lambda: view[0], lambda: row[0], lambda: flat.sum(), lambda: view + 1, lambda: 1 + row,
                lambda: np.asarray(view), lambda: np.mean(flat), lambda: view.__setitem__(0, 1), lambda: next(iterator),
                lambda: np.dot(np.ones(3, np.float32), view), lambda: np.add(1, 1, out=row), lambda: float(view[0, 0]),
                lambda: view.T, lambda: view.copy(), lambda: str(view), lambda: pickle.dumps(view), lambda: 1.0 in row):
        with pytest.raises(InvalidViewError, match="this view of w.value is no longer valid: it was pushed"):
            use()
    assert repr(view) == "<view of w.value, no longer valid>"
    assert view.shape == (3, 4) and not view.is_valid


def test_of_several_outputs_each_is_what_was_given_or_made(view: View, array: np.ndarray) -> None:
    expected = np.divmod(array, 5)
    quotient, rest = np.divmod(view, 5, out=(view, None))
    assert quotient is view and type(rest) is np.ndarray
    np.testing.assert_array_equal(array, expected[0])
    np.testing.assert_array_equal(rest, expected[1])


def test_does_not_hand_out_its_memory(view: View) -> None:
    for name in ("data", "ctypes", "base", "__array_interface__", "__array_struct__", "flat", "view"):
        assert not hasattr(view, name)
    with pytest.raises(TypeError):
        memoryview(view)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="would outlive its window"):
        view.__array__(copy=False)
