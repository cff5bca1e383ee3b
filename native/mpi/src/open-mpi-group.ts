import {
  type Algorithm,
  type CollError,
  type Communicator,
  type Link,
  type ProcessGroup,
  RuntimeError,
} from '@coll/core';
import {
  availableCores,
  GroupLog,
  joinLogOrigin,
  LocalMembers,
  Member,
  messageOf,
  warnOfOpenTraffic,
} from '@coll/core/internal';
import { directAlgorithm } from '@coll/direct';
import type { Facts } from './mpi-binding.js';
import { openRank } from './mpi-communicator.js';
import type { MpiRank } from './mpi-rank.js';
import { type MpiOptions, type ResolvedMpiOptions, resolveMpiOptions } from './options.js';
import { startMpi } from './start-mpi.js';

/** How a group executes collectives, and why. */
export interface MpiExplanation {
  /** The binary interface: `Open MPI`, `MPICH` or `MPI 5.0`. */
  readonly abi: string;
  readonly version: string;
  readonly path: string;
  readonly text: string;
}

/** A group of all ranks of an MPI job. */
export interface OpenedMpiGroup extends ProcessGroup {
  /** Which MPI library executes the collectives, and how it differs from this project's transport. */
  explain(): MpiExplanation;
  /** The error with which the group has failed. Undefined if it has not failed, or once it is closed. */
  failure(): CollError | undefined;
}

/**
 * Starts MPI, if it has not been started, and opens a group of all ranks of the job. All ranks must
 * call this function, in the same order as other functions that open groups.
 * @throws ValueError for invalid options; CollError (ERR_COLL_REFUSED) if there is no MPI library, or
 * the launcher's PMI connection is in use; RuntimeError (ERR_COLL_CLUSTER) if the MPI library does
 * not belong to the launcher
 *
 * @example
 * ```ts
 * import { openMpiGroup } from '@coll/mpi';
 *
 * // mpirun -n 4 node program.js
 * await using group = await openMpiGroup();
 * const sum = await group.allReduce('sum', new Float32Array([group.rank]));
 * console.log(sum); // Float32Array(1) [ 6 ]
 * ```
 */
export async function openMpiGroup(options?: MpiOptions): Promise<OpenedMpiGroup> {
  const resolved = resolveMpiOptions(options);
  const { facts } = await startMpi();
  return new OpenedGroup(await openRank(resolved), facts, resolved);
}

class OpenedGroup extends Member implements OpenedMpiGroup {
  readonly generation = 0;
  readonly hosts: readonly string[];
  readonly links: readonly Link[];
  readonly executesBy = 'MPI';
  readonly #own: MpiRank;
  readonly #facts: Facts;
  readonly #options: ResolvedMpiOptions;

  constructor(own: MpiRank, facts: Facts, options: ResolvedMpiOptions) {
    const { rank, size } = own;
    const algorithm = directAlgorithm();
    super({
      rank,
      size,
      algorithm,
      local: new LocalMembers({
        localRanks: [rank],
        communicator: () => own.communicator(),
        close: async () => own.close(),
      }),
    });
    this.#own = own;
    this.#facts = facts;
    this.#options = options;
    this.hosts = facts.hosts;
    const reason = `${facts.version} chooses the transport`;
    const others = Array.from({ length: size }, (_, other) => other).filter((other) => other !== rank);
    joinLogOrigin(rank);
    if (rank === 0) warnOfOpenTraffic('MPI', facts.hosts);
    own.log = new GroupLog(rank, {
      kind: 'MPI processes',
      members: size,
      hosts: facts.hosts,
      transport: 'transport of MPI',
      engine: facts.version,
      algorithm: 'chosen by MPI',
      coresPerMember: availableCores() / facts.hosts.filter((host) => host === facts.hosts[rank]).length,
    });
    this.links = others.map((other) => ({ rank: other, transport: 'mpi', reason }));
  }

  communicator(_algorithm?: Algorithm): Communicator {
    if (!this.#own.queue.isClosed) return this.#own.communicator();
    const details = { rank: this.rank, operation: 'communicator' };
    throw new RuntimeError('ERR_COLL_CLOSED', 'this group was closed; open a new group', details);
  }

  fail(error: unknown): void {
    this.#own.queue.fail('failed', `failed: ${messageOf(error)}`);
  }

  failure(): CollError | undefined {
    return this.#own.failure;
  }

  explain(): MpiExplanation {
    const { abi, version, path, how } = this.#facts;
    const untested = abi === 'MPI 5.0' ? ['the interface of MPI 5.0 is untested: no library was at hand'] : [];
    const half = this.#options.isWide ? 'sent as float32 and rounded once' : 'rounded at each step of a sum';
    const lines = [
      `rank ${this.rank} of ${this.size}: executed by ${version}`,
      `library ${path}, because ${how}`,
      'MPI chooses the algorithms and the transport',
      `float16 and bfloat16 are ${half}`,
      this.#options.checkCalls ? 'ranks compare every call' : 'ranks compare the first call of each shape',
      ...untested,
    ];
    return { abi, version, path, text: lines.join('\n') };
  }

  override async close(): Promise<void> {
    this.#own.close();
  }
}
