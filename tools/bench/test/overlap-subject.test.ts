import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { overlapSubject } from '../src/subjects/overlap-subject.js';
import { checkFirstCall } from '../src/subjects/subject.js';
import type { Overlap, Trial } from '../src/trial.js';

const trial: Trial = {
  suite: 'overlap',
  name: 'tiny',
  work: { type: 'copy' },
  gradients: 'tiny',
  engine: 'js',
  form: 'async',
  algorithm: 'direct',
  input: 'still',
  place: 'in',
  ranks: 2,
  counts: [5, 1, 30, 2],
};

const cases = (['computed', 'after', 'overlapped'] as const).flatMap((order) =>
  [false, true].map((isBusy): Overlap => ({ type: 'overlap', order, isBusy, bytesPerPack: 8, computeMillis: 12 })),
);

it.each(cases)('the overlap trial lasts long enough and has correct sums: $order, busy: $isBusy', async (work) => {
  const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
  await strategy.run(async (context) => {
    const begin = performance.now();
    const subject = overlapSubject(context, trial, work);
    await checkFirstCall(subject, 'overlap');
    // Timers may come a millisecond or two early.
    expect(performance.now() - begin).toBeGreaterThan(work.computeMillis - 4);
    if (work.order !== 'computed') {
      subject.rewrite();
      expect(subject.problem()).toBeDefined();
    }
  });
});
