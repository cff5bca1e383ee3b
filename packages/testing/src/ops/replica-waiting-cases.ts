import assert from 'node:assert/strict';
import {
  AbortedError,
  CollError,
  DeadlineExceededError,
  InvalidArgumentError,
  ReduceOp,
  RuntimeError,
  tensor,
} from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { componentOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { openWorld } from './replica-cases.js';

/** Tests that errors, deadlines, aborts and closing end the replicas' wait for each other. */
export const replicaWaitingCases: OpsCases = {
  'fails on all replicas with the same error if their calls differ': failsAlike,
  'names the replicas that did not arrive by the deadline': namesMissing,
  'ends the wait when a signal is aborted': endsWhenAborted,
  'ends the wait when it is closed': endsWhenClosed,
};

const { SUM, MAX } = ReduceOp;
const one = tensor(Float32Array.of(1));

// Calls here are fast unless the machine is very busy; one that takes longer than this hangs.
const patienceMillis = 8000;

async function assertEnds<Result>(title: string, promise: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new assert.AssertionError({ message: `${title} did not settle in time` })),
      patienceMillis,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function failsAlike(subject: OpsSubject): Promise<void> {
  const { ops, everyone } = await openWorld(subject, 3);
  const odd = 2;
  const calls = {
    'another shape': (replica: number) =>
      ops.allReduce(SUM, componentOn('', 0, { shape: [replica === odd ? 4 : 3] }), replica),
    'another dtype': (replica: number) =>
      ops.allReduce(SUM, componentOn('', 0, { dtype: replica === odd ? 'int8' : 'bool' }), replica),
    'another op': (replica: number) => ops.allReduce(replica === odd ? MAX : SUM, one, replica),
    'another number of values': (replica: number) => ops.allReduce(SUM, replica === odd ? [one, one] : [one], replica),
  };
  for (const [title, call] of Object.entries(calls)) {
    const reasons = await assertEnds(
      title,
      everyone((replica) => assertRejects(title, call(replica), CollError)),
    );
    const messages = new Set(reasons.map(({ message }) => message));
    assert.equal(messages.size, 1, `${title} must be the same error for all, not ${[...messages].join(' and ')}`);
    assert.equal(reasons[0]?.rank, odd, `${title}: error.rank is the odd replica`);
    if (title === 'another shape')
      assert.ok(reasons[0] instanceof InvalidArgumentError, `${title}: class of the error`);
  }
  await ops.close();
}

async function namesMissing(subject: OpsSubject): Promise<void> {
  const { ops } = await openWorld(subject, 3);
  const waiting = [0, 2].map((replica) =>
    assertRejects(
      'waiting too long',
      ops.allReduce(SUM, one, replica, { timeoutSeconds: 0.05 }),
      DeadlineExceededError,
    ),
  );
  for (const { message } of await assertEnds('a deadline', Promise.all(waiting))) {
    assert.match(message, /\b1\b/, 'the message names replica 1, which did not arrive');
  }
  await ops.close();
}

async function endsWhenAborted(subject: OpsSubject): Promise<void> {
  const { ops } = await openWorld(subject, 3);
  const controller = new AbortController();
  const reason = new Error('enough');
  const aborted = ops.allReduce(SUM, one, 0, { signal: controller.signal });
  const other = ops.allReduce(SUM, one, 1);
  controller.abort(reason);
  const { cause } = await assertEnds('an aborted call', assertRejects('an aborted call', aborted, AbortedError));
  assert.equal(cause, reason, "the cause is the signal's reason");
  await assertEnds('waiting while another aborts', assertRejects('waiting while another aborts', other, CollError));
  await ops.close();
  const { ops: fresh } = await openWorld(subject, 2);
  const call = fresh.allReduce(SUM, one, 0, { signal: AbortSignal.abort(reason) });
  await assertEnds('an aborted signal', assertRejects('an aborted signal', call, AbortedError));
  await fresh.close();
}

async function endsWhenClosed(subject: OpsSubject): Promise<void> {
  const { ops } = await openWorld(subject, 2);
  const waiting = assertRejects('closing', ops.allReduce(SUM, one, 0), RuntimeError, 'ERR_COLL_CLOSED');
  await ops.close();
  await assertEnds('waiting while it is closed', waiting);
  const late = assertRejects('a call after close', ops.allReduce(SUM, one, 1), RuntimeError, 'ERR_COLL_CLOSED');
  await assertEnds('a call after close', late);
}
