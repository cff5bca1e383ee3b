import { knownOptions } from '@coll/core/internal';
import type { Algorithm } from '@coll/core/schedule';
import type { Store } from '@coll/rendezvous';

/**
 * Options of a group of processes, all optional under `coll run`. The group then reads `store`,
 * `rank`, `size`, `generation`, `job` and `jobKey` from the environment.
 */
export interface OpenProcessGroupOptions {
  /**
   * The store for the rendezvous. The group needs the store only until it is open, and the caller
   * must close the store. If the store is still open when the group closes, the next run of the job
   * may use it with the same generation. Default: a connection to `COLL_STORE`, or else to the store that rank 0
   * serves under the launcher that started the members. The default store is closed once the group
   * is open.
   */
  readonly store?: Store | undefined;
  /** Rank of this member, from 0. Default: `COLL_RANK`, or else the rank that the launcher sets. */
  readonly rank?: number | undefined;
  /**
   * Number of members, 1 to 1024, which must be the same on all members. Default: `COLL_SIZE`, or
   * else the size that the launcher sets.
   */
  readonly size?: number | undefined;
  /**
   * Index of this group within its job, 0 to 4294967295. A group opened after a failure needs a
   * higher index. Default: `COLL_GENERATION`, else 0.
   */
  readonly generation?: number | undefined;
  /**
   * The name of the job, which must be the same on all members. Jobs in one store are independent of
   * each other. Default: `COLL_JOB`, else none.
   */
  readonly job?: string | undefined;
  /**
   * The secret shared by all members, as `coll key` makes it. Default: the text in the file
   * `COLL_JOB_KEY_FILE`, else `COLL_JOB_KEY`.
   */
  readonly jobKey?: string | undefined;
  /**
   * Seconds within which all members must be connected. Null and ≤ 0 mean no limit. Default: 60.
   */
  readonly timeoutSeconds?: number | null | undefined;
  /**
   * The address at which other members reach this member: an IP address, a host name or the name of
   * a network interface. Default: `COLL_HOST`, else the address from which this member reached the
   * store of its environment. With the option `store`, the default is `127.0.0.1`, which other
   * hosts cannot reach.
   */
  readonly host?: string | undefined;
  /**
   * Which connections are encrypted and authenticated, by TLS 1.3 with keys derived from the job
   * key: those between hosts, or also those within a host, for containers that share its network.
   * Shared memory is not encrypted. Must be the same on all members. Default:
   * `COLL_ENCRYPT`, else `'between-hosts'`.
   */
  readonly encrypt?: 'between-hosts' | 'always' | undefined;
  /**
   * Whether members send everything between hosts unencrypted. They still authenticate with the job
   * key when they connect, but whoever can reach their packets can read and change the data;
   * checksums detect only damage by the network. Must be the same on all members. Default: true if `COLL_INSECURE` is 1.
   */
  readonly insecure?: boolean | undefined;
  /**
   * How members exchange data. `'auto'` uses shared memory between members of one host if that
   * works, and TCP otherwise. Must be the same on all members. Default: `'auto'`.
   */
  readonly transport?: 'auto' | 'shared-memory' | 'tcp' | undefined;
  /**
   * Number of TCP connections for the data of each pair, 1 to 16. Must be the same on all members.
   * Default: `'auto'`, which means 2 for two members on two hosts, otherwise 1.
   */
  readonly streams?: number | 'auto' | undefined;
  /**
   * Seconds, 0.05 to 3600, for which a member may be stopped or unreachable without counting as
   * lost. The loss of a member is reported after another fifth of this time, plus at most 1.5
   * seconds between hosts (before Linux 6.15: plus `heartbeatSeconds` and half a second). Must be
   * the same on all members. Default: 5.
   */
  readonly heartbeatSeconds?: number | undefined;
  /**
   * Maximum size, in bytes, of the shared memory from which this member allocates tensors. The
   * system commits the memory as needed. Default: 0, which means as much as the machine has.
   */
  readonly maxBytes?: number | undefined;
  /**
   * The algorithm of the group's own methods; must be the same on all members. Default:
   * `directAlgorithm()` of @coll/direct. `autoAlgorithm()` of @coll/multi-worker chooses by size.
   */
  readonly algorithm?: Algorithm | undefined;
  /**
   * 100: members compare a 64-bit hash of every 100th result that all of them get (of all-reduce,
   * broadcast and all-gather). A difference fails the group with an InternalError that names the first
   * member that differs. Must be the same on all members. Default: 0, which compares nothing.
   */
  readonly checkResults?: number | undefined;
  /**
   * Called at each step of the opening with the ranks that have not arrived yet. The set shrinks as
   * they arrive.
   */
  readonly onWait?: ((missing: ReadonlySet<number>) => void) | undefined;
  /** A signal that aborts the opening of the group with `AbortedError`. */
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
  encrypt: true,
  insecure: true,
  transport: true,
  streams: true,
  heartbeatSeconds: true,
  maxBytes: true,
  algorithm: true,
  checkResults: true,
  onWait: true,
  signal: true,
});
