import { describe, expect, it } from 'vitest';
import { colourEnvironment, launcherVariables, rankEnvironment } from './rank-environment.js';

describe('rankEnvironment', () => {
  it('sets all the variables that --env may not set', () => {
    const job = {
      name: 'a',
      key: 'b',
      store: 'tcp://127.0.0.1:1',
      size: 2,
      stallSeconds: 60,
      stallFile: '/tmp/stalls',
    };
    expect(Object.keys(rankEnvironment(job, 1, 3))).toEqual(launcherVariables);
  });
});

describe('colourEnvironment', () => {
  const terminal = (depth: number) => ({ isTTY: true, getColorDepth: () => depth });

  it.each([
    [4, '1'],
    [8, '2'],
    [24, '3'],
  ])('enables colours of %i bits for ranks whose output goes to a terminal', (depth, level) => {
    expect(colourEnvironment(terminal(depth), {})).toEqual({ FORCE_COLOR: level });
  });

  it('sets no colour variables for files, terminals without colours, or if the user has set them', () => {
    expect(colourEnvironment({}, {})).toEqual({});
    expect(colourEnvironment(terminal(1), {})).toEqual({});
    expect(colourEnvironment(terminal(24), { NO_COLOR: '1' })).toEqual({});
    expect(colourEnvironment(terminal(24), { FORCE_COLOR: '0' })).toEqual({});
  });
});
