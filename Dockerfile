# One image with both programs, and `python -m certs` for the webhook's certificate.
#
#   docker build -t registry.example.org/jobflow:0.1.0 .
#   docker run --rm registry.example.org/jobflow:0.1.0 controller --help
#
# Every dependency is a wheel of requirements.txt, checked against its hash; nothing is compiled. PYTHON may name another
# base of the same kind, best with a digest.
ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements.txt ./
RUN pip install --require-hashes --only-binary=:all: --no-deps --target /opt/jobflow -r requirements.txt
COPY shared /opt/jobflow/shared
COPY webhook /opt/jobflow/webhook
COPY controller /opt/jobflow/controller
COPY certs /opt/jobflow/certs
# The file system is read-only later on. Unchecked: the sources never change, and their times may.
RUN python -m compileall -q --invalidation-mode unchecked-hash /opt/jobflow

FROM ${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="jobflow" \
      org.opencontainers.image.description="JobFlow for Volcano: webhook, controller, certificates" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# Nobody installs anything in here.
RUN pip uninstall --yes --quiet pip
COPY --from=packages /opt/jobflow /opt/jobflow
ENV PYTHONPATH=/opt/jobflow PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /
USER 65532:65532
ENTRYPOINT ["python", "-m"]
CMD ["controller"]
