import {
  type Collective,
  type Communicator,
  type DType,
  NotImplementedError,
  type RunOptions,
  type Tensor,
  variantOf,
  zeros,
} from '@coll/core';
import { PackRunner, refusedCollective } from '@coll/core/executor';
import type { NcclGroups } from './nccl-groups.js';
import { usesNccl } from './spec-fit.js';
import type { SpecPlan, SpecVariant } from './spec-plan.js';

/** For each local rank the tensors that stand for its buffer. */
type Pieces = readonly (readonly Tensor[])[];

/** Stands before the communicator of an engine, which plays the schedules of a plan, and has NCCL do what the plan leaves to that. */
export class MultiWorkerCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #engine: Communicator;
  readonly #schedules: PackRunner;
  readonly #plan: SpecPlan;
  readonly #nccl: NcclGroups;

  constructor(engine: Communicator, plan: SpecPlan, nccl: NcclGroups) {
    this.size = engine.size;
    this.localRanks = engine.localRanks;
    this.#engine = engine;
    this.#schedules = new PackRunner(engine);
    this.#plan = plan;
    this.#nccl = nccl;
  }

  /** Whether there is such a collective at all. What depends on the entry that plays it is said when that is known, by the plan's routes. */
  refuses(collective: Collective, dtype: DType): string | undefined {
    return collective.kind === 'all-reduce'
      ? refusedCollective(collective, dtype, this.size)
      : this.#engine.refuses(collective, dtype);
  }

  async run(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): Promise<void> {
    if (!this.#isNccl(collective)) return this.#engine.run(collective, inputs, outputs, options);
    return this.runPieces(collective, inputs.map(alone), outputs.map(alone), options);
  }

  runSync(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[], options?: RunOptions): void {
    this.#requireSchedule(collective);
    this.#engine.runSync(collective, inputs, outputs, options);
  }

  async runPieces(collective: Collective, inputs: Pieces, outputs: Pieces, options?: RunOptions): Promise<void> {
    const run = { inputs, outputs, pieces: wholeOf(inputs) };
    if (!this.#isNccl(collective)) return this.#schedules.run({ ...run, collective }, options);
    const { entry } = this.#variantOf(collective) as SpecVariant;
    const devices = inputs.map(([first]) => first?.device ?? '');
    const group = await this.#nccl.group(entry, this.#plan.workersOf(this.size), devices);
    const { variant: _, ...plain } = collective as Extract<Collective, { kind: 'all-reduce' }>;
    return group.run({ ...run, collective: plain }, options);
  }

  runPiecesSync(collective: Collective, inputs: Pieces, outputs: Pieces, options?: RunOptions): void {
    this.#requireSchedule(collective);
    this.#schedules.runSync({ collective, inputs, outputs, pieces: wholeOf(inputs) }, options);
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#engine.allocate?.(dtype, length) ?? zeros(dtype, [length]);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #variantOf(collective: Collective): SpecVariant | undefined {
    return collective.kind === 'all-reduce' ? this.#plan.variants(this.size)[variantOf(collective)] : undefined;
  }

  #isNccl(collective: Collective): boolean {
    const variant = this.#variantOf(collective);
    return variant !== undefined && usesNccl(variant.entry);
  }

  #requireSchedule(collective: Collective): void {
    if (!this.#isNccl(collective)) return;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', 'NCCL blocks no thread: use the asynchronous call', {
      operation: collective.kind,
    });
  }
}

function alone(tensor: Tensor): readonly Tensor[] {
  return [tensor];
}

function wholeOf([first = []]: Pieces) {
  return first.map(({ data }, index) => ({ index, begin: 0, end: data.length }));
}
