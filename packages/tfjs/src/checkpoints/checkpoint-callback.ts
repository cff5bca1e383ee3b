import { InvalidArgumentError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import {
  type Disk,
  exchange,
  onReplica0,
  requireContext,
  requireFolder,
  requireKeep,
  whichAreEqual,
} from '@coll/strategy/internal';
import { snapshotOf } from '../optimizer-snapshot.js';
import { presentStepOf } from '../present-step.js';
import { broadcastState, describeState } from '../send-state.js';
import { stepsPerEpochOf, type TfCallback } from '../tf-callbacks.js';
import {
  requireState,
  restoreWeights,
  type StateSnapshot,
  type TrainingState,
  wasRestored,
} from '../training-state.js';
import { newestCheckpoint } from './restore-checkpoint.js';
import { type Writing, writeCheckpoint } from './save-checkpoint.js';
import { SharedTimer } from './shared-timer.js';

/** When a callback saves checkpoints. Several intervals may be given. */
export interface CheckpointInterval {
  /** The number of epochs between two checkpoints. */
  readonly epochs?: number | undefined;
  /** The number of steps between two checkpoints, over all epochs. */
  readonly steps?: number | undefined;
  /** The shortest time between two checkpoints in seconds, by the clock of replica 0. */
  readonly seconds?: number | undefined;
}

/** When a callback saves checkpoints, and which ones it keeps. */
export interface CheckpointCallbackOptions {
  /**
   * After how many `epochs`, `steps` or `seconds` it saves, besides the end of the training. Default:
   * `{ epochs: 1 }`.
   */
  readonly every?: CheckpointInterval | undefined;
  /** How many checkpoints the folder keeps, at least 1. Older ones are removed. Default: 3. */
  readonly keep?: number | undefined;
  /**
   * The metric of an epoch that decides which weights are the best, such as 'val_loss'. The best
   * checkpoint is kept in the folder `best` inside the folder, and the model gets its weights at the
   * end of the training. Default: none.
   */
  readonly best?: string | undefined;
  /** Whether the best metric is the smallest or the largest. Default: 'max' if its name contains 'acc', else 'min'. */
  readonly mode?: 'min' | 'max' | undefined;
}

const operation = 'checkpointCallback';
const optionNames = knownOptions<CheckpointCallbackOptions>('checkpointCallback', {
  every: true,
  keep: true,
  best: true,
  mode: true,
});
const intervalNames = knownOptions<CheckpointInterval>('checkpointCallback: every', {
  epochs: true,
  steps: true,
  seconds: true,
});

/** `checkpointCallback` on a disk. */
export function checkpointCallbackOn(
  disk: Disk,
  folder: string,
  state: TrainingState,
  context: ReplicaContext,
  options: CheckpointCallbackOptions | undefined,
): TfCallback {
  requireFolder(folder, 'checkpointCallback(folder, state, context)');
  requireState(state, operation);
  requireContext(context, 'broadcast', operation);
  const { every = { epochs: 1 }, keep, best, mode } = optionsOf(options, "{ best: 'val_loss' }", optionNames);
  if (best !== undefined && (typeof best !== 'string' || best === ''))
    throw invalid(`best must be the name of a metric, got ${quote(best)}`);
  if (mode !== undefined && mode !== 'min' && mode !== 'max')
    throw invalid(`mode must be 'min' or 'max', got ${quote(mode)}`);
  const checkpoints = new Checkpoints(disk, folder, state, context, {
    every: requireInterval(every),
    keep: requireKeep(keep, operation),
    best: best === undefined ? undefined : { metric: best, sign: (mode ?? modeOf(best)) === 'max' ? -1 : 1 },
  });
  return {
    setParams: (params) => checkpoints.setParams(params),
    onTrainBegin: () => checkpoints.onTrainBegin(),
    onBatchEnd: () => checkpoints.onBatchEnd(),
    onEpochBegin: () => checkpoints.onEpochBegin(),
    onEpochEnd: (epoch, logs) => checkpoints.onEpochEnd(epoch, logs),
    onTrainEnd: () => checkpoints.onTrainEnd(),
  };
}

function modeOf(metric: string): 'min' | 'max' {
  return metric.includes('acc') ? 'max' : 'min';
}

interface Settings {
  readonly every: CheckpointInterval;
  readonly keep: number;
  /** The metric of the best checkpoint, and 1 if smaller is better, else -1. */
  readonly best: { readonly metric: string; readonly sign: 1 | -1 } | undefined;
}

/** The checkpoints of one training. */
class Checkpoints {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #state: TrainingState;
  readonly #context: ReplicaContext;
  readonly #settings: Settings;
  readonly #timer: SharedTimer | undefined;
  /** The epoch and the step of the newest checkpoint. */
  #saved = '';
  /** Steps in the present epoch. */
  #steps = 0;
  /** Steps in a whole epoch; undefined if not known. */
  #stepsPerEpoch: number | undefined;
  /** The best metric so far; undefined if there is none. */
  #best: number | undefined;

  constructor(disk: Disk, folder: string, state: TrainingState, context: ReplicaContext, settings: Settings) {
    this.#disk = disk;
    this.#folder = folder;
    this.#state = state;
    this.#context = context;
    this.#settings = settings;
    const { seconds } = settings.every;
    this.#timer = seconds === undefined ? undefined : new SharedTimer(seconds, context);
  }

  get #position(): string {
    return `${this.#state.epoch} ${this.#state.step}`;
  }

  get #bestFolder(): string {
    return this.#disk.path.join(this.#folder, 'best');
  }

  setParams(params: object): void {
    this.#stepsPerEpoch = stepsPerEpochOf(params);
  }

  async onTrainBegin(): Promise<void> {
    this.#saved = this.#position;
    this.#timer?.restart();
    this.#best = await onReplica0(this.#context, operation, async () => {
      // Fails now if the optimizer cannot save its state, and not at the end of the first epoch.
      if (this.#state.optimizer) await snapshotOf(this.#state.optimizer);
      const { best } = this.#settings;
      // Without a restored checkpoint, the best one is that of another training.
      const found = best && wasRestored(this.#state) ? await newestCheckpoint(this.#disk, this.#bestFolder) : undefined;
      return found?.notes.best?.metric === best?.metric ? found?.notes.best?.value : undefined;
    });
  }

  onEpochBegin(): void {
    this.#steps = 0;
  }

  async onBatchEnd(): Promise<void> {
    this.#state.step += 1;
    this.#steps += 1;
    const { steps } = this.#settings.every;
    const isTime = (await this.#timer?.isOver()) === true;
    if (isTime || (steps !== undefined && this.#state.step % steps === 0)) await this.#save(true);
  }

  async onEpochEnd(epoch: number, logs: Readonly<Record<string, number>>): Promise<void> {
    // `fit` also ends an epoch that a stop has cut off.
    const { stops } = presentStepOf(this.#context);
    if (stops && this.#steps !== this.#stepsPerEpoch) return;
    this.#stepsPerEpoch = this.#steps;
    this.#steps = 0;
    this.#state.epoch = epoch + 1;
    const { epochs } = this.#settings.every;
    if (epochs !== undefined && (epoch + 1) % epochs === 0) await this.#save(false);
    const { best } = this.#settings;
    const value = best && logs[best.metric];
    // `fitDataset` does not validate after a stop.
    if (best && !(stops && value === undefined)) await this.#saveIfBest(best, value, logs);
  }

  async onTrainEnd(): Promise<void> {
    if (this.#position !== this.#saved) await this.#save(this.#steps > 0, true);
    if (this.#best !== undefined) await this.#restoreBest();
  }

  async #save(withinEpoch: boolean, isLast = false): Promise<void> {
    const { keep } = this.#settings;
    await this.#write({ folder: this.#folder, keep, notes: { withinEpoch }, isLast });
    this.#saved = this.#position;
    this.#timer?.restart();
  }

  async #saveIfBest(
    { metric, sign }: NonNullable<Settings['best']>,
    value: number | undefined,
    logs: Readonly<Record<string, number>>,
  ): Promise<void> {
    if (typeof value !== 'number') {
      const names = Object.keys(logs).join(', ');
      throw invalid(`there is no metric ${quote(metric)} at the end of an epoch, only ${names || 'none'}`);
    }
    await this.#requireSame(metric, value);
    if (!Number.isFinite(value) || (this.#best !== undefined && sign * value >= sign * this.#best)) return;
    await this.#write({ folder: this.#bestFolder, keep: 1, notes: { best: { metric, value } } });
    this.#best = value;
  }

  /** Replicas with different metrics would not all save. */
  async #requireSame(metric: string, value: number): Promise<void> {
    if (this.#context.numReplicasInSync === 1) return;
    const [isEqual] = await exchange(whichAreEqual([Number.isNaN(value) ? Infinity : value]), this.#context);
    if (isEqual) return;
    const message = `the replicas have different values of ${metric}; pass the callback to distributedCallbacks`;
    throw new InvalidArgumentError('ERR_COLL_MISMATCH', `${operation}: ${message}`);
  }

  async #write(what: Pick<Writing, 'folder' | 'keep' | 'notes' | 'isLast'>): Promise<void> {
    await writeCheckpoint({ ...what, disk: this.#disk, state: this.#state, context: this.#context, operation });
  }

  async #restoreBest(): Promise<void> {
    let found: StateSnapshot | undefined;
    const description = await onReplica0(this.#context, operation, async () => {
      found = (await newestCheckpoint(this.#disk, this.#bestFolder))?.snapshot;
      if (!found) throw new Error(`${this.#bestFolder} has no whole checkpoint any more`);
      return describeState(found);
    });
    const { weights } = await broadcastState(description, found, this.#context);
    restoreWeights(this.#state, weights);
  }
}

/** @throws ValueError unless `every` contains positive numbers only, and at least one */
function requireInterval(every: CheckpointInterval): CheckpointInterval {
  const { epochs, steps, seconds } = optionsOf(every, '{ epochs: 1 }', intervalNames);
  for (const [name, count] of Object.entries({ epochs, steps })) {
    if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1))
      throw invalid(`every.${name} must be a whole number from 1, got ${quote(count)}`);
  }
  if (seconds !== undefined && !(typeof seconds === 'number' && seconds > 0))
    throw invalid(`every.seconds must be a positive number, got ${quote(seconds)}`);
  if ((epochs ?? steps ?? seconds) === undefined)
    throw invalid('every must have epochs, steps or seconds, for example { epochs: 1 }');
  return { epochs, steps, seconds };
}

function invalid(message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
}
