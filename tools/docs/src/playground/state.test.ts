import { expect, it } from 'vitest';
import { presets } from './price.ts';
import { hashOf, initial, type State, stateOf } from './state.ts';

const other: State = {
  ...{ collective: 'broadcast', algorithm: 'direct/ring', ranks: 8, ranksPerWorker: 4, root: 3, step: 2 },
  ...{ without: '0.1,1.3', size: 0.5, latency: 7, bandwidth: 100, overhead: 0, combining: 2.5 },
  ...{ innerLatency: 2, innerBandwidth: 80, innerOverhead: 0.2 },
};

it('a hash restores every field of a state', () => {
  expect(stateOf(`#${hashOf(other)}`)).toEqual(other);
  expect(stateOf(hashOf(initial))).toEqual(initial);
});

it('a hash names the schedule and the step, and otherwise only what differs from the initial state', () => {
  expect(hashOf({ ...initial, latency: 7 })).toBe('collective=all-reduce&algorithm=ring&ranks=4&step=1&latency=7');
});

it('the hash of a heading is not a state', () => {
  expect(stateOf('#proof')).toBeUndefined();
  expect(stateOf('')).toBeUndefined();
});

it('a hash with unknown fields or without some fields gives the initial values', () => {
  expect(stateOf('#ranks=6&color=red')).toEqual({ ...initial, ranks: 6 });
});

it('a field that is not a number becomes NaN', () => {
  expect(stateOf('#ranks=many')?.ranks).toBeNaN();
  expect(stateOf('#ranks=')?.ranks).toBeNaN();
});

it('the initial network is the first preset', () => {
  expect(initial).toMatchObject(presets[0]?.fields ?? {});
  expect(presets.map(({ fields }) => fields)).toEqual([
    { latency: 50, bandwidth: 1, overhead: 2 },
    { latency: 5, bandwidth: 100, overhead: 0.3 },
  ]);
});
