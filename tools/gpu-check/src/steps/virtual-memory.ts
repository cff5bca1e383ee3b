import { spawnSync } from 'node:child_process';
import { probe } from '@coll/nccl';
import { partOf } from '../parts.js';
import type { Facts, Step } from '../step.js';

const readAndWrite = 3;

/** The driver's attributes of a pointer; -1 if it refuses to answer. */
interface Attributes {
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
    const { pooled, allocated = pooled, ...virtual } = kinds as Readonly<Record<string, Attributes>>;
    const { mapped, inFirstMapping, secondMapping, unmapped } = virtual as Readonly<Record<string, Attributes>>;
    const facts = { bytesOfMapping, ...kinds };
    const wrong = [
      ...([pooled, allocated].some((attributes) => isVirtual(attributes as Attributes))
        ? ['other memory passes for virtual']
        : []),
      ...[mapped, inFirstMapping, secondMapping].flatMap((attributes) => missingOf(attributes as Attributes)),
      ...((inFirstMapping as Attributes).bytesLeft < 256 ? ['the end of a mapping is not known'] : []),
      ...((unmapped as Attributes).bytesLeft > 0 ? ['memory that is not mapped has bytes'] : []),
    ];
    if (wrong.length > 0) throw new Error(`${[...new Set(wrong)].join('; ')}: ${JSON.stringify(facts)}`);
    return { facts };
  },
};

const isVirtual = ({ legacyIpc, hasPool, isManaged }: Attributes) => legacyIpc < 1 && !hasPool && isManaged < 1;

function missingOf(attributes: Attributes): readonly string[] {
  return [
    ...(isVirtual(attributes) ? [] : ['virtual memory is not recognised']),
    ...(attributes.ordinal === 0 && attributes.bytesLeft > 0
      ? []
      : ['the driver does not know the GPU or the end of a mapping']),
    ...(attributes.rights === readAndWrite ? [] : ['rights are not those that were given']),
  ];
}
