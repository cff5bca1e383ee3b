import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { contextSubject } from '../src/subjects/context-subject.js';
import { checkFirstCall } from '../src/subjects/subject.js';
import { callMemory, type Place, type Trial } from '../src/trial.js';

const trialOf = (counts: readonly number[], place: Place): Trial => ({
  suite: 'strategy',
  name: 'tiny',
  work: { type: 'copy' },
  engine: 'js',
  form: 'controller',
  algorithm: 'direct',
  input: 'still',
  place,
  ranks: 2,
  counts,
});

const cases = callMemory.flatMap((memory) =>
  (['in', 'out'] as const).flatMap((place) => [[5], [5, 1, 30]].map((counts) => ({ memory, place, counts }))),
);

it.each(cases)('a replica gets the sums of $counts elements with $memory memory, $place place', async (wanted) => {
  const { memory, place, counts } = wanted;
  const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct, engine: 'js' });
  await strategy.run(async (context) => {
    const subject = contextSubject(context, trialOf(counts, place), memory);
    await checkFirstCall(subject, 'context');
    await subject.call();
    await subject.agree(new Float64Array(1));
  });
});

it('a replica that gets the values of another call reports a wrong result', async () => {
  const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct, engine: 'js' });
  await strategy.run(async (context) => {
    const subject = contextSubject(context, trialOf([5], 'in'), 'result');
    subject.rewrite();
    await subject.call();
    expect(subject.problem()).toBeUndefined();
    const doubled = contextSubject(context, trialOf([5], 'in'), 'known');
    doubled.rewrite();
    await doubled.call();
    await doubled.call();
    expect(doubled.problem()).toContain('element 0 is 6, not 3');
  });
});

it('replicas that only allocate memory wait for each other', async () => {
  const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct, engine: 'js' });
  const events: string[] = [];
  await strategy.run(async (context) => {
    const replica = context.replicaIdInSyncGroup;
    const subject = contextSubject(context, trialOf([5], 'in'), 'alone');
    for (let turn = 0; turn < 3 * replica; turn++) await new Promise(setImmediate);
    events.push(`replica ${replica} calls`);
    await subject.call();
    events.push('a call ends');
  });
  expect(events).toEqual(['replica 0 calls', 'replica 1 calls', 'a call ends', 'a call ends']);
});
