/**
 * Returns the index of the component of distributed values that the running code uses by default.
 */
let find: () => number | undefined = () => undefined;

/**
 * The index of the component, in distributed values, that the current replica or variable update
 * uses; undefined outside of both.
 */
export function currentReplica(): number | undefined {
  return find();
}

/** Installs the function that strategies provide for `currentReplica`. */
export function findCurrentReplica(by: () => number | undefined): void {
  find = by;
}
