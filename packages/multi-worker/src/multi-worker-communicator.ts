import {
  type Collective,
  type Communicator,
  type DType,
  NotImplementedError,
  type PersistentCollective,
  type RunOptions,
  type Segments,
} from '@coll/core';
import { ForwardingCommunicator, listOf, refusedCollective, variantOf } from '@coll/core/plugin';
import { usesNccl } from './compat/spec-fit.js';
import type { SpecPlan, SpecVariant } from './compat/spec-plan.js';
import type { NcclGroups } from './nccl-groups.js';

type Buffers = readonly Segments[];

/**
 * Executes the parts of a plan that need NCCL with NCCL, and all other schedules with an engine's
 * communicator.
 */
export class MultiWorkerCommunicator extends ForwardingCommunicator {
  readonly #plan: SpecPlan;
  readonly #nccl: NcclGroups;

  constructor(engine: Communicator, plan: SpecPlan, nccl: NcclGroups) {
    super(engine);
    this.#plan = plan;
    this.#nccl = nccl;
  }

  /**
   * The reason why no entry of the plan supports a collective; undefined if it is supported.
   * Restrictions of a single entry are reported later, when a value uses the entry.
   */
  override refuses(collective: Collective, dtype: DType): string | undefined {
    return collective.kind === 'all-reduce'
      ? refusedCollective(collective, dtype, this.size)
      : this.inner.refuses(collective, dtype);
  }

  override async run(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): Promise<void> {
    const variant = this.#ncclVariant(collective);
    if (!variant) return this.inner.run(collective, inputs, outputs, options);
    const devices = inputs.map((buffer) => listOf(buffer)[0]?.device ?? '');
    const group = await this.#nccl.group(variant.entry, this.#plan.workersOf(this.size), devices);
    const { variant: _, ...plain } = collective as Extract<Collective, { kind: 'all-reduce' }>;
    return group.run(plain, inputs, outputs, options);
  }

  override runSync(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): void {
    if (this.#ncclVariant(collective)) {
      throw new NotImplementedError(
        'ERR_COLL_NOT_IMPLEMENTED',
        'NCCL has no synchronous calls: use the asynchronous call',
        {
          operation: collective.kind,
        },
      );
    }
    this.inner.runSync(collective, inputs, outputs, options);
  }

  override persistent(...call: Parameters<Communicator['run']>): PersistentCollective | undefined {
    return this.#ncclVariant(call[0]) ? undefined : super.persistent(...call);
  }

  /**
   * The variant of an all-reduce, if NCCL executes it; undefined if the engine executes the
   * collective.
   */
  #ncclVariant(collective: Collective): SpecVariant | undefined {
    if (collective.kind !== 'all-reduce') return undefined;
    const variant = this.#plan.variants(this.size)[variantOf(collective)];
    return variant && usesNccl(variant.entry) ? variant : undefined;
  }
}
