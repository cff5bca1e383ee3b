import { AssertionError, ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';

const deviceTypes: readonly string[] = ['CPU', 'GPU', 'TPU', 'XPU'];

/** The parts given in a device name. */
export interface DeviceFields {
  /** The name of the job, such as `worker`. */
  readonly job?: string;
  /** Number of the replica, from 0. */
  readonly replica?: number;
  /** Number of the task, from 0 within its job. */
  readonly task?: number;
  /** The device type, in upper case, except that the form `device:type:index` keeps the given spelling. */
  readonly type?: string;
  /** Number of the device, from 0 among the devices of its type; undefined means any (`*`). */
  readonly index?: number;
}

// A cache, because every call compares the devices of its values, and programs use few devices.
const fullNames = new Map<string, string>();
const mostFullNames = 4096;

const deviceFields = knownOptions<DeviceFields>('DeviceSpec', {
  job: true,
  replica: true,
  task: true,
  type: true,
  index: true,
});

/**
 * The parts of a device name `/job:J/replica:R/task:T/device:TYPE:INDEX`, each optional.
 *
 * @example
 * ```ts
 * import { DeviceSpec } from '@coll/core';
 *
 * const worker = new DeviceSpec({ job: 'worker', task: 2 });
 * const gpu = worker.overlaid(DeviceSpec.fromString('gpu:1'));
 * console.log(String(gpu), gpu.fields.index); // /job:worker/task:2/device:GPU:1 1
 * ```
 */
export class DeviceSpec {
  readonly fields: DeviceFields;

  /** @throws ValueError for an unknown field */
  constructor(fields?: DeviceFields) {
    this.fields = optionsOf(fields, "{ job: 'worker', task: 0 }", deviceFields);
  }

  /**
   * Parses names such as `cpu:0`, `/gpu:1` and `/job:worker/task:2/device:GPU:0`.
   * @throws ValueError for any other name
   */
  static fromString(name: string): DeviceSpec {
    if (typeof name !== 'string')
      throw new ValueError('ERR_COLL_DEVICE', `a device must be a string such as "cpu:0", got ${quote(name)}`);
    let fields: DeviceFields = {};
    for (const piece of name.split('/').filter((part) => part !== '')) {
      const read = readPiece(piece, name);
      if (read.type !== undefined && fields.type !== undefined) {
        throw new ValueError('ERR_COLL_DEVICE', `device "${name}" names more than one device type`);
      }
      fields = { ...fields, ...read };
    }
    return new DeviceSpec(fields);
  }

  /**
   * A copy in which the fields of `other` override those of this spec.
   * @throws ValueError unless `other` is a `DeviceSpec`
   */
  overlaid(other: DeviceSpec): DeviceSpec {
    if (!(other instanceof DeviceSpec))
      throw new ValueError('ERR_COLL_DEVICE', `overlaid: the argument must be a DeviceSpec, got ${quote(other)}`);
    return new DeviceSpec({ ...this.fields, ...other.fields });
  }

  /** The name, without missing parts; a type without an index is `TYPE:*`. */
  toString(): string {
    const { job, replica, task, type, index } = this.fields;
    const parts = [
      job === undefined ? '' : `/job:${job}`,
      replica === undefined ? '' : `/replica:${replica}`,
      task === undefined ? '' : `/task:${task}`,
      type === undefined ? '' : `/device:${type}:${index ?? '*'}`,
    ];
    return parts.join('');
  }
}

/**
 * The full name of a device. Missing parts come from `fallback`, then from
 * `/job:localhost/replica:0/task:0/device:CPU:0`.
 * @throws ValueError for an invalid name, AssertionError for a device type in lower case, as in
 * `/device:gpu:0`
 *
 * @example
 * ```ts
 * import { canonicalize } from '@coll/core';
 *
 * console.log(canonicalize('cpu:1')); // /job:localhost/replica:0/task:0/device:CPU:1
 * console.log(canonicalize('gpu:0', '/task:2')); // /job:localhost/replica:0/task:2/device:GPU:0
 * ```
 */
export function canonicalize(device: string, fallback = ''): string {
  if (fallback !== '') return canonicalSpec(device, fallback).toString();
  let name = fullNames.get(device);
  if (name === undefined) {
    name = canonicalSpec(device).toString();
    if (fullNames.size === mostFullNames) fullNames.clear();
    fullNames.set(device, name);
  }
  return name;
}

/**
 * The replica, type and index of a device as a name, for comparing devices of different tasks. The
 * replica is always 0.
 * @throws as `canonicalize`
 *
 * @example
 * ```ts
 * import { canonicalizeWithoutJobAndTask } from '@coll/core';
 *
 * console.log(canonicalizeWithoutJobAndTask('/job:worker/task:2/gpu:1')); // /replica:0/device:GPU:1
 * ```
 */
export function canonicalizeWithoutJobAndTask(device: string, fallback = ''): string {
  const { type, index } = canonicalSpec(device, fallback).fields;
  return new DeviceSpec({
    replica: 0,
    ...(type === undefined ? {} : { type }),
    ...(index === undefined ? {} : { index }),
  }).toString();
}

/**
 * The CPU of the task that a device belongs to. `deviceIndex` is the index of the CPU. Default: 0.
 * @throws ValueError for an invalid name or index
 *
 * @example
 * ```ts
 * import { hostForDevice } from '@coll/core';
 *
 * console.log(hostForDevice('/job:worker/task:2/gpu:1')); // /job:worker/task:2/device:CPU:0
 * ```
 */
export function hostForDevice(device: string, deviceIndex = 0): string {
  if (!(Number.isInteger(deviceIndex) && deviceIndex >= 0))
    throw new ValueError('ERR_COLL_DEVICE', `deviceIndex must be a whole number, 0 or more, got ${quote(deviceIndex)}`);
  const { job, replica, task } = DeviceSpec.fromString(device).fields;
  const owner = new DeviceSpec({
    ...(job === undefined ? {} : { job }),
    ...(replica === undefined ? {} : { replica }),
    ...(task === undefined ? {} : { task }),
  });
  return owner.overlaid(new DeviceSpec({ type: 'CPU', index: deviceIndex })).toString();
}

/**
 * The names of `numGpus` GPUs, from `/device:GPU:0` on, or only `/device:CPU:0` if `numGpus` is 0.
 * @throws ValueError unless `numGpus` is a whole number from 0 to 65 536
 *
 * @example
 * ```ts
 * import { localDevicesFromNumGpus } from '@coll/core';
 *
 * console.log(localDevicesFromNumGpus(2)); // [ '/device:GPU:0', '/device:GPU:1' ]
 * console.log(localDevicesFromNumGpus(0)); // [ '/device:CPU:0' ]
 * ```
 */
export function localDevicesFromNumGpus(numGpus: number): string[] {
  if (!(Number.isInteger(numGpus) && numGpus >= 0 && numGpus <= 2 ** 16))
    throw new ValueError('ERR_COLL_DEVICE', `numGpus must be a whole number from 0 to 65536, got ${quote(numGpus)}`);
  return numGpus === 0 ? ['/device:CPU:0'] : Array.from({ length: numGpus }, (_, index) => `/device:GPU:${index}`);
}

/**
 * The upper-case type of a device, such as `CPU` or `GPU`.
 * @throws as `canonicalize`
 *
 * @example
 * ```ts
 * import { deviceType } from '@coll/core/plugin';
 *
 * console.log(deviceType('/job:worker/gpu:1')); // GPU
 * ```
 */
export function deviceType(device: string): string {
  const [, type = ''] = /\/device:([^:]*):/.exec(canonicalize(device)) ?? [];
  return type;
}

/**
 * Whether two names mean the same device. An empty name means no device and equals only itself.
 * @throws as `canonicalize`
 *
 * @example
 * ```ts
 * import { sameDevice } from '@coll/core/plugin';
 *
 * console.log(sameDevice('cpu:0', '/job:localhost/device:CPU:0')); // true
 * ```
 */
export function sameDevice(a: string, b: string): boolean {
  return a === b || (a !== '' && b !== '' && canonicalize(a) === canonicalize(b));
}

function canonicalSpec(device: string, fallback = ''): DeviceSpec {
  const spec = DeviceSpec.fromString(device);
  const { type } = spec.fields;
  if (type !== undefined && type !== type.toUpperCase()) {
    throw new AssertionError(
      'ERR_COLL_DEVICE',
      `the device type in "${device}" must be upper case: write ${type.toUpperCase()}`,
    );
  }
  const start = new DeviceSpec({ job: 'localhost', replica: 0, task: 0, type: 'CPU', index: 0 });
  return start.overlaid(DeviceSpec.fromString(fallback)).overlaid(spec);
}

function readPiece(piece: string, name: string): DeviceFields {
  const [key = '', value, extra, ...rest] = piece.split(':');
  if (rest.length === 0) {
    if (extra === undefined && value !== undefined) {
      if (key === 'job') return { job: value };
      if (key === 'replica' || key === 'task') return { [key]: indexFrom(value, name) };
    }
    if (extra === undefined && deviceTypes.includes(key.toUpperCase()))
      return { type: key.toUpperCase(), ...indexField(value, name) };
    if (key === 'device' && value !== undefined && extra !== undefined)
      return { type: value, ...indexField(extra, name) };
  }
  throw new ValueError(
    'ERR_COLL_DEVICE',
    `Unknown attribute "${piece}" in device "${name}": write for example cpu:0 or /job:worker/task:1/device:GPU:0`,
  );
}

function indexField(text: string | undefined, name: string): { readonly index?: number } {
  return text === undefined || text === '*' ? {} : { index: indexFrom(text, name) };
}

function indexFrom(text: string, name: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new ValueError('ERR_COLL_DEVICE', `"${text}" in device "${name}" must be a whole number, 0 or more`);
}
