# builder with its embedded backend, on a CPU: about 1.3 GB. Nothing is downloaded when it runs.
#   docker build -t builder .
#   docker run --rm -v "$PWD:/data" builder build reviews.csv --licence CC-BY-4.0
FROM python:3.11-slim

# The CPU build of torch: the default one of the index brings gigabytes of GPU libraries.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG EXTRAS=inspect,report

WORKDIR /opt/builder
COPY constraints.txt ./
RUN torch="$(grep '^torch==' constraints.txt)" && pip install --no-cache-dir --index-url "$TORCH_INDEX" "$torch"
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".[$EXTRAS]" && rm -rf /opt/builder

RUN useradd --create-home --uid 1000 builder
USER builder
WORKDIR /data
ENTRYPOINT ["builder"]
CMD ["--help"]
