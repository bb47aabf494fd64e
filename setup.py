"""Build the extension modules; everything declarative lives in pyproject.toml.

Environment switches, each set to 1:

FASTENV_DEBUG              bounds, None and sign checks on, no optimisation
FASTENV_SANITIZE           address and undefined-behaviour sanitizers
FASTENV_NATIVE             instructions of this machine only; never for a wheel
FASTENV_PLAIN_C            standard C alone, as for other compilers than GCC and Clang
FASTENV_NO_OPENMP          one thread, for compilers without OpenMP
FASTENV_NO_EXTENSION       skip the extensions; the package runs on Numba
FASTENV_REQUIRE_EXTENSION  fail, instead of going on without, when they cannot be compiled
FASTENV_REQUIRE_IF_ABLE    likewise, but only where something else can be compiled

setuptools looks at time stamps only: after changing a switch, build with ``--force``.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from Cython import __version__ as cython_version
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError


def switch(name: str) -> bool:
    """Tell whether the environment switch ``FASTENV_<name>`` is on."""
    return os.environ.get(f"FASTENV_{name}", "").lower() in {"1", "true", "yes"}


DEBUG = switch("DEBUG")
SANITIZE = switch("SANITIZE")
NO_OPENMP = switch("NO_OPENMP")
REQUIRED = switch("REQUIRE_EXTENSION")
REQUIRED_IF_ABLE = switch("REQUIRE_IF_ABLE")

SOURCES = sorted(Path("fastenv").rglob("*.pyx"))
MODULES = [".".join(path.with_suffix("").parts) for path in SOURCES]
if switch("NO_EXTENSION"):
    MODULES = []
# Changed directives alone do not make cythonize translate again, hence two folders.
TRANSLATED = Path("build/cython-debug" if DEBUG else "build/cython")

# What an extension needs of a machine, and nothing of ours.
TRIAL = """
#include <Python.h>
#ifdef _OPENMP
#include <omp.h>
#endif
PyMODINIT_FUNC PyInit_trial(void) { return NULL; }
"""
WITHOUT_EXTENSION = """
fastenv: the compiled extensions were not built.
  missing     a working C compiler with the Python headers and OpenMP
  reason      {reason}
  still works backend="numba" and backend="reference"; backend="auto" takes Numba
  to fix      install a compiler (Debian, Ubuntu: gcc, python3-dev; Fedora: gcc, python3-devel;
              macOS: xcode-select --install; Windows: Build Tools for Visual Studio), or set
              FASTENV_NO_OPENMP=1 if only OpenMP is missing, then install fastenv again, or run
              make again
"""


# What GCC does beyond -O2 makes the Game Boy's interpreter a tenth slower; its vectors are kept.
# Across two lines of the cache a short loop is up to 1.7 times slower, so that any change elsewhere
# in the file would seem to be one of speed. Each instruction jumps to the next one by itself
# (_dispatch.h): GCC must not make one of jumps that look the same.
OPTIMISATION = {
    "fastenv.gameboy._core": [
        *("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"),
        *("-falign-functions=64", "-falign-loops=64"),
        *("-fno-crossjumping", "-fno-tree-tail-merge", "-fno-gcse"),
    ],
}
# Clang, Apple's too, refuses some of these.
GCC_ALONE = ("-fvect-cost-model=", "-falign-", "-fno-crossjumping", "-fno-gcse", "-fno-tree-tail")


def microsoft_flags() -> tuple[list[str], list[str]]:
    """Return the flags to compile and to link with MSVC, which wraps integers by itself."""
    cflags = ["/fp:precise"]  # never fuses products into sums, unless /fp:contract is given too
    cflags += ["/Zi", "/UNDEBUG"] if DEBUG else ["/DNDEBUG"]
    return cflags if NO_OPENMP else [*cflags, "/openmp"], ["/DEBUG"] if DEBUG else []


def compiler_flags() -> tuple[list[str], list[str]]:
    """Return the flags to compile and to link with GCC or Clang; the cores use their vectors.

    Results must be the same bits as those of NumPy, Numba and plain Python: integers wrap
    (``-fwrapv``) and products are never fused into sums (``-ffp-contract=off``). That nobody reads
    the flags of floating-point exceptions (``-fno-trapping-math``) lets loops with a choice in them
    become vectors; it changes no value.
    They are spelt out because a CFLAGS variable replaces Python's own defaults.
    """
    cflags = ["-g", "-UNDEBUG"] if DEBUG else ["-g0", "-DNDEBUG"]
    cflags += ["-fwrapv", "-ffp-contract=off", "-fno-math-errno"]
    cflags += ["-fno-trapping-math", "-fvisibility=hidden"]
    link = []
    if switch("NATIVE"):
        cflags += ["-march=native"]
    if SANITIZE:
        sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        cflags += ["-O1", "-g", "-fno-omit-frame-pointer", *sanitizers]
        link += sanitizers
    if not NO_OPENMP:
        apple = sys.platform == "darwin"
        cflags += ["-Xpreprocessor", "-fopenmp"] if apple else ["-fopenmp"]
        link += ["-lomp"] if apple else ["-fopenmp"]
    return cflags, link


def optimisation(module: str, microsoft: bool, clang: bool) -> list[str]:
    """Return the flags that say how much a module is optimised."""
    if microsoft:
        return ["/Od" if DEBUG else "/O2"]
    flags = ["-O0"] if DEBUG else OPTIMISATION.get(module, ["-O3"])
    return [each for each in flags if not (clang and each.startswith(GCC_ALONE))]


class Build(build_ext):
    """Choose flags once the compiler is known, and do without one where that is allowed."""

    def build_extensions(self):
        """Build all extensions, or say once what is missing and how to get it."""
        microsoft = self.compiler.compiler_type == "msvc"
        cflags, link = microsoft_flags() if microsoft else compiler_flags()
        clang = not microsoft and self.is_clang()
        for ext in self.extensions:
            ext.extra_compile_args += optimisation(ext.name, microsoft, clang)
            ext.extra_compile_args += cflags
            ext.extra_link_args += link
            # Lets setuptools go on when the file is not there in the end.
            ext.optional = not REQUIRED
            ext.define_macros.append(
                ("FASTENV_DEBUG" if DEBUG else "CYTHON_WITHOUT_ASSERTIONS", None)
            )
            if switch("PLAIN_C"):
                ext.define_macros.append(("FASTENV_PLAIN_C", None))
        self.failure = None
        self.parallel = self.parallel or True  # one compiler a core, unless a number was asked for
        super().build_extensions()
        if self.failure is None:
            return
        if REQUIRED_IF_ABLE and self.able(cflags, link):
            raise self.failure
        reason = textwrap.shorten(str(self.failure), 200)
        print(WITHOUT_EXTENSION.format(reason=reason), file=sys.stderr)
        if REQUIRED:
            raise self.failure

    def build_extension(self, ext):
        """Build one extension; remember the first failure and skip the rest."""
        if self.failure is None:
            try:
                return super().build_extension(ext)
            except (CCompilerError, ExecError, PlatformError) as failure:
                self.failure = failure
        Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)  # of older sources

    def copy_extensions_to_source(self):
        """Copy what was built; where nothing was, nothing that is older may stay."""
        super().copy_extensions_to_source()
        for ext in self.extensions:
            built = Path(self.build_lib, self.get_ext_filename(ext.name))
            if not built.exists():
                Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)

    def is_clang(self):
        """Tell whether the compiler is Clang, whatever it is called."""
        command = [*self.compiler.compiler_so, "-dM", "-E", "-x", "c", os.devnull]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:  # there is none: the build says so
            return False
        return "#define __clang__ " in done.stdout

    def able(self, cflags, link):
        """Tell whether an extension without our code can be built here."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "trial.c")
            source.write_text(TRIAL)
            try:
                objects = self.compiler.compile([str(source)], folder, extra_postargs=cflags)
                self.compiler.link_shared_object(objects, f"{folder}/trial", extra_postargs=link)
            except (CCompilerError, ExecError, PlatformError):
                return False
        return True


