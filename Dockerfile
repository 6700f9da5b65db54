# builder with its embedded backend, on a CPU: 1.3 GB. Nothing is downloaded when it runs.
#   docker build -t builder .
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" builder build reviews.csv --licence CC-BY-4.0
FROM python:3.11-slim

# The CPU build of torch: the default one of the index brings gigabytes of GPU libraries.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG EXTRAS=inspect,report,annotate

WORKDIR /opt/builder
COPY constraints.txt ./
# Its headers and its own tests are 150 MB.
RUN torch="$(grep '^torch==' constraints.txt)" && pip install --no-cache-dir --index-url "$TORCH_INDEX" "$torch" \
    && cd "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch" && rm -r include test
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".[$EXTRAS]" && rm -rf /opt/builder

# The owner of the mounted folder may be any user: `-u` names it, and HOME is for all.
RUN useradd --create-home --uid 1000 builder && chmod 1777 /home/builder && install -d -o builder -g builder /data
ENV HOME=/home/builder
USER builder
WORKDIR /data
ENTRYPOINT ["builder"]
CMD ["--help"]
