"""The version of the native library that was built with this package."""

from ._native import __version__ as __version__