def forget_older(source: Path) -> None:
    """Remove the translation of a module that is older than what it may cimport.

    Declarations lie beside its source or in the package's root. Cython looks for those that have
    changed too, but overlooks ``from package cimport module`` (3.3.1).
    """
    translated = TRANSLATED / source.with_suffix(".c")
    declared = [
        path for folder in (Path("fastenv"), source.parent) for path in folder.glob("*.pxd")
    ]
    newest = max((path.stat().st_mtime for path in declared), default=0.0)
    if translated.exists() and translated.stat().st_mtime < newest:
        translated.unlink()


def extension(name: str) -> Extension:
    """Describe one module; C headers lie beside its source or in the package's root."""
    source = Path(*name.split(".")).with_suffix(".pyx")
    forget_older(source)
    folders = sorted({source.parent, Path("fastenv")})
    headers = sorted(str(path) for folder in folders for path in folder.glob("*.h"))
    return Extension(name, [str(source)], include_dirs=[*map(str, folders)], depends=headers)


def extensions() -> list[Extension]:
    """List the extension modules, translated to C outside the source tree."""
    return cythonize(
        [extension(name) for name in MODULES],
        build_dir=str(TRANSLATED),
        annotate=DEBUG,
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "nonecheck": DEBUG,
            "cdivision": not DEBUG,
            "wraparound": False,
            "embedsignature": True,
            "freethreading_compatible": True,
        },
    )


def bill_of_materials(name: str, version: str) -> dict:
    """List whose code the wheel holds, as CycloneDX; auditwheel adds a list of what it copies.

    What fastenv requires at run time is not in the wheel: its metadata names it.
    """

    def component(kind: str, name: str, version: str, license: str) -> dict:
        url = f"pkg:pypi/{name}@{version}"
        licenses = [{"license": {"id": license}}]
        return {"type": kind, "bom-ref": url, "name": name, "version": version, "purl": url,
                "licenses": licenses}  # fmt: skip

    ours = component("library", name, version, "MIT")
    parts = [component("library", "cython", cython_version, "Apache-2.0")] if MODULES else []
    uses = [{"ref": ours["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}]
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return head | {"metadata": {"component": ours}, "components": parts, "dependencies": uses}


class Wheel(bdist_wheel):
    """A wheel with its bill of materials, where PEP 770 wants it."""

    def egg2dist(self, egginfo_path, distinfo_path):
        """Make the folder of metadata."""
        super().egg2dist(egginfo_path, distinfo_path)
        folder = Path(distinfo_path, "sboms")
        folder.mkdir(exist_ok=True)
        metadata = self.distribution.metadata
        bill = bill_of_materials(metadata.get_name(), metadata.get_version())
        (folder / "fastenv.cdx.json").write_text(json.dumps(bill, indent=2) + "\n", "utf-8")


setup(ext_modules=extensions(), cmdclass={"build_ext": Build, "bdist_wheel": Wheel})
