# One image for web, scheduler, worker and Spark: driver and executors must have the same Python and libraries.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --system --uid 10001 --create-home flow \
    && install -d -o flow -g flow /var/lib/flow /var/lib/flow/files /var/lib/flow/lake /var/lib/flow/taps

WORKDIR /opt/flow
# Libraries change less often than Flow: they have a layer of their own.
COPY pyproject.toml requirements.lock README.md ./
RUN mkdir ir executors flowapp && touch ir/__init__.py executors/__init__.py flowapp/__init__.py \
    && pip install --no-cache-dir -c requirements.lock . \
    && pip uninstall -y flow-pipelines && rm -r ir executors flowapp
COPY . .
RUN pip install --no-cache-dir --no-deps -c requirements.lock -e .

ENV DJANGO_SETTINGS_MODULE=flowapp.settings \
    FLOW_HOME=/var/lib/flow \
    FLOW_BIND=0.0.0.0:8000 \
    PYTHONUNBUFFERED=1 \
    SPARK_HOME=/usr/local/lib/python3.11/site-packages/pyspark
USER flow
EXPOSE 8000
CMD ["flow", "up"]
