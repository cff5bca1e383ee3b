import assert from 'node:assert/strict';

/** The error that an action throws, as far as it can be posted to another thread; undefined where it does not. */
export async function errorOf(action) {
  try {
    await action();
    return undefined;
  } catch (error) {
    const { name, code, rank, message, cause } = error;
    return { name, code, rank, message, cause };
  }
}

/** Throws unless `error` has these fields. */
export function expectError(error, fields, when) {
  assert.ok(error, `${when}: there is no error`);
  for (const [field, expected] of Object.entries(fields)) {
    assert.equal(error[field], expected, `${when}: ${field} is wrong: ${JSON.stringify(error)}`);
  }
}

export const peerFailed = (rank) => ({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank });
export const peerClosed = (rank) => ({ name: 'RuntimeError', code: 'ERR_COLL_CLOSED', rank });
export const bufferLost = (rank) => ({ name: 'ValueError', code: 'ERR_COLL_BUFFER', rank });
