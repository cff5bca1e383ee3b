import { type CommunicationOptions, type ProcessGroup, RuntimeError, tensor } from '@coll/core';
import { deviceType } from '@coll/core/plugin';
import { directAlgorithm } from '@coll/direct';

/** Settings that must be equal on all workers of a strategy. */
export interface Settings {
  /** The devices of this worker. */
  readonly devices: readonly string[];
  readonly communication: CommunicationOptions;
  /** The name of the cross-device ops. Undefined: those of the strategy. */
  readonly crossDeviceOps?: string | undefined;
}

// The longest part of a name that is compared.
const nameLength = 32;
const implementations: readonly string[] = ['AUTO', 'RING', 'NCCL'];

/**
 * Waits for all workers and compares their settings, because different settings would later lead to
 * different calls.
 * @throws RuntimeError on all workers if one of them has a different number of devices or GPUs, or
 * different communication options or cross-device ops
 */
export async function requireSameSettings(group: ProcessGroup, settings: Settings): Promise<void> {
  const own = tensor(rowOf(settings));
  const width = own.data.length;
  const all = tensor(new Float64Array(width * group.size));
  // Before anything that depends on these settings. The caller closes the group if this fails.
  const communicator = group.communicator(directAlgorithm());
  const collective = { kind: 'all-gather' } as const;
  const request = { collective, dtype: 'float64', length: all.data.length, purpose: 'setup' } as const;
  await communicator.run(collective, [own], [all], { request });
  await communicator.close();
  const rows = Array.from({ length: group.size }, (_, worker) =>
    Array.from(all.data.subarray(width * worker, width * (worker + 1)), Number),
  );
  requireAlike(rows, devicesText, 'all workers must have the same number');
  requireAlike(rows, optionsText, 'all workers must use the same');
  requireAlike(rows, opsText, 'all workers must use the same');
}

function rowOf({ devices, communication, crossDeviceOps = '' }: Settings): Float64Array {
  const { implementation, bytesPerPack, checkCalls } = communication;
  const gpus = devices.filter((device) => deviceType(device) === 'GPU').length;
  return Float64Array.of(
    devices.length,
    gpus,
    implementations.indexOf(implementation),
    bytesPerPack,
    Number(checkCalls),
    ...Array.from({ length: nameLength }, (_, index) => crossDeviceOps.codePointAt(index) ?? 0),
  );
}

type Row = readonly number[];

function requireAlike(rows: readonly Row[], textOf: (row: Row) => string, rule: string): void {
  const texts = rows.map(textOf);
  const odd = texts.findIndex((text) => text !== texts[0]);
  if (odd === -1) return;
  const message = `worker 0 has ${texts[0]}, worker ${odd} has ${texts[odd]}: ${rule}`;
  throw new RuntimeError('ERR_COLL_CLUSTER', message, { rank: odd, operation: 'start' });
}

function devicesText([count, gpus]: Row): string {
  const onGpus = gpus ? ` (${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'})` : '';
  return `${count} ${count === 1 ? 'device' : 'devices'}${onGpus}`;
}

function optionsText([, , implementation = 0, bytesPerPack, checkCalls]: Row): string {
  const fields = `implementation: ${implementations[implementation]}, bytesPerPack: ${bytesPerPack}, checkCalls: ${checkCalls === 1}`;
  return `communicationOptions { ${fields} }`;
}

function opsText([, , , , , ...name]: Row): string {
  const text = String.fromCodePoint(...name.filter((code) => code > 0));
  return text === '' ? 'no crossDeviceOps' : `crossDeviceOps "${text}"`;
}
