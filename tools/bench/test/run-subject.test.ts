import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { runSubject } from '../src/subjects/run-subject.js';
import { checkFirstCall } from '../src/subjects/subject.js';
import type { Form, Trial } from '../src/trial.js';

const trialOf = (form: Form, count: number): Trial => ({
  suite: 'runs',
  name: 'run',
  work: { type: 'run' },
  engine: 'js',
  form,
  input: 'still',
  place: 'in',
  ranks: 2,
  counts: [count],
});

it.each([
  ['controller', 1],
  ['controller', 100],
  ['async', 1],
  ['async', 100],
] as const)('a run, %s, passes an argument of %i elements to every replica', async (form, count) => {
  const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct, engine: 'js' });
  await expect(checkFirstCall(runSubject(strategy, trialOf(form, count)), 'run')).resolves.toBeUndefined();
  await strategy.close();
});

it('a run whose replicas return the wrong number of elements is reported', async () => {
  const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct, engine: 'js' });
  const subject = runSubject(strategy, { ...trialOf('controller', 1), ranks: 3 });
  await expect(checkFirstCall(subject, 'run')).rejects.toThrow('run: the replicas returned 1,1, not 1 each');
});
