let known: boolean | undefined;

/** Whether this thread may wait for others. The main thread of a page must not. */
export function mayBlock(): boolean {
  known ??= canWait();
  return known;
}

function canWait(): boolean {
  try {
    // Returns at once, because the value differs.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1, 0);
    return true;
  } catch {
    return false;
  }
}
