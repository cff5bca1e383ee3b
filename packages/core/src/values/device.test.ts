import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { AssertionError, ValueError } from '../support/errors.js';
import {
  canonicalize,
  canonicalizeWithoutJobAndTask,
  type DeviceFields,
  DeviceSpec,
  deviceType,
  hostForDevice,
  localDevicesFromNumGpus,
  sameDevice,
} from './device.js';

const arbitraryFields: fc.Arbitrary<DeviceFields> = fc.record(
  {
    job: fc.stringMatching(/^[a-z_][a-z0-9_]*$/),
    replica: fc.nat(),
    task: fc.nat(),
    type: fc.constantFrom('CPU', 'GPU', 'TPU', 'QPU'),
  },
  { requiredKeys: [] },
);

// Generated specs have no index without a type, because names cannot express it.
const arbitrarySpec = fc
  .tuple(arbitraryFields, fc.option(fc.nat(), { nil: undefined }))
  .map(([fields, index]) => (fields.type === undefined || index === undefined ? fields : { ...fields, index }));

/** Text that resembles a device name. */
const arbitraryName = fc
  .array(
    fc.constantFrom(
      ...['/', ':', '*', 'job', 'replica', 'task', 'device', 'cpu', 'GPU', 'gpu', 'Tpu', '0', '17', '-1', '1e3', ' '],
      ...['localhost', 'x', '999999999999999999999999', '0x1', '__proto__', 'é'],
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('DeviceSpec.fromString', () => {
  it.each<readonly [string, DeviceFields]>([
    ['', {}],
    ['/', {}],
    ['cpu:0', { type: 'CPU', index: 0 }],
    ['CPU:0', { type: 'CPU', index: 0 }],
    ['/cpu:0', { type: 'CPU', index: 0 }],
    ['gPu:12', { type: 'GPU', index: 12 }],
    ['/gpu', { type: 'GPU' }],
    ['gpu:*', { type: 'GPU' }],
    ['TPU:1', { type: 'TPU', index: 1 }],
    ['/device:GPU:1', { type: 'GPU', index: 1 }],
    ['/device:GPU:*', { type: 'GPU' }],
    ['/device:gpu:1', { type: 'gpu', index: 1 }],
    ['/device:Custom:3', { type: 'Custom', index: 3 }],
    ['/job:worker', { job: 'worker' }],
    ['/replica:1/task:2', { replica: 1, task: 2 }],
    ['/task:2//job:w/', { task: 2, job: 'w' }],
    ['/job:w/replica:0/task:3/device:GPU:7', { job: 'w', replica: 0, task: 3, type: 'GPU', index: 7 }],
    ['cpu:007', { type: 'CPU', index: 7 }],
  ])('parses "%s"', (name, fields) => {
    expect(DeviceSpec.fromString(name).fields).toEqual(fields);
  });

  it.each(['/cpu:0/gpu:0', '/device:CPU:0/cpu:0', '/device:GPU:0/device:GPU:0', 'cpu/cpu'])(
    'refuses "%s", which names more than one device type',
    (name) => {
      expect(thrown(() => DeviceSpec.fromString(name))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_DEVICE',
        message: `device "${name}" names more than one device type`,
      });
    },
  );

  it.each([
    'nonsense',
    'cpu0',
    'job',
    'device:GPU',
    '/task',
    'cpu:0:0',
    'job:a:b',
    'device:GPU:0:1',
    '/x:1',
    ':0',
    ' ',
  ])('refuses "%s" as an unknown attribute', (name) => {
    expect(thrown(() => DeviceSpec.fromString(name))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_DEVICE',
      message: expect.stringContaining('Unknown attribute'),
    });
  });

  it.each([
    'cpu:x',
    'cpu:',
    'cpu:-1',
    'cpu:1.5',
    'cpu:0x1',
    'task:*',
    'replica:',
    '/device:GPU:-1',
    'cpu:9007199254740993',
  ])('refuses "%s", whose number is not valid', (name) => {
    expect(thrown(() => DeviceSpec.fromString(name))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_DEVICE',
      message: expect.stringContaining('must be a whole number, 0 or more'),
    });
  });

  it('throws only ValueErrors, for any name', () => {
    fc.assert(
      fc.property(fc.oneof(arbitraryName, fc.string()), (name) => {
        try {
          DeviceSpec.fromString(name);
        } catch (error) {
          expect(error).toBeInstanceOf(ValueError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('DeviceSpec', () => {
  it('renders its fields in one order and omits unset fields', () => {
    const fields = { index: 7, type: 'GPU', task: 3, replica: 0, job: 'w' };
    expect(`${new DeviceSpec(fields)}`).toBe('/job:w/replica:0/task:3/device:GPU:7');
    expect(`${new DeviceSpec({ task: 3 })}`).toBe('/task:3');
    expect(`${new DeviceSpec()}`).toBe('');
  });

  it('renders a type without an index with a star', () => {
    expect(`${new DeviceSpec({ type: 'GPU' })}`).toBe('/device:GPU:*');
  });

  it('parses its own text form', () => {
    fc.assert(
      fc.property(arbitrarySpec, (fields) => {
        expect(DeviceSpec.fromString(`${new DeviceSpec(fields)}`).fields).toEqual(fields);
      }),
    );
  });

  it('overlaid() takes the fields that the other spec sets, and keeps its own other fields', () => {
    const below = new DeviceSpec({ job: 'a', task: 1, type: 'CPU', index: 0 });
    const above = new DeviceSpec({ job: 'b', type: 'GPU' });
    expect(below.overlaid(above).fields).toEqual({ job: 'b', task: 1, type: 'GPU', index: 0 });
    expect(below.fields.job).toBe('a');
  });
});

describe('canonicalize', () => {
  it.each([
    ['/cpu:0', '', '/job:localhost/replica:0/task:0/device:CPU:0'],
    ['', '', '/job:localhost/replica:0/task:0/device:CPU:0'],
    ['gpu:*', '', '/job:localhost/replica:0/task:0/device:GPU:0'],
    ['/gpu:3', '/job:trainer/task:2', '/job:trainer/replica:0/task:2/device:GPU:3'],
    ['/job:trainer/task:2', '/gpu:1', '/job:trainer/replica:0/task:2/device:GPU:1'],
    ['/job:a', '/job:b/replica:4', '/job:a/replica:4/task:0/device:CPU:0'],
  ])('completes "%s" with the defaults of "%s"', (device, fallback, canonical) => {
    expect(canonicalize(device, fallback)).toBe(canonical);
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(arbitrarySpec, (fields) => {
        const once = canonicalize(`${new DeviceSpec(fields)}`);
        expect(canonicalize(once)).toBe(once);
      }),
    );
  });

  it('refuses a lower-case device type in a long name', () => {
    const error = thrown(() => canonicalize('/device:gpu:0'));
    expect(error).toBeInstanceOf(AssertionError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_DEVICE',
      message: 'the device type in "/device:gpu:0" must be upper case: write GPU',
    });
  });

  it('throws only ValueErrors and AssertionErrors, for any names', () => {
    fc.assert(
      fc.property(arbitraryName, arbitraryName, (device, fallback) => {
        try {
          expect(canonicalize(device, fallback)).toMatch(/^\/job:.*\/replica:\d+\/task:\d+\/device:.*:\d+$/);
        } catch (error) {
          if (!(error instanceof ValueError)) expect(error).toBeInstanceOf(AssertionError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

it('canonicalizeWithoutJobAndTask drops job and task and sets the replica to 0, to compare devices of tasks', () => {
  expect(canonicalizeWithoutJobAndTask('/job:w/replica:3/task:2/gpu:1')).toBe('/replica:0/device:GPU:1');
  expect(canonicalizeWithoutJobAndTask('')).toBe('/replica:0/device:CPU:0');
  expect(canonicalizeWithoutJobAndTask('/task:1', '/gpu:5')).toBe('/replica:0/device:GPU:5');
  expect(() => canonicalizeWithoutJobAndTask('/device:gpu:1')).toThrow(
    expect.objectContaining({ name: 'AssertionError', code: 'ERR_COLL_DEVICE' }),
  );
});

it("hostForDevice returns the CPU of a device's task", () => {
  expect(hostForDevice('/job:w/replica:1/task:2/gpu:3')).toBe('/job:w/replica:1/task:2/device:CPU:0');
  expect(hostForDevice('/job:w/task:2/gpu:3', 4)).toBe('/job:w/task:2/device:CPU:4');
  expect(hostForDevice('gpu:3')).toBe('/device:CPU:0');
  for (const index of [-1, 0.5, '1'])
    expect(() => hostForDevice('gpu:3', index as number)).toThrow(/deviceIndex must be a whole number, 0 or more/);
});

it('localDevicesFromNumGpus returns the GPUs, or the CPU if there are none', () => {
  expect(localDevicesFromNumGpus(0)).toEqual(['/device:CPU:0']);
  expect(localDevicesFromNumGpus(2)).toEqual(['/device:GPU:0', '/device:GPU:1']);
});

it('deviceType returns the type of a device', () => {
  expect(['cpu:0', '/gpu:1', '/job:w/task:1', '/device:QPU:0'].map(deviceType)).toEqual(['CPU', 'GPU', 'CPU', 'QPU']);
});

describe('sameDevice', () => {
  it('compares full names', () => {
    expect(sameDevice('cpu:0', '/job:localhost/replica:0/task:0/device:CPU:0')).toBe(true);
    expect(sameDevice('cpu:0', 'cpu:1')).toBe(false);
    expect(sameDevice('/task:1/cpu:0', '/task:2/cpu:0')).toBe(false);
  });

  it('treats an empty name as no device, not as the CPU', () => {
    expect([sameDevice('', ''), sameDevice('', 'cpu:0'), sameDevice('cpu:0', '')]).toEqual([true, false, false]);
  });
});
