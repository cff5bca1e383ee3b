import { PortableCommunicator } from '@coll/core';
import { MirroredStrategy } from '@coll/strategy';
import { type AlgorithmName, algorithms, plugins } from '../algorithms.js';
import { type Effort, type Measurement, measure } from '../measurement.js';
import { batchSubject } from '../subjects/batch-subject.js';
import { Buffers, GradientBuffers } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import { contextSubject } from '../subjects/context-subject.js';
import { copySubject } from '../subjects/copy-subject.js';
import type { Subject } from '../subjects/subject.js';
import type { Trial } from '../trial.js';
import { devicesOf, type Venue } from './venue.js';

/** All ranks in this thread: the portable executor, and the copy of memory that everything is compared with. */
export class MainThread implements Venue {
  readonly #ranks: number;
  readonly #gradients = new GradientBuffers();
  readonly #communicators = new Map<AlgorithmName, { communicator: PortableCommunicator; buffers: Buffers }>();

  constructor(ranks: number) {
    this.#ranks = ranks;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const measurements: Measurement[] = [];
    for (const trial of trials) {
      const isContext = trial.work.type === 'context';
      measurements.push(
        isContext
          ? await this.#measureReplicas(trial, effort)
          : await measure(await this.#subject(trial), trial, effort),
      );
    }
    return measurements;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#communicators.values()].map(({ communicator }) => communicator.close()));
    this.#communicators.clear();
  }

  async #subject(trial: Trial): Promise<Subject> {
    const { algorithm = 'direct', work } = trial;
    if (work.type === 'copy') return copySubject(trial);
    if (work.type === 'batch') return batchSubject(await plugins[algorithm].create(undefined), this.#gradients, trial);
    const { communicator, buffers } = this.#communicator(algorithm);
    return collectiveSubject(communicator, buffers, trial);
  }

  async #measureReplicas(trial: Trial, effort: Effort): Promise<Measurement> {
    const crossDeviceOps = plugins[trial.algorithm ?? 'direct'];
    await using strategy = new MirroredStrategy({ devices: devicesOf(this.#ranks), crossDeviceOps });
    const measured = new Map<number, Measurement>();
    await strategy.run(async (context) => {
      measured.set(context.replicaIdInSyncGroup, await measure(contextSubject(context, trial), trial, effort));
    });
    return measured.get(0) as Measurement;
  }

  #communicator(algorithm: AlgorithmName) {
    const known = this.#communicators.get(algorithm);
    if (known) return known;
    const communicator = new PortableCommunicator({ size: this.#ranks, algorithm: algorithms[algorithm] });
    const made = { communicator, buffers: new Buffers(communicator) };
    this.#communicators.set(algorithm, made);
    return made;
  }
}
