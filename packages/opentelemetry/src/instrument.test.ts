import { channel, tracingChannel } from 'node:diagnostics_channel';
import { type CallEvent, CollError } from '@coll/core';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { instrument } from './instrument.js';

class Reader extends MetricReader {
  protected onForceFlush = () => Promise.resolve();
  protected onShutdown = () => Promise.resolve();
}

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

const calls = tracingChannel<CallEvent, CallEvent>('coll:collective');

function eventOf(fields: Partial<CallEvent> = {}): CallEvent {
  return {
    ...{ operation: 'all-reduce sum', kind: 'all-reduce', op: 'sum', dtype: 'float32', elements: 2, bytes: 8 },
    ...{ peer: undefined, group: 'g', rank: 1, size: 2, number: 7, algorithm: 'ring' },
    ...{ engine: 'native', transport: 'memory', ...fields },
  };
}

function instrumented() {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const reader = new Reader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const instrumentation = instrument({ tracerProvider, meterProvider });
  const points = async () => {
    const { resourceMetrics } = await reader.collect();
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => ({ name: descriptor.name, attributes, value })),
    );
  };
  return { ...instrumentation, spans: () => exporter.getFinishedSpans(), points, tracerProvider };
}

const refused = new CollError('ERR_COLL_PEER_FAILED', 'rank 0 was lost');

it('each call is a span with the fields of its event as attributes', () => {
  using one = disposable(instrumented());
  calls.traceSync(() => {}, eventOf());
  const [span] = one.spans();
  expect(span?.name).toBe('all-reduce sum');
  expect(span?.instrumentationScope.name).toBe('@coll/opentelemetry');
  expect(span?.attributes).toEqual({
    ...{ 'coll.operation': 'all-reduce sum', 'coll.kind': 'all-reduce', 'coll.op': 'sum', 'coll.dtype': 'float32' },
    ...{ 'coll.elements': 2, 'coll.bytes': 8, 'coll.group': 'g', 'coll.rank': 1, 'coll.size': 2, 'coll.number': 7 },
    ...{ 'coll.algorithm': 'ring', 'coll.engine': 'native', 'coll.transport': 'memory' },
  });
});

it('a span of a promise ends when the promise is settled', async () => {
  using one = disposable(instrumented());
  let settle = () => {};
  const call = calls.tracePromise(() => new Promise<void>((resolve) => (settle = resolve)), eventOf());
  expect(one.spans()).toEqual([]);
  settle();
  await call;
  expect(one.spans().length).toBe(1);
});

it('spans are children of the span that is active in the caller', async () => {
  using one = disposable(instrumented());
  const tracer = one.tracerProvider.getTracer('test');
  await tracer.startActiveSpan('step', async (step) => {
    await Promise.resolve();
    await calls.tracePromise(() => Promise.resolve(), eventOf());
    step.end();
  });
  const [call, step] = one.spans();
  expect(step?.name).toBe('step');
  expect(call?.parentSpanContext?.spanId).toBe(step?.spanContext().spanId);
});

it('a failed call has an error, with its code as type', async () => {
  using one = disposable(instrumented());
  await calls.tracePromise(() => Promise.reject(refused), eventOf()).catch(() => {});
  const [span] = one.spans();
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'rank 0 was lost' });
  expect(span?.attributes['error.type']).toBe('ERR_COLL_PEER_FAILED');
  expect(span?.events.map(({ name }) => name)).toEqual(['exception']);
});

it('metrics count calls, bytes and seconds by operation and rank', async () => {
  using one = disposable(instrumented());
  calls.traceSync(() => {}, eventOf());
  calls.traceSync(() => {}, eventOf());
  await calls.tracePromise(() => Promise.reject(refused), eventOf({ operation: 'barrier' })).catch(() => {});
  const sum = { 'coll.operation': 'all-reduce sum', 'coll.rank': 1 };
  const barrier = { 'coll.operation': 'barrier', 'coll.rank': 1, 'error.type': 'ERR_COLL_PEER_FAILED' };
  const points = await one.points();
  expect(points.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: 'coll.bytes', attributes: sum, value: 16 },
    { name: 'coll.calls', attributes: sum, value: 2 },
    { name: 'coll.calls', attributes: barrier, value: 1 },
    { name: 'coll.duration', attributes: sum, value: expect.objectContaining({ count: 2 }) },
    { name: 'coll.duration', attributes: barrier, value: expect.objectContaining({ count: 1 }) },
    { name: 'coll.groups', attributes: { 'coll.rank': 1 }, value: 1 },
  ]);
});

it('groups are open from their first event until they are closed', async () => {
  using one = disposable(instrumented());
  const publish = (name: string, group: string) => channel(`coll:group:${name}`).publish({ group, rank: 1 });
  const open = async () => (await one.points()).find(({ name }) => name === 'coll.groups')?.value;
  publish('opened', 'g');
  calls.traceSync(() => {}, eventOf());
  calls.traceSync(() => {}, eventOf({ group: 'opened before' }));
  expect(await open()).toBe(2);
  publish('closed', 'g');
  publish('closed', 'opened before');
  publish('closed', 'never heard of');
  expect(await open()).toBe(0);
});

it('nothing is recorded after disable', async () => {
  const one = instrumented();
  one.disable();
  calls.traceSync(() => {}, eventOf());
  expect([one.spans(), await one.points()]).toEqual([[], []]);
  expect(calls.start.hasSubscribers).toBe(false);
});

it('the global providers are the default', () => {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  using _ = instrument();
  calls.traceSync(() => {}, eventOf());
  trace.disable();
  expect(exporter.getFinishedSpans().length).toBe(1);
});

function disposable<Value extends { disable(): void }>(value: Value): Value & Disposable {
  return { ...value, [Symbol.dispose]: value.disable };
}
