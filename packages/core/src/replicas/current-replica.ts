/** Which component of distributed values code means that does not say it: that of the replica, or of the update, in which it runs. */
let find: () => number | undefined = () => undefined;

/** The position among the components; undefined outside of replicas and updates. */
export function currentReplica(): number | undefined {
  return find();
}

/** Strategies, which know where code runs, tell it here. */
export function findCurrentReplica(by: () => number | undefined): void {
  find = by;
}
