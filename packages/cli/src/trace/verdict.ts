/** What has happened in a job. */
export interface Verdict {
  readonly kind: /** Nothing waits. */
    | 'healthy'
    /** One rank keeps all others waiting again and again, but all calls end. */
    | 'slow'
    | 'killed'
    | 'stopped'
    /** The process of the rank was killed or stopped. */
    | 'silent'
    | 'busy'
    | 'blocked'
    /** The rank does not make the call, although its event loop turns. */
    | 'absent'
    | 'wrong-call'
    | 'exited'
    | 'failed'
    /** Ranks wait for each other, such as two that both send first. */
    | 'cycle'
    | 'unknown'
    /** No thread has joined a group. */
    | 'empty';
  /** The ranks that have caused it, in the numbers of the whole group. Empty if it is unknown, or if none has. */
  readonly ranks: readonly number[];
  /** The group in which ranks wait; undefined if none waits. */
  readonly group?: string | undefined;
  /** The call in which ranks wait. */
  readonly call?: { readonly number: number; readonly verb: string } | undefined;
  readonly sentence: string;
  /** The ranks that wait, or that have failed because of `ranks`. */
  readonly waiting: readonly number[];
  readonly seconds: number;
  /** Ranks without a record. */
  readonly missing: readonly number[];
}
