import { describe, expect, it } from 'vitest';
import { colourEnvironment, launcherVariables, rankEnvironment } from './rank-environment.js';

describe('rankEnvironment', () => {
  const job = {
    name: 'a',
    key: 'b',
    keyFile: undefined,
    store: 'tcp://127.0.0.1:1',
    size: 2,
    stallSeconds: 60,
    stallFile: '/tmp/stalls',
  };

  it('sets all the variables that --env may not set', () => {
    expect(Object.keys(rankEnvironment(job, 1, 3))).toEqual(launcherVariables);
  });

  it('passes the file of a key instead of the key', () => {
    const environment = rankEnvironment({ ...job, keyFile: '/run/job.key' }, 0, 0);
    expect(environment).toMatchObject({ COLL_JOB_KEY: '', COLL_JOB_KEY_FILE: '/run/job.key' });
    expect(rankEnvironment(job, 0, 0)).toMatchObject({ COLL_JOB_KEY: 'b', COLL_JOB_KEY_FILE: '' });
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
