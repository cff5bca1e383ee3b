import type { Communicator, CrossDeviceOps, EngineName } from '@coll/core';
import { portableWorld } from '@coll/core/plugin';
import { MirroredStrategy } from '@coll/strategy';
import { type AlgorithmName, algorithms, plugins } from '../algorithms.js';
import { engines } from '../engines.js';
import { type Effort, type Measurement, measure } from '../measurement.js';
import { remembered } from '../remembered.js';
import { batchSubject, piecesSubject } from '../subjects/batch-subject.js';
import { Buffers, GradientBuffers, memoryOf } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import { contextSubject } from '../subjects/context-subject.js';
import { copySubject } from '../subjects/copy-subject.js';
import { runSubject } from '../subjects/run-subject.js';
import type { Subject } from '../subjects/subject.js';
import type { CallMemory, Trial } from '../trial.js';
import { devicesOf, executedBy, packingOf, type Venue } from './venue.js';

/** This thread with all ranks. It also measures the copy of memory, for comparison. */
export class MainThread implements Venue {
  readonly #ranks: number;
  readonly #gradients = new GradientBuffers();
  readonly #opened = new Map<string, Promise<CrossDeviceOps>>();
  readonly #communicators = new Map<string, { communicator: Communicator; buffers: Buffers }>();

  constructor(ranks: number) {
    this.#ranks = ranks;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const measurements: Measurement[] = [];
    for (const trial of trials) {
      const { work } = trial;
      if (work.type === 'context') measurements.push(await this.#measureReplicas(trial, work.memory, effort));
      else if (work.type === 'run') measurements.push(await this.#measureRuns(trial, effort));
      else measurements.push(await measure(await this.#subject(trial), trial, effort));
    }
    return measurements;
  }

  async close(): Promise<void> {
    const communicators = [...this.#communicators.values()].map(({ communicator }) => communicator);
    const opened = await Promise.all(this.#opened.values());
    await Promise.all([...communicators, ...opened].map((each) => each.close()));
    this.#communicators.clear();
    this.#opened.clear();
  }

  async #subject(trial: Trial): Promise<Subject> {
    if (trial.work.type === 'copy') return copySubject(trial);
    const [engine, algorithm] = executedBy(trial);
    if (trial.work.type === 'batch' || trial.work.type === 'reduce')
      return batchSubject(await this.#ops(trial), this.#gradients, trial);
    const { communicator, buffers } = this.#communicator(engine, algorithm);
    if (trial.work.type === 'recorded') {
      // An older commit, which is measured for comparison, may have no recorder.
      const { recordedSubject } = await import('../subjects/recorded-subject.js');
      return recordedSubject(communicator, buffers, trial, trial.work.isRecorded);
    }
    return trial.work.type === 'pieces'
      ? piecesSubject(communicator, this.#gradients, trial)
      : collectiveSubject(communicator, buffers, trial);
  }

  async #measureReplicas(trial: Trial, memory: CallMemory, effort: Effort): Promise<Measurement> {
    await using strategy = this.#strategy(trial);
    const measured = new Map<number, Measurement>();
    await strategy.run(async (context) => {
      measured.set(context.replicaIdInSyncGroup, await measure(contextSubject(context, trial, memory), trial, effort));
    });
    return measured.get(0) as Measurement;
  }

  async #measureRuns(trial: Trial, effort: Effort): Promise<Measurement> {
    await using strategy = this.#strategy(trial);
    return await measure(runSubject(strategy, trial), trial, effort);
  }

  #strategy(trial: Trial): MirroredStrategy {
    const [engine, algorithm] = executedBy(trial);
    return new MirroredStrategy({ devices: devicesOf(this.#ranks), crossDeviceOps: plugins[algorithm], engine });
  }

  #ops(trial: Trial): Promise<CrossDeviceOps> {
    const [engine, algorithm] = executedBy(trial);
    const packing = packingOf(trial);
    return remembered(this.#opened, `${engine} ${algorithm} ${JSON.stringify(packing)}`, async () => {
      const world = portableWorld(devicesOf(this.#ranks), engines[engine]);
      return await plugins[algorithm].create(packing as never, world);
    });
  }

  #communicator(engine: EngineName, algorithm: AlgorithmName) {
    return remembered(this.#communicators, `${engine} ${algorithm}`, () => {
      const communicator = engines[engine].communicator(this.#ranks, algorithms[algorithm]);
      return { communicator, buffers: new Buffers(communicator, memoryOf(engine)) };
    });
  }
}
