import { AssertionError, RuntimeError, setLogSink, ValueError } from '@coll/core';
import { availableCores } from '@coll/native/machine';
import { describe, expect, it, vi } from 'vitest';
import { MirroredStrategy } from '../index.js';
import { mirroredDevices } from './mirrored-devices.js';

describe('mirroredDevices', () => {
  it('returns full device names', () => {
    expect(mirroredDevices(['cpu:1', '/device:GPU:0', '/job:localhost/task:0/cpu:2'])).toEqual([
      '/job:localhost/replica:0/task:0/device:CPU:1',
      '/job:localhost/replica:0/task:0/device:GPU:0',
      '/job:localhost/replica:0/task:0/device:CPU:2',
    ]);
    expect(mirroredDevices(['/job:worker/task:1/cpu:0', '/job:worker/task:1/cpu:1'])).toHaveLength(2);
    expect(mirroredDevices(['/job:localhost/cpu:3'])).toEqual(['/job:localhost/replica:0/task:0/device:CPU:3']);
  });

  it('refuses devices of several tasks unless they are allowed', () => {
    const devices = ['/job:worker/task:0/cpu:0', '/job:worker/task:1/cpu:0'];
    for (const options of [undefined, {}, { severalTasks: false }])
      expect(() => mirroredDevices(devices, options)).toThrow(
        'the devices of a MirroredStrategy must belong to one task',
      );
    expect(mirroredDevices(devices, { severalTasks: true })).toHaveLength(2);
  });

  it('returns one CPU device per core if no devices are given', () => {
    const names = Array.from(
      { length: availableCores() },
      (_, core) => `/job:localhost/replica:0/task:0/device:CPU:${core}`,
    );
    expect(mirroredDevices(undefined)).toEqual(names);
    expect(new MirroredStrategy().numReplicasInSync).toBe(availableCores());
  });

  it.each([[['cpu:0', 'cpu:1']], [null], ['cpu:0']])('refuses %j as options', (options) => {
    expect(() => new MirroredStrategy(options as never)).toThrow(
      /^options must be an object, new MirroredStrategy\(\{ devices: /,
    );
  });

  it('logs that TF_CONFIG, which describes several workers, is ignored', () => {
    const lines: string[] = [];
    setLogSink((level, line) => lines.push(`${level} ${line}`));
    mirroredDevices(undefined);
    expect(lines).toEqual([]);
    vi.stubEnv('TF_CONFIG', '{}');
    for (const devices of [['cpu:0'], undefined, undefined]) mirroredDevices(devices);
    vi.unstubAllEnvs();
    setLogSink();
    expect(lines).toEqual(['info MirroredStrategy uses devices of this process; TF_CONFIG is ignored']);
  });

  it.each([
    [[], AssertionError, /needs at least one device: devices must not be empty/],
    [['cpu:0', '/CPU:0'], AssertionError, /CPU:0 is listed twice/],
    [['cpu:0', '/job:worker/task:0/cpu:1'], ValueError, /localhost and of other jobs cannot be mixed/],
    [['/job:worker/cpu:0'], ValueError, /must include the number of its task/],
    [['/job:worker/cpu:0', '/job:worker/cpu:1'], ValueError, /must include the number of its task/],
    [['/job:worker/task:0/cpu:0', '/job:worker/task:1/cpu:0'], RuntimeError, /one task.*MultiWorkerMirroredStrategy/],
    [['/job:worker/task:0/cpu:0', '/job:ps/task:0/cpu:0'], RuntimeError, /one task/],
    [['tpu'], undefined, undefined],
    [['nonsense:0'], ValueError, /Unknown attribute/],
    ['cpu:0', ValueError, /devices must be a list such as/],
    [2, ValueError, /devices must be a list such as/],
    [null, ValueError, /devices must be a list such as/],
    [['cpu:0', 1], ValueError, /devices must be a list such as/],
  ])('accepts only valid lists of devices: %j', (devices, errorClass, message) => {
    const make = () => new MirroredStrategy({ devices: devices as never });
    if (!errorClass) {
      expect(make).not.toThrow();
      return;
    }
    expect(make).toThrow(errorClass);
    expect(make).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_DEVICE', message: expect.stringMatching(message as RegExp) }),
    );
  });
});
