import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { CollectiveHints, CommunicationOptions } from '../collectives/communication-options.js';
import { setLogSink } from '../support/logger.js';
import { type CallOptions, resolveCallOptions } from './call-options.js';

const options = new CommunicationOptions({ bytesPerPack: 8, timeoutSeconds: 3, implementation: 'NCCL' });
const { signal } = new AbortController();

beforeEach(() => setLogSink(() => {}));
afterEach(() => setLogSink());

describe('resolveCallOptions', () => {
  it.each([undefined, null, {}])('returns the defaults for %o', (call) => {
    expect(resolveCallOptions(call)).toEqual({ options: new CommunicationOptions(), signal: undefined });
  });

  it('accepts options and copies them', () => {
    const resolved = resolveCallOptions(options);
    expect(resolved).toEqual({ options, signal: undefined });
    expect(resolved.options).not.toBe(options);
  });

  it('accepts the fields of options together with a signal', () => {
    const resolved = resolveCallOptions({ bytesPerPack: 8, timeoutSeconds: 3, implementation: 'nccl', signal });
    expect(resolved).toEqual({ options, signal });
    expect(resolved.signal).toBe(signal);
  });

  it.each(['options', 'experimentalHints'])('accepts an options object in the field %s', (name) => {
    expect(resolveCallOptions({ [name]: options, signal })).toEqual({ options, signal });
  });

  it.each(['sharedResult', 'deduplicate'])('returns the flag %s only if it is true', (flag) => {
    expect(resolveCallOptions({ [flag]: true })).toEqual({
      options: new CommunicationOptions(),
      signal: undefined,
      [flag]: true,
    });
    expect(resolveCallOptions({ [flag]: false })).toEqual(resolveCallOptions({}));
    expect(thrown(() => resolveCallOptions({ [flag]: 1 }))).toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: `${flag} must be true or false, got 1`,
    });
  });

  it('accepts experimentalHints of the deprecated class CollectiveHints, and warns once about each', () => {
    const lines: string[] = [];
    setLogSink((_level, line) => lines.push(line));
    const experimentalHints = new CollectiveHints({ bytesPerPack: 8 });
    for (let time = 0; time < 2; time++)
      expect(resolveCallOptions({ experimentalHints }).options).toEqual(new CommunicationOptions({ bytesPerPack: 8 }));
    expect(lines).toEqual([
      'CollectiveHints is deprecated; use CommunicationOptions instead',
      'experimentalHints is deprecated; use options instead',
    ]);
  });

  it('prefers fields that the options object sets over the same fields of the call', () => {
    expect(resolveCallOptions({ bytesPerPack: 1, timeoutSeconds: 1, options }).options).toEqual(options);
    const silent = new CommunicationOptions();
    expect(resolveCallOptions({ bytesPerPack: 1, implementation: 'RING', options: silent }).options).toEqual(
      new CommunicationOptions({ bytesPerPack: 1, implementation: 'RING' }),
    );
  });

  it('accepts a plain object with some of the fields as options', () => {
    const call = { implementation: 'RING', options: { bytesPerPack: 5 } } as unknown as CallOptions;
    expect(resolveCallOptions(call).options).toEqual(
      new CommunicationOptions({ bytesPerPack: 5, implementation: 'RING' }),
    );
  });

  it('refuses options and experimentalHints in the same call', () => {
    expect(thrown(() => resolveCallOptions({ options, experimentalHints: options }))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('pass either options or experimentalHints, not both'),
    });
  });

  it.each([5, 'RING', true, () => options])('refuses %o as the options of a call', (call) => {
    expect(thrown(() => resolveCallOptions(call as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('options must be CommunicationOptions or an object with its fields, got'),
    });
  });

  it.each(['options', 'experimentalHints'])('refuses a value that is not an object in the field %s', (name) => {
    expect(thrown(() => resolveCallOptions({ [name]: 5 } as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('options must be CommunicationOptions or an object with its fields, got 5'),
    });
  });

  it.each([{ bytesPerPack: -1 }, { implementation: 'mpi' }, { options: { bytesPerPack: -1 } }])(
    'refuses the invalid options %o',
    (call) => {
      expect(thrown(() => resolveCallOptions(call as never))).toMatchObject({ name: 'ValueError' });
    },
  );

  it('refuses options that were modified to be invalid', () => {
    const changed = new CommunicationOptions();
    changed.bytesPerPack = -1;
    expect(thrown(() => resolveCallOptions(changed))).toMatchObject({ name: 'ValueError' });
  });
});
