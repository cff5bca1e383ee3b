import { expect, it } from 'vitest';
import { RuntimeError } from '../support/errors.js';
import { zeros } from '../values/tensor.js';
import { PointToPoint } from './point-to-point.js';
import type { MessageGroup, Postbox } from './postbox.js';

const postbox: Postbox = { open() {}, post: () => undefined, setWaiting() {}, close() {} };

it.each(['send', 'receive'] as const)('%s throws a failure that the next look does not show any more', async (call) => {
  const error = new RuntimeError('ERR_COLL_CLOSED', 'rank 1 has left the group');
  const failures = [error];
  const group: MessageGroup = {
    get failure() {
      return failures.shift();
    },
    fail() {},
  };
  await expect(new PointToPoint(0, postbox, group)[call](1, zeros('float32', [1]))).rejects.toBe(error);
});
