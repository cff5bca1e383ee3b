import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { findCores } from '@coll/native/machine';

/** The machine, and the date of the measurement. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  /** The model name. */
  readonly cpu: string;
  /**
   * The family and model by number, because one model name may stand for several designs. Undefined if the
   * system does not report them.
   */
  readonly cpuDesign?: string;
  /** Cores that this process may use. */
  readonly cpus: number;
  /** The number of cores that coll assumed. Undefined if coll determined it. */
  readonly emulatedCores?: number;
}

/** The CPU and its cores, such as `A Processor (family 6, model 85), 2 cores`. */
export function machineName({ cpu, cpuDesign, cpus }: Pick<Machine, 'cpu' | 'cpuDesign' | 'cpus'>): string {
  return `${cpu}${cpuDesign === undefined ? '' : ` (${cpuDesign})`}, ${cpus} cores`;
}

/** The family and model of the first processor in the text of `/proc/cpuinfo`. */
export function designOf(text: string): Pick<Machine, 'cpuDesign'> {
  const [family, model] = ['cpu family', 'model'].map(
    (name) => new RegExp(`^${name}\\s*: (\\d+)$`, 'm').exec(text)?.[1],
  );
  return family === undefined || model === undefined ? {} : { cpuDesign: `family ${family}, model ${model}` };
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

export function thisMachine(): Machine {
  const { cores, limit } = findCores();
  return {
    date: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    ...designOf(readOrNothing('/proc/cpuinfo')),
    cpus: availableParallelism(),
    ...(limit === 'COLL_CORES' ? { emulatedCores: cores } : {}),
  };
}
