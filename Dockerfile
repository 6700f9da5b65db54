# builder with its embedded backend, on a CPU. Nothing is downloaded when it runs.
#   docker build -t builder .
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" builder build reviews.csv --licence CC-BY-4.0
FROM python:3.11-slim

ARG EXTRAS=inspect,report,annotate

WORKDIR /opt/builder
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".[$EXTRAS]" && rm -rf /opt/builder

# The owner of the mounted folder may be any user: `-u` names it, and HOME is for all.
RUN useradd --create-home --uid 1000 builder && chmod 1777 /home/builder && install -d -o builder -g builder /data
ENV HOME=/home/builder
USER builder
WORKDIR /data
ENTRYPOINT ["builder"]
CMD ["--help"]
