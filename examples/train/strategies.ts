import { MirroredStrategy, MultiWorkerMirroredStrategy, membershipFrom } from '@coll/strategy';
import type { Settings } from './options.mjs';

type Choice = Pick<Settings, 'replicas' | 'ops' | 'engine' | 'insecure'>;

const devicesOf = ({ replicas }: Choice) => Array.from({ length: replicas }, (_, index) => `cpu:${index}`);

/** Replicas in threads of this process. */
export function mirrored(choice: Choice): MirroredStrategy {
  return new MirroredStrategy({ devices: devicesOf(choice), crossDeviceOps: choice.ops, engine: choice.engine });
}

/** A strategy with replicas in several processes; undefined without a launcher and without TF_CONFIG. */
export function multiWorker(choice: Choice): MultiWorkerMirroredStrategy | undefined {
  if (!membershipFrom(process.env)) return undefined;
  const { engine, insecure } = choice;
  // Without the option, COLL_INSECURE decides.
  const consent = insecure ? { insecure } : {};
  return new MultiWorkerMirroredStrategy({ devices: devicesOf(choice), engine, ...consent });
}
