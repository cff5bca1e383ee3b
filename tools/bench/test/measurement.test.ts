import { expect, it } from 'vitest';
import { type Effort, measure } from '../src/measurement.js';
import { type Subject, WrongResultError } from '../src/subjects/subject.js';
import type { InputKind, Trial } from '../src/trial.js';

const effort: Effort = { warmupMillis: 1, sampleMillis: 5, minSamples: 2, maxSamples: 7, checks: true };
const trialOf = (input: InputKind): Trial => ({
  suite: 'in-process',
  name: 'test',
  work: { type: 'copy' },
  engine: 'copy',
  input,
  place: 'in',
  ranks: 2,
  counts: [1],
});

/** A subject that records its calls: (r)ewrite, (c)all, (a)gree. */
function notingSubject(isSync: boolean) {
  const notes: string[] = [];
  const subject: Subject = {
    isSync,
    rewrite: () => void notes.push('r'),
    call() {
      notes.push('c');
      return isSync ? undefined : Promise.resolve();
    },
    problem: () => undefined,
    agree: () => void notes.push('a'),
  };
  return { subject, notes };
}

it.each([true, false])(
  'a measurement with fresh inputs rewrites them and synchronises the ranks before every call, sync: %s',
  async (isSync) => {
    const { subject, notes } = notingSubject(isSync);
    const { samples } = await measure(subject, trialOf('fresh'), { ...effort, minSamples: 7 });
    expect(samples).toHaveLength(7);
    expect(/^rc((raca)+a)+$/.test(notes.join(''))).toBe(true);
  },
);

it.each([true, false])('a measurement with unchanged inputs makes calls back to back, sync: %s', async (isSync) => {
  const { subject, notes } = notingSubject(isSync);
  const { samples } = await measure(subject, trialOf('still'), effort);
  expect(notes.filter((note) => note === 'r')).toHaveLength(1);
  expect(samples.length).toBeGreaterThanOrEqual(2);
  expect(samples.every((micros) => micros > 0)).toBe(true);
});

it.each([true, false])('a measurement of the first calls makes no calls before them, sync: %s', async (isSync) => {
  const { subject, notes } = notingSubject(isSync);
  const { samples, meanMicros } = await measure(subject, { ...trialOf('still'), first: 3 }, effort);
  expect(notes.join('')).toBe('acccarc');
  expect([...samples]).toEqual([meanMicros]);
});

it('a measurement reports the time of the slowest rank', async () => {
  const { subject } = notingSubject(true);
  const slower = { ...subject, agree: (values: Float64Array) => values.fill(1e6) };
  const { samples } = await measure(slower, trialOf('still'), effort);
  expect([...samples]).toEqual([1e6, 1e6]);
});

it.each([true, false])('a measurement reports the mean of all calls of a rank, sync: %s', async (isSync) => {
  const { subject } = notingSubject(isSync);
  const { samples, meanMicros } = await measure(subject, trialOf('still'), effort);
  const total = samples.reduce((sum, micros) => sum + micros, 0);
  expect(meanMicros).toBeCloseTo(total / samples.length, 6);
  const slower = { ...subject, agree: (values: Float64Array) => values.fill(1e6) };
  expect(await measure(slower, trialOf('still'), effort)).toMatchObject({ meanMicros: 1e6 });
});

it('a measurement fails if the first result is wrong', async () => {
  const { subject } = notingSubject(true);
  const wrong = { ...subject, problem: () => 'element 0 is 1, not 2' };
  await expect(measure(wrong, trialOf('still'), effort)).rejects.toThrow(WrongResultError);
  await expect(measure(wrong, trialOf('still'), effort)).rejects.toThrow(
    'in-process, test, copy, 2 ranks, 4 B: element 0 is 1, not 2',
  );
  await expect(measure(wrong, trialOf('still'), { ...effort, checks: false })).resolves.toBeDefined();
});

it('a measurement counts timers that fire while calls are awaited, and reports the worst thread', async () => {
  const { subject } = notingSubject(false);
  const waiting: Subject = {
    ...subject,
    call: () => new Promise((resolve) => setTimeout(resolve, 3)),
    // The figures of another thread, whose event loop was blocked.
    agree: (values) => (values.length === 2 ? values.set([0.25, 40]) : undefined),
  };
  const trial: Trial = { ...trialOf('still'), work: { type: 'ticking' } };
  const { ticks } = await measure(waiting, trial, effort);
  expect(ticks).toMatchObject({ onTimeShare: 0.75, worstMillis: 40 });
  expect(ticks?.count).toBeGreaterThan(3);
});
