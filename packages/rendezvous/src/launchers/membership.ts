/** A process's membership in a group, as reported by its launcher. */
export interface Membership {
  /** The launcher, such as `Open MPI` or `Slurm`. */
  readonly launcher: string;
  /** The unit of rank and size: processes, or hosts whose processes have yet to be started. */
  readonly counts: 'processes' | 'hosts';
  readonly rank: number;
  /** Number of members of the group; undefined if the launcher does not report it. */
  readonly size: number | undefined;
  /** Index of this process on its host. */
  readonly localRank: number | undefined;
  readonly localSize: number | undefined;
  /** The address for the rendezvous: `host:port`, a host without a port, or the URL of a store. */
  readonly coordinator: string | undefined;
  /** Number of times that the launcher has restarted the group. */
  readonly restarts: number | undefined;
  /** The addresses of all processes, in rank order, if the launcher reports them. */
  readonly addresses: readonly string[] | undefined;
}

/** Whether the launcher started all members on this host. */
export function membersAreLocal({ localSize, size, counts, addresses }: Membership): boolean {
  return counts === 'processes' && size !== undefined && localSize === size && addresses === undefined;
}
