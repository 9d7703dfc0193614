# ishmem on simulated GPUs, in an image without a compiler:
#
#     docker build -t ishmem .
#     docker run --rm ishmem ishmem run -n 4 examples/ring.py
#     docker run --rm -v "$PWD:/work" -w /work ishmem pytest
#
# The first stage builds the wheel; the second installs it.
FROM python:3.13-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "ishmem4py[examples] @ file://$(ls /wheels/ishmem4py-*.whl)" "pytest>=8" \
    && ISHMEM_DEVICE=sim ishmem precompile \
    && useradd --create-home pe
USER pe
WORKDIR /home/pe
COPY --chown=pe:pe examples examples
# In a container, a GPU of the host would need its driver as well: see docs/install.md.
ENV ISHMEM_DEVICE=sim
CMD ["ishmem", "doctor"]
