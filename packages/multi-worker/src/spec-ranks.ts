import {
  type Collective,
  type Communicator,
  type DType,
  hierarchical,
  type ProcessGroup,
  type RunOptions,
  type Tensor,
  variantOf,
} from '@coll/core';
import { allRanks, PackRunner } from '@coll/core/executor';
import type { Algorithm } from '@coll/core/schedule';
import { ringAlgorithm } from '@coll/ring';
import { algorithmAcross } from './spec-algorithm.js';
import { usesNccl } from './spec-fit.js';
import type { SpecPlan } from './spec-plan.js';

type Tensors = readonly Tensor[];

/** One schedule among all workers. */
interface Played {
  readonly communicator: Communicator;
  readonly runner: PackRunner;
}

/**
 * The ranks of all workers for the schedules of a specification: an engine plays what is within this worker, a process group what goes across. What NCCL
 * does is not played here.
 */
export class SpecRanks implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #own: number;
  readonly #engine: Communicator;
  readonly #group: ProcessGroup;
  readonly #plan: SpecPlan;
  readonly #played = new Map<number | undefined, Played>();

  /** `engine` has the ranks of this worker; or, where replicas are processes, that of this one and of all the others. */
  constructor(engine: Communicator, group: ProcessGroup, plan: SpecPlan) {
    this.#own = engine.localRanks.length;
    this.size = this.#own * group.size;
    this.localRanks = allRanks(this.#own).map((rank) => group.rank * this.#own + rank);
    this.#engine = engine;
    this.#group = group;
    this.#plan = plan;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#for(collective).communicator.refuses(withoutVariant(collective), dtype);
  }

  run(collective: Collective, inputs: Tensors, outputs: Tensors, options?: RunOptions): Promise<void> {
    return this.#for(collective).communicator.run(withoutVariant(collective), inputs, outputs, options);
  }

  runSync(collective: Collective, inputs: Tensors, outputs: Tensors, options?: RunOptions): void {
    this.#for(collective).communicator.runSync(withoutVariant(collective), inputs, outputs, options);
  }

  runPieces(
    collective: Collective,
    inputs: readonly Tensors[],
    outputs: readonly Tensors[],
    options?: RunOptions,
  ): Promise<void> {
    const run = { collective: withoutVariant(collective), inputs, outputs, pieces: wholeOf(inputs) };
    return this.#for(collective).runner.run(run, options);
  }

  runPiecesSync(
    collective: Collective,
    inputs: readonly Tensors[],
    outputs: readonly Tensors[],
    options?: RunOptions,
  ): void {
    const run = { collective: withoutVariant(collective), inputs, outputs, pieces: wholeOf(inputs) };
    this.#for(collective).runner.runSync(run, options);
  }

  /** Leaves the group open. */
  async close(): Promise<void> {
    const opened = [...this.#played.values()].map(({ communicator }) => communicator);
    await Promise.all([...opened, this.#engine].map((communicator) => communicator.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #for(collective: Collective): Played {
    const variant = collective.kind === 'all-reduce' ? variantOf(collective) : undefined;
    const known = this.#played.get(variant);
    if (known) return known;
    const across = this.#group.communicator(this.#algorithmOf(variant));
    const communicator = this.#own === 1 ? across : hierarchical([this.#engine], across);
    const made = { communicator, runner: new PackRunner(communicator) };
    this.#played.set(variant, made);
    return made;
  }

  /** What is no all-reduce goes around a ring. */
  #algorithmOf(variant: number | undefined): Algorithm {
    const played = variant === undefined ? undefined : this.#plan.variants(this.size)[variant];
    if (!played || usesNccl(played.entry)) return ringAlgorithm();
    return algorithmAcross(played.entry, this.#plan.workersOf(this.size), played.group);
  }
}

/** Each variant has a communicator of its own. */
function withoutVariant(collective: Collective): Collective {
  return collective.kind === 'all-reduce' ? { kind: 'all-reduce', op: collective.op } : collective;
}

function wholeOf([first = []]: readonly Tensors[]) {
  return first.map(({ data }, index) => ({ index, begin: 0, end: data.length }));
}
