import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import type { EngineName } from '@coll/core';
import { MirroredStrategy } from '@coll/strategy';
import { type AlgorithmName, plugins } from '../algorithms.js';
import type { Effort, Measurement } from '../measurement.js';
import { remembered } from '../remembered.js';
import type { Trial } from '../trial.js';
import { devicesOf, executedBy, type Order, type Venue } from './venue.js';

/** The replica threads of a `MirroredStrategy` for each algorithm, as a user starts them. */
export class ReplicaThreads implements Venue {
  readonly #ranks: number;
  readonly #running = new Map<string, RunningReplicas>();

  constructor(ranks: number) {
    this.#ranks = ranks;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const measurements: Measurement[] = [];
    for (const trial of trials) measurements.push(await this.#replicas(trial).measure({ trial, effort }));
    return measurements;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map((replicas) => replicas.close()));
    this.#running.clear();
  }

  #replicas(trial: Trial): RunningReplicas {
    const [engine, algorithm] = executedBy(trial);
    const start = () => new RunningReplicas(engine, algorithm, this.#ranks);
    return remembered(this.#running, `${engine} ${algorithm}`, start);
  }
}

/** One run of a strategy, whose replicas wait for orders on a channel and report what they measured. */
class RunningReplicas {
  readonly #orders: BroadcastChannel;
  readonly #strategy: MirroredStrategy;
  readonly #ran: Promise<unknown>;
  readonly #ready: Promise<void>;
  #onMeasured: (measurement: Measurement) => void = () => {};

  constructor(engine: EngineName, algorithm: AlgorithmName, ranks: number) {
    const channel = `coll bench ${randomUUID()}`;
    this.#orders = new BroadcastChannel(channel);
    this.#strategy = new MirroredStrategy({ devices: devicesOf(ranks), crossDeviceOps: plugins[algorithm], engine });
    let waiting = ranks;
    let onReady = () => {};
    this.#ready = new Promise((resolve) => {
      onReady = resolve;
    });
    this.#ran = this.#strategy.run(new URL('./replica-thread.ts', import.meta.url), {
      args: [channel],
      onReport: (_, value) => {
        if (value !== 'ready') this.#onMeasured(value as Measurement);
        else if (--waiting === 0) onReady();
      },
    });
  }

  async measure(order: Order): Promise<Measurement> {
    const measured = (async () => {
      await this.#ready;
      return new Promise<Measurement>((resolve) => {
        this.#onMeasured = resolve;
        this.#orders.postMessage(order);
      });
    })();
    // A failed replica ends the run without a measurement.
    return (await Promise.race([measured, this.#ran])) as Measurement;
  }

  async close(): Promise<void> {
    this.#orders.postMessage('end');
    try {
      await this.#ran;
    } finally {
      this.#orders.close();
      await this.#strategy.close();
    }
  }
}
