import {
  type Collective,
  type Communicator,
  type DType,
  type Group,
  hierarchical,
  type ProcessGroup,
  type RunOptions,
  type Segments,
} from '@coll/core';
import { allRanks } from '@coll/core/internal';
import { variantOf } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { ringAlgorithm } from '@coll/ring';
import { algorithmAcross } from './spec-algorithm.js';
import { usesNccl } from './spec-fit.js';
import type { SpecPlan } from './spec-plan.js';

type Buffers = readonly Segments[];

/**
 * Executes the schedules of an all-reduce specification on the ranks of all workers: an engine
 * executes the part within this worker, a process group the part across workers. Does not execute
 * parts for NCCL.
 */
export class SpecRanks implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #own: number;
  readonly #engine: Communicator;
  readonly #group: ProcessGroup;
  readonly #plan: SpecPlan;
  readonly #communicators = new Map<number | undefined, Communicator>();

  /**
   * @param engine connects the ranks of this worker. If this worker has only one rank, the
   * communicators of `group` execute everything
   */
  constructor(engine: Communicator, group: ProcessGroup, plan: SpecPlan) {
    this.#own = engine.localRanks.length;
    this.size = this.#own * group.size;
    this.localRanks = allRanks(this.#own).map((rank) => group.rank * this.#own + rank);
    this.#engine = engine;
    this.#group = group;
    this.#plan = plan;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#for(collective).refuses(withoutVariant(collective), dtype);
  }

  /**
   * The group for collectives other than all-reduces. It has the same failure and the same order of
   * calls as the groups for all-reduces.
   */
  get group(): Group {
    return this.#for({ kind: 'all-gather' }).group;
  }

  run(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): Promise<void> {
    return this.#for(collective).run(withoutVariant(collective), inputs, outputs, options);
  }

  runSync(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): void {
    this.#for(collective).runSync(withoutVariant(collective), inputs, outputs, options);
  }

  /** Closes all communicators; the process group stays open. */
  async close(): Promise<void> {
    await Promise.all([...this.#communicators.values(), this.#engine].map((communicator) => communicator.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #for(collective: Collective): Communicator {
    const variant = collective.kind === 'all-reduce' ? variantOf(collective) : undefined;
    const known = this.#communicators.get(variant);
    if (known) return known;
    const across = this.#group.communicator(this.#algorithmOf(variant));
    const made = this.#own === 1 ? across : hierarchical([this.#engine], across);
    this.#communicators.set(variant, made);
    return made;
  }

  /**
   * The algorithm across workers of a variant of an all-reduce. A ring if there is no variant, or
   * if NCCL executes the variant.
   */
  #algorithmOf(variant: number | undefined): Algorithm {
    const chosen = variant === undefined ? undefined : this.#plan.variants(this.size)[variant];
    if (!chosen || usesNccl(chosen.entry)) return ringAlgorithm();
    return algorithmAcross(chosen.entry, this.#plan.workersOf(this.size), chosen.group);
  }
}

/**
 * The collective without the number of its variant. The number is not needed, because each variant
 * has its own communicator.
 */
function withoutVariant(collective: Collective): Collective {
  return collective.kind === 'all-reduce' ? { kind: 'all-reduce', op: collective.op } : collective;
}
