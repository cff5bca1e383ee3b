import { spawnSync } from 'node:child_process';
import { probe } from '@coll/nccl';
import { partOf } from '../parts.js';
import type { Facts, Step } from '../step.js';

const readAndWrite = 3;

/** The driver's attributes of a pointer; -1 if it refuses to answer. */
interface Told {
  readonly ordinal: number;
  readonly hasContext: boolean;
  readonly legacyIpc: number;
  readonly isManaged: number;
  readonly hasPool: boolean;
  readonly bytesLeft: number;
  readonly rights: number;
}

/**
 * Checks the attributes by which `Gpu.fromPointer` recognizes memory of the virtual-memory API, with
 * `c/mappings.c`.
 */
export const virtualMemory: Step = {
  claim: 'the driver says of memory of the virtual-memory API what Gpu.fromPointer relies on',
  seconds: 30,
  async run() {
    const program = spawnSync(partOf('mappings'), [probe().driver?.path ?? ''], { encoding: 'utf8', timeout: 25_000 });
    if (program.status !== 0)
      throw new Error(`mappings ended with ${program.signal ?? program.status}: ${program.stderr}`);
    const { bytesOfMapping, ...kinds } = JSON.parse(program.stdout) as Facts;
    const { pooled, allocated = pooled, ...virtual } = kinds as Readonly<Record<string, Told>>;
    const { mapped, inFirstMapping, secondMapping, unmapped } = virtual as Readonly<Record<string, Told>>;
    const facts = { bytesOfMapping, ...kinds };
    const wrong = [
      ...([pooled, allocated].some((told) => isVirtual(told as Told)) ? ['other memory passes for virtual'] : []),
      ...[mapped, inFirstMapping, secondMapping].flatMap((told) => missingOf(told as Told)),
      ...((inFirstMapping as Told).bytesLeft < 256 ? ['the end of a mapping is not known'] : []),
      ...((unmapped as Told).bytesLeft > 0 ? ['memory that is not mapped has bytes'] : []),
    ];
    if (wrong.length > 0) throw new Error(`${[...new Set(wrong)].join('; ')}: ${JSON.stringify(facts)}`);
    return { facts };
  },
};

const isVirtual = ({ legacyIpc, hasPool, isManaged }: Told) => legacyIpc < 1 && !hasPool && isManaged < 1;

function missingOf(told: Told): readonly string[] {
  return [
    ...(isVirtual(told) ? [] : ['virtual memory is not recognised']),
    ...(told.ordinal === 0 && told.bytesLeft > 0 ? [] : ['the driver does not know the GPU or the end of a mapping']),
    ...(told.rights === readAndWrite ? [] : ['rights are not those that were given']),
  ];
}
