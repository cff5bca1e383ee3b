import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';
import { ValueError } from '@coll/core';
import { knownOptions, messageOf, optionsOf, quote } from '@coll/core/internal';
import { AggregatorRegistry, Registry } from 'prom-client';
import { recordMetrics } from './metrics.js';
import { type MetricValues, prometheusMeters } from './prometheus.js';
import { subscribe } from './subscribe.js';

/** Options of `serveMetrics`. */
export interface ServeMetricsOptions {
  /** A port of 127.0.0.1; 0 is any free port. Processes of one host need different ports. */
  readonly port: number;
}

/** What `serveMetrics` has begun. */
export interface MetricsServer extends AsyncDisposable {
  /** Where the metrics are. Undefined in other threads than the main thread, which serves their metrics. */
  readonly url: string | undefined;
  /** Ends it: later calls are not counted, and the port is free. */
  close(): Promise<void>;
}

interface ThreadMetrics {
  readonly thread: number;
  readonly values: MetricValues;
}

const serveOptions = knownOptions<ServeMetricsOptions>('serveMetrics', { port: true });
/** Carries the metrics of other threads to the main thread. */
const channelName = 'coll:metrics';
const host = '127.0.0.1';
const postMillis = 1000;

/**
 * Serves metrics of this process as text for Prometheus, `GET /metrics`, to programs of this host
 * only. The main thread serves. Replicas in threads make the same call, which passes their metrics to
 * the main thread once a second. The server does not keep the process alive.
 * @throws ValueError for a port that is not valid or in use
 *
 * @example
 * ```ts
 * import { serveMetrics } from '@coll/opentelemetry';
 *
 * await using server = await serveMetrics({ port: 0 });
 * const response = await fetch(server.url ?? '');
 * console.log(response.headers.get('content-type')); // text/plain; version=0.0.4; charset=utf-8
 * ```
 */
export async function serveMetrics(options: ServeMetricsOptions): Promise<MetricsServer> {
  const { port } = optionsOf(options, 'serveMetrics({ port: 9464 })', serveOptions);
  requirePort(port);
  const registry = new Registry();
  const end = recordMetrics(prometheusMeters(registry));
  try {
    return isMainThread ? await serving(registry, port, end) : posting(registry, end);
  } catch (error) {
    end();
    throw error;
  }
}

function requirePort(port: unknown): asserts port is number {
  if (Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65535) return;
  throw new ValueError('ERR_COLL_VALUE', `serveMetrics: port must be an integer from 0 to 65535, got ${quote(port)}`);
}

async function serving(registry: Registry, port: number, end: () => void): Promise<MetricsServer> {
  const others = new Map<number, MetricValues>();
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = (message) => {
    const { thread, values } = (message as { readonly data: ThreadMetrics }).data;
    // Of threads that have ended, too, because counters must not fall.
    others.set(thread, values);
  };
  channel.unref();
  const text = async () => {
    const own = (await registry.getMetricsAsJSON()) as MetricValues;
    return AggregatorRegistry.aggregate([own, ...others.values()]).metrics();
  };
  const server = serverOf(text, registry.contentType);
  try {
    await listen(server, port);
  } catch (error) {
    channel.close();
    throw error;
  }
  const close = async () => {
    end();
    channel.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://${host}:${(server.address() as AddressInfo).port}/metrics`;
  return { url, close, [Symbol.asyncDispose]: close };
}

function serverOf(text: () => Promise<string>, contentType: string): Server {
  const answer = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': contentType }).end(await text());
  };
  return createServer(({ method, url }, response) => {
    if (url?.split('?')[0] !== '/metrics') response.writeHead(404).end('the metrics are at /metrics\n');
    else if (method !== 'GET') response.writeHead(405, { allow: 'GET' }).end();
    else void answer(response);
  });
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `serveMetrics cannot listen on ${host}, port ${port} (${messageOf(error)}): pass a free port, different ones for the processes of a host`;
      reject(new ValueError('ERR_COLL_VALUE', message, { cause: error }));
    });
    server.listen(port, host, resolve);
    server.unref();
  });
}

/** Posts the metrics of this thread to the main thread. */
function posting(registry: Registry, end: () => void): MetricsServer {
  const channel = new BroadcastChannel(channelName);
  channel.unref();
  const post = async () => {
    channel.postMessage({ thread: threadId, values: await registry.getMetricsAsJSON() });
  };
  const timer = setInterval(() => void post(), postMillis);
  timer.unref();
  // The thread may end soon.
  const endClosed = subscribe({ closed: () => void post() });
  const close = async () => {
    end();
    endClosed();
    clearInterval(timer);
    await post();
    channel.close();
  };
  return { url: undefined, close, [Symbol.asyncDispose]: close };
}
