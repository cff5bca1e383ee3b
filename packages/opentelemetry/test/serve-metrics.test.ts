import { spawnSync } from 'node:child_process';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type CallEvent, ValueError } from '@coll/core';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { expect, it } from 'vitest';
import { instrument, serveMetrics } from '../src/index.js';

class Reader extends MetricReader {
  protected onForceFlush = () => Promise.resolve();
  protected onShutdown = () => Promise.resolve();
}

const event: CallEvent = {
  ...{ operation: 'all-reduce sum', kind: 'all-reduce', op: 'sum', dtype: 'float32', elements: 2, bytes: 8 },
  ...{ peer: undefined, group: 'g', rank: 1, size: 2, number: 7, algorithm: 'ring' },
  ...{ engine: 'native', transport: 'memory' },
};

/** Publishes one of everything. */
async function happen(): Promise<void> {
  const calls = tracingChannel<CallEvent, CallEvent>('coll:collective');
  calls.traceSync(() => {}, { ...event });
  await calls.tracePromise(() => Promise.reject(new Error('lost')), { ...event }).catch(() => {});
  channel('coll:group:opened').publish({ rank: 1 });
  channel('coll:group:lost').publish({ rank: 1, code: 'ERR_COLL_PEER_FAILED' });
}

const textOf = async (url: string | undefined) => (await fetch(url as string)).text();

it('the metrics have the names and labels that the exporter of OpenTelemetry gives them', async () => {
  await using server = await serveMetrics({ port: 0 });
  const reader = new Reader();
  using _ = instrument({ meterProvider: new MeterProvider({ readers: [reader] }) });
  await happen();
  const { resourceMetrics } = await reader.collect();
  const serializer = new PrometheusSerializer('', false, undefined, true, true);
  // The exporter leaves out the unit, which the specification requires.
  const text = (await textOf(server.url)).replaceAll('coll_duration_seconds', 'coll_duration');
  expect(samplesIn(text)).toEqual(samplesIn(serializer.serialize(resourceMetrics)));
});

/** Names, labels and types in a text for Prometheus, without the values. */
function samplesIn(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line !== '' && !/^# (HELP|UNIT|EOF)/.test(line));
  const withoutValue = lines.map((line) => (line.startsWith('#') ? line : line.replace(/ \S+$/, '')));
  return withoutValue.map(sortedLabels).sort();
}

function sortedLabels(line: string): string {
  return line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').sort().join(',')}}`);
}

it.runIf(spawnSync('promtool', ['--version']).status === 0)('promtool finds no fault in the metrics', async () => {
  await using server = await serveMetrics({ port: 0 });
  await happen();
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], { input: await textOf(server.url) });
  expect([`${stdout}${stderr}`, status]).toEqual(['', 0]);
});

it('other paths and methods are refused', async () => {
  await using server = await serveMetrics({ port: 0 });
  const ask = async (url: string, method = 'GET') => (await fetch(url, { method })).status;
  const url = server.url as string;
  expect([await ask(url), await ask(`${url}?name=coll`)]).toEqual([200, 200]);
  expect([await ask(new URL('/', url).href), await ask(url, 'POST')]).toEqual([404, 405]);
});

it('only programs of this host can connect', async () => {
  await using server = await serveMetrics({ port: 0 });
  const { hostname, port } = new URL(server.url as string);
  expect(hostname).toBe('127.0.0.1');
  const others = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  for (const { address, internal, family } of others) {
    if (!internal && family === 'IPv4') expect(await canConnect(Number(port), address)).toBe(false);
  }
});

function canConnect(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host, timeout: 5000 });
    const end = (isConnected: boolean) => {
      socket.destroy();
      resolve(isConnected);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

it('a port that is in use, or is none, is refused with what to do', async () => {
  await using server = await serveMetrics({ port: 0 });
  const port = Number(new URL(server.url as string).port);
  const refused = serveMetrics({ port });
  await expect(refused).rejects.toThrow(/^serveMetrics cannot listen on 127\.0\.0\.1, port \d+ .*: pass a free port/);
  await expect(refused).rejects.toBeInstanceOf(ValueError);
  await expect(serveMetrics({ port: -1 })).rejects.toThrow('port must be an integer from 0 to 65535, got -1');
  await expect(serveMetrics({ prot: 1 } as never)).rejects.toThrow('did you mean port?');
});

it('nothing is counted after close, and the port is free', async () => {
  const server = await serveMetrics({ port: 0 });
  await server.close();
  expect(tracingChannel('coll:collective').start.hasSubscribers).toBe(false);
  await using again = await serveMetrics({ port: Number(new URL(server.url as string).port) });
  expect(again.url).toBe(server.url);
});
