import { knownOptions } from '@coll/core/internal';
import type { Algorithm } from '@coll/core/schedule';
import type { Store } from '@coll/rendezvous';

/**
 * Who opens which group, and how. Under `coll run` all of it may be left out: `store`, `rank`, `size`, `generation`, `job` and `jobKey`
 * are read from the environment.
 */
export interface OpenProcessGroupOptions {
  /** Where the members meet. It is used until the group is open, and left open. Default: a connection to `COLL_STORE`, for as long. */
  readonly store?: Store | undefined;
  /** This member, from 0. Default: `COLL_RANK`. */
  readonly rank?: number | undefined;
  /** Members of the group, the same number on all of them. Default: `COLL_SIZE`. */
  readonly size?: number | undefined;
  /** Which of the groups of a job this is: one that is opened after a failure has a higher number. Default: `COLL_GENERATION`, else 0. */
  readonly generation?: number | undefined;
  /** The name of the job; a member of another one is refused. Default: `COLL_JOB`, else none. */
  readonly job?: string | undefined;
  /** The secret that all members have, and nobody else: a text of 16 bytes or more. Default: `COLL_JOB_KEY`. */
  readonly jobKey?: string | undefined;
  /** Longest time until all members are there and connected. Null, 0 and less: for ever. Default: 60. */
  readonly timeoutSeconds?: number | null | undefined;
  /** Where the other members reach this one: an IP address, a host name or the name of a network interface. Default: `127.0.0.1`, which no other host reaches. */
  readonly host?: string | undefined;
  /** Lets members on different hosts talk to each other. They prove the job key, but what they send is not encrypted. All members must agree. Default: false. */
  readonly insecure?: boolean | undefined;
  /** How members exchange data: `'auto'` takes shared memory among those of one host, where that works, and TCP otherwise. All members must agree. Default: `'auto'`. */
  readonly transport?: 'auto' | 'shared-memory' | 'tcp' | undefined;
  /** TCP connections for the data of each pair, 1 to 16. All members must agree. Default: `'auto'`, which is 2 for two members on two hosts, and 1 otherwise. */
  readonly streams?: number | 'auto' | undefined;
  /**
   * How long a member may be stopped or cut off without being lost. To be heard again it has a fifth more, and between hosts up to 1.5 seconds on top
   * (before Linux 6.15: `heartbeatSeconds` and half a second). All members must agree. Default: 5.
   */
  readonly heartbeatSeconds?: number | undefined;
  /** Upper bound of the memory that `allocate` gives out here; it is taken as it is needed. Default: as much as the machine has. */
  readonly maxBytes?: number | undefined;
  /** What the collectives of the group's own methods execute. The same on all members. Default: `directAlgorithm()` of @coll/direct; `autoAlgorithm()` of @coll/multi-worker chooses by size. */
  readonly algorithm?: Algorithm | undefined;
  /** Called at each step of the opening with the ranks that have not arrived yet; they leave the set as they arrive. */
  readonly onWait?: ((missing: ReadonlySet<number>) => void) | undefined;
  /** Ends the opening with `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

export const openProcessGroupOptions = knownOptions<OpenProcessGroupOptions>('openProcessGroup', {
  store: true,
  rank: true,
  size: true,
  generation: true,
  job: true,
  jobKey: true,
  timeoutSeconds: true,
  host: true,
  insecure: true,
  transport: true,
  streams: true,
  heartbeatSeconds: true,
  maxBytes: true,
  algorithm: true,
  onWait: true,
  signal: true,
});
