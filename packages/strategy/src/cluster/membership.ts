/** Which member of which group a process is, as its launcher tells it. */
export interface Membership {
  /** What the variables are from, such as `Open MPI` or `Slurm`. */
  readonly launcher: string;
  /** What rank and size count: processes, or hosts whose processes are still to be started. */
  readonly counts: 'processes' | 'hosts';
  readonly rank: number;
  /** Undefined where the launcher does not say. */
  readonly size: number | undefined;
  /** The number of this process among those of its host. */
  readonly localRank: number | undefined;
  readonly localSize: number | undefined;
  /** Where the members meet: `host:port`, a host whose port is to be agreed, or the URL of a store. */
  readonly coordinator: string | undefined;
  /** How often the group was started again. */
  readonly restarts: number | undefined;
  /** The addresses of all processes, in rank order, where the launcher tells them. */
  readonly addresses: readonly string[] | undefined;
}
