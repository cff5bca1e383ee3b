/** Finds the current replica or update, whose component of distributed values code uses by default. */
let find: () => number | undefined = () => undefined;

/** The index among the components; undefined outside of replicas and updates. */
export function currentReplica(): number | undefined {
  return find();
}

/** Installs the function with which strategies report where code runs. */
export function findCurrentReplica(by: () => number | undefined): void {
  find = by;
}
