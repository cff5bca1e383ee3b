import { isArriving } from '@coll/core/internal';
import type { ReplicaContext } from '../scope/strategy.js';
import { trainingMeterOf } from './training-meter.js';

/**
 * What a replica records while it runs. A row has four numbers: one of these kinds, the time at its end in milliseconds
 * since the epoch, the milliseconds in collectives, and the samples, which are NaN if they are not known.
 */
export const rowKinds = { step: 0, collective: 1, report: 2 } as const;
export const rowWidth = 4;

/** Methods that wait for the other replicas. */
const collectives = [
  'allReduce',
  'allReduceSync',
  'allGather',
  'allGatherSync',
  'broadcast',
  'broadcastSync',
  'mergeCall',
] as const satisfies readonly (keyof ReplicaContext)[];

// Rows are sent together, because each message takes some microseconds.
const mostRows = 256;
const mostMillis = 50;

/** The caller gets the error. */
const ignore = () => {};

type Call = (...args: unknown[]) => unknown;
type Methods = ReplicaContext & Record<string, unknown>;

/**
 * Records the steps, the collectives and the reports of a replica, until it is stopped. It replaces methods of the
 * context, so that only runs that are recorded pay for it.
 */
export class RunRecorder {
  readonly #send: (rows: Float64Array) => void;
  readonly #context: Methods;
  readonly #replaced: string[] = [];
  #rows: number[] = [];
  #sentAt = 0;
  /** End of the latest collective, because several may be under way at the same time. */
  #collectiveEnd = 0;

  constructor(context: ReplicaContext, send: (rows: Float64Array) => void) {
    this.#context = context as Methods;
    this.#send = send;
    trainingMeterOf(context).onStep = (milliseconds, samples) => this.#add(rowKinds.step, milliseconds, samples);
    for (const method of collectives) this.#replace(method, (call) => this.#timed(call));
    this.#replace('report', (report) => (value) => {
      const samples = samplesIn(value);
      if (samples !== undefined) this.#add(rowKinds.report, 0, samples);
      return report(value);
    });
  }

  /** Sends what is left, and gives the context its own methods again. */
  stop(): void {
    trainingMeterOf(this.#context).onStep = undefined;
    for (const method of this.#replaced) delete this.#context[method];
    this.#flush();
  }

  #replace(method: string, replacement: (own: Call) => Call): void {
    const own = (this.#context[method] as Call).bind(this.#context);
    this.#replaced.push(method);
    this.#context[method] = replacement(own);
  }

  #timed(call: Call): Call {
    return (...args) => {
      const begin = performance.now();
      const result = call(...args);
      // Values that are still being computed hide how long their exchange takes.
      if (isArriving(args[1])) this.#add(rowKinds.collective, Number.NaN, undefined);
      else if (result instanceof Promise) void result.then(() => this.#addCollective(begin), ignore);
      else this.#addCollective(begin);
      return result;
    };
  }

  #addCollective(begin: number): void {
    const end = performance.now();
    this.#add(rowKinds.collective, end - Math.max(begin, this.#collectiveEnd), undefined);
    this.#collectiveEnd = end;
  }

  #add(kind: number, milliseconds: number, samples = Number.NaN): void {
    const now = performance.now();
    this.#rows.push(kind, performance.timeOrigin + now, milliseconds, samples);
    if (this.#rows.length >= mostRows * rowWidth || now - this.#sentAt > mostMillis) this.#flush();
  }

  #flush(): void {
    this.#sentAt = performance.now();
    if (this.#rows.length > 0) this.#send(Float64Array.from(this.#rows));
    this.#rows = [];
  }
}

/** The samples of `context.report({ samples })`; undefined for any other report. */
function samplesIn(value: unknown): number | undefined {
  const { samples } = Object(value) as { readonly samples?: unknown };
  return typeof samples === 'number' && samples >= 0 && Number.isFinite(samples) ? samples : undefined;
}
