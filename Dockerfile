# Images with ishmem, without a compiler of C++. On simulated GPUs:
#
#     docker build -t ishmem .
#     docker run --rm ishmem ishmem run -n 4 examples/ring.py
#     docker run --rm -v "$PWD:/work" -w /work ishmem pytest
#
# On Intel GPUs, with Intel's driver of Debian's suite sid and the groups of the device files:
#
#     docker build --target gpu -t ishmem-gpu .
#     docker run --rm --device /dev/dri --group-add "$(stat -c %g /dev/dri/renderD128)" ishmem-gpu
#
# The first stage builds the wheel; the others install it.
FROM python:3.13-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-trixie AS gpu
# Stable releases of Debian have drivers that are older than some cards. Only the driver, and what it needs, is of sid.
RUN sed -e '/^$/q' -e 's/^Suites: .*/Suites: sid/' /etc/apt/sources.list.d/debian.sources \
        > /etc/apt/sources.list.d/sid.sources \
    && printf 'Package: *\nPin: release n=sid\nPin-Priority: 100\n' > /etc/apt/preferences.d/sid \
    && apt-get update \
    && apt-get install --yes --no-install-recommends --target-release sid libze-intel-gpu1 libze1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "ishmem4py[examples] @ file://$(ls /wheels/ishmem4py-*.whl)" "pytest>=8" \
    && ISHMEM_DEVICE=sim ishmem precompile \
    && useradd --create-home pe
USER pe
WORKDIR /home/pe
COPY --chown=pe:pe examples examples
ENV ISHMEM_DEVICE=gpu
CMD ["ishmem", "doctor"]

FROM python:3.13-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "ishmem4py[examples] @ file://$(ls /wheels/ishmem4py-*.whl)" "pytest>=8" \
    && ISHMEM_DEVICE=sim ishmem precompile \
    && useradd --create-home pe
USER pe
WORKDIR /home/pe
COPY --chown=pe:pe examples examples
ENV ISHMEM_DEVICE=sim
CMD ["ishmem", "doctor"]
