import { type Collective, type DType, dtypes, type Group } from '@coll/core';
import { askedBy, bytesOfDescriptors, Descriptors, nowhere, oneRank, recordedCommunicator } from '@coll/core/internal';
import {
  type CheckedCall,
  collectiveKinds,
  collectiveOps,
  OrderedCommunicator,
  operationOf,
  opOf,
  type RunOptions,
  reads,
  refusedCollective,
  rootOf,
  type SegmentList,
  writes,
} from '@coll/core/plugin';
import { openRecord } from '@coll/native/record';
import type { MpiBinding, PlanHandle } from './mpi-binding.js';
import type { Call, MpiQueue } from './mpi-queue.js';
import { MpiRank } from './mpi-rank.js';
import { type MpiOptions, type ResolvedMpiOptions, resolveMpiOptions } from './options.js';
import { startMpi } from './start-mpi.js';

/**
 * One rank of an MPI job; MPI executes the collectives, by its own algorithms. `float16` and
 * `bfloat16` are added in float32 and rounded at each step, unless the option `halfPrecision` is
 * `float32`.
 *
 * All ranks must issue the same collectives in the same order. Ranks compare the first call of each
 * shape, and every call with the option `checkCalls`.
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { MpiCommunicator } from '@coll/mpi';
 *
 * // mpirun -n 4 node program.js
 * await using communicator = await MpiCommunicator.open();
 * const buffers = [tensor(new Float32Array([1, communicator.localRanks[0] as number]))];
 * await communicator.run({ kind: 'all-reduce', op: 'max' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 1, 3 ]
 * ```
 */
export class MpiCommunicator extends OrderedCommunicator<PlanHandle> {
  readonly group: Group;
  readonly #binding: MpiBinding;
  readonly #queue: MpiQueue;
  readonly #isWide: boolean;
  readonly #leave: (() => Promise<void>) | undefined;
  readonly #draft = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(1)), 1);

  /**
   * For this package; programs call `open`, or `communicator` of a group. Closing the communicator
   * calls `leave`.
   */
  constructor(rank: MpiRank, leave?: () => Promise<void>) {
    super(rank.size, oneRank(rank.rank, rank.size));
    const { binding, options } = rank.setup;
    this.group = rank;
    this.recorded = recordedCommunicator(rank, 'MPI', 'exact');
    this.#binding = binding;
    this.#queue = rank.queue;
    this.#isWide = options.isWide;
    this.#leave = leave;
  }

  /**
   * Starts MPI, if it has not been started, and opens a communicator of all ranks of the job. All
   * ranks must call this function, in the same order as other functions that open groups.
   * @throws the errors of `openMpiGroup`
   */
  static async open(options?: MpiOptions): Promise<MpiCommunicator> {
    const rank = await openRank(resolveMpiOptions(options));
    return new MpiCommunicator(rank, async () => rank.close());
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return refusedCollective(collective, dtype, this.size);
  }

  protected prepare(call: CheckedCall): PlanHandle {
    const { collective, dtype, size, inputs, outputs } = call;
    const [rank] = this.localRanks as readonly [number];
    const places = { inputAt: nowhere, outputAt: nowhere, workAt: nowhere };
    this.#draft.write(0, { ...askedBy(call, 0), ...places });
    const op = opOf(collective) ?? 'sum';
    return this.#binding.plan(
      collectiveKinds.indexOf(collective.kind),
      collectiveOps.indexOf(op),
      dtypes.indexOf(dtype),
      rootOf(collective) ?? -1,
      countOf(call, rank, size),
      this.#isWide,
      operationOf(call),
      this.#draft.announcedBy(0),
      arraysOf(inputs),
      arraysOf(outputs),
    );
  }

  protected executeSync(call: Call, options: RunOptions): void {
    this.#queue.executeSync(call, options);
  }

  protected override execute(call: Call, options: RunOptions): Promise<void> | undefined {
    return this.#queue.execute(call, options);
  }

  // All communicators of a group share one call order.
  protected override async queue(_before: Promise<unknown>, call: Call, options: RunOptions): Promise<void> {
    await this.#queue.execute(call, options);
  }

  protected override async release(): Promise<void> {
    await this.#leave?.();
  }
}

/** Starts MPI, and opens a group of all ranks. */
export async function openRank(options: ResolvedMpiOptions): Promise<MpiRank> {
  const { binding } = await startMpi();
  openRecord();
  const communicator = (rank: MpiRank, leave?: () => Promise<void>) => new MpiCommunicator(rank, leave);
  const id = `${jobOfLauncher()}/${openings++}`;
  return MpiRank.open({ binding, options, communicator }, (wake) => binding.openGroup(wake), { id });
}

// All ranks open their groups in the same order.
let openings = 0;

/** The name of the launcher's job, or else of the process that has started this one. */
function jobOfLauncher(): string {
  const { PMIX_NAMESPACE, PMI_JOBID, SLURM_JOB_ID, SLURM_STEP_ID } = process.env;
  const ofSlurm = SLURM_JOB_ID && `${SLURM_JOB_ID}.${SLURM_STEP_ID}`;
  return `mpi-${PMIX_NAMESPACE ?? PMI_JOBID ?? ofSlurm ?? process.ppid}`.slice(-32);
}

/** Number of elements per rank (`n` in `Collective`). */
function countOf({ collective, inputs, outputs }: CheckedCall, rank: number, size: number): number {
  const isRead = reads(collective, rank);
  const lists = isRead ? inputs : outputs;
  const length = (lists[0] as SegmentList).reduce((sum, { data }) => sum + data.length, 0);
  const { kind } = collective;
  const isPerRank = isRead
    ? kind === 'reduce-scatter' || kind === 'scatter' || kind === 'all-to-all'
    : writes(collective, rank) && kind === 'gather';
  return isPerRank ? length / size : length;
}

function arraysOf(lists: readonly SegmentList[]) {
  return (lists[0] as SegmentList).map(({ data }) => data);
}
